//go:build cgo && seccomp

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/opencontainers/runc/libcontainer/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/runtime-spec/specs-go/features"
)

// versionVerb prints libseccomp's version.
func versionVerb(_ []string, _ io.Reader, out io.Writer) error {
	major, minor, micro := seccomp.Version()
	_, err := fmt.Fprintf(out, "%d.%d.%d\n", major, minor, micro)
	return err
}

// featuresVerb prints linux.seccomp of the spec's features document. Its argument is the mask of
// SECCOMP_FILTER_FLAG_* that the kernel has, as for compileVerb.
func featuresVerb(args []string, _ io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("helper features: one argument: the kernel's filter flags")
	}
	kernel, err := strconv.ParseUint(args[0], 0, 64)
	if err != nil {
		return fmt.Errorf("helper features: filter flags: %w", err)
	}
	yes := true
	f := features.Seccomp{
		Enabled:    &yes,
		Actions:    seccomp.KnownActions(),
		Operators:  seccomp.KnownOperators(),
		Archs:      seccomp.KnownArchs(),
		KnownFlags: seccomp.KnownFlags(),
	}
	for _, name := range f.KnownFlags {
		if filterFlags[specs.LinuxSeccompFlag(name)]&^kernel == 0 {
			f.SupportedFlags = append(f.SupportedFlags, name)
		}
	}
	return json.NewEncoder(out).Encode(&f)
}

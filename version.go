package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/urfave/cli/v2"

	"berth/seccomp"
)

// Set by the Makefile (-ldflags -X).
var (
	version = "unknown" // from the file VERSION
	commit  = ""        // git describe
)

// printVersion has the lines of runc: programs that read them look for "commit: " and
// "spec: ", and some for the name.
func printVersion(c *cli.Context) {
	name := c.App.Name
	if globalsOf(c).Compat {
		name = "runc"
	}
	fmt.Fprintf(os.Stdout, "%s version %s\n", name, version)
	fmt.Fprintf(os.Stdout, "commit: %s\n", orUnknown(commit))
	fmt.Fprintf(os.Stdout, "spec: %s\n", specs.Version)
	fmt.Fprintf(os.Stdout, "go: %s\n", runtime.Version())
	fmt.Fprintf(os.Stdout, "libseccomp: %s\n", orUnknown(seccomp.Version()))
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

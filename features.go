package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/runtime-spec/specs-go/features"
	"github.com/urfave/cli/v2"

	"berth/plan"
	"berth/seccomp"
)

func featuresCommand() *cli.Command {
	return &cli.Command{
		Name:      "features",
		Usage:     "print what berth can do, as JSON",
		UsageText: "berth features",
		Description: `Prints the features document of the runtime specification (features.md): the hooks, mount
options, namespaces and capabilities that berth knows, and which of cgroups, seccomp and the
security modules it supports, whatever this machine's kernel has.`,
		Action: runFeatures,
	}
}

func runFeatures(c *cli.Context) error {
	if err := usageArgs(c, 0, 0); err != nil {
		return err
	}
	f := knownFeatures()
	data, err := seccomp.Features()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &f.Linux.Seccomp); err != nil {
		return fmt.Errorf("seccomp features: %w", err)
	}
	// What the library knows and create refuses (docs/compat.md).
	f.Linux.Seccomp.Actions = slices.DeleteFunc(f.Linux.Seccomp.Actions, func(a string) bool { return a == "SCMP_ACT_NOTIFY" })
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "    ")
	return enc.Encode(f)
}

// knownFeatures is all but linux.seccomp, which only the helper's library knows. False is said
// where berth refuses the field with "not supported yet".
func knownFeatures() *features.Features {
	yes, no := true, false
	return &features.Features{
		OCIVersionMin: "1.0.0",
		OCIVersionMax: specs.Version,
		Hooks:         []string{"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"},
		MountOptions:  plan.MountOptions(),
		Linux: &features.Linux{
			Namespaces:      plan.Namespaces(),
			Capabilities:    plan.CapabilityNames,
			Cgroup:          &features.Cgroup{V1: &yes, V2: &yes, Systemd: &no, SystemdUser: &no, Rdma: &yes},
			Apparmor:        &features.Apparmor{Enabled: &no},
			Selinux:         &features.Selinux{Enabled: &no},
			IntelRdt:        &features.IntelRdt{Enabled: &no, Schemata: &no, Monitoring: &no},
			MountExtensions: &features.MountExtensions{IDMap: &features.IDMap{Enabled: &no}},
			NetDevices:      &features.NetDevices{Enabled: &no},
		},
		Annotations: map[string]string{
			"io.github.seccomp.libseccomp.version": seccomp.Version(),
		},
	}
}

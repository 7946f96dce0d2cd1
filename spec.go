package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

const specConfig = "config.json"

func specCommand() *cli.Command {
	return &cli.Command{
		Name:      "spec",
		Usage:     "write a config.json to start from",
		UsageText: "berth spec [--bundle DIR] [--rootless]",
		Description: `Writes config.json, the configuration of a bundle: one that runs "sh" on a terminal, in the root
file system "rootfs" (read-only), with its own namespaces and few capabilities. Edit it for what
the container is to do. A config.json that exists is never overwritten.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "bundle", Aliases: []string{"b"}, Usage: "write to `DIR` instead of the current directory"},
			&cli.BoolFlag{Name: "rootless", Usage: "write one that an ordinary user can run"},
		},
		Action: runSpec,
	}
}

func runSpec(c *cli.Context) error {
	if err := usageArgs(c, 0, 0); err != nil {
		return err
	}
	spec := exampleSpec(onCgroup2())
	if c.Bool("rootless") {
		makeRootless(spec, uint32(os.Geteuid()), uint32(os.Getegid()))
	}
	data, err := json.MarshalIndent(spec, "", "\t")
	if err != nil {
		return err
	}
	return writeSpec(filepath.Join(c.String("bundle"), specConfig), append(data, '\n'))
}

// writeSpec creates the file; O_EXCL so that one that is there stays, also when it appears
// just now.
func writeSpec(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: remove it first", path)
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		os.Remove(path)
		return err
	}
	return f.Close()
}

func onCgroup2() bool {
	var st unix.Statfs_t
	return unix.Statfs("/sys/fs/cgroup", &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
}

// exampleSpec has the values that runc's spec command has: people and tests know them. No
// capability is inheritable.
func exampleSpec(cgroup2 bool) *specs.Spec {
	spec := &specs.Spec{
		Version:  specs.Version,
		Root:     &specs.Root{Path: "rootfs", Readonly: true},
		Process:  exampleProcess(),
		Hostname: "berth",
		Mounts:   exampleMounts(),
		Linux: &specs.Linux{
			MaskedPaths: []string{
				"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
				"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi",
			},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			Resources: &specs.LinuxResources{
				Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}},
			},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
			},
		},
	}
	if cgroup2 {
		spec.Linux.Namespaces = append(spec.Linux.Namespaces, specs.LinuxNamespace{Type: specs.CgroupNamespace})
	}
	return spec
}

func exampleProcess() *specs.Process {
	caps := func() []string { return []string{"CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"} }
	return &specs.Process{
		Terminal:        true,
		Args:            []string{"sh"},
		Env:             []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm"},
		Cwd:             "/",
		NoNewPrivileges: true,
		Capabilities:    &specs.LinuxCapabilities{Bounding: caps(), Permitted: caps(), Effective: caps()},
		Rlimits:         []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: 1024, Soft: 1024}},
	}
}

func exampleMounts() []specs.Mount {
	mount := func(dest, typ, source string, options ...string) specs.Mount {
		return specs.Mount{Destination: dest, Type: typ, Source: source, Options: options}
	}
	return []specs.Mount{
		mount("/proc", "proc", "proc"),
		mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
		mount("/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
		mount("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
		mount("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"),
		mount("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"),
		mount("/sys/fs/cgroup", "cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"),
	}
}

// makeRootless changes spec into one that uid and gid can run: a user namespace with one id,
// the host's network and sysfs (a new sysfs needs a new network namespace), no limits.
func makeRootless(spec *specs.Spec, uid, gid uint32) {
	var namespaces []specs.LinuxNamespace
	for _, ns := range spec.Linux.Namespaces {
		if ns.Type != specs.NetworkNamespace && ns.Type != specs.UserNamespace {
			namespaces = append(namespaces, ns)
		}
	}
	spec.Linux.Namespaces = append(namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	spec.Linux.UIDMappings = []specs.LinuxIDMapping{{HostID: uid, Size: 1}}
	spec.Linux.GIDMappings = []specs.LinuxIDMapping{{HostID: gid, Size: 1}}
	spec.Linux.Resources = nil
	for i := range spec.Mounts {
		m := &spec.Mounts[i]
		if m.Destination == "/sys" {
			*m = specs.Mount{Destination: "/sys", Type: "none", Source: "/sys",
				Options: []string{"rbind", "nosuid", "noexec", "nodev", "ro"}}
		}
		m.Options = withoutIDs(m.Options)
	}
}

// withoutIDs drops gid= and uid=: ids other than 0 have no mapping.
func withoutIDs(options []string) []string {
	var kept []string
	for _, o := range options {
		if !strings.HasPrefix(o, "gid=") && !strings.HasPrefix(o, "uid=") {
			kept = append(kept, o)
		}
	}
	return kept
}

package tests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/runtime-tools/generate"
)

// A bundle is a directory with a config.json and a rootfs of its own.
type bundle struct {
	w    *world
	dir  string
	spec *specs.Spec
}

// A mod changes a config before it is written.
type mod func(*specs.Spec)

// bundle makes one from runc's default config (no terminal, /bin/true) and the changes.
func (w *world) bundle(mods ...mod) *bundle {
	w.Helper()
	return w.bundleOf(defaultSpec(w), mods...)
}

// generated is a bundle whose config comes from runtime-tools' generator.
func (w *world) generated(mods ...mod) *bundle {
	w.Helper()
	g, err := generate.New("linux")
	w.must(err)
	g.SetProcessArgs([]string{"/bin/true"})
	g.SetRootPath("rootfs")
	g.SetRootReadonly(true)
	g.AddProcessEnv("BERTH_TEST_MARK", w.mark)
	return w.bundleOf(g.Config, mods...)
}

func (w *world) bundleOf(spec *specs.Spec, mods ...mod) *bundle {
	w.Helper()
	w.n++
	b := &bundle{w: w, dir: filepath.Join(w.dir, fmt.Sprint("b", w.n)), spec: spec}
	w.must(os.Mkdir(b.dir, 0o755))
	w.must(linkTree(rootfs, b.rootfs()))
	for _, m := range mods {
		m(spec)
	}
	b.write()
	return b
}

func (b *bundle) rootfs() string { return filepath.Join(b.dir, "rootfs") }
func (b *bundle) config() string { return filepath.Join(b.dir, "config.json") }

func (b *bundle) write() {
	b.w.Helper()
	data, err := json.MarshalIndent(b.spec, "", "\t")
	b.w.must(err)
	b.w.must(os.WriteFile(b.config(), data, 0o644))
}

// defaultSpec is what `runc spec` writes, without the terminal.
func defaultSpec(w *world) *specs.Spec {
	caps := []string{"CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"}
	m := func(dst, typ, src string, options ...string) specs.Mount {
		return specs.Mount{Destination: dst, Type: typ, Source: src, Options: options}
	}
	return &specs.Spec{
		Version: cmp.Or(os.Getenv("OCI_VERSION"), specs.Version), // older runtimes refuse newer ones
		Root:    &specs.Root{Path: "rootfs", Readonly: true},
		Process: &specs.Process{
			Args: []string{"/bin/true"},
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm",
				"BERTH_TEST_MARK=" + w.mark},
			Cwd:             "/",
			NoNewPrivileges: true,
			Capabilities:    &specs.LinuxCapabilities{Bounding: caps, Permitted: caps, Effective: caps},
			Rlimits:         []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: 1024, Soft: 1024}},
		},
		Hostname: "runc",
		Mounts: []specs.Mount{
			m("/proc", "proc", "proc"),
			m("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k"),
			m("/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
			m("/dev/shm", "tmpfs", "shm", "nosuid", "noexec", "nodev", "mode=1777", "size=65536k"),
			m("/dev/mqueue", "mqueue", "mqueue", "nosuid", "noexec", "nodev"),
			m("/sys", "sysfs", "sysfs", "nosuid", "noexec", "nodev", "ro"),
			m("/sys/fs/cgroup", "cgroup", "cgroup", "nosuid", "noexec", "nodev", "relatime", "ro"),
		},
		Linux: &specs.Linux{
			MaskedPaths: []string{"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
				"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi"},
			ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
			Resources:     &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}},
			Namespaces: []specs.LinuxNamespace{{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace},
				{Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace}, {Type: specs.CgroupNamespace}},
		},
	}
}

func args(a ...string) mod   { return func(s *specs.Spec) { s.Process.Args = a } }
func sh(script string) mod   { return args("/bin/sh", "-c", script) }
func writable(s *specs.Spec) { s.Root.Readonly = false }
func terminal(s *specs.Spec) { s.Process.Terminal = true }

// forever is a container that runs until SIGTERM (status 42).
var forever = args("/bin/probe", "term")

func user(uid, gid uint32, more ...uint32) mod {
	return func(s *specs.Spec) { s.Process.User = specs.User{UID: uid, GID: gid, AdditionalGids: more} }
}

func caps(names ...string) mod {
	return func(s *specs.Spec) {
		s.Process.Capabilities = &specs.LinuxCapabilities{Bounding: names, Permitted: names, Effective: names}
	}
}

func mount(typ, src, dst string, options ...string) mod {
	return func(s *specs.Spec) {
		s.Mounts = append(s.Mounts, specs.Mount{Destination: dst, Type: typ, Source: src, Options: options})
	}
}

func bind(src, dst string, options ...string) mod {
	return mount("bind", src, dst, append([]string{"rbind"}, options...)...)
}

func resources(f func(*specs.LinuxResources)) mod {
	return func(s *specs.Spec) { f(s.Linux.Resources) }
}

func cgroupsPath(path string) mod { return func(s *specs.Spec) { s.Linux.CgroupsPath = path } }

// without removes namespaces: the container stays in the host's.
func without(types ...specs.LinuxNamespaceType) mod {
	return func(s *specs.Spec) {
		var keep []specs.LinuxNamespace
		for _, ns := range s.Linux.Namespaces {
			drop := false
			for _, t := range types {
				drop = drop || ns.Type == t
			}
			if !drop {
				keep = append(keep, ns)
			}
		}
		s.Linux.Namespaces = keep
	}
}

// hostPid is a container in the host's pid namespace. Its cgroup has a name of this test.
func hostPid(w *world) mod {
	path := "/" + w.mark + "-hostpid"
	return func(s *specs.Spec) {
		without(specs.PIDNamespace)(s)
		s.Linux.CgroupsPath = path
	}
}

// joins makes the container enter a namespace by path.
func joins(t specs.LinuxNamespaceType, path string) mod {
	return func(s *specs.Spec) {
		without(t)(s)
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: t, Path: path})
	}
}

// userns maps the container's ids 0..size-1 to 100000 and up, and gives it the rootfs.
func userns(w *world) mod {
	maps := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 100000, Size: 65536}}
	return func(s *specs.Spec) {
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
		s.Linux.UIDMappings, s.Linux.GIDMappings = maps, maps
	}
}

// logged shares the world's log directory with the container, as /log.
func logged(w *world) mod { return bind(filepath.Join(w.dir, "log"), "/log", "rw") }

// lines splits output.
func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

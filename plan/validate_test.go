package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestValidVersion(t *testing.T) {
	for v, want := range map[string]bool{
		"1.0.0": true, "1.3.0": true, "1.0.2-dev": true, "1.0.0-rc5-dev": true, "1.2.3+build.5": true, "1.2.3-a+b": true, "1.99.0": true,
		"": false, "1": false, "1.0": false, "1.0.0.0": false, "0.9.0": false, "2.0.0": false, "v1.0.0": false, "01.0.0": false,
		"1.00.0": false, "1.0.-1": false, "1.0.+1": false, "1.0.x": false, "1.0.0-": false, " 1.0.0": false, "1.0.99999999999": false,
	} {
		if got := validVersion(v); got != want {
			t.Errorf("%q: %v", v, got)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// wrong are mistakes in a config: each error names the field and says why.
var wrong = []struct {
	field, says string
	change      func(*specs.Spec)
}{
	{"ociVersion", `"" is not a version 1.x.y`, func(s *specs.Spec) { s.Version = "" }},
	{"root.path", "missing", func(s *specs.Spec) { s.Root = nil }},
	{"root.path", "missing", func(s *specs.Spec) { s.Root.Path = "" }},
	{"windows", "Linux containers only", func(s *specs.Spec) { s.Linux, s.Windows = nil, &specs.Windows{} }},
	{"process.cwd", `"rel" is not an absolute path`, func(s *specs.Spec) { s.Process.Cwd = "rel" }},
	{"process.cwd", `"" is not an absolute path`, func(s *specs.Spec) { s.Process.Cwd = "" }},
	{"process.args", "is empty", func(s *specs.Spec) { s.Process.Args = nil }},
	{"process.args[1]", "NUL", func(s *specs.Spec) { s.Process.Args = []string{"a", "b\x00"} }},
	{"process.env[0]", "NUL", func(s *specs.Spec) { s.Process.Env = []string{"A=\x00"} }},
	{"process.user.uid", "4294967295 is above", func(s *specs.Spec) { s.Process.User.UID = 1<<32 - 1 }},
	{"process.user.gid", "4294967295 is above", func(s *specs.Spec) { s.Process.User.GID = 1<<32 - 1 }},
	{"process.rlimits[1].type", `unknown resource limit "RLIMIT_FOO"`, limits("RLIMIT_CPU", 1, 2, "RLIMIT_FOO", 1, 2)},
	{"process.rlimits[1].type", "RLIMIT_CORE is listed twice", limits("RLIMIT_CORE", 1, 2, "RLIMIT_CORE", 1, 2)},
	{"process.rlimits[0].soft", "3 is above the hard limit 2", limits("RLIMIT_CORE", 3, 2)},
	{"hooks.prestart[0].path", `"x" is not an absolute path`, hooks(specs.Hooks{Prestart: []specs.Hook{{Path: "x"}}})},
	{"hooks.createRuntime[1].path", `""`, hooks(specs.Hooks{CreateRuntime: []specs.Hook{{Path: "/a"}, {}}})},
	{"hooks.createContainer[0].timeout", "0 is not", hooks(specs.Hooks{CreateContainer: []specs.Hook{{Path: "/a", Timeout: ptr(0)}}})},
	{"hooks.startContainer[0].timeout", "-1 is not", hooks(specs.Hooks{StartContainer: []specs.Hook{{Path: "/a", Timeout: ptr(-1)}}})},
	{"hooks.poststart[0].args[0]", "NUL", hooks(specs.Hooks{Poststart: []specs.Hook{{Path: "/a", Args: []string{"\x00"}}}})},
	{"hooks.poststop[0].env[0]", "NUL", hooks(specs.Hooks{Poststop: []specs.Hook{{Path: "/a", Env: []string{"\x00"}}}})},
	{"linux.rootfsPropagation", `"public" is none of`, func(s *specs.Spec) { s.Linux.RootfsPropagation = "public" }},

	{"linux.namespaces[5].type", `unknown namespace type "foo"`, namespace("foo", "")},
	{"linux.namespaces[5].type", `"mount" is listed twice`, namespace("mount", "")},
	{"linux.namespaces[5].path", `"ns" is not an absolute path`, namespace("user", "ns")},
	{"linux.uidMappings", "need a user namespace", func(s *specs.Spec) { s.Linux.UIDMappings = []specs.LinuxIDMapping{{Size: 1}} }},
	{"linux.uidMappings", "needs uidMappings and gidMappings", namespace("user", "")},
	{"linux.gidMappings", "do not map the container's id 0", func(s *specs.Spec) {
		namespace("user", "")(s)
		s.Linux.UIDMappings, s.Linux.GIDMappings = []specs.LinuxIDMapping{{Size: 1}}, []specs.LinuxIDMapping{{ContainerID: 1, Size: 1}}
	}},

	{"mounts[0].destination", "needs a destination below /", mounts(specs.Mount{Type: "tmpfs"})},
	{"mounts[0].destination", "needs a destination below /", mounts(specs.Mount{Destination: "/a/..", Type: "tmpfs"})},
	{"mounts[0].destination", `"/proc/sys" is inside /proc`, mounts(specs.Mount{Destination: "/x/../proc/sys", Type: "tmpfs"})},
	{"mounts[0].destination", `"/proc/self" is inside /proc`, mounts(specs.Mount{Destination: "proc/self", Type: "bind", Source: "/x"})},
	{"mounts[0].type", "missing", mounts(specs.Mount{Destination: "/a"})},
	{"mounts[0].type", `"tmpfs" can't be mounted on /proc`, mounts(specs.Mount{Destination: "/proc", Type: "tmpfs"})},
	{"mounts[0].source", "missing", mounts(specs.Mount{Destination: "/a", Type: "bind"})},
	{"mounts[0].options[1]", `"rww" is not an option of a bind mount`, mounts(specs.Mount{Destination: "/a", Source: "/a", Options: words("rbind rww ro")})},

	{"linux.devices[0].type", `"x" is none of`, device0(specs.LinuxDevice{Path: "/dev/x", Type: "x"})},
	{"linux.devices[0].path", `"dev" is not an absolute path`, device0(specs.LinuxDevice{Path: "dev", Type: "c"})},
	{"linux.devices[0].path", "is not an absolute path", device0(specs.LinuxDevice{Path: "/", Type: "c"})},
	{"linux.devices[1].path", `"/dev//x" is listed twice`, func(s *specs.Spec) {
		s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/x", Type: "c"}, {Path: "/dev//x", Type: "c"}}
	}},
	{"linux.devices[0].major", "4294967296:0 is out of range", device0(specs.LinuxDevice{Path: "/dev/x", Type: "c", Major: 1 << 32})},
	{"linux.devices[0].major", "0:-1 is out of range", device0(specs.LinuxDevice{Path: "/dev/x", Type: "c", Minor: -1})},

	{"hostname", "needs a uts namespace", without(specs.UTSNamespace, func(s *specs.Spec) { s.Hostname = "h" })},
	{"domainname", "needs a uts namespace", without(specs.UTSNamespace, func(s *specs.Spec) { s.Domainname = "h" })},
	{"root.readonly", "needs a mount namespace", without(specs.MountNamespace, func(s *specs.Spec) { s.Root.Readonly = true })},
	{"linux.maskedPaths", "needs a mount namespace", without(specs.MountNamespace, func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"/x"} })},
	{"linux.readonlyPaths", "needs a mount namespace", without(specs.MountNamespace, func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{"/x"} })},
	{"linux.maskedPaths[1]", `"x" is not an absolute path`, func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"/x", "x"} }},
	{"linux.readonlyPaths[0]", `"" is not an absolute path`, func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{""} }},
}

func limits(list ...any) func(*specs.Spec) {
	return func(s *specs.Spec) {
		for i := 0; i < len(list); i += 3 {
			s.Process.Rlimits = append(s.Process.Rlimits, specs.POSIXRlimit{
				Type: list[i].(string), Soft: uint64(list[i+1].(int)), Hard: uint64(list[i+2].(int))})
		}
	}
}

func hooks(h specs.Hooks) func(*specs.Spec) { return func(s *specs.Spec) { s.Hooks = &h } }

func mounts(m ...specs.Mount) func(*specs.Spec) { return func(s *specs.Spec) { s.Mounts = m } }

func device0(d specs.LinuxDevice) func(*specs.Spec) {
	return func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{d} }
}

func namespace(typ specs.LinuxNamespaceType, path string) func(*specs.Spec) {
	return func(s *specs.Spec) {
		s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: typ, Path: path})
	}
}

func without(typ specs.LinuxNamespaceType, change func(*specs.Spec)) func(*specs.Spec) {
	return func(s *specs.Spec) {
		var kept []specs.LinuxNamespace
		for _, ns := range s.Linux.Namespaces {
			if ns.Type != typ {
				kept = append(kept, ns)
			}
		}
		s.Linux.Namespaces = kept
		change(s)
	}
}

func TestWrongConfigs(t *testing.T) {
	for _, c := range wrong {
		s := smallSpec()
		c.change(s)
		p, err := Build(s, usualFacts())
		var se *SpecError
		if p != nil || !errors.As(err, &se) || se.Path != c.field || !strings.Contains(se.Msg, c.says) {
			t.Errorf("want %s: … %s …, got %v", c.field, c.says, err)
		} else if err.Error() != "config.json: "+se.Path+": "+se.Msg {
			t.Errorf("text %q", err)
		}
	}
}

// TestNotYet: each field that is not applied is refused by name.
func TestNotYet(t *testing.T) {
	for field, change := range map[string]func(*specs.Spec){
		"linux.timeOffsets":                func(s *specs.Spec) { s.Linux.TimeOffsets = map[string]specs.LinuxTimeOffset{"boottime": {}} },
		"linux.intelRdt":                   func(s *specs.Spec) { s.Linux.IntelRdt = &specs.LinuxIntelRdt{} },
		"linux.mountLabel":                 func(s *specs.Spec) { s.Linux.MountLabel = "l" },
		"linux.personality":                func(s *specs.Spec) { s.Linux.Personality = &specs.LinuxPersonality{} },
		"linux.netDevices":                 func(s *specs.Spec) { s.Linux.NetDevices = map[string]specs.LinuxNetDevice{"eth0": {}} },
		"linux.memoryPolicy":               func(s *specs.Spec) { s.Linux.MemoryPolicy = &specs.LinuxMemoryPolicy{} },
		"process.apparmorProfile":          func(s *specs.Spec) { s.Process.ApparmorProfile = "p" },
		"process.selinuxLabel":             func(s *specs.Spec) { s.Process.SelinuxLabel = "l" },
		"process.scheduler":                func(s *specs.Spec) { s.Process.Scheduler = &specs.Scheduler{} },
		"process.ioPriority":               func(s *specs.Spec) { s.Process.IOPriority = &specs.LinuxIOPriority{} },
		"process.execCPUAffinity":          func(s *specs.Spec) { s.Process.ExecCPUAffinity = &specs.CPUAffinity{} },
		"linux.namespaces[5].type time":    namespace(specs.TimeNamespace, ""),
		"mounts[0].uidMappings":            mounts(specs.Mount{Destination: "/a", Type: "bind", Source: "/a", UIDMappings: []specs.LinuxIDMapping{{Size: 1}}}),
		`mounts[0].options[1] "remount"`:   mounts(specs.Mount{Destination: "/a", Type: "tmpfs", Options: words("ro remount")}),
		`mounts[0].options[0] "tmpcopyup"`: mounts(specs.Mount{Destination: "/a", Type: "tmpfs", Options: words("tmpcopyup")}),
		`mounts[0].options[0] "idmap"`:     mounts(specs.Mount{Destination: "/a", Source: "/a", Options: words("idmap bind")}),
	} {
		s := smallSpec()
		change(s)
		_, err := Build(s, usualFacts())
		var ue *UnsupportedError
		if !errors.As(err, &ue) || err.Error() != "not supported yet: "+field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestSharedRootWithoutPivot(t *testing.T) {
	s, f := smallSpec(), usualFacts()
	s.Linux.RootfsPropagation, f.NoPivot = "shared", true
	if _, err := Build(s, f); err == nil || !strings.HasPrefix(err.Error(), `config.json: linux.rootfsPropagation: "shared" can't go with --no-pivot`) {
		t.Error(err)
	}
}

// TestMinimal: all that is not required may be missing.
func TestMinimal(t *testing.T) {
	p, err := Build(&specs.Spec{Version: "1.0.0", Root: &specs.Root{Path: "r"}}, &Facts{Rootfs: "/r"})
	if err != nil || p.Cloneflags != 0 || p.NewPID || p.MountNS {
		t.Errorf("%+v %v", p, err)
	}
}

package plan

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// RlimitNumbers are the types of process.rlimits (getrlimit(2)).
var RlimitNumbers = map[string]int{
	"RLIMIT_CPU": 0, "RLIMIT_FSIZE": 1, "RLIMIT_DATA": 2, "RLIMIT_STACK": 3, "RLIMIT_CORE": 4,
	"RLIMIT_RSS": 5, "RLIMIT_NPROC": 6, "RLIMIT_NOFILE": 7, "RLIMIT_MEMLOCK": 8, "RLIMIT_AS": 9,
	"RLIMIT_LOCKS": 10, "RLIMIT_SIGPENDING": 11, "RLIMIT_MSGQUEUE": 12, "RLIMIT_NICE": 13,
	"RLIMIT_RTPRIO": 14, "RLIMIT_RTTIME": 15,
}

const rlimitNofile = 7

// maxUID is the highest user or group id (runc's bound). 4294967295 would mean "unchanged".
const maxUID = 1<<31 - 1

func (b *builder) validate() {
	s := b.spec
	switch {
	case !validVersion(s.Version):
		b.fail("ociVersion", "%q is not a version 1.x.y of the runtime specification", s.Version)
	case s.Root == nil || s.Root.Path == "":
		b.fail("root.path", "missing: the container needs a root file system")
	case s.Solaris != nil || s.Windows != nil && s.Linux == nil:
		b.fail("windows", "berth runs Linux containers only")
	}
	b.validateProcess()
	b.validateHooks()
	b.notYet()
	if p := b.linux().RootfsPropagation; p != "" {
		if _, ok := rootPropagations[p]; !ok {
			b.fail("linux.rootfsPropagation", "%q is none of shared, slave, private, unbindable, and with r before", p)
		}
	}
}

// validVersion: semver 2.0 with major version 1 (config.md, "Specification version").
func validVersion(v string) bool {
	v, _, _ = strings.Cut(v, "+")
	core, pre, has := strings.Cut(v, "-")
	if has && pre == "" {
		return false
	}
	parts := strings.Split(core, ".")
	for _, p := range parts {
		if n, err := strconv.ParseUint(p, 10, 32); err != nil || strconv.FormatUint(n, 10) != p {
			return false
		}
	}
	return len(parts) == 3 && parts[0] == "1"
}

const noID = 1<<32 - 1

func (b *builder) validateProcess() {
	p := b.spec.Process
	if p == nil {
		return
	}
	for _, id := range []struct {
		field string
		value uint32
	}{{"process.user.uid", p.User.UID}, {"process.user.gid", p.User.GID}} {
		if id.value > maxUID {
			b.fail(id.field, "%d is above %d", id.value, maxUID)
		}
	}
	for i, g := range p.User.AdditionalGids {
		if g > maxUID {
			b.fail(fmt.Sprintf("process.user.additionalGids[%d]", i), "%d is above %d", g, maxUID)
		}
	}
	if !path.IsAbs(p.Cwd) {
		b.fail("process.cwd", "%q is not an absolute path", p.Cwd)
	}
	if len(p.Args) == 0 {
		b.fail("process.args", "is empty: it needs at least the program")
	}
	// -1 is "unchanged" to setresuid(2): the app would stay root.
	if p.User.UID == noID {
		b.fail("process.user.uid", "%d is not a user", p.User.UID)
	}
	if p.User.GID == noID {
		b.fail("process.user.gid", "%d is not a group", p.User.GID)
	}
	b.noNul("process.args", p.Args)
	b.noNul("process.env", p.Env)
	for i, r := range p.Rlimits {
		field := fmt.Sprintf("process.rlimits[%d]", i)
		n, ok := RlimitNumbers[r.Type]
		if !ok {
			b.fail(field+".type", "unknown resource limit %q", r.Type)
		}
		if r.Soft > r.Hard {
			b.fail(field+".soft", "%d is above the hard limit %d", r.Soft, r.Hard)
		}
		for _, old := range b.p.Rlimits {
			if old.Resource == n {
				b.fail(field+".type", "%s is listed twice", r.Type)
			}
		}
		b.p.Rlimits = append(b.p.Rlimits, SetRlimit{n, r.Type, r.Soft, r.Hard})
	}
}

func (b *builder) noNul(field string, list []string) {
	for i, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			b.fail(fmt.Sprintf("%s[%d]", field, i), "contains a NUL byte")
		}
	}
}

func (b *builder) validateHooks() {
	h := b.spec.Hooks
	if h == nil {
		return
	}
	for _, k := range []struct {
		name string
		list []specs.Hook
	}{
		//nolint:staticcheck // prestart is deprecated, and still has to run.
		{"prestart", h.Prestart}, {"createRuntime", h.CreateRuntime}, {"createContainer", h.CreateContainer},
		{"startContainer", h.StartContainer}, {"poststart", h.Poststart}, {"poststop", h.Poststop},
	} {
		for i, hook := range k.list {
			field := fmt.Sprintf("hooks.%s[%d]", k.name, i)
			if !path.IsAbs(hook.Path) {
				b.fail(field+".path", "%q is not an absolute path", hook.Path)
			}
			if hook.Timeout != nil && *hook.Timeout <= 0 {
				b.fail(field+".timeout", "%d is not a number of seconds above 0", *hook.Timeout)
			}
			if strings.IndexByte(hook.Path, 0) >= 0 {
				b.fail(field+".path", "contains a NUL byte")
			}
			b.noNul(field+".args", hook.Args)
			b.noNul(field+".env", hook.Env)
		}
	}
}

// notYet refuses what this version does not apply: silence would be worse.
func (b *builder) notYet() {
	l := b.linux()
	for _, f := range []struct {
		set  bool
		path string
	}{
		{len(l.TimeOffsets) > 0, "linux.timeOffsets"},
		{l.IntelRdt != nil, "linux.intelRdt"},
		{l.MountLabel != "", "linux.mountLabel"},
		{l.Personality != nil, "linux.personality"},
		{len(l.NetDevices) > 0, "linux.netDevices"},
		{l.MemoryPolicy != nil, "linux.memoryPolicy"},
	} {
		if f.set {
			b.unsupported(f.path)
		}
	}
	p := b.spec.Process
	if p == nil {
		return
	}
	for _, f := range []struct {
		set  bool
		path string
	}{
		{p.ApparmorProfile != "", "process.apparmorProfile"},
		{p.SelinuxLabel != "", "process.selinuxLabel"},
		{p.Scheduler != nil, "process.scheduler"},
		{p.IOPriority != nil, "process.ioPriority"},
		{p.ExecCPUAffinity != nil, "process.execCPUAffinity"},
	} {
		if f.set {
			b.unsupported(f.path)
		}
	}
}

package plan

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// final: all that is left needs what stage0 prepares beside the mounts.
func (b *builder) final() {
	p := b.spec.Process
	b.p.HasSeccomp = b.f.Seccomp || b.linux().Seccomp != nil
	if p != nil && p.NoNewPrivileges {
		b.add(Op{Code: NoNewPrivs, What: "set no_new_privs", Field: "process.noNewPrivileges"})
	}
	b.rlimits()
	if b.p.HasSeccomp && (p == nil || !p.NoNewPrivileges) {
		b.seccomp() // needs CAP_SYS_ADMIN, so before it is dropped
	}
}

// fewFDs is a soft RLIMIT_NOFILE that may be too low for stage1's own last descriptors.
const fewFDs = 64

// rlimits come when the mounts are made, which need descriptors and memory, and before
// privileges are dropped; where stage1 sets them itself, after it has found room for the
// filter. A very low RLIMIT_NOFILE waits until stage1 opens nothing more.
func (b *builder) rlimits() {
	now := b.p.Rlimits[:0:0]
	for _, r := range b.p.Rlimits {
		if r.Resource == rlimitNofile && r.Soft < fewFDs && r.Hard <= b.f.NofileHard {
			b.nofile = &SetRlimit{r.Resource, r.Name, r.Soft, r.Hard}
			continue
		}
		now = append(now, r)
	}
	b.p.Rlimits = nil
	own := !b.userns() // the root of a user namespace can't raise hard limits
	if !own {
		b.p.Rlimits = now
	}
	// With createContainer hooks the container is not created before they have run.
	if len(b.p.Rlimits) > 0 || b.p.HasStateSync {
		b.p.AsksFinal = true
		b.add(Op{Code: SyncSend, Slot: [2]Slot{NoSlot}, Num: [4]uint64{SyncFinal}, What: "ask for limits and filter"})
	}
	b.add(Op{Code: SyncWait, Num: [4]uint64{SyncFinal}, What: "wait for limits and filter"})
	if !own {
		return
	}
	for i := range now {
		b.rlimit(&now[i])
	}
}

func (b *builder) rlimit(r *SetRlimit) {
	b.add(Op{Code: Rlimit, Num: [4]uint64{uint64(r.Resource), r.Soft, r.Hard},
		What: fmt.Sprintf("set %s to %d, %d", r.Name, r.Soft, r.Hard), Field: "process.rlimits"})
}

func (b *builder) seccomp() {
	b.add(Op{Code: Seccomp, Slot: [2]Slot{b.local()}, Num: [4]uint64{0, SyncFinal}, What: "load the seccomp filter", Field: "linux.seccomp"})
}

// credentials turns root into process.user with process.capabilities.
func (b *builder) credentials() {
	p := b.spec.Process
	if p == nil {
		return
	}
	cwd := path.Clean(p.Cwd)
	first := b.add(Op{Code: Chdir, Str: [3]Arg{str(cwd)}, Skip: true, AltOn: OnEACCES | OnEPERM,
		What: "change to directory " + p.Cwd, Field: "process.cwd"})
	caps := b.capabilities(p.Capabilities)
	b.add(Op{Code: Capbset, Num: [4]uint64{caps.bounding}, What: "drop capabilities from the bounding set", Field: "process.capabilities.bounding"})
	b.add(Op{Code: Prctl, Num: [4]uint64{prSetKeepcaps, 1}, What: "set PR_SET_KEEPCAPS"})
	b.add(Op{Code: ChownStdio, Num: [4]uint64{uint64(p.User.UID)}, What: "give stdio to the user", Field: "process.user"})
	b.add(b.becomeUser(&p.User))
	b.add(Op{Code: Chdir, Str: [3]Arg{str(cwd)}, IfSkipped: true, Num: [4]uint64{3: uint64(first)},
		What: "change to directory " + p.Cwd, Field: "process.cwd"})
	b.add(Op{Code: VerifyCwd, What: "check that directory " + p.Cwd + " is inside rootfs", Field: "process.cwd"})
	b.add(Op{Code: Capset, Num: [4]uint64{caps.effective, caps.permitted, caps.inheritable},
		What: "set capabilities", Field: "process.capabilities"})
	b.add(Op{Code: Ambient, Num: [4]uint64{caps.ambient}, What: "set ambient capabilities", Field: "process.capabilities.ambient"})
	if len(p.Args) > 0 {
		b.add(Op{Code: LookupExec, Str: [3]Arg{vector(candidates(p))}, What: "exec " + p.Args[0], Field: "process.args[0]"})
	}
}

// becomeUser: in a user namespace that is joined setgroups(2) may be denied for good
// (user_namespaces(7)); then there are no groups to drop but those that cannot be dropped.
func (b *builder) becomeUser(u *specs.User) Op {
	op := Op{Code: SetIDs, Str: [3]Arg{blob(gids(u.AdditionalGids))}, Num: [4]uint64{uint64(u.UID), uint64(u.GID)},
		What: fmt.Sprintf("become user %d:%d", u.UID, u.GID), Field: "process.user"}
	if _, joined := b.joined[newUser]; joined && len(u.AdditionalGids) == 0 {
		op.Alt, op.AltOn = &Op{Code: SetIDs, Num: op.Num, What: op.What, Field: op.Field}, OnEPERM
	}
	return op
}

func gids(list []uint32) string {
	out := make([]byte, 0, 4*len(list))
	for _, g := range list {
		out = binary.LittleEndian.AppendUint32(out, g)
	}
	return string(out)
}

// defaultPath is where a program is looked up if process.env has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// candidates lists the files that process.args[0] may mean, in execvp(3)'s order.
func candidates(p *specs.Process) []string {
	name := p.Args[0]
	if strings.Contains(name, "/") {
		return []string{name}
	}
	dirs := defaultPath
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			dirs = v
		}
	}
	var out []string
	for _, d := range strings.Split(dirs, ":") {
		if path.IsAbs(d) && name != "" {
			out = append(out, path.Join(d, name))
		}
	}
	return out
}

// start: the last operations, after which stage1 is the app.
func (b *builder) start() {
	p := b.spec.Process
	b.add(Op{Code: WaitStart, Slot: [2]Slot{b.fifo, b.proc}, What: "wait for start"})
	if p == nil {
		b.add(Op{Code: Exit, Num: [4]uint64{1}, What: "end: there is no process to run"})
		return
	}
	umask := uint64(0o022) // 0 until here, so that modes are what they are said to be
	if p.User.Umask != nil {
		umask = uint64(*p.User.Umask)
	}
	b.add(Op{Code: Umask, Num: [4]uint64{umask}, What: "set the umask", Field: "process.user.umask"})
	if h := b.spec.Hooks; h != nil && len(h.StartContainer) > 0 {
		b.p.HasStartHooks = true
		b.hooks("startContainer", h.StartContainer, SyncStartState)
		b.add(Op{Code: Announce, What: "tell start that the startContainer hooks are over"})
	}
	if b.nofile != nil {
		b.rlimit(b.nofile)
	}
	b.closeOnExec(3+uint64(b.f.PreserveFDs), "set close-on-exec on all other descriptors")
	if n := b.f.PreserveFDs; n > 0 {
		b.add(Op{Code: KeepFDs, Num: [4]uint64{3, uint64(n)}, What: "keep the preserved descriptors"})
	}
	if b.p.HasSeccomp && p.NoNewPrivileges {
		b.seccomp()
	}
	b.add(Op{Code: Exec, Str: [3]Arg{vector(p.Args), vector(b.environment())}, What: "exec " + p.Args[0], Field: "process.args"})
}

// environment is process.env, with HOME (as runc and crun add it where it is missing) and
// what socket activation passes on.
func (b *builder) environment() []string {
	p := b.spec.Process
	env := p.Env
	add := make([]string, 0, 3)
	if b.f.Home != "" && !hasEnv(env, "HOME") {
		add = append(add, "HOME="+b.f.Home)
	}
	if b.f.ListenFDs > 0 {
		add = append(add, fmt.Sprintf("LISTEN_FDS=%d", b.f.ListenFDs), "LISTEN_PID=1")
	}
	if len(add) == 0 {
		return env
	}
	return append(append(make([]string, 0, len(env)+len(add)), env...), add...)
}

func hasEnv(env []string, key string) bool {
	for _, e := range env {
		if strings.HasPrefix(e, key+"=") {
			return true
		}
	}
	return false
}

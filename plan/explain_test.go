package plan

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestExplain(t *testing.T) {
	p := &Plan{Ops: []Op{
		{Code: Fsmount, What: "mount overlay on /data", Field: "mounts[7]",
			Str: [3]Arg{str("overlay"), str("overlay"), {Kind: 'p', List: []string{"lowerdir", "/l", "ro", ""}, Null: []bool{false, false, false, true}}}},
		{Code: MaskDir, What: "mask /x", Alt: &Op{Code: MaskFile, What: "mask file /x"}},
		{Code: RunHook, What: "run createContainer hook #0 /h", Field: "hooks.createContainer[0]", Num: [4]uint64{5000}},
		{Code: LookupExec, What: "exec app"},
		{Code: MaskDir, What: "mask /y", Alt: &Op{Code: MaskFile, What: "mask file /y", Field: "f"}},
		{Code: Exec, What: "exec ./app"},
	}}
	for _, c := range []struct {
		f    Failure
		want string
	}{
		{Failure{Op: 0, Errno: syscall.EINVAL, Log: "e overlay: missing 'lowerdir'\n"},
			"mount overlay on /data: invalid argument (overlay: missing 'lowerdir') [config.json: mounts[7]]"},
		{Failure{Op: 0, Errno: syscall.EINVAL, Arg: 1, Log: "e one\nw two"}, "mount overlay on /data: option lowerdir=/l: invalid argument (one; two) [config.json: mounts[7]]"},
		{Failure{Op: 0, Errno: syscall.EINVAL, Arg: 2}, "mount overlay on /data: option ro: invalid argument [config.json: mounts[7]]"},
		{Failure{Op: 0, Errno: syscall.EINVAL, Arg: 3}, "mount overlay on /data: invalid argument [config.json: mounts[7]]"},
		{Failure{Op: 1, Errno: syscall.EPERM}, "mask /x: operation not permitted"},
		{Failure{Op: 2, Arg: 3 << 8}, "run createContainer hook #0 /h: exit status 3 [config.json: hooks.createContainer[0]]"},
		{Failure{Op: 2, Arg: 3 << 8, Log: "oops\n"}, "run createContainer hook #0 /h: exit status 3: oops [config.json: hooks.createContainer[0]]"},
		{Failure{Op: 2, Arg: 9}, "run createContainer hook #0 /h: killed by signal 9 [config.json: hooks.createContainer[0]]"},
		{Failure{Op: 2, Errno: syscall.ETIMEDOUT}, "run createContainer hook #0 /h: timed out after 5 s [config.json: hooks.createContainer[0]]"},
		{Failure{Op: 2, Errno: syscall.ENOENT}, "run createContainer hook #0 /h: no such file or directory [config.json: hooks.createContainer[0]]"},
		{Failure{Op: 3, Errno: syscall.ENOENT}, `exec: "app": executable file not found in $PATH`},
		{Failure{Op: 3, Errno: syscall.EACCES}, `exec: "app": permission denied`},
		{Failure{Op: 5, Errno: syscall.ENOENT}, `exec: "./app": no such file or directory: it, or the interpreter that it names, is missing`},
		{Failure{Op: 5, Errno: syscall.ENOEXEC}, `exec: "./app": exec format error`},
		// alternatives follow the operations, in order
		{Failure{Op: 6, Errno: syscall.EIO}, "mask file /x: input/output error"},
		{Failure{Op: 7, Errno: syscall.EIO}, "mask file /y: input/output error [config.json: f]"},
		{Failure{Op: 8, Errno: syscall.EIO}, "execute the plan: input/output error"},
		{Failure{Op: -1, Errno: syscall.EIO}, "execute the plan: input/output error"},
	} {
		err := p.Explain(c.f)
		if err.Error() != c.want {
			t.Errorf("%+v: %s\nwant %s", c.f, err, c.want)
		}
		if c.f.Errno != 0 && p.Ops[2].Code != RunHook && !errors.Is(err, c.f.Errno) {
			t.Errorf("%s does not unwrap to %d", err, c.f.Errno)
		}
	}
}

func TestExplainStart(t *testing.T) {
	hook := &specs.Hook{Path: "/h", Timeout: ptr(2)}
	for _, c := range []struct {
		code Code
		hook *specs.Hook
		f    Failure
		want string
	}{
		{Exec, nil, Failure{Errno: syscall.ENOENT}, `exec: "app": no such file or directory: it, or the interpreter that it names, is missing`},
		{Exec, nil, Failure{Errno: syscall.EACCES}, `exec: "app": permission denied`},
		{RunHook, hook, Failure{Arg: 1 << 8, Log: "no"}, "run startContainer hook #4 /h: exit status 1: no [config.json: hooks.startContainer[4]]"},
		{RunHook, hook, Failure{Errno: syscall.ETIMEDOUT}, "run startContainer hook #4 /h: timed out after 2 s [config.json: hooks.startContainer[4]]"},
		{Seccomp, nil, Failure{Errno: syscall.EINVAL}, "start: seccomp: invalid argument"},
	} {
		if err := ExplainStart(c.code, "app", c.hook, 4, c.f); err.Error() != c.want {
			t.Errorf("%v: %s\nwant %s", c.code, err, c.want)
		}
	}
}

// TestExplainEachOperation: every operation of every plan can fail with a text that names it,
// in one line.
func TestExplainEachOperation(t *testing.T) {
	for _, name := range goldenNames(t) {
		p := goldenPlan(t, name)
		alts := 0
		for i := range p.Ops {
			if p.Ops[i].Alt != nil {
				alts++
			}
		}
		for i := range len(p.Ops) + alts {
			s := p.Explain(Failure{Op: i, Errno: syscall.EXFULL}).Error()
			if !strings.Contains(s, syscall.EXFULL.Error()) || strings.HasPrefix(s, ":") || strings.HasPrefix(s, "execute the plan") || strings.Contains(s, "\n") {
				t.Errorf("%s: operation %d: %q", name, i, s)
			}
		}
	}
}

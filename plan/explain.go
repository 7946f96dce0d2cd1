package plan

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// OpError is an operation that failed: what was tried on which object, the kernel's reason
// and its mount log, and the field of config.json that asked for it. It unwraps to the errno.
type OpError struct {
	What, Field, Log string
	Err              error
}

func (e *OpError) Error() string {
	s := e.What + ": " + e.Err.Error()
	if e.Log != "" {
		s += " (" + e.Log + ")"
	}
	if e.Field != "" {
		s += " [config.json: " + e.Field + "]"
	}
	return s
}

func (e *OpError) Unwrap() error { return e.Err }

// ExecError is a program that can't be run; its text is what managers look for.
type ExecError struct {
	Name string
	Err  syscall.Errno
	// Interpreter: the file was there when it was looked up. What it names to run it (after "#!",
	// or the dynamic linker) may be what is missing.
	Interpreter bool
}

func (e *ExecError) Error() string {
	switch {
	case e.Err == syscall.ENOENT && e.Interpreter:
		return fmt.Sprintf("exec: %q: no such file or directory: it, or the interpreter that it names, is missing", e.Name)
	case e.Err == syscall.ENOENT && !strings.Contains(e.Name, "/"):
		return fmt.Sprintf("exec: %q: executable file not found in $PATH", e.Name)
	case e.Err == syscall.ENOENT:
		return fmt.Sprintf("exec: %q: stat %s: no such file or directory", e.Name, e.Name)
	}
	return fmt.Sprintf("exec: %q: %s", e.Name, e.Err.Error())
}

func (e *ExecError) Unwrap() error { return e.Err }

// HookError is a hook that did not end with status 0.
type HookError struct {
	What   string // "run poststart hook #0 /bin/x"
	Field  string
	Reason string // "exit status 1", "timed out", …
	Output string
}

func (e *HookError) Error() string {
	s := e.What + ": " + e.Reason
	if out := strings.TrimSpace(e.Output); out != "" {
		s += ": " + out
	}
	return s + " [config.json: " + e.Field + "]"
}

// Failure is a failure record of stage1, decoded.
type Failure struct {
	Op    int // index in the whole array; alternatives follow the operations
	Errno syscall.Errno
	Arg   uint32 // of a hook that ran: its wait status
	Log   string
}

// Explain turns a failure record into an error that names the operation, its object and
// its field.
func (p *Plan) Explain(f Failure) error {
	op := p.at(f.Op)
	if op == nil {
		return &OpError{What: "execute the plan", Err: f.Errno, Log: f.Log}
	}
	err := explain(op, f)
	var oe *OpError
	if errors.As(err, &oe) && (f.Errno == syscall.EPERM || f.Errno == syscall.ENOSYS) && p.filtered(f.Op) {
		oe.Log = strings.TrimPrefix(oe.Log+"; ", "; ") + "the filter of linux.seccomp is loaded by then: without noNewPrivileges it has to allow what a runtime still does"
	}
	return err
}

// filtered tells whether the operation comes after the seccomp filter.
func (p *Plan) filtered(index int) bool {
	for i := 0; i < index && i < len(p.Ops); i++ {
		if p.Ops[i].Code == Seccomp {
			return true
		}
	}
	return false
}

func (p *Plan) at(i int) *Op {
	if i >= 0 && i < len(p.Ops) {
		return &p.Ops[i]
	}
	i -= len(p.Ops)
	for n := range p.Ops {
		if p.Ops[n].Alt == nil {
			continue
		}
		if i == 0 {
			return p.Ops[n].Alt
		}
		i--
	}
	return nil
}

func explain(op *Op, f Failure) error {
	switch op.Code {
	case LookupExec, Exec:
		return &ExecError{strings.TrimPrefix(op.What, "exec "), f.Errno, op.Code == Exec && f.Errno == syscall.ENOENT}
	case RunHook:
		if f.Errno == 0 {
			return &HookError{op.What, op.Field, WaitReason(syscall.WaitStatus(f.Arg)), f.Log}
		}
		if f.Errno == syscall.ETIMEDOUT {
			return &HookError{op.What, op.Field, fmt.Sprintf("timed out after %d s", op.Num[0]/1000), f.Log}
		}
		return &HookError{op.What, op.Field, f.Errno.Error(), f.Log}
	}
	what := op.What
	if i := 2*int(f.Arg) - 2; op.Code == Fsmount && i >= 0 && i+1 < len(op.Str[2].List) {
		what += ": option " + op.Str[2].option(i)
	}
	return &OpError{what, op.Field, mountLog(f.Log), f.Errno}
}

// WaitReason words a wait status.
func WaitReason(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "killed by signal " + fmt.Sprint(int(ws.Signal()))
	}
	return "exit status " + fmt.Sprint(ws.ExitStatus())
}

// mountLog strips the kernel's level letters ("e ", "w ", "i ") and joins the lines.
func mountLog(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for i, l := range lines {
		if len(l) > 2 && l[1] == ' ' {
			lines[i] = l[2:]
		}
	}
	return strings.Join(lines, "; ")
}

// ExplainStart words a failure after the wait for start, where only the operation's code is
// left of the plan: program is process.args[0], hook the startContainer hook that failed.
func ExplainStart(code Code, program string, hook *specs.Hook, index int, f Failure) error {
	op := &Op{Code: code, What: "start: " + code.String()}
	switch {
	case code == Exec:
		op.What = "exec " + program
	case hook != nil:
		b := builder{p: &Plan{}}
		b.hooks("startContainer", []specs.Hook{*hook}, 0)
		op = &b.p.Ops[0]
		op.What = fmt.Sprintf("run startContainer hook #%d %s", index, hook.Path)
		op.Field = fmt.Sprintf("hooks.startContainer[%d]", index)
	}
	return explain(op, f)
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"berth/container"
	"berth/plan"
)

// hintRule is advice for one kind of error; "" from hint lets the next rule have a look.
type hintRule struct {
	matches func(error) bool
	hint    func(error) string
}

// hints are what the user can do about an error, first match first. Only a person at a
// terminal sees them.
func hints() []hintRule {
	return []hintRule{
		{is[usageError], hintUsage},
		{is[unsupported], always("docs/compat.md lists what berth does not do yet")},
		{is[*plan.UnsupportedError], always("docs/compat.md lists what berth does not do yet; without that field the bundle may do")},
		{is[*plan.SpecError], always("correct config.json in the bundle; \"berth plan --bundle DIR\" checks it without running anything")},
		{is[*container.IDError], always("an id has letters, digits and _ + - . only, and at most 255 of them")},
		{isErr(container.ErrExists), always("\"berth list\" shows what is there; \"berth delete\" makes the id free again")},
		{isErr(container.ErrNotExist), always("\"berth list\" shows what is there; --root has to be the one of create")},
		{isErr(container.ErrNotRunning), always("\"berth state\" tells its status; \"berth delete\" removes a stopped container")},
		{isErr(container.ErrNoProcess), always("the container can only be deleted: a process has to be in config.json when it is created")},
		{is[*container.StatusError], hintStatus},
		{is[*container.BusyError], always("try again; \"berth delete --force\" ends a create that is stuck")},
		{is[*container.BrokenError], always("\"berth delete --force\" removes what is left of it")},
		{is[*plan.ExecError], hintExec},
		{is[*plan.HookError], always("the hook gets the container's state on its standard input, and only the environment that config.json gives it")},
		{isErr(fs.ErrPermission), hintPermission},
		{isErr(syscall.ENOSPC), always("a file system is full, or a limit of /proc/sys/user is reached")},
		{isErr(syscall.EMFILE), always("the limit of open files is too low: ulimit -n")},
		{is[*plan.OpError], always("\"berth plan --bundle DIR\" prints every step")},
	}
}

// hint returns the advice for err, or "".
func hint(err error) string {
	for _, h := range hints() {
		if h.matches(err) {
			if s := h.hint(err); s != "" {
				return s
			}
		}
	}
	return ""
}

func hintUsage(err error) string {
	u, _ := as[usageError](err)
	return "see " + strings.TrimSpace("berth "+u.verb) + " --help"
}

func hintStatus(err error) string {
	e, _ := as[*container.StatusError](err)
	switch {
	case e.Verb == "delete":
		return "berth delete --force " + e.ID + " kills it first"
	case e.Verb == "start" && e.Status == container.StatusStopped:
		return "a container starts once: delete it and create it again"
	}
	return "berth state " + e.ID + " tells its status"
}

func hintExec(err error) string {
	e, _ := as[*plan.ExecError](err)
	switch {
	case errors.Is(err, syscall.ENOENT) && path.IsAbs(e.Name):
		return "process.args[0] is a path in the container's root file system (or the program's interpreter is missing there)"
	case errors.Is(err, syscall.ENOENT):
		return "process.args[0] is looked up in the PATH of process.env, in the container's root file system"
	case errors.Is(err, syscall.EACCES):
		return "the user of process.user needs the x bit on it, and on the directories above; the mount must not be noexec"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is no program for this machine, or a script without #! in its first line"
	}
	return ""
}

func hintPermission(error) string {
	if os.Geteuid() != 0 {
		return "berth needs root"
	}
	return ""
}

func always(s string) func(error) string { return func(error) string { return s } }

func isErr(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) (T, bool) {
	var t T
	ok := errors.As(err, &t)
	return t, ok
}

func is[T error](err error) bool {
	_, ok := as[T](err)
	return ok
}

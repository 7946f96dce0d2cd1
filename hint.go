package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// hints are what the user can do about an error, first match first. Only a person at a
// terminal gets them.
var hints = []struct {
	matches func(error) bool
	hint    func(error) string
}{
	{is[usageError], func(err error) string {
		u, _ := as[usageError](err)
		return "see " + strings.TrimSpace("berth "+u.verb) + " --help"
	}},
	{is[unsupported], text("docs/compat.md lists what berth does not do yet")},
	{func(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 },
		text("berth needs root: try sudo")},
	{errno(syscall.ENOSPC), text("the disk is full, or fs.inotify, user.max_*_namespaces or the like is used up (sysctl user)")},
	{errno(syscall.EMFILE), text("raise the limit of open files (ulimit -n)")},
}

// hint returns the advice for err, or "".
func hint(err error) string {
	for _, h := range hints {
		if h.matches(err) {
			return h.hint(err)
		}
	}
	return ""
}

func text(s string) func(error) string { return func(error) string { return s } }

func errno(e syscall.Errno) func(error) bool {
	return func(err error) bool { return errors.Is(err, e) }
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

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"berth/container"
	"berth/plan"
)

func TestHints(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string // a part of the hint; "": there is none
	}{
		{errors.New("other"), ""},
		{usageError{"wrong", ""}, "see berth --help"},
		{usageError{"wrong", "kill"}, "see berth kill --help"},
		{fmt.Errorf("create: %w", container.ErrNotExist), "berth list"},
		{container.ErrExists, "berth delete"},
		{&container.StatusError{ID: "x", Verb: "delete", Status: container.StatusRunning}, "berth delete --force x"},
		{&container.StatusError{ID: "x", Verb: "start", Status: container.StatusStopped}, "starts once"},
		{&container.StatusError{ID: "x", Verb: "kill", Status: container.StatusCreating}, "berth state x"},
		{&container.BrokenError{ID: "x", Err: errors.New("e")}, "--force"},
		{&plan.SpecError{Path: "process.cwd", Msg: "m"}, "config.json"},
		{&plan.UnsupportedError{Path: "linux.intelRdt"}, "docs/compat.md"},
		{&plan.ExecError{Name: "nosuch", Err: syscall.ENOENT}, "PATH"},
		{&plan.ExecError{Name: "/nosuch", Err: syscall.ENOENT}, "interpreter"},
		{&plan.ExecError{Name: "/x", Err: syscall.EACCES}, "x bit"},
		{&plan.OpError{What: "mount", Err: syscall.EINVAL}, "berth plan"},
		{&plan.OpError{What: "mount", Err: syscall.ENOSPC}, "full"},
	} {
		got := hint(c.err)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
		// A hint is advice, and no second text of an error that a manager could match.
		for _, phrase := range []string{"does not exist", "container not running", "no such file", "not found in $PATH", "permission denied"} {
			if strings.Contains(got, phrase) {
				t.Errorf("%v: the hint %q says %q", c.err, got, phrase)
			}
		}
	}
}

package tests

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Newer system calls, and whether berth can do without: on the oldest kernel that it supports
// (5.14) they are missing, and on nested hosts an old profile refuses them.
var newCalls = []struct {
	name     string
	number   uintptr
	required bool // 5.14 has it, and there is no other way
}{
	{"mount_setattr", unix.SYS_MOUNT_SETATTR, true},
	{"close_range", unix.SYS_CLOSE_RANGE, false},
	{"faccessat2", unix.SYS_FACCESSAT2, false},
	{"clone3", unix.SYS_CLONE3, false},
	{"keyctl", unix.SYS_KEYCTL, false},
	{"fsopen", unix.SYS_FSOPEN, true},
	{"open_tree", unix.SYS_OPEN_TREE, true},
	{"move_mount", unix.SYS_MOVE_MOUNT, true},
	{"openat2", unix.SYS_OPENAT2, true},
	{"memfd_create", unix.SYS_MEMFD_CREATE, true},
	{"pidfd_open", unix.SYS_PIDFD_OPEN, true},
	{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, true},
	{"execveat", unix.SYS_EXECVEAT, true},
	{"statx", unix.SYS_STATX, true},
	{"prlimit64", unix.SYS_PRLIMIT64, true},
}

func TestKernelWithoutCall(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(sh("echo works; cat /proc/self/mountinfo"), bind(w.dir+"/log", "/log", "ro"))
	user := hand(w, w.bundle(sh("echo works"), userns(w), bind(w.dir+"/log", "/log", "ro")), 100000)
	for _, errno := range []syscall.Errno{syscall.ENOSYS, syscall.EPERM} {
		for _, c := range newCalls {
			for kind, bundle := range map[string]*bundle{"plain": b, "user namespace": user} {
				what := fmt.Sprintf("%s (%s): %v", c.name, kind, errno)
				call := w.rt("run", "--bundle", bundle.dir, w.id())
				call.prefix = []string{tools + "/probe", "deny", fmt.Sprint(int(errno)), fmt.Sprint(c.number)}
				r := call.run()
				switch {
				case r.code == 0:
					holds(w, what, r.out, "works\n")
					if kind == "plain" {
						at(w, parseMounts(r.out), "/log").has(w, "ro")
						at(w, parseMounts(r.out), "/").has(w, "ro")
					}
				case !c.required && (errno == syscall.ENOSYS || c.number != unix.SYS_MOUNT_SETATTR):
					t.Errorf("%s: %v", what, r)
				default:
					r.fails().lacks("panic", "goroutine")
					expect(w, what+": lines on stderr: "+r.err, len(lines(r.err)), 1)
				}
				var left []string
				if !eventually(2*time.Second, func() bool { left = w.leaks(); return len(left) == 0 }) {
					t.Errorf("%s: left %v", what, left)
					for _, id := range w.ids {
						w.rt("delete", "--force", id).run()
					}
				}
			}
		}
	}
}

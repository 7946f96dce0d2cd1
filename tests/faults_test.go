package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// faulty is the binary that fails one operation of the plan when BERTH_FAULT=OP:ERRNO says so.
func faulty(w *world) string {
	w.Helper()
	path := os.Getenv("BERTH_FAULTY")
	if path == "" {
		path = "../build/berth-fault"
	}
	path, err := filepath.Abs(path)
	w.must(err)
	if _, err := os.Stat(path); err != nil {
		w.Fatalf("no binary with faults (run make berth-fault, or set BERTH_FAULTY): %v", err)
	}
	return path
}

// unused marks an operation that runs only if another one was passed over.
const unused = ", maybe"

var planLine = regexp.MustCompile(`^ *(\d+) (\S+)`)

// operations lists the codes of a bundle's plan.
func operations(w *world, b *bundle) []string {
	w.Helper()
	var ops []string
	for _, l := range lines(w.plain("plan", "--bundle", b.dir).ok().out) {
		if m := planLine.FindStringSubmatch(l); m != nil && m[1] == fmt.Sprint(len(ops)) {
			if strings.Contains(l, "if-skipped=") {
				m[2] += unused
			}
			ops = append(ops, m[2])
		}
	}
	if len(ops) < 30 {
		w.Fatalf("a plan of %d operations", len(ops))
	}
	return ops
}

// Each operation of the plan fails in turn: the error says what and why, in one line, and nothing
// is left. An operation that may be passed over, or has a replacement, may also succeed.
func TestEachOperationFails(t *testing.T) {
	for name, errno := range map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSYS": syscall.ENOSYS} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.bin = faulty(w)
			b := w.bundle(forever, user(1000, 1000), logged(w), hook(w, "createContainer", "cc"), hook(w, "poststop", "ps"), profile(1, "swapon"),
				func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"net.ipv4.ip_forward": "1"} })
			for i, code := range operations(w, b) {
				failOne(w, b, i, code, errno)
			}
		})
	}
}

// The same for a user namespace, a terminal, and namespaces that need an intermediate process.
func TestEachOperationFailsUserNamespace(t *testing.T) {
	w := newWorld(t)
	w.bin = faulty(w)
	b := hand(w, w.bundle(forever, userns(w), bind(w.dir+"/log", "/log")), 100000)
	for i, code := range operations(w, b) {
		failOne(w, b, i, code, syscall.EIO)
	}
}

func TestEachOperationFailsJoined(t *testing.T) {
	w := newWorld(t)
	owner := w.started(w.bundle(forever))
	w.bin = faulty(w)
	b := w.bundle(forever, joins("pid", owner.proc("ns/pid")), joins("network", owner.proc("ns/net")))
	for i, code := range operations(w, b) {
		failOneBeside(w, b, i, code, syscall.EIO, owner)
	}
}

func failOne(w *world, b *bundle, i int, code string, errno syscall.Errno) {
	w.Helper()
	failOneBeside(w, b, i, code, errno, nil)
}

func failOneBeside(w *world, b *bundle, i int, code string, errno syscall.Errno, other *container) {
	w.Helper()
	what := fmt.Sprintf("operation %d (%s) fails with %v", i, code, errno)
	id := w.id()
	fault := fmt.Sprintf("BERTH_FAULT=%d:%d", i, int(errno))
	call := w.rt("create", "--bundle", b.dir, id)
	call.env = []string{fault}
	r := call.run()
	if r.code == 0 {
		start := w.rt("start", id)
		start.env = call.env
		r = start.run()
		w.rt("delete", "--force", id).ok()
	}
	switch {
	case r.code == 0 && errno == syscall.EIO && !strings.HasSuffix(code, unused):
		w.Errorf("%s: nobody noticed", what)
	case r.code < 0:
		w.Errorf("%s: %v", what, r)
	case r.code > 0:
		if len(lines(r.err)) != 1 || !strings.Contains(strings.ToLower(r.err), errno.Error()) {
			w.Errorf("%s: stderr: %s", what, r.err)
		}
		r.lacks("panic", "EOF", "exit status", "container not running", "does not exist", "operation "+fmt.Sprint(i))
	}
	var left []string
	if !eventually(waitTimeout/10, func() bool { left = othersOf(w, other); return len(left) == 0 }) {
		w.Fatalf("%s: left %v", what, left)
	}
}

// othersOf are the leaks that do not belong to a container which is meant to be there.
func othersOf(w *world, c *container) []string {
	var out []string
	for _, l := range w.leaks() {
		if c == nil || !strings.Contains(l, c.id) && !strings.Contains(l, "/bin/probe term") {
			out = append(out, l)
		}
	}
	return out
}

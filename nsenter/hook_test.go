package nsenter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func hook(timeout uint64, script string, env ...string) op {
	return op{name: "HOOK", str: [3]any{"/bin/sh", vector{"hook", "-c", script}, vector(env)}, num: [4]uint64{timeout, 5}}
}

func TestHook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	state := []byte(`{"status": "creating"}`)
	script := "cat; echo; tr '\\0' ' ' < /proc/$$/environ; ls -l /proc/$$/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status; echo $PPID"
	p := &program{ops: []op{cloexec,
		{name: "SETATTR", slot: [2]int{-1, -1}, str: [3]any{"/nowhere"}, alt: skip, on: onENOENT},
		wait(5), hook(20000, "{ "+script+"; } > "+file+" 2>&1", "A=b", "PATH=/bin:/usr/bin"),
		hook(0, "exit 0", "X=")}}
	s := start(t, p)
	if err := s.Grant(5, state); err != nil {
		t.Fatal(err)
	}
	s.succeeds()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s\nA=b PATH=/bin:/usr/bin ", state)
	if !strings.HasPrefix(string(got), want) {
		t.Errorf("hook saw %q, want %q first", got, want)
	}
	contains(t, string(got), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"+fmt.Sprint(s.Pid)+"\n")
}

func TestHookFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		hook   op
		errno  syscall.Errno
		status unix.WaitStatus
		log    string
	}{
		{"status", hook(0, "echo out; echo err >&2; exit 3"), 0, 3 << 8, "out\nerr\n"},
		{"signal", hook(0, "kill -TERM $$"), 0, unix.WaitStatus(unix.SIGTERM), ""},
		{"timeout", hook(100, "echo slow; sleep 60"), unix.ETIMEDOUT, 0, "slow\n"},
		{"timeout, group", hook(100, "sleep 60 & sleep 61; true"), unix.ETIMEDOUT, 0, ""},
		{"absent", op{name: "HOOK", str: [3]any{"/nowhere/hook", vector{"hook"}, vector{}}, num: [4]uint64{0, 5}}, unix.ENOENT, 0, ""},
		{"not executable", op{name: "HOOK", str: [3]any{"/etc/passwd", vector{"hook"}, vector{}}, num: [4]uint64{0, 5}}, unix.EACCES, 0, ""},
		{"leaves a child behind", hook(0, "sleep 3 & echo bye; exit 1"), 0, 1 << 8, "bye\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			m := start(t, &program{ops: []op{cloexec, c.hook}}).fails(1, "HOOK", c.errno)
			if m.Arg != uint32(c.status) || m.Log != c.log {
				t.Errorf("record %s, want status %#x and log %q", describe(m), c.status, c.log)
			}
			if d := time.Since(begin); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// Of much output the end is kept; much input arrives whole.
func TestHookVolume(t *testing.T) {
	state := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	p := &program{ops: []op{cloexec, wait(5),
		hook(20000, "[ $(wc -c) = 1048576 ]", "PATH=/usr/bin:/bin"),
		hook(20000, "seq 1 100000; cat >/dev/null; seq 1 200000; echo last; exit 9", "PATH=/usr/bin:/bin")}}
	s := start(t, p)
	if err := s.Grant(5, state); err != nil {
		t.Fatal(err)
	}
	m := s.fails(3, "HOOK", 0)
	if m.Arg != 9<<8 || !strings.HasSuffix(m.Log, "\n199999\n200000\nlast\n") || len(m.Log) > logMax {
		t.Errorf("status %#x, log of %d bytes ends %q", m.Arg, len(m.Log), m.Log[max(0, len(m.Log)-40):])
	}
}

// A hook that closes its input early is no failure.
func TestHookIgnoresInput(t *testing.T) {
	p := &program{ops: []op{cloexec, wait(5), hook(20000, "exec <&-; sleep 0.1; exit 0", "PATH=/usr/bin:/bin"), hook(0, "exit 0")}}
	s := start(t, p)
	if err := s.Grant(5, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	s.succeeds()
}

// The caller ignores SIGCHLD and SIGPIPE: the status of the hook counts all the same.
func TestHookIgnoredSignals(t *testing.T) {
	inChild(t, "hookIgnored", 0)
}

// stage0's death ends a hook that runs, and stage1.
func TestHookPeerLoss(t *testing.T) {
	s := start(t, &program{ops: []op{cloexec, send(4), hook(0, "sleep 60", "PATH=/usr/bin:/bin")}})
	s.reached(4)
	time.Sleep(50 * time.Millisecond)
	unix.Close(s.sock)
	s.sock = -1
	exitStatus(t, s.wait().ExitStatus(), 1)
}

func init() {
	children["hookIgnored"] = func() error {
		ignoreSignals()
		p, err := launchPlainly(&program{ops: []op{cloexec, hook(0, "exit 0")}}, 0)
		if err != nil {
			return err
		}
		if m, err := p.Next(); err != io.EOF { // it can't be waited for: SIGCHLD is ignored here too
			return fmt.Errorf("message %s, %v", describe(m), err)
		}
		p, err = launchPlainly(&program{ops: []op{cloexec, hook(0, "exit 4")}}, 0)
		if err != nil {
			return err
		}
		m, err := p.Next()
		if err != nil || m.Kind != KindFail || m.Arg != 4<<8 {
			return fmt.Errorf("message %s, %v", describe(m), err)
		}
		return nil
	}
}

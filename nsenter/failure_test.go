package nsenter

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExec(t *testing.T) {
	p := &program{ops: append([]op{cloexec, nodump}, shell("echo hello; ls /proc/self/fd | wc -l; exit 7")...)}
	s := start(t, p)
	if m := s.next(); m != nil {
		t.Fatalf("message %s", describe(m))
	}
	if out := s.output(); out != "hello\n4\n" { // 0, 1, 2 and ls's own
		t.Errorf("output %q", out)
	}
	exitStatus(t, s.wait().ExitStatus(), 7)
}

func TestExecMissing(t *testing.T) {
	for _, c := range []struct {
		paths vector
		errno syscall.Errno
	}{
		{vector{}, unix.ENOENT},
		{vector{"/nowhere/x", "/bin/sh/x"}, unix.ENOENT},
		{vector{"/nowhere/x", "/etc/passwd", "/nowhere/y"}, unix.EACCES},
		{vector{"/usr"}, unix.EACCES},
	} {
		p := &program{ops: []op{cloexec, {name: "LOOKUP_EXEC", str: [3]any{c.paths}}}}
		start(t, p).fails(1, "LOOKUP_EXEC", c.errno)
	}
}

func TestAlternatives(t *testing.T) {
	absent := func(alt, on uint32) op {
		return op{name: "CHDIR", str: [3]any{"/nowhere"}, alt: alt, on: on}
	}
	t.Run("taken", func(t *testing.T) {
		p := &program{ops: []op{cloexec, {}}, alts: []op{{name: "CHDIR", str: [3]any{"/usr"}}}}
		p.ops[1] = absent(2, onENOENT)
		p.ops = append(p.ops, shell("pwd")...)
		p.ops[1].alt = p.alternative(0)
		if out := start(t, p).output(); out != "/usr\n" {
			t.Errorf("cwd %q", out)
		}
	})
	t.Run("another errno", func(t *testing.T) {
		p := &program{ops: []op{cloexec, {}}, alts: []op{{name: "CHDIR", str: [3]any{"/usr"}}}}
		p.ops[1] = absent(p.alternative(0), onEPERM|onENOSYS)
		start(t, p).fails(1, "CHDIR", unix.ENOENT)
	})
	t.Run("fails itself", func(t *testing.T) {
		p := &program{ops: []op{cloexec, {}}, alts: []op{{name: "UMOUNT", str: [3]any{"/nowhere"}}}}
		p.ops[1] = absent(p.alternative(0), onENOENT)
		start(t, p).fails(2, "UMOUNT", unix.ENOENT)
	})
	t.Run("chain", func(t *testing.T) {
		p := &program{ops: []op{cloexec, {}}, alts: []op{{}, {name: "CHDIR", str: [3]any{"/usr"}}}}
		p.ops[1] = absent(p.alternative(0), onENOENT)
		p.alts[0] = absent(p.alternative(1), onENOENT)
		start(t, p).succeeds()
	})
}

func TestSkipped(t *testing.T) {
	for _, c := range []struct {
		dir, want string
	}{{"/nowhere", "/usr\n"}, {"/etc", "/etc\n"}} {
		p := &program{ops: []op{cloexec,
			{name: "CHDIR", str: [3]any{"/"}},
			{name: "CHDIR", str: [3]any{c.dir}, alt: skip, on: onENOENT},
			{name: "CHDIR", str: [3]any{"/usr"}, when: 1 + 2},
			{name: "CHDIR", str: [3]any{"/var"}, when: 1 + 3}, // what was passed over is not skipped
		}}
		p.ops = append(p.ops, shell("pwd")...)
		if out := start(t, p).output(); out != c.want {
			t.Errorf("%s: cwd %q, want %q", c.dir, out, c.want)
		}
	}
}

func TestFault(t *testing.T) {
	p := &program{ops: []op{cloexec, {name: "CHDIR", str: [3]any{"/"}}, {name: "SETSID"}}}
	for i := range p.ops {
		p.faultOp, p.faultErrno = i+1, uint32(unix.EXDEV)
		start(t, p).fails(i, p.ops[i].name, unix.EXDEV)
	}
}

func TestEmptySlot(t *testing.T) {
	p := &program{ops: []op{cloexec, {name: "PIVOT", slot: [2]int{3}}}}
	start(t, p, inNamespaces(unix.CLONE_NEWNS)).fails(1, "PIVOT", unix.EBADF)
}

// The kernel's own words about a mount are in the record, and the option is counted.
func TestMountLog(t *testing.T) {
	p := &program{ops: []op{cloexec, private, {name: "FSMOUNT", slot: [2]int{0},
		str: [3]any{"tmpfs", "tmpfs", pairs{"mode", "755", "nonsense", "1"}}}}}
	m := start(t, p, inNamespaces(unix.CLONE_NEWNS)).fails(2, "FSMOUNT", unix.EINVAL)
	if m.Arg != 2 {
		t.Errorf("option %d was refused, want 2", m.Arg)
	}
	contains(t, m.Log, "nonsense")
	if !strings.HasPrefix(m.Log, "e ") || !strings.HasSuffix(m.Log, "\n") {
		t.Errorf("log %q", m.Log)
	}
}

// What an operation failed before it was skipped is not in a later record.
func TestLogOfAnotherOperation(t *testing.T) {
	p := &program{ops: []op{cloexec, private,
		{name: "FSMOUNT", slot: [2]int{0}, str: [3]any{"tmpfs", "tmpfs", pairs{"nonsense", "1"}}, alt: skip, on: onEINVAL},
		{name: "CHDIR", str: [3]any{"/nowhere"}}}}
	m := start(t, p, inNamespaces(unix.CLONE_NEWNS)).fails(3, "CHDIR", unix.ENOENT)
	if m.Log != "" || m.Arg != 0 {
		t.Errorf("record %s", describe(m))
	}
}

func TestClone(t *testing.T) {
	p := &program{ops: append([]op{cloexec, nodump,
		{name: "UNSHARE", num: [4]uint64{unix.CLONE_NEWPID}},
		{name: "CLONE", num: [4]uint64{unix.CLONE_PARENT}},
		send(2), wait(3)}, shell("echo $$")...)}
	s := start(t, p)
	m := s.reached(2)
	if m.Pid <= 0 || m.Pid == s.Pid {
		t.Fatalf("pid of the child %d, of the parent %d", m.Pid, s.Pid)
	}
	if st := s.wait(); st != 0 {
		t.Errorf("status %#x of the process that was cloned first, want 0", st)
	}
	if err := s.Grant(3, nil); err != nil {
		t.Fatal(err)
	}
	if out := s.output(); out != "1\n" {
		t.Errorf("pid in the namespace %q", out)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(m.Pid, &ws, 0, nil); err != nil || ws != 0 { // CLONE_PARENT: ours
		t.Errorf("wait for the child: %v, status %#x", err, ws)
	}
}

func TestPeerLoss(t *testing.T) {
	p := &program{ops: []op{cloexec, send(4), wait(4)}}
	s := start(t, p)
	s.reached(4)
	unix.Close(s.sock)
	s.sock = -1
	exitStatus(t, s.wait().ExitStatus(), 1)
}

// A socket closed with a message unread is the same loss.
func TestPeerLossUnread(t *testing.T) {
	p := &program{ops: []op{cloexec, send(4), send(5), send(6), wait(4)}}
	s := start(t, p)
	s.reached(4)
	unix.Close(s.sock)
	s.sock = -1
	exitStatus(t, s.wait().ExitStatus(), 1)
}

// A failure is heard though stage1 left a grant unread.
func TestFailureBehindUnreadGrant(t *testing.T) {
	p := &program{ops: []op{cloexec, wait(4), {name: "CHDIR", str: [3]any{"/nowhere"}}}}
	s := start(t, p)
	for _, id := range []uint32{5, 4, 6} {
		if err := s.Grant(id, []byte("unread")); err != nil && err != ErrGone {
			t.Fatal(err)
		}
	}
	s.fails(2, "CHDIR", unix.ENOENT)
	if _, err := s.Next(); err != io.EOF {
		t.Errorf("after the failure: %v", err)
	}
	if err := s.Grant(7, nil); err != ErrGone {
		t.Errorf("grant to a stage1 that is gone: %v", err)
	}
}

func TestGrantRefused(t *testing.T) {
	p := &program{ops: []op{cloexec, wait(4), wait(5)}}
	s := start(t, p)
	for range 2 {
		if err := s.Grant(4, nil); err != nil {
			t.Fatal(err)
		}
	}
	m := s.next()
	if m == nil || m.Kind != KindFail || m.Code != 0 || m.Errno != unix.EINVAL {
		t.Fatalf("message %s", describe(m))
	}
	contains(t, m.Log, "grant")
}

// A plan larger than the socket's buffer is sent all the same.
func TestLargePlan(t *testing.T) {
	big := strings.Repeat("x", 100<<10)
	env := vector{}
	for range 14 {
		env = append(env, "A="+big)
	}
	ops := shell("true")
	ops[1].str[1] = env
	s := start(t, &program{ops: append([]op{cloexec}, ops...)})
	s.succeeds()
}

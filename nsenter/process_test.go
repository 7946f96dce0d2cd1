package nsenter

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func status(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		k, v, _ := strings.Cut(line, ":")
		m[k] = strings.TrimSpace(v)
	}
	return m
}

func u32s(list ...uint32) blob {
	var b blob
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func TestIdentity(t *testing.T) {
	const caps = 1<<unix.CAP_KILL | 1<<unix.CAP_CHECKPOINT_RESTORE
	s := paused(t, []op{cloexec, nodump, {name: "SETSID"},
		{name: "CAPBSET", num: [4]uint64{caps | 1<<unix.CAP_CHOWN}},
		{name: "PRCTL", num: [4]uint64{unix.PR_SET_KEEPCAPS, 1}},
		{name: "SET_IDS", str: [3]any{u32s(7, 70000)}, num: [4]uint64{1000, 1001}},
		{name: "CAPSET", num: [4]uint64{1 << unix.CAP_KILL, caps, caps}},
		{name: "AMBIENT", num: [4]uint64{1 << unix.CAP_KILL}},
		{name: "NO_NEW_PRIVS"},
		{name: "UMASK", num: [4]uint64{0o27}},
		{name: "RLIMIT", num: [4]uint64{unix.RLIMIT_CORE, 1 << 33, 1 << 34}},
	})
	st := status(t, s.Pid)
	for k, want := range map[string]string{
		"Uid": "1000\t1000\t1000\t1000", "Gid": "1001\t1001\t1001\t1001", "Groups": "7 70000",
		"CapEff": "0000000000000020", "CapPrm": "0000010000000020", "CapInh": "0000010000000020",
		"CapBnd": "0000010000000021", "CapAmb": "0000000000000020", "NoNewPrivs": "1", "Umask": "0027",
	} {
		if st[k] != want {
			t.Errorf("%s %q, want %q", k, st[k], want)
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.Pid))
	if err != nil || !regexp.MustCompile(`Max core file size +8589934592 +17179869184 `).Match(limits) {
		t.Errorf("core limit in %s %v", limits, err)
	}
	if sid, err := unix.Getsid(s.Pid); err != nil || sid != s.Pid {
		t.Errorf("session %d %v", sid, err)
	}
	var fi unix.Stat_t // non-dumpable: root's
	if err := unix.Stat(fmt.Sprintf("/proc/%d/fd", s.Pid), &fi); err != nil || fi.Uid != 0 {
		t.Errorf("/proc/PID/fd belongs to %d (%v): dumpable", fi.Uid, err)
	}
}

func TestHostNames(t *testing.T) {
	p := &program{ops: append([]op{cloexec, {name: "HOSTNAME", str: [3]any{"box"}}, {name: "DOMAINNAME", str: [3]any{"example.org"}}, {name: "LO_UP"}},
		shell("cat /proc/sys/kernel/hostname /proc/sys/kernel/domainname; : < /dev/tcp/x 2>/dev/null; cat /proc/net/if_inet6 /proc/net/fib_trie | grep -c -E '127.0.0.1|^0+1 '")...)}
	s := start(t, p, inNamespaces(unix.CLONE_NEWUTS|unix.CLONE_NEWNET))
	out := s.output()
	if !strings.HasPrefix(out, "box\nexample.org\n") || strings.HasSuffix(out, "\n0\n") {
		t.Errorf("output %q", out)
	}
}

func TestKeyring(t *testing.T) {
	p := &program{ops: append([]op{cloexec, {name: "KEYRING", str: [3]any{"_ses.berth-test"}, num: [4]uint64{0x3f3f0000}}},
		shell("grep -c 3f3f0000.*_ses.berth-test /proc/keys")...)}
	if out := start(t, p).output(); out != "1\n" {
		t.Errorf("output %q", out)
	}
}

func TestDescriptors(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/kept"
	if err := os.WriteFile(file, []byte("kept\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	with := func(l *Launch) {
		l.Files = append(l.Files, int(f.Fd()), -1, int(f.Fd()))
		l.Slots = []int{int(f.Fd())}
	}
	p := &program{files: 6, passed: 1, ops: append([]op{cloexec,
		{name: "KEEP_FDS", num: [4]uint64{3, 1}}, {name: "KEEP_FDS", num: [4]uint64{5, 1}},
		{name: "DUP2", slot: [2]int{0, -1}, num: [4]uint64{9}}, {name: "CLOSE", slot: [2]int{0}}},
		shell("cat <&9; ls /proc/self/fd | tr '\\n' ' '")...)}
	if out := start(t, p, with).output(); out != "kept\n0 1 2 3 4 5 9 " {
		t.Errorf("output %q", out)
	}
	// a hole in which stage1 opened its own
	p = &program{files: 6, passed: 1, ops: []op{cloexec,
		{name: "OPEN_PATH", slot: [2]int{-1, 1}, str: [3]any{"/"}},
		{name: "KEEP_FDS", num: [4]uint64{3, 3}}}}
	start(t, p, with).fails(2, "KEEP_FDS", unix.EBADF)
}

func TestCloseEach(t *testing.T) {
	p := &program{ops: append([]op{
		{name: "CLOSE_EACH", num: [4]uint64{10, 1<<32 - 1, 4}},
		{name: "CLOSE_RANGE", num: [4]uint64{3, 9, 4}}, {name: "CLOSE_EACH", num: [4]uint64{2, 2}}},
		shell("ls /proc/self/fd | tr '\\n' ' '")...)}
	if out := start(t, p).output(); out != "0 1 2 " { // ls opens its 2
		t.Errorf("output %q", out)
	}
}

func TestChownStdio(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := start(t, &program{ops: []op{cloexec, {name: "CHOWN_STDIO", num: [4]uint64{1234}}}},
		func(l *Launch) { l.Files[1] = int(f.Fd()) })
	s.succeeds()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Uid != 1234 || st.Gid != 0 {
		t.Errorf("owner %d:%d %v", st.Uid, st.Gid, err)
	}
	if err := unix.Stat("/dev/null", &st); err != nil || st.Uid != 0 {
		t.Errorf("/dev/null belongs to %d (%v)", st.Uid, err)
	}
}

func TestVerifyCwd(t *testing.T) {
	// a directory that no path leads to: a mount that is detached while we are in it
	p := &program{ops: []op{cloexec, private, fsmount(3, "tmpfs", 0),
		{name: "CHROOT", slot: [2]int{3}}, {name: "VERIFY_CWD"}}}
	start(t, p, inNamespaces(unix.CLONE_NEWNS)).succeeds()
	dir, err := os.MkdirTemp("", "cwd")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p = &program{ops: []op{cloexec, private,
		openRoot("/"), fsmount(3, "tmpfs", 0),
		{name: "OPEN_PATH", slot: [2]int{-1, 4}, str: [3]any{dir}},
		{name: "MOVE_MOUNT", slot: [2]int{3, 4}},
		{name: "CHDIR", str: [3]any{dir}},
		{name: "UMOUNT", str: [3]any{dir}, num: [4]uint64{unix.MNT_DETACH}},
		{name: "VERIFY_CWD"}}}
	start(t, p, inNamespaces(unix.CLONE_NEWNS)).fails(8, "VERIFY_CWD", unix.ENOENT)
}

func TestSeccomp(t *testing.T) {
	// mkdirat, mkdir: EXDEV; all else allowed (the test's own architecture alone)
	filter := seccompFilter(uint32(unix.SYS_MKDIRAT), uint32(unix.EXDEV))
	for name, granted := range map[string]bool{"in the plan": false, "granted": true} {
		o := op{name: "SECCOMP", slot: [2]int{-1}, num: [4]uint64{0, 8}}
		ops := []op{cloexec, {name: "NO_NEW_PRIVS"}, wait(8), o,
			{name: "TARGET", slot: [2]int{0, 1}, str: [3]any{"/new"}, num: [4]uint64{tgtDir, 0o755}}}
		if !granted {
			ops[3].str[0] = blob(filter)
		}
		ops = append([]op{openRoot(t.TempDir())}, ops...)
		s := start(t, &program{ops: ops})
		data := append(make([]byte, 8), filter...) // its flags first
		if !granted {
			data = nil
		}
		if err := s.Grant(8, data); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.fails(5, "TARGET", unix.EXDEV)
	}
	s := start(t, &program{ops: []op{cloexec, {name: "SECCOMP", slot: [2]int{-1}, str: [3]any{blob("123")}}}})
	s.fails(1, "SECCOMP", unix.EINVAL)
	// granted and empty: no filter; not granted: never "no filter"
	s = start(t, &program{ops: []op{cloexec, wait(8), {name: "SECCOMP", slot: [2]int{-1}, num: [4]uint64{0, 8}}}})
	if err := s.Grant(8, nil); err != nil {
		t.Fatal(err)
	}
	s.succeeds()
	s = start(t, &program{ops: []op{cloexec, {name: "SECCOMP", slot: [2]int{-1}, num: [4]uint64{0, 8}}}})
	s.fails(1, "SECCOMP", unix.EINVAL)
}

// The listener is handed over, and is one.
func TestSeccompListener(t *testing.T) {
	s := start(t, &program{ops: []op{cloexec, {name: "NO_NEW_PRIVS"},
		{name: "SECCOMP", slot: [2]int{2}, str: [3]any{blob(seccompFilter(uint32(unix.SYS_MKDIRAT), 1))}, num: [4]uint64{8 /* NEW_LISTENER */}},
		{name: "SYNC_SEND", slot: [2]int{2}, num: [4]uint64{7}}, wait(7)}})
	m := s.reached(7)
	if len(m.Fds) != 1 {
		t.Fatalf("message with %d descriptors", len(m.Fds))
	}
	defer unix.Close(m.Fds[0])
	if to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", m.Fds[0])); to != "anon_inode:seccomp notify" {
		t.Errorf("the descriptor is %q", to)
	}
	if m.Pid != s.Pid {
		t.Errorf("sender %d, stage1 is %d", m.Pid, s.Pid)
	}
	if err := s.Grant(7, nil); err != nil {
		t.Fatal(err)
	}
	s.succeeds()
}

// seccompFilter refuses one system call with an errno.
func seccompFilter(nr, errno uint32) []byte {
	ins := func(code uint16, jt, jf uint8, k uint32) []byte {
		b := binary.LittleEndian.AppendUint16(nil, code)
		return binary.LittleEndian.AppendUint32(append(b, jt, jf), k)
	}
	var b []byte
	for _, i := range [][]byte{
		ins(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, 0),
		ins(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 1, nr),
		ins(unix.BPF_RET, 0, 0, 0x00050000|errno),
		ins(unix.BPF_RET, 0, 0, 0x7fff0000),
	} {
		b = append(b, i...)
	}
	return b
}

func TestProcWrite(t *testing.T) {
	write := func(path, data string, self uint64) op {
		return op{name: "PROC_WRITE", slot: [2]int{9, -1}, str: [3]any{path, blob(data)}, num: [4]uint64{self}}
	}
	for _, open := range []op{openProc, {name: "CLONE_PROC", slot: [2]int{9}, str: [3]any{"/proc"}}} {
		s := paused(t, []op{cloexec, private, open, write("oom_score_adj", "321", 1), write("sys/kernel/domainname", "x.y", 0)},
			inNamespaces(unix.CLONE_NEWNS|unix.CLONE_NEWUTS))
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", s.Pid)); err != nil || string(b) != "321\n" {
			t.Errorf("%s: oom_score_adj %q %v", open.name, b, err)
		}
	}
	for path, errno := range map[string]unix.Errno{
		"self/oom_score_adj": unix.ELOOP, "../etc/x": unix.EXDEV, "sys/nothing": unix.ENOENT, "/etc/x": unix.EXDEV,
	} {
		start(t, &program{ops: []op{cloexec, private, openProc, write(path, "1", 0)}}, inNamespaces(unix.CLONE_NEWNS)).fails(3, "PROC_WRITE", errno)
	}
	for _, path := range []string{"/proc/sys", "/sys", "/usr"} { // CVE-2019-16884
		start(t, &program{ops: []op{cloexec, private, {name: "CLONE_PROC", slot: [2]int{9}, str: [3]any{path}}}},
			inNamespaces(unix.CLONE_NEWNS)).fails(2, "CLONE_PROC", unix.EXDEV)
	}
}

func TestTerminal(t *testing.T) {
	dir := imageDir(t)
	ops := rooted(dir, fsmount(3, "devpts", 0, "newinstance", nil, "ptmxmode", "0666", "mode", "0620"))
	ops = append(ops, attach(3, "/dev/pts", tgtDir)...)
	ops = append(ops, op{name: "SETSID"},
		op{name: "OPEN_PTMX", slot: [2]int{0, 4}, str: [3]any{"/dev/pts/ptmx"}, num: [4]uint64{50<<16 | 132}},
		op{name: "PTY_PEER", slot: [2]int{4, 5}},
		op{name: "DUP2", slot: [2]int{5, -1}, num: [4]uint64{0}},
		op{name: "SET_CTTY"},
		op{name: "SYNC_SEND", slot: [2]int{4, -1}, num: [4]uint64{6}})
	ops = append(ops, shell("stty size; tty -s && echo on a terminal; : > /dev/tty && echo controlling")...)
	s := start(t, &program{ops: ops}, inNamespaces(unix.CLONE_NEWNS))
	m := s.reached(6)
	if len(m.Fds) != 1 {
		t.Fatalf("message with %d descriptors", len(m.Fds))
	}
	defer unix.Close(m.Fds[0])
	if out := s.output(); out != "50 132\non a terminal\ncontrolling\n" {
		t.Errorf("output %q", out)
	}
	// CVE-2025-52565, crun CVE-2026-88264: a ptmx that is not the devpts's
	for _, path := range []string{"/dev/ptmx", "/etc/file"} {
		bad := []op{cloexec, openRoot(dir), {name: "OPEN_PTMX", slot: [2]int{0, 4}, str: [3]any{path}}}
		start(t, &program{ops: bad}).fails(2, "OPEN_PTMX", unix.EXDEV)
	}
}

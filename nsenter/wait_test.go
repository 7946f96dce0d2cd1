package nsenter

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func ignoreSignals() { signal.Ignore(unix.SIGCHLD, unix.SIGPIPE, unix.SIGUSR1) }

// waiting is a plan that waits on the fifo, then goes on with the operations.
func waiting(fifo string, after ...op) []op {
	return append([]op{cloexec, nodump, openProc,
		{name: "OPEN_PATH", slot: [2]int{-1, 8}, str: [3]any{fifo}},
		{name: "SET_IDS", str: [3]any{blob{}}, num: [4]uint64{1000, 1000}},
		{name: "LOOKUP_EXEC", str: [3]any{vector{"/bin/sh"}}},
		{name: "WAIT_START", slot: [2]int{8, 9}}}, after...)
}

func newFifo(t *testing.T) string {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "exec.fifo")
	if err := unix.Mkfifo(fifo, 0o622); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(fifo, 0o622); err != nil {
		t.Fatal(err)
	}
	return fifo
}

// startIt is what `start` does: the release byte, then what follows up to the end.
func startIt(t *testing.T, fifo string) string {
	t.Helper()
	f, err := os.OpenFile(fifo, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil || len(b) == 0 || b[0] != '0' {
		t.Fatalf("fifo: %q, %v", b, err)
	}
	return string(b[1:])
}

func parked(t *testing.T, ops []op, opts ...launchOption) *stage1 {
	t.Helper()
	s := start(t, &program{ops: ops}, opts...)
	if m := s.next(); m == nil || m.Kind != KindWaiting {
		t.Fatalf("message %s, want WAITING", describe(m))
	}
	if m := s.next(); m != nil {
		t.Fatalf("message %s after WAITING", describe(m))
	}
	return s
}

func TestWaitStart(t *testing.T) {
	fifo := newFifo(t)
	ops := append(waiting(fifo), shell("ls /proc/self/fd | wc -l; id -u; id -G")[1])
	s := parked(t, ops)
	unix.Close(s.sock) // create has returned
	s.sock = -1
	time.Sleep(20 * time.Millisecond)
	if rest := startIt(t, fifo); rest != "" {
		t.Errorf("record %q", rest)
	}
	if out := s.output(); out != "4\n1000\n1000\n" {
		t.Errorf("output %q", out)
	}
	exitStatus(t, s.wait().ExitStatus(), 0)
}

func TestExecFailureRecord(t *testing.T) {
	fifo := newFifo(t)
	script := filepath.Join(t.TempDir(), "script")
	os.Chmod(filepath.Dir(script), 0o755)
	os.Chmod(filepath.Dir(filepath.Dir(script)), 0o755)
	if err := os.WriteFile(script, []byte("#!/nowhere/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ops := append(waiting(fifo), op{name: "EXEC", str: [3]any{vector{"x"}, vector{}}})
	ops[5].str[0] = vector{script}
	s := parked(t, ops)
	m, err := ParseRecord([]byte(startIt(t, fifo)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Kind != KindFail || m.Op != 7 || m.Code != uint32(signatures["EXEC"].code) || m.Errno != unix.ENOENT {
		t.Errorf("record %s", describe(m))
	}
	exitStatus(t, s.wait().ExitStatus(), 1)
}

// A startContainer hook fails: its output comes through the fifo.
func TestStartHookRecord(t *testing.T) {
	fifo := newFifo(t)
	ops := append([]op{wait(5)}, waiting(fifo, hook(0, "cat; exit 2", "PATH=/usr/bin:/bin"))...)
	s := start(t, &program{ops: ops})
	if err := s.Grant(5, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if m := s.next(); m == nil || m.Kind != KindWaiting {
		t.Fatalf("message %s", describe(m))
	}
	m, err := ParseRecord([]byte(startIt(t, fifo)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Op != 8 || m.Errno != 0 || m.Arg != 2<<8 || m.Log != "state" {
		t.Errorf("record %s", describe(m))
	}
}

// A start that is killed between its open and the release never came.
func TestStartGivesUp(t *testing.T) {
	fifo := newFifo(t)
	s := parked(t, append(waiting(fifo), shell("exit 5")[1]))
	for range 200 {
		fd, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		var si unix.Siginfo
		unix.Waitid(unix.P_PID, s.Pid, &si, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if si.Signo != 0 { // it was quick enough to write: that counts as started
			break
		}
	}
	var si unix.Siginfo
	unix.Waitid(unix.P_PID, s.Pid, &si, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if si.Signo == 0 && comm(t, s.Pid) == Name {
		startIt(t, fifo)
	}
	exitStatus(t, s.wait().ExitStatus(), 5)
}

// stage0 dies before WAITING could be sent: stage1 must not wait for a start that can't come.
func TestPeerLossBeforeWaiting(t *testing.T) {
	fifo := newFifo(t)
	ops := append([]op{send(4)}, waiting(fifo)...)
	ops = append(ops, shell("true")[1])
	// many times: stage0 goes at any instant up to WAITING
	for i := range 100 {
		s := start(t, &program{ops: ops})
		s.reached(4)
		time.Sleep(time.Duration(i%50) * 5 * time.Microsecond)
		unix.Shutdown(s.sock, unix.SHUT_RDWR) // no bytes of WAITING get lost in between: it is refused
		m, _ := s.Next()
		if m != nil && m.Kind == KindWaiting {
			s.end()
			continue
		}
		exitStatus(t, s.wait().ExitStatus(), 1)
	}
}

func comm(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestSize(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		fi, err := os.Stat("run-make-first/stage1-" + arch)
		if os.IsNotExist(err) && len(image) > 0 {
			continue // built by make ARCH=... ; this machine's is embedded
		}
		if err != nil {
			t.Fatal(err)
		}
		if fi.Size() >= 24<<10 {
			t.Errorf("stage1-%s has %d bytes", arch, fi.Size())
		}
		t.Logf("stage1-%s: %d bytes", arch, fi.Size())
	}
}

// The created container: small, named, without a host's file, unwritable.
func TestParked(t *testing.T) {
	fifo := newFifo(t)
	// what the caller left open is closed at once, for `created` may last
	strays := op{name: "CLOSE_RANGE", num: [4]uint64{4, 1<<32 - 1}}
	s := parked(t, append(append([]op{strays}, waiting(fifo)...), shell("true")[1]))
	time.Sleep(20 * time.Millisecond)
	smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", s.Pid))
	if err != nil {
		t.Fatal(err)
	}
	rss, _ := strconv.Atoi(regexp.MustCompile(`Rss:\s+(\d+) kB`).FindStringSubmatch(string(smaps))[1])
	t.Logf("RSS %d kB", rss)
	if rss >= 100 {
		t.Errorf("RSS %d kB:\n%s", rss, smaps)
	}
	if c := comm(t, s.Pid); c != Name {
		t.Errorf("comm %q", c)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", s.Pid, fd.Name()))
		switch {
		case fd.Name() <= "2", to == fifo, to == "/": // the private procfs
		default:
			t.Errorf("descriptor %s is open on %s", fd.Name(), to)
		}
	}
	exe := fmt.Sprintf("/proc/%d/exe", s.Pid)
	for _, flags := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC} {
		if f, err := os.OpenFile(exe, flags, 0); err == nil {
			if _, err := f.WriteAt([]byte("x"), 0); err == nil || f.Truncate(0) == nil {
				t.Errorf("stage1's image was changed through %s", exe)
			}
			f.Close()
		}
	}
}

// Nothing that the caller had shows in the app.
func TestCallerDoesNotLeak(t *testing.T) {
	inChild(t, "callerState", 0)
}

func init() {
	children["callerState"] = func() error {
		ignoreSignals()
		unix.Umask(0o77)
		var old unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old); err != nil {
			return err
		}
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		stray, err := unix.Open("/etc", unix.O_RDONLY, 0) // not close-on-exec
		if err != nil {
			return err
		}
		defer unix.Close(stray)
		p := &program{ops: append([]op{cloexec, {name: "RESET_SIGNALS"}, {name: "UMASK", num: [4]uint64{0o22}}},
			shell("grep -E 'Sig(Blk|Ign)' /proc/self/status; umask; ls /proc/self/fd | wc -l; env -i; echo $0")...)}
		p.ops[len(p.ops)-1].str[1] = vector{}
		s, err := Start(&Launch{Plan: p.encode(panicTB{}), Files: []int{0, int(w.Fd()), 2}, CgroupFD: -1})
		if err != nil {
			return err
		}
		defer s.Close()
		w.Close()
		out, _ := io.ReadAll(r)
		want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0022\n4\nsh\n"
		if string(out) != want {
			return fmt.Errorf("output %q, want %q", out, want)
		}
		return nil
	}
}

package nsenter

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children are bodies of re-executed tests: BERTH_TEST_CHILD names one.
var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv("BERTH_TEST_CHILD"); name != "" {
		if err := children[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "the tests of nsenter make namespaces and mounts: run them as root")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// stage1 is a running one under test.
type stage1 struct {
	*Process
	t      testing.TB
	out    *os.File // what descriptors 1 and 2 get
	ended  bool
	status unix.WaitStatus
}

type launchOption func(*Launch)

func inNamespaces(flags uintptr) launchOption { return func(l *Launch) { l.Cloneflags = flags } }

// start runs the program; the test must not outlive it.
func start(t testing.TB, p *program, opts ...launchOption) *stage1 {
	t.Helper()
	return startPlan(t, p.encode(t), opts...)
}

func startPlan(t testing.TB, plan []byte, opts ...launchOption) *stage1 {
	t.Helper()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	l := &Launch{Plan: plan, Files: []int{int(null.Fd()), int(w.Fd()), int(w.Fd())}, CgroupFD: -1}
	for _, o := range opts {
		o(l)
	}
	proc, err := Start(l)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage1{Process: proc, t: t, out: r}
	t.Cleanup(s.end)
	return s
}

func (s *stage1) end() {
	if !s.ended {
		unix.PidfdSendSignal(s.Pidfd, unix.SIGKILL, nil, 0)
		s.wait()
	}
	s.Close()
	s.out.Close()
}

// wait reaps it; a stage1 that hangs fails the test.
func (s *stage1) wait() unix.WaitStatus {
	s.t.Helper()
	if s.ended {
		return s.status
	}
	if !readable(s.Pidfd) {
		s.t.Error("stage1 does not end")
		unix.PidfdSendSignal(s.Pidfd, unix.SIGKILL, nil, 0)
	}
	if _, err := unix.Wait4(s.Pid, &s.status, 0, nil); err != nil {
		s.t.Errorf("wait: %v", err)
	}
	s.ended = true
	return s.status
}

// readable waits for as long as a test may take.
func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 20000)
		if err != unix.EINTR {
			return n == 1
		}
	}
}

// next expects a message within the time of a test.
func (s *stage1) next() *Message {
	s.t.Helper()
	if !readable(s.sock) {
		s.t.Fatal("no message from stage1")
	}
	m, err := s.Next()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// reached expects the SYNC id.
func (s *stage1) reached(id uint32) *Message {
	s.t.Helper()
	m := s.next()
	if m == nil || m.Kind != KindSync || m.Arg != id {
		s.t.Fatalf("message %s, want SYNC %d", describe(m), id)
	}
	return m
}

// fails expects the failure of an operation, and the end.
func (s *stage1) fails(index int, name string, errno syscall.Errno) *Message {
	s.t.Helper()
	m := s.next()
	if m == nil || m.Kind != KindFail || m.Op != uint32(index) || m.Code != uint32(signatures[name].code) || m.Errno != errno {
		s.t.Fatalf("message %s, want failure of operation %d %s: %v", describe(m), index, name, errno)
	}
	if st := s.wait(); st.ExitStatus() != 1 {
		s.t.Errorf("exit status %#x after a failure, want 1", st)
	}
	return m
}

// succeeds expects the end of the plan, and nothing said.
func (s *stage1) succeeds() {
	s.t.Helper()
	if m := s.next(); m != nil {
		s.t.Fatalf("message %s, want the end", describe(m))
	}
	if st := s.wait(); st != 0 {
		s.t.Fatalf("wait status %#x, want 0", st)
	}
}

func (s *stage1) output() string {
	s.t.Helper()
	s.out.SetReadDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(s.out)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func describe(m *Message) string {
	if m == nil {
		return "EOF"
	}
	name := fmt.Sprint(m.Code)
	for n, s := range signatures {
		if uint32(s.code) == m.Code {
			name = n
		}
	}
	return fmt.Sprintf("{kind %d op %d %s: %v arg %d log %q}", m.Kind, m.Op, name, m.Errno, m.Arg, m.Log)
}

// Operations that many programs begin or end with.
var (
	private  = op{name: "SETATTR", slot: [2]int{-1, -1}, str: [3]any{"/"}, num: [4]uint64{2: 1 << 18, 3: 1}}
	cloexec  = op{name: "CLOSE_RANGE", num: [4]uint64{3, 1<<32 - 1, 4}}
	nodump   = op{name: "PRCTL", num: [4]uint64{4}}
	openProc = op{name: "OPEN_PROC", slot: [2]int{9}}
)

func send(id uint64) op { return op{name: "SYNC_SEND", slot: [2]int{-1}, num: [4]uint64{id}} }
func wait(id uint64) op { return op{name: "SYNC_WAIT", num: [4]uint64{id}} }

// openRoot puts a directory of the host into slot 0.
func openRoot(dir string) op {
	return op{name: "OPEN_PATH", slot: [2]int{-1, 0}, str: [3]any{dir}, num: [4]uint64{unix.O_DIRECTORY}}
}

// run is LOOKUP_EXEC and EXEC of a shell command in the plan.
func shell(script string) []op {
	return []op{
		{name: "LOOKUP_EXEC", str: [3]any{vector{"/bin/sh"}}},
		{name: "EXEC", str: [3]any{vector{"sh", "-c", script}, vector{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}},
	}
}

func exitStatus(t testing.TB, got, want int) {
	t.Helper()
	if got != want {
		t.Fatalf("exit status %d, want %d", got, want)
	}
}

func contains(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%q does not contain %q", text, part)
	}
}

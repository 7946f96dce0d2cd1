package nsenter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inChild runs a body of children in this test binary, executed again in namespaces of its own.
func inChild(t *testing.T, name string, flags uintptr) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "BERTH_TEST_CHILD="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out.Bytes())
	}
}

// panicTB lets a child use what wants a testing.TB.
type panicTB struct{ testing.TB }

func (panicTB) Helper()                      {}
func (panicTB) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// launchPlainly starts a program outside of a test.
func launchPlainly(p *program, flags uintptr) (*Process, error) {
	return Start(&Launch{Plan: p.encode(panicTB{}), Files: []int{0, 1, 2}, Cloneflags: flags, CgroupFD: -1})
}

// runPlainly expects the program to end with 0 and without a word.
func runPlainly(p *program, flags uintptr) error {
	s, err := launchPlainly(p, flags)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := s.Next()
	if err != io.EOF {
		return fmt.Errorf("message %s, %v", describe(m), err)
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(s.Pid, &ws, 0, nil); err != nil || ws != 0 {
		return fmt.Errorf("wait: %v, status %#x", err, ws)
	}
	return nil
}

package nsenter

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The executable of a running stage1 can't be written, resized or unsealed, by root neither.
func TestSealed(t *testing.T) {
	fd, err := executable(false, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || got&seals != seals {
		t.Errorf("seals %#x %v, want %#x", got, err, seals)
	}
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err != unix.EPERM {
		t.Errorf("write: %v", err)
	}
	if err := unix.Ftruncate(fd, 1); err != unix.EPERM {
		t.Errorf("truncate: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, 0); err != unix.EPERM {
		t.Errorf("add seals: %v", err)
	}
	s := paused(t, []op{cloexec})
	exe := fmt.Sprintf("/proc/%d/exe", s.Pid)
	if to, err := os.Readlink(exe); err != nil || to != "/memfd:"+Name+" (deleted)" {
		t.Errorf("%s → %q %v", exe, to, err)
	}
	f, err := os.OpenFile(exe, os.O_RDWR, 0)
	if err == nil { // since 6.11 the open may work; the seals hold
		_, err = f.WriteAt([]byte("x"), 0)
		f.Close()
	}
	if err == nil {
		t.Errorf("%s was written", exe)
	}
}

// Descriptors in any order arrive where they should, whatever the number of the image's own.
func TestDescriptorShuffle(t *testing.T) {
	var fds []int
	for i := range 40 {
		fd, err := unix.MemfdCreate("f", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		fmt.Fprintf(os.NewFile(uintptr(dup(t, fd)), ""), "%c", 'A'+i)
		if _, err := unix.Seek(fd, 0, 0); err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	for _, n := range []int{0, 1, 6, 20, 40} {
		p := &program{files: 3 + n, ops: []op{cloexec, {name: "KEEP_FDS", num: [4]uint64{3, uint64(n)}}}}
		var want, script strings.Builder
		script.WriteString("true")
		for i := range min(n, 7) { // dash knows one digit
			fmt.Fprintf(&want, "%c", 'A'+n-1-i)
			fmt.Fprintf(&script, "; head -c1 /proc/self/fd/%d", 3+i)
		}
		p.ops = append(p.ops, shell(script.String())...)
		out := start(t, p, func(l *Launch) {
			for i := range n {
				l.Files = append(l.Files, fds[n-1-i])
			}
		}).output()
		if out != want.String() {
			t.Errorf("%d descriptors: %q, want %q", n, out, want.String())
		}
	}
}

func dup(t *testing.T, fd int) int {
	t.Helper()
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLaunchChecks(t *testing.T) {
	plan := (&program{ops: []op{cloexec}}).encode(t)
	for _, l := range []*Launch{
		{Plan: nil, Files: []int{0, 1, 2}}, {Plan: plan, Files: []int{0, 1}},
		{Plan: plan, Files: []int{-1, 1, 2}}, {Plan: plan, Files: []int{0, 1, 2, 2}},
		{Plan: plan, Files: []int{0, 1, 2}, Slots: []int{0}},
	} {
		l.CgroupFD = -1
		var e *Error
		if p, err := Start(l); !errors.As(err, &e) {
			t.Errorf("%v %v: %v, %v", l.Files, l.Slots, p, err)
		}
	}
	_, err := Start(&Launch{Plan: plan, Files: []int{0, 1, 2}, Cloneflags: unix.CLONE_VM, CgroupFD: 1})
	var refused *CgroupRefusedError
	if !errors.As(err, &refused) { // descriptor 1 is no cgroup
		t.Errorf("clone into what is no cgroup: %v", err)
	}
}

func TestMemfdNoexec(t *testing.T) {
	inChild(t, "noexec", unix.CLONE_NEWPID|unix.CLONE_NEWNS)
}

func TestNoProc(t *testing.T) {
	inChild(t, "noProc", unix.CLONE_NEWNS)
}

func TestIntoCgroup(t *testing.T) {
	inChild(t, "intoCgroup", unix.CLONE_NEWNS)
}

func init() {
	children["noexec"] = testNoexec
	children["noProc"] = func() error {
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
		if err := unix.Unmount("/proc", unix.MNT_DETACH); err != nil {
			return err
		}
		_, err := launchPlainly(&program{ops: []op{cloexec}}, 0)
		if !errors.Is(err, ErrNoProc) {
			return fmt.Errorf("without /proc: %v", err)
		}
		return nil
	}
	children["intoCgroup"] = testIntoCgroup
}

// testNoexec is pid 1 of a pid namespace of its own, whose vm.memfd_noexec it raises step by step.
func testNoexec() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	for _, level := range []string{"0", "1", "2"} {
		if err := os.WriteFile("/proc/sys/vm/memfd_noexec", []byte(level), 0); err != nil {
			return err
		}
		for _, userns := range []bool{false, true} {
			if err := launchAtLevel(level, userns); err != nil {
				return fmt.Errorf("vm.memfd_noexec=%s, user namespace %v: %w", level, userns, err)
			}
		}
	}
	return nothingBehind()
}

func launchAtLevel(level string, userns bool) error {
	l := &Launch{Files: []int{0, 1, 2}, CgroupFD: -1}
	l.Plan = (&program{ops: []op{cloexec, send(15), wait(15)}}).encode(panicTB{})
	if userns {
		l.Cloneflags = unix.CLONE_NEWUSER
		l.UidMappings = []syscall.SysProcIDMap{{HostID: 100000, Size: 1000}}
		l.GidMappings = l.UidMappings
	}
	p, err := Start(l)
	if err != nil {
		return err
	}
	defer p.Close()
	if m, err := p.Next(); err != nil || m.Kind != KindSync {
		return fmt.Errorf("message %s, %v", describe(m), err)
	}
	exe := fmt.Sprintf("/proc/%d/exe", p.Pid)
	to, err := os.Readlink(exe)
	if err != nil || strings.HasPrefix(to, "/memfd:") != (level != "2") || !strings.HasSuffix(to, " (deleted)") {
		return fmt.Errorf("stage1 is %q, %v", to, err)
	}
	if f, err := os.OpenFile(exe, os.O_RDWR, 0); err == nil {
		_, err = f.WriteAt([]byte("x"), 0)
		f.Close()
		if err == nil {
			return fmt.Errorf("%s was written", exe)
		}
	}
	if err := p.Grant(15, nil); err != nil {
		return err
	}
	var ws unix.WaitStatus
	if _, err := unix.Wait4(p.Pid, &ws, 0, nil); err != nil || ws != 0 {
		return fmt.Errorf("wait: %v, status %#x", err, ws)
	}
	return nil
}

// nothingBehind: the file of level 2 has no name.
func nothingBehind() error {
	for _, dir := range []string{"/run", "/var/lib", "/var/cache", "/usr/local", "/root", "/"} {
		if found, _ := filepath.Glob(dir + "/*" + Name + "*"); len(found) > 0 {
			return fmt.Errorf("left behind: %v", found)
		}
	}
	return nil
}

// testIntoCgroup uses a cgroup2 that it mounts itself: this machine's own may be v1.
func testIntoCgroup() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("cgroup2", "/mnt", "cgroup2", 0, ""); err != nil {
		return fmt.Errorf("mount cgroup2: %w", err)
	}
	dir, err := os.MkdirTemp("/mnt", "berth-nsenter-test-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	plan := (&program{ops: []op{cloexec, send(15), wait(15)}}).encode(panicTB{})
	p, err := Start(&Launch{Plan: plan, Files: []int{0, 1, 2}, CgroupFD: fd})
	if err != nil {
		return err
	}
	if m, err := p.Next(); err != nil || m.Kind != KindSync {
		return fmt.Errorf("message %s, %v", describe(m), err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.Pid))
	if err != nil || !strings.Contains(string(text), "0::/"+filepath.Base(dir)+"\n") {
		return fmt.Errorf("cgroups of stage1: %q %v", text, err)
	}
	p.Close()
	_, err = unix.Wait4(p.Pid, nil, 0, nil)
	return err
}

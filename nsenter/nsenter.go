// Package nsenter owns stage1: the C program in stage1/ that executes a plan (ops.h is the format),
// its image, its launch, and the talk with it over the SYNC socket. It never reads a spec, never
// decides what a plan holds, and never prints.
package nsenter

import (
	"encoding/binary"
	"errors"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Launch describes the process that stage1 starts in.
type Launch struct {
	// Plan is an encoded plan whose header says sync_fd = len(Files), fd_base = len(Files)+1 and
	// nfds = len(Slots).
	Plan []byte
	// Files: descriptor i of the child is Files[i]. 0, 1 and 2 must be open; a later -1 is closed.
	// Where one is closed, stage1 may open its own: a KEEP_FDS over it is refused.
	Files []int
	// Slots follow: descriptor fd_base+i of the child.
	Slots []int
	// Cloneflags are CLONE_NEW* for the clone.
	Cloneflags uintptr
	// UidMappings and GidMappings, with CLONE_NEWUSER, are written before stage1 is executed, which
	// then is 0:0 in them without supplementary groups.
	UidMappings, GidMappings []syscall.SysProcIDMap
	// Early, if not nil, is the thread that clones; its namespaces need not be in Cloneflags. It
	// ends with the launch.
	Early *Early
	// CgroupFD is the cgroup v2 directory that the child is born in; -1: the caller's.
	CgroupFD int
}

// Error is a launch that failed before stage1 ran: "clone stage1: operation not permitted". It
// unwraps to the errno.
type Error struct {
	Op  string
	Err error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// CgroupRefusedError says that the kernel, or what filters system calls here, did not clone the child
// into Launch.CgroupFD. A plain clone and a move may work.
type CgroupRefusedError struct{ Err syscall.Errno }

func (e *CgroupRefusedError) Error() string { return "clone stage1 into its cgroup: " + e.Err.Error() }
func (e *CgroupRefusedError) Unwrap() error { return e.Err }

// Process is a running stage1.
type Process struct {
	Pid   int // of the process that was cloned; it may be an intermediate one
	Pidfd int // its pidfd; set it to -1 to keep the descriptor past Close
	sock  int // stage0's end of SYNC
}

// Start executes stage1 with the plan. All descriptors in l stay the caller's. The child is the
// caller's to wait for.
func Start(l *Launch) (*Process, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	socks, err := newSync()
	if err != nil {
		return nil, err
	}
	defer unix.Close(socks[1])
	p := &Process{Pidfd: -1, sock: socks[0]}
	rest, err := p.sendEarly(l.Plan)
	if err == nil {
		err = p.exec(l, socks[1])
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.sendRest(rest)
	return p, nil
}

// check holds the launch against the plan's header: what does not fit is our mistake.
func (l *Launch) check() error {
	le := binary.LittleEndian
	n := uint32(len(l.Files))
	switch {
	case len(l.Plan) < headerSize:
		return &Error{"launch stage1", errors.New("no plan")}
	case n < 3 || l.Files[0] < 0 || l.Files[1] < 0 || l.Files[2] < 0:
		return &Error{"launch stage1", errors.New("descriptors 0, 1 and 2 are not all given")}
	case le.Uint32(l.Plan[headerSync:]) != n || le.Uint32(l.Plan[headerBase:]) != n+1 ||
		le.Uint32(l.Plan[headerNfds:]) != uint32(len(l.Slots)):
		return &Error{"launch stage1", errors.New("descriptors of the plan and of the launch differ")}
	}
	return nil
}

// newSync makes the SYNC socket: stage0's end, stage1's end. Messages come with their sender's pid.
func newSync() ([2]int, error) {
	s, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return s, &Error{"socketpair", err}
	}
	if err = unix.SetsockoptInt(s[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		unix.Close(s[0])
		unix.Close(s[1])
		return s, &Error{"set SO_PASSCRED", err}
	}
	return s, nil
}

// exec clones and executes. syscall.ForkExec restores the signal mask, the dispositions and
// RLIMIT_NOFILE, which the Go runtime changed.
func (p *Process) exec(l *Launch, sync int) error {
	files, top := l.childFiles(sync)
	fd, err := executable(l.Cloneflags&syscall.CLONE_NEWUSER != 0, top)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := &syscall.ProcAttr{Env: []string{}, Files: files, Sys: l.sysProcAttr(&p.Pidfd)}
	argv := []string{Name, strconv.Itoa(len(l.Files))}
	var pid int
	clone := func() { pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(fd), argv, attr) }
	if l.Early == nil {
		clone()
	} else if err := l.Early.run(clone); err != nil {
		return err
	}
	if err != nil {
		return l.launchError(err)
	}
	p.Pid = pid
	return nil
}

// childFiles returns the child's descriptors, and a number above all that ForkExec uses while it
// puts them in place: what is to be executed must not be overwritten then.
func (l *Launch) childFiles(sync int) (files []uintptr, top int) {
	files = make([]uintptr, 0, len(l.Files)+1+len(l.Slots))
	add := func(fd int) {
		files = append(files, uintptr(fd))
		top = max(top, fd)
	}
	for _, fd := range l.Files {
		add(fd)
	}
	add(sync)
	for _, fd := range l.Slots {
		add(fd)
	}
	return files, max(top, len(files)) + len(files) + 3
}

func (l *Launch) sysProcAttr(pidfd *int) *syscall.SysProcAttr {
	s := &syscall.SysProcAttr{Cloneflags: l.Cloneflags, PidFD: pidfd}
	if l.Early != nil {
		s.Cloneflags &^= l.Early.flags
	}
	if l.CgroupFD >= 0 {
		s.UseCgroupFD, s.CgroupFD = true, l.CgroupFD
	}
	if l.UidMappings != nil || l.GidMappings != nil {
		s.UidMappings, s.GidMappings = l.UidMappings, l.GidMappings
		s.GidMappingsEnableSetgroups = true
		s.Credential = &syscall.Credential{}
	}
	return s
}

func (l *Launch) launchError(err error) error {
	errno, ok := err.(syscall.Errno)
	if ok && l.CgroupFD >= 0 {
		switch errno {
		case syscall.ENOSYS, syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.E2BIG,
			syscall.EOPNOTSUPP, syscall.EBUSY, syscall.EBADF, syscall.ENODEV:
			return &CgroupRefusedError{errno}
		}
	}
	if errno == syscall.ENOENT && unix.Access("/proc/self/fd", unix.F_OK) != nil {
		err = ErrNoProc
	}
	return &Error{"clone stage1", err}
}

// Close ends the talk; a stage1 that did not say WAITING ends with it.
func (p *Process) Close() {
	if p.sock >= 0 {
		unix.Close(p.sock)
	}
	if p.Pidfd >= 0 {
		unix.Close(p.Pidfd)
	}
	p.sock, p.Pidfd = -1, -1
}

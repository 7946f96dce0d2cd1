package nsenter

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Early is a thread of this process that is already in new namespaces, so that what it clones
// is born in them. To make a network namespace takes the kernel longer than all else in a
// clone; on a thread of its own it goes on beside what stage0 has to do before the clone.
//
// The thread does nothing else, and ends with the launch: a thread can't come back from there.
type Early struct {
	flags uintptr
	ready chan error
	work  chan func()

	closed bool
}

// StartEarly begins to make the namespaces of flags: CLONE_NEWNET, NEWIPC, NEWUTS or NEWNS, which
// one thread of several may unshare(2) without changing what its child would be. In a new network
// namespace it brings up lo. Close ends the thread of one that is not used.
func StartEarly(flags uintptr) *Early {
	e := &Early{flags: flags, ready: make(chan error, 1), work: make(chan func())}
	go e.thread()
	return e
}

// Close lets the thread end.
func (e *Early) Close() {
	if e != nil && !e.closed {
		e.closed = true
		close(e.work)
	}
}

func (e *Early) thread() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if unix.Gettid() == os.Getpid() {
		// The main thread can't end, and /proc/self speaks for it.
		hop := make(chan struct{})
		go func() { e.serve(true); close(hop) }()
		<-hop
		runtime.UnlockOSThread()
		return
	}
	e.serve(false)
}

// serve does the work of the thread.
func (e *Early) serve(lock bool) {
	if lock {
		runtime.LockOSThread()
	}
	e.ready <- e.enter()
	for f := range e.work {
		f()
	}
}

func (e *Early) enter() error {
	if err := unix.Unshare(int(e.flags)); err != nil {
		return &Error{"unshare", err}
	}
	if e.flags&unix.CLONE_NEWNET != 0 {
		return loUp()
	}
	return nil
}

// loUp brings up interface lo of the thread's network namespace (netdevice(7)).
func loUp() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &Error{"socket", err}
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return &Error{"bring up interface lo", err}
	}
	req.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return &Error{"bring up interface lo", err}
	}
	return nil
}

// run executes f on the thread, once its namespaces are there, and ends the thread.
func (e *Early) run(f func()) error {
	if err := <-e.ready; err != nil {
		e.Close()
		return err
	}
	done := make(chan struct{})
	e.work <- func() { f(); close(done) }
	<-done
	e.Close()
	return nil
}

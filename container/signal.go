package container

import (
	"time"

	"golang.org/x/sys/unix"
)

// Kill sends a signal to the container's init. With all, or SIGKILL to a container without a
// pid namespace of its own, it goes to every process of the container's cgroup, also when
// init is gone; an empty cgroup is ErrNotRunning.
func (c *Container) Kill(sig unix.Signal, all bool) error {
	if all || sig == unix.SIGKILL && !c.ownPID() {
		return c.killCgroup(sig, all)
	}
	if c.Status == StatusStopped {
		return ErrNotRunning
	}
	if !allowed[c.Status][verbKill] {
		return &StatusError{ID: c.ID, Verb: "kill", Status: c.Status}
	}
	fd, err := pidfd(c.Process)
	if err != nil {
		return ErrNotRunning
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err == unix.ESRCH {
		return ErrNotRunning
	} else if err != nil {
		return wrap("signal", "process "+itoa(c.Process.Pid), err)
	}
	if sig == unix.SIGKILL && !waitPidfd(fd, 20*time.Millisecond) {
		c.cgroup().ThawAll() // a frozen one could not die
	}
	return nil
}

func (c *Container) killCgroup(sig unix.Signal, all bool) error {
	pids, err := c.cgroup().Procs()
	if err != nil {
		return err
	}
	if len(pids) == 0 {
		return ErrNotRunning
	}
	return c.cgroup().Kill(sig)
}

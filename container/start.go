package container

import (
	"time"

	"berth/nsenter"
	"berth/plan"
	"berth/specjson"
	"golang.org/x/sys/unix"
)

// Start runs the program of a created container and then its poststart hooks. It takes the
// container's lock, unless Create has left it held.
//
// If the program can't be run, the container is stopped and the error says why. If a
// startContainer or poststart hook fails, the container is destroyed, then its poststop
// hooks run; warn is told of one that fails.
func (c *Container) Start(warn func(string)) error {
	if !c.dir.held {
		if err := c.dir.lock(c.ID, lockWait); err != nil {
			return err
		}
		if err := c.load(); err != nil {
			return err
		}
	}
	if err := c.mayStart(); err != nil {
		return err
	}
	failed, err := c.release()
	if err == nil {
		c.Status = StatusRunning
		if h := c.hooks(); h != nil && len(h.Poststart) > 0 {
			// Without the lock: a hook that hangs must not keep delete --force away.
			c.dir.unlock()
			err = runHooks("poststart", h.Poststart, c.stateJSON(), c.Bundle())
			failed = err != nil
		}
	}
	if failed {
		if e := c.Destroy(warn); e != nil && e != ErrNotExist {
			warn(e.Error())
		}
	}
	return err
}

func (c *Container) mayStart() error {
	switch {
	case c.Status == StatusStopped:
		return &StatusError{c.ID, "start", c.Status, "cannot start a container that has stopped"}
	case c.Status == StatusRunning || c.Status == StatusPaused:
		return &StatusError{c.ID, "start", c.Status, "cannot start an already running container"}
	case !allowed[c.Status][verbStart]:
		return &StatusError{ID: c.ID, Verb: "start", Status: c.Status}
	case c.Record != nil && c.Record.Program == "":
		return ErrNoProcess
	}
	return nil
}

// announcement is what stage1 writes after the release byte when startContainer hooks are over
// (ops.h, ANNOUNCE); no failure record begins with it.
const announcement = '1'

// release lets stage1 go on and waits until it has become the program: the fifo closes at
// execve. A record in it says what failed; destroy tells that it was a hook.
func (c *Container) release() (destroy bool, err error) {
	init, err := pidfd(c.Process)
	if err != nil {
		return false, wrap("start", c.ID, ErrNotRunning)
	}
	defer unix.Close(init)
	name := c.dir.path + "/" + fifoName
	fifo, err := unix.Openat(c.dir.fd, fifoName, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, wrap("open", name, err)
	}
	defer unix.Close(fifo)
	data, err := readFifo(fifo, init)
	if err != nil {
		return false, wrap("read", name, err)
	}
	if err := unix.Unlinkat(c.dir.fd, fifoName, 0); err != nil {
		return false, wrap("remove", name, err)
	}
	if len(data) == 0 {
		c.Status = StatusStopped
		return false, &StatusError{c.ID, "start", StatusStopped, "the container's init ended before it could be started"}
	}
	announced := len(data) > 1 && data[1] == announcement
	if announced {
		data = data[1:]
	}
	if len(data) == 1 {
		if !announced && c.Record != nil && c.Record.Hooks != nil && len(c.Record.Hooks.StartContainer) > 0 {
			c.Status = StatusStopped
			return true, &StatusError{c.ID, "start", StatusStopped, "the container's init was killed in a startContainer hook"}
		}
		return false, nil
	}
	waitPidfd(init, 10*time.Second)
	c.Status = StatusStopped
	return c.explainStart(data[1:])
}

// readFifo reads to the end. The first open of the writer comes after ours, so an early end
// of file counts only once something was read; init's end counts always.
func readFifo(fifo, init int) ([]byte, error) {
	var data []byte
	var buf [8192]byte
	for {
		fds := []unix.PollFd{{Fd: int32(fifo), Events: unix.POLLIN}, {Fd: int32(init), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return nil, err
		}
		n, err := unix.Read(fifo, buf[:])
		switch {
		case n > 0:
			data = append(data, buf[:n]...)
		case err == unix.EAGAIN || err == unix.EINTR:
			if fds[1].Revents != 0 && fds[0].Revents == 0 {
				return data, nil
			}
		case err != nil:
			return nil, err
		case len(data) > 0 || fds[1].Revents != 0: // end of file
			return data, nil
		}
	}
}

// explainStart words a failure after the release: a hook, the filter or the program itself.
func (c *Container) explainStart(data []byte) (destroy bool, err error) {
	m, err := nsenter.ParseRecord(data)
	if err != nil {
		return false, err
	}
	f := plan.Failure{Op: int(m.Op), Errno: m.Errno, Arg: m.Arg, Log: m.Log}
	if c.Record == nil {
		return false, plan.ExplainStart(plan.Code(m.Code), "", nil, 0, f)
	}
	hook := int(m.Op) - c.Record.StartHooks
	var hooks = c.Record.Hooks
	destroy = plan.Code(m.Code) == plan.RunHook
	if destroy && hooks != nil && hook >= 0 && hook < len(hooks.StartContainer) {
		return true, plan.ExplainStart(plan.RunHook, c.Record.Program, &hooks.StartContainer[hook], hook, f)
	}
	return destroy, plan.ExplainStart(plan.Code(m.Code), c.Record.Program, nil, 0, f)
}

// stateJSON is the container's state as hooks get it.
func (c *Container) stateJSON() []byte { return specjson.AppendState(nil, c.OCIState()) }

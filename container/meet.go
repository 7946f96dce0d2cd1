package container

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"berth/nsenter"
	"berth/plan"
	"berth/runcstate"
	"golang.org/x/sys/unix"
)

// meet does what stage0 owes the final process as soon as it exists: its cgroup, its oom
// score, its state on disk. All of it goes on beside stage1's mounts.
func (c *creation) meet() error {
	_, start, err := procStat(c.init.Pid)
	if err != nil {
		return wrap("read the state of process", itoa(c.init.Pid), err)
	}
	c.init.Start = start
	if err := c.joinCgroup(); err != nil {
		return err
	}
	if err := c.setOOMScore(); err != nil {
		return err
	}
	if err := c.grantStates(); err != nil {
		return err
	}
	if c.plan.HasRuntimeHooks || c.plan.AsksFinal {
		return nil // the rest when stage1 asks for it
	}
	return c.grantFinal()
}

// grantStates hands over what hooks in the container's namespaces get on standard input.
func (c *creation) grantStates() error {
	if !c.plan.HasStateSync && !c.plan.HasStartHooks {
		return nil
	}
	pid, err := c.innerPid()
	if err == nil && c.plan.HasStateSync {
		err = c.proc.Grant(plan.SyncState, c.hookState(StatusCreating, pid))
	}
	if err == nil && c.plan.HasStartHooks {
		err = c.proc.Grant(plan.SyncStartState, c.hookState(StatusCreated, pid))
	}
	return err
}

func (c *creation) joinCgroup() error {
	if err := c.takeCgroupResult(); err != nil {
		return err
	}
	if len(c.facts.Cgroup.Join) == 0 && (!c.facts.IntoCgroup || c.plan.Intermediate) {
		if err := c.host.group.Join(c.init.Pid); err != nil {
			return err
		}
	}
	c.debugf("cgroups: %v", c.rec.CgroupPaths)
	return c.proc.Grant(plan.SyncCgroup, nil)
}

func (c *creation) setOOMScore() error {
	p := c.bundle.spec.Process
	if p == nil || p.OOMScoreAdj == nil {
		return nil
	}
	value := itoa(*p.OOMScoreAdj)
	fd, err := unix.Open("/proc/"+itoa(c.init.Pid)+"/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = writeAll(fd, []byte(value))
		unix.Close(fd)
	}
	if err != nil {
		return &plan.OpError{What: "set oom_score_adj to " + value, Field: "process.oomScoreAdj", Err: err}
	}
	return nil
}

// grantFinal: rlimits are set, the state is on disk, the filter is compiled; stage1 may go
// on to where it waits for start.
func (c *creation) grantFinal() error {
	if c.plan.AsksFinal {
		if err := c.setRlimits(); err != nil {
			return err
		}
	}
	var filter, config []byte
	if c.filter != nil {
		r := <-c.filter
		if r.err != nil {
			return r.err
		}
		if r.filter.Notify {
			return &plan.UnsupportedError{Path: "linux.seccomp: SCMP_ACT_NOTIFY"}
		}
		for _, w := range r.filter.Warnings {
			c.req.Warn(w)
		}
		c.debugf("seccomp filter of %d bytes, cached: %v", len(r.filter.BPF), r.filter.Cached)
		config = r.filter.Config
		filter = seccompData(r.filter)
	}
	if err := c.dir.write(stateFile, runcstate.Append(make([]byte, 0, len(config)+8<<10), c.stateInput(config))); err != nil {
		return err
	}
	if c.req.Launched != nil {
		c.req.Launched()
	}
	if c.req.Ready != nil {
		c.req.Ready()
	}
	return c.proc.Grant(plan.SyncFinal, filter)
}

func (c *creation) setRlimits() error {
	for i, r := range c.plan.Rlimits {
		l := unix.Rlimit{Cur: r.Soft, Max: r.Hard}
		if err := unix.Prlimit(c.init.Pid, r.Resource, &l, nil); err != nil {
			return &plan.OpError{What: fmt.Sprintf("set %s to %d, %d", r.Name, r.Soft, r.Hard),
				Field: fmt.Sprintf("process.rlimits[%d]", i), Err: err}
		}
	}
	return nil
}

// serve answers stage1 until it waits for start or has failed.
func (c *creation) serve() error {
	for {
		m, err := c.proc.Next()
		if err == io.EOF {
			return c.lost()
		}
		if err != nil {
			return err
		}
		c.debugf("stage1: %s", describe(m))
		switch m.Kind {
		case nsenter.KindWaiting:
			return nil
		case nsenter.KindFail:
			return c.explain(m)
		}
		if err := c.sync(m); err != nil {
			return c.preferFailure(err)
		}
	}
}

// preferFailure: where stage1 has failed, its own report says more than what stage0 saw of
// it (a broken pipe, a process that is gone).
func (c *creation) preferFailure(err error) error {
	if !errors.Is(err, nsenter.ErrGone) && !waitPidfd(c.proc.Pidfd, 0) && (c.initFD < 0 || !waitPidfd(c.initFD, 0)) {
		return err // it lives, and would be waited for in vain
	}
	for {
		m, e := c.proc.Next()
		if e != nil {
			return err
		}
		if m.Kind == nsenter.KindFail {
			return c.explain(m)
		}
	}
}

func (c *creation) explain(m *nsenter.Message) error {
	if m.Code == 0 {
		return fmt.Errorf("stage1 refuses the plan (this is a bug in berth): %s", m.Log)
	}
	return c.plan.Explain(plan.Failure{Op: int(m.Op), Errno: m.Errno, Arg: m.Arg, Log: m.Log})
}

// lost: stage1 is gone without a word. Its wait status is all that is known.
func (c *creation) lost() error {
	var ws unix.WaitStatus
	pid := c.init.Pid
	if pid == 0 {
		pid = c.proc.Pid
	}
	err := ignoreEINTR(func() error {
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		return err
	})
	if err != nil {
		ws = 0
	}
	why := plan.WaitReason(syscall.WaitStatus(ws))
	if ws.Signaled() && ws.Signal() == unix.SIGKILL {
		why += " (if the container has a memory limit, it may be too small)"
	}
	return fmt.Errorf("the container's init ended before it was created: %s", why)
}

func (c *creation) sync(m *nsenter.Message) error {
	switch m.Arg {
	case plan.SyncMaps:
		if err := writeMaps(c.proc.Pid, c.bundle.spec.Linux); err != nil {
			return err
		}
		return c.proc.Grant(plan.SyncMaps, nil)
	case plan.SyncPID:
		return c.found(m.Pid)
	case plan.SyncRuntime:
		if err := c.runtimeHooks(); err != nil {
			return err
		}
		if err := c.proc.Grant(plan.SyncRuntime, nil); err != nil || c.plan.AsksFinal {
			return err
		}
		return c.grantFinal()
	case plan.SyncConsole:
		return c.takeConsole(m.Fds)
	case plan.SyncFinal:
		return c.grantFinal()
	}
	return fmt.Errorf("stage1 is at an unknown meeting point %d", m.Arg)
}

// found: the final process of a launch with an intermediate one has reported itself.
func (c *creation) found(pid int) error {
	c.init.Pid = pid
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return wrap("pidfd_open process", itoa(pid), err)
	}
	c.initFD = fd
	reap(c.proc.Pid)
	return c.meet()
}

func (c *creation) takeConsole(fds []int) error {
	if len(fds) != 1 {
		return errors.New("stage1 sent no terminal")
	}
	if c.req.KeepTerminal && c.console < 0 {
		c.master = fds[0]
		return nil
	}
	defer unix.Close(fds[0])
	if err := sendFD(c.console, "/dev/ptmx", fds[0]); err != nil {
		return wrap("send the terminal to --console-socket", c.req.ConsoleSocket, err)
	}
	return nil
}

// describe words a message of stage1 for the debug log.
func describe(m *nsenter.Message) string {
	switch m.Kind {
	case nsenter.KindWaiting:
		return "waits for start"
	case nsenter.KindFail:
		return "operation " + itoa(int(m.Op)) + " " + plan.Code(m.Code).String() + " failed: " + m.Errno.Error()
	}
	return "is at meeting point " + itoa(int(m.Arg))
}

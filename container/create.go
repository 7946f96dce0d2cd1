package container

import (
	"os"
	"slices"
	"strconv"
	"time"

	"berth/cgroup"
	"berth/container/record"
	"berth/nsenter"
	"berth/plan"
	"berth/seccomp"
	"golang.org/x/sys/unix"
)

// Request is what create and run are asked for.
type Request struct {
	Options
	ID, Bundle    string
	ConsoleSocket string
	PidfdSocket   string
	PidFile       string
	// KeepTerminal: the caller takes the terminal's master itself (foreground run).
	KeepTerminal bool
	// Launched, if not nil, is called when stage1 is on its way, for what can go on beside it.
	Launched func()
	// Ready, if not nil, is waited for before the container can become created.
	Ready func()
	// Warn is told what went wrong without stopping the create.
	Warn func(msg string)
	// Debug, if not nil, is told what create does.
	Debug func(format string, args ...any)
	// CacheDir of compiled seccomp filters; empty is the default.
	CacheDir string
}

// creation is one create on its way. Whatever it has made is undone by abort.
type creation struct {
	req    *Request
	store  Store
	bundle *bundle
	facts  *plan.Facts
	host   *host
	plan   *plan.Plan

	console, pidfdSock int // sockets, -1: none
	dir                *stateDir
	rec                *record.Record
	pass               []int
	proc               *nsenter.Process
	init               record.Process // the container's init
	initFD             int            // its pidfd
	master             int            // of the terminal, if it is kept

	early    *nsenter.Early
	cgroupFD int // to clone the first process into; -1: none

	filter  chan filterResult
	cgroups chan error // has the result of makeCgroup

	cgroupErr error
}

type filterResult struct {
	filter *seccomp.Filter
	err    error
}

// Create makes a container from a bundle, as far as `created`. It returns with the
// container's lock held, so that the caller may start it at once; Close releases it. On an
// error nothing is left behind.
func (s Store) Create(req *Request) (*Created, error) {
	if err := CheckID(req.ID); err != nil {
		return nil, err
	}
	c := &creation{req: req, store: s, console: -1, pidfdSock: -1, initFD: -1, master: -1}
	defer c.closeFDs()
	if err := c.prepare(); err != nil {
		return nil, err
	}
	var err error
	if c.dir, err = s.claim(req.ID); err != nil {
		return nil, err
	}
	if err = c.build(); err != nil {
		return nil, c.abort(err)
	}
	return c.created(), nil
}

// prepare does all that can fail without anything having been made.
func (c *creation) prepare() (err error) {
	if err = checkKernel(); err != nil {
		return err
	}
	if err = checkPreserved(c.req.PreserveFDs + c.req.ListenFDs); err != nil {
		return err
	}
	closeOnExec()
	if c.bundle, err = loadBundle(c.req.Bundle); err != nil {
		return err
	}
	if raw := c.bundle.raw.Seccomp; raw != nil {
		c.filter = make(chan filterResult, 1)
		go func() {
			f, err := seccomp.Compile(raw, seccomp.Options{CacheDir: c.req.CacheDir})
			c.filter <- filterResult{f, err}
		}()
	}
	c.startEarly()
	if c.facts, c.host, err = resolve(c.req.ID, c.bundle, &c.req.Options); err != nil {
		return err
	}
	if c.plan, err = plan.Build(c.bundle.spec, c.facts); err != nil {
		return err
	}
	if err = c.checkRootfs(); err != nil {
		return err
	}
	if err = c.dial(); err != nil {
		return err
	}
	for _, w := range c.plan.Warnings {
		c.req.Warn(w)
	}
	c.debugf("create %s: bundle %s, %d operations, %d descriptors, %d writes to cgroups", c.req.ID, c.bundle.path,
		len(c.plan.Ops), len(c.plan.Pass), len(c.host.writes))
	return nil
}

// startEarly begins to make the network namespace, with those that can go with it, beside
// all that comes before the clone.
func (c *creation) startEarly() {
	if flags := plan.EarlyNamespaces(c.bundle.spec); flags != 0 {
		c.early = nsenter.StartEarly(uintptr(flags))
	}
}

func (c *creation) debugf(format string, args ...any) {
	if c.req.Debug != nil {
		c.req.Debug(format, args...)
	}
}

func (c *creation) checkRootfs() error {
	var st unix.Stat_t
	if err := unix.Stat(c.bundle.rootfs, &st); err != nil {
		return &plan.OpError{What: "open rootfs " + c.bundle.rootfs, Field: "root.path", Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return &plan.OpError{What: "open rootfs " + c.bundle.rootfs, Field: "root.path", Err: unix.ENOTDIR}
	}
	return nil
}

// closeOnExec: nothing that the caller left open may reach a hook or a helper. It is done once
// more by stage1, for what it is given.
func closeOnExec() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// checkPreserved: descriptors 3 to 3+n-1 are the caller's. Those that this process has
// opened itself are close-on-exec.
func checkPreserved(n int) error {
	for fd := 3; fd < 3+n; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC != 0 {
			err = unix.EBADF
		}
		if err != nil {
			return wrap("preserve descriptor", itoa(fd), err)
		}
	}
	return nil
}

// dial connects the sockets, so that a wrong one is an error before anything is made.
func (c *creation) dial() (err error) {
	terminal := c.bundle.spec.Process != nil && c.bundle.spec.Process.Terminal
	switch {
	case terminal && c.req.ConsoleSocket == "" && !c.req.KeepTerminal:
		return &plan.SpecError{Path: "process.terminal", Msg: "a detached container with a terminal needs --console-socket"}
	case !terminal && c.req.ConsoleSocket != "":
		return &plan.SpecError{Path: "process.terminal", Msg: "is not set: --console-socket has no use"}
	}
	if c.req.ConsoleSocket != "" {
		if c.console, err = dialUnix(c.req.ConsoleSocket); err != nil {
			return wrap("connect to --console-socket", c.req.ConsoleSocket, err)
		}
	}
	if c.req.PidfdSocket != "" {
		if c.pidfdSock, err = dialUnix(c.req.PidfdSocket); err != nil {
			return wrap("connect to --pidfd-socket", c.req.PidfdSocket, err)
		}
	}
	return nil
}

// build makes the container. The claim is there; abort undoes what build has done.
func (c *creation) build() error {
	if err := c.writeRecord(); err != nil {
		return err
	}
	var err error
	if c.cgroupFD, err = c.mixedFD(); err != nil {
		return err
	}
	c.cgroups = make(chan error, 1)
	go func() { c.cgroups <- c.makeCgroup() }()
	if err := c.launch(); err != nil {
		return err
	}
	return c.finish()
}

// mixedFD makes the one directory of the mixed layout's cgroup2 tree, in which the first
// process is cloned: a move into it would wait for an RCU grace period.
func (c *creation) mixedFD() (int, error) {
	if c.plan.Intermediate || c.facts.IntoCgroup {
		return -1, nil
	}
	return c.host.group.MixedFD()
}

func (c *creation) makeCgroup() error {
	if err := c.host.group.Create(c.host.writes); err != nil {
		return err
	}
	return c.host.group.Apply(c.host.writes)
}

func (c *creation) writeRecord() error {
	_, start, err := procStat(os.Getpid())
	if err != nil {
		return wrap("read", "/proc/self/stat", err)
	}
	spec := c.bundle.spec
	c.rec = &record.Record{
		Version: record.Version, ID: c.req.ID, OCIVersion: spec.Version, Bundle: c.bundle.path, Rootfs: c.bundle.rootfs,
		Annotations: spec.Annotations, Created: time.Now().UTC(), Creator: record.Process{Pid: os.Getpid(), Start: start},
		CgroupPaths: c.host.group.Paths(), CgroupMade: c.willMake(), Hooks: spec.Hooks, Process: c.bundle.raw.Process,
		StartHooks: c.plan.StartHooks(), OwnPID: c.plan.NewPID, MountNS: c.plan.MountNS,
	}
	if spec.Process != nil {
		c.rec.Program = spec.Process.Args[0]
	}
	if !c.rec.MountNS {
		if c.rec.MountsBefore, err = mountsBelow(c.bundle.rootfs); err != nil {
			return err
		}
	}
	return c.dir.write(recordFile, c.rec.Append(make([]byte, 0, 4096)))
}

// willMake lists the cgroups that are not there yet, so that what create makes is known from
// the files even if it is killed.
func (c *creation) willMake() []string {
	existing := c.host.group.Existing()
	var list []string
	for _, p := range cgroup.AllMade(c.host.group.Paths()) {
		if !slices.Contains(existing, p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

func (c *creation) finish() error {
	if c.req.PidFile != "" {
		if err := writePidFile(c.req.PidFile, c.init.Pid); err != nil {
			return wrap("write --pid-file", c.req.PidFile, err)
		}
	}
	if c.pidfdSock >= 0 {
		if err := sendFD(c.pidfdSock, "pidfd", c.initFD); err != nil {
			if c.req.PidFile != "" {
				os.Remove(c.req.PidFile) // of a process that will not be
			}
			return wrap("send pidfd to --pidfd-socket", c.req.PidfdSocket, err)
		}
	}
	return nil
}

func (c *creation) closeFDs() {
	c.early.Close()
	for _, fd := range []*int{&c.console, &c.pidfdSock} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	for _, fd := range c.pass {
		unix.Close(fd)
	}
	c.pass = nil
}

// abort undoes a create that failed and returns why.
func (c *creation) abort(cause error) error {
	if c.proc != nil {
		c.killInit()
		c.proc.Close()
	}
	if c.master >= 0 {
		unix.Close(c.master)
	}
	if c.cgroups != nil {
		c.takeCgroupResult()
		c.undoCgroup()
	}
	if !c.plan.MountNS && c.proc != nil {
		if err := unmountBelow(c.bundle.rootfs, c.rec.MountsBefore); err != nil {
			c.req.Warn(err.Error())
		}
	}
	if err := c.store.remove(c.dir, c.req.ID); err != nil {
		c.req.Warn(err.Error())
	}
	c.dir.close()
	if c.proc != nil {
		c.runPoststop()
	}
	return cause
}

// takeCgroupResult waits for the cgroups once; later calls return the same.
func (c *creation) takeCgroupResult() error {
	if err, first := <-c.cgroups; first {
		c.cgroupErr = err
		close(c.cgroups)
	}
	return c.cgroupErr
}

// undoCgroup removes the cgroups that were made. What is in a cgroup that could not be had
// is somebody else's.
func (c *creation) undoCgroup() {
	if c.cgroupErr == nil && c.init.Pid > 0 && !c.rec.OwnPID {
		if err := c.host.group.Kill(unix.SIGKILL); err != nil {
			c.req.Warn(err.Error())
		}
	}
	c.host.group.Undo()
}

// killInit ends stage1 and reaps it, so that nothing of it is left.
func (c *creation) killInit() {
	if c.initFD >= 0 {
		kill(c.initFD, c.init.Pid)
	}
	if c.proc.Pidfd >= 0 {
		kill(c.proc.Pidfd, c.proc.Pid)
	}
	for _, fd := range []int{c.initFD, c.proc.Pidfd} {
		if fd >= 0 && !waitKilled(fd, c.host.group) {
			c.req.Warn("the container's init did not end")
			return
		}
	}
	reap(c.proc.Pid)
	if c.init.Pid > 0 && c.init.Pid != c.proc.Pid {
		reap(c.init.Pid)
	}
}

func reap(pid int) {
	ignoreEINTR(func() error {
		_, err := unix.Wait4(pid, nil, unix.WALL, nil)
		return err
	})
}

// Created is a container that create has just made.
type Created struct {
	*Container
	Pidfd  int // of init
	Master int // of its terminal, with KeepTerminal; -1: none
}

func (c *creation) created() *Created {
	if c.initFD == c.proc.Pidfd {
		c.proc.Pidfd = -1 // kept
	}
	c.proc.Close()
	ct := &Container{ID: c.req.ID, Record: c.rec, Status: StatusCreated, Process: c.init, store: c.store, dir: c.dir, group: c.host.group}
	return &Created{Container: ct, Pidfd: c.initFD, Master: c.master}
}

package container

import (
	"errors"
	"strconv"

	"berth/container/record"
	"berth/nsenter"
	"berth/plan"
	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

// launch starts stage1 and meets it at the SYNC points until it waits for start.
func (c *creation) launch() error {
	if err := c.openPass(); err != nil {
		return err
	}
	if err := c.clone(); err != nil {
		return err
	}
	c.debugf("stage1 is process %d", c.proc.Pid)
	if c.req.Launched != nil && !c.plan.HasRuntimeHooks && !c.plan.HasStateSync {
		c.req.Launched() // hooks may hang: until they have run, signals end berth as ever
		c.req.Launched = nil
	}
	if !c.plan.Intermediate {
		c.init, c.initFD = record.Process{Pid: c.proc.Pid}, c.proc.Pidfd
		if err := c.meet(); err != nil {
			return c.preferFailure(err)
		}
	}
	return c.serve()
}

// openPass opens the descriptors that the plan asks for, in its order.
func (c *creation) openPass() error {
	for i := range c.plan.Pass {
		fd, err := c.openOne(&c.plan.Pass[i])
		if err != nil {
			return err
		}
		c.pass = append(c.pass, fd)
	}
	return nil
}

func (c *creation) openOne(p *plan.Pass) (int, error) {
	switch p.Kind {
	case plan.PassFifo:
		return c.makeFifo()
	case plan.PassNamespace:
		return openNamespace(p)
	}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if p.Recursive {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, p.Path, flags)
	if err != nil {
		return -1, &plan.OpError{What: "open " + p.Path, Field: p.Field, Err: err}
	}
	return fd, nil
}

// makeFifo makes exec.fifo, 0622: stage1 opens it for writing as the container's user,
// through a descriptor, for nobody else can search the directory.
func (c *creation) makeFifo() (int, error) {
	name := c.dir.path + "/" + fifoName
	if err := unix.Mkfifoat(c.dir.fd, fifoName, 0o622); err != nil {
		return -1, wrap("create", name, err)
	}
	if err := unix.Fchmodat(c.dir.fd, fifoName, 0o622, 0); err != nil { // the umask
		return -1, wrap("chmod", name, err)
	}
	if uid, gid := c.rootIDs(); uid != 0 || gid != 0 {
		if err := unix.Fchownat(c.dir.fd, fifoName, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return -1, wrap("chown", name, err)
		}
	}
	fd, err := unix.Openat(c.dir.fd, fifoName, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return fd, wrap("open", name, err)
}

// rootIDs is the container's root as the host sees it.
func (c *creation) rootIDs() (uid, gid int) {
	l := c.bundle.spec.Linux
	if l == nil {
		return 0, 0
	}
	for _, m := range l.UIDMappings {
		if m.ContainerID == 0 && m.Size > 0 {
			uid = int(m.HostID)
		}
	}
	for _, m := range l.GIDMappings {
		if m.ContainerID == 0 && m.Size > 0 {
			gid = int(m.HostID)
		}
	}
	return uid, gid
}

func openNamespace(p *plan.Pass) (int, error) {
	fail := func(err error) (int, error) {
		return -1, &plan.OpError{What: "open namespace " + p.Path, Field: p.Field, Err: err}
	}
	fd, err := unix.Open(p.Path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fail(err)
	}
	typ, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE)
	if err == nil && uint64(typ) != p.NSType {
		err = errors.New("it is a namespace of another type")
	} else if err == unix.ENOTTY {
		err = errors.New("it is not a namespace")
	}
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	return fd, nil
}

// clone starts the first process. Where a clone straight into the cgroup is refused, the
// plan is built once more without it.
func (c *creation) clone() error {
	if c.facts.IntoCgroup && !c.plan.Intermediate {
		err := c.takeCgroupResult()
		if err != nil {
			return err
		}
		if c.cgroupFD, err = c.host.group.DirFD(); err != nil {
			return err
		}
	}
	err := c.start(c.cgroupFD)
	var refused *nsenter.CgroupRefusedError
	if errors.As(err, &refused) {
		c.facts.IntoCgroup, c.facts.Early, c.early = false, 0, nil
		again, err := plan.Build(c.bundle.spec, c.facts)
		if err != nil {
			return err
		}
		c.plan = again
		return c.start(-1)
	}
	return err
}

func (c *creation) start(cgroupFD int) error {
	files := make([]int, 3+c.facts.PreserveFDs)
	for i := range files {
		files[i] = i
	}
	fault, errno := faultPoint()
	encoded, err := c.plan.Encode(plan.Layout{FDBase: len(files) + 1, SyncFD: len(files), FaultOp: fault, FaultErrno: errno})
	if err != nil {
		return err
	}
	l := &nsenter.Launch{Plan: encoded, Files: files, Slots: c.pass, Cloneflags: uintptr(c.plan.Cloneflags), CgroupFD: cgroupFD, Early: c.early}
	if c.plan.Cloneflags&unix.CLONE_NEWUSER != 0 {
		l.UidMappings, l.GidMappings = idMaps(c.bundle.spec.Linux)
	}
	c.proc, err = nsenter.Start(l)
	if err != nil {
		return wrap("start stage1", "", err)
	}
	return nil
}

package cgroup

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const atFDCWD = unix.AT_FDCWD

// Join moves process pid into the cgroup. On v1 the kernel may wait for an RCU grace
// period (4 ms to more than 100 ms on an idle machine) with the first hierarchy; Enter does
// without.
func (g *Group) Join(pid int) error {
	value := itoa(pid)
	for i := range g.dirs {
		d := &g.dirs[i]
		if d.lost != nil {
			continue
		}
		if err := d.join("cgroup.procs", value); err != nil {
			if g.without(d, err) {
				continue
			}
			return err
		}
	}
	return nil
}

// join writes a pid to a file of the directory. EINVAL can mean that the task is so new
// that the scheduler has not seen it: again, shortly.
func (d *dir) join(file, value string) error {
	path := d.path + "/" + file
	fd, err := openat(atFDCWD, path, syscall.O_WRONLY)
	if err != nil {
		return opError("open", path, err)
	}
	defer syscall.Close(fd)
	for tries := 0; ; tries++ {
		err := writeFD(fd, value)
		if err == nil {
			return nil
		}
		if err != syscall.EINVAL || tries == 5 {
			return opError("write "+value+" to", path, explainJoin(d, err))
		}
		time.Sleep(time.Millisecond << tries)
	}
}

// Enter moves the calling thread into the v1 cgroups, so that a child it clones is born in
// them. The caller has locked the goroutine to the thread (runtime.LockOSThread), and has
// nothing done by it but the clone. leave moves the thread back and has to be called before
// the thread is unlocked.
//
// Why: a process that is moved by its pid makes the kernel take cgroup_threadgroup_rwsem for
// writing, which waits for an RCU grace period unless another move just did. A thread that
// writes "0" to `tasks` moves only itself, and needs no such lock (Linux 5.5).
//
// The cgroup2 tree has no such way, so the mixed layout wants CLONE_INTO_CGROUP with DirFD
// as well; so does v2, where Enter does nothing.
func (g *Group) Enter(h *Host) (leave func() error, err error) {
	if g.v2 {
		return func() error { return nil }, nil
	}
	entered := make([]*dir, 0, len(g.dirs))
	leave = func() error { return h.returnTo(entered) }
	for i := range g.dirs {
		d := &g.dirs[i]
		if d.lost != nil || d.controllers[0] == "" {
			continue
		}
		if err := d.join("tasks", "0"); err != nil {
			if g.without(d, err) {
				continue
			}
			_ = leave()
			return nil, err
		}
		entered = append(entered, d)
	}
	return leave, nil
}

// returnTo moves the calling thread back to the caller's own cgroups.
func (h *Host) returnTo(dirs []*dir) error {
	var first error
	for _, d := range dirs {
		hi := h.find(d.controllers[0])
		own := dir{controllers: d.controllers, path: join(hi.Mountpoint, hi.Own)}
		if err := own.join("tasks", "0"); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// TasksFDs opens the `tasks` files of the v1 cgroups, for a process that moves itself by
// writing "0" into each, without the wait that Join has (see Enter). It has to be
// single-threaded. The caller closes them. The permission to move is checked on opening, so
// it works for a process in a user namespace too.
func (g *Group) TasksFDs() ([]int, error) {
	if g.v2 {
		return nil, nil
	}
	fds := make([]int, 0, len(g.dirs))
	for i := range g.dirs {
		d := &g.dirs[i]
		if d.lost != nil || d.controllers[0] == "" {
			continue
		}
		path := d.path + "/tasks"
		fd, err := openat(atFDCWD, path, syscall.O_WRONLY)
		if err != nil {
			if g.without(d, err) {
				continue
			}
			for _, fd := range fds {
				syscall.Close(fd)
			}
			return nil, opError("open", path, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// explained is an errno with what it means here.
type explained struct {
	errno syscall.Errno
	text  string
}

func (e *explained) Error() string { return e.errno.Error() + " (" + e.text + ")" }
func (e *explained) Unwrap() error { return e.errno }

// explainJoin adds what the kernel's errno stands for when a task joins (cgroups(7)).
func explainJoin(d *dir, err error) error {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return err
	}
	switch {
	case errno == syscall.ENOSPC && contains(d.controllers, "cpuset"):
		return &explained{errno, "its cpuset has no CPUs or memory nodes"}
	case errno == syscall.EBUSY && d.controllers[0] == "":
		return &explained{errno, "it has controllers enabled for its children, so it can't hold processes"}
	case errno == syscall.EOPNOTSUPP:
		return &explained{errno, "the cgroup is threaded, or invalid below a threaded one: see its cgroup.type"}
	case errno == syscall.EINVAL && contains(d.controllers, "cpu"):
		return &explained{errno, "a real-time task needs linux.resources.cpu.realtimeRuntime"}
	}
	return err
}

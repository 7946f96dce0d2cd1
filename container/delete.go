package container

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"berth/cgroup"
	"berth/container/record"
	"golang.org/x/sys/unix"
)

// DeleteOptions of Delete.
type DeleteOptions struct {
	Force  bool // kill first, whatever the status
	Compat bool // runc's rule: a created container may be deleted
	Warn   func(string)
}

// Delete removes what create made, then runs the poststop hooks. The container has to be
// stopped (runtime.md, "Delete").
func (s Store) Delete(id string, o DeleteOptions) error {
	c, err := s.Open(id)
	var broken *BrokenError
	if errors.As(err, &broken) && o.Force {
		return s.deleteBroken(id, o.Warn)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	switch {
	case o.Force:
		c.freeLock()
	case c.Status == StatusCreating:
		return c.refuseDelete()
	}
	if err := c.dir.lock(id, lockWait); err != nil {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	verb := verbDelete
	if o.Compat {
		verb = verbCompatDelete
	}
	if !o.Force && !allowed[c.Status][verb] {
		return c.refuseDelete()
	}
	return c.destroy(o.Force, o.Warn)
}

// freeLock ends what may hold the container's lock for long: a create in one of its hooks, a
// start whose init is in one of its own.
func (c *Container) freeLock() {
	switch {
	case c.Status == StatusCreating:
		c.killCreator()
	case c.dir.locked() && c.Process.Pid > 0:
		if fd, err := pidfd(c.Process); err == nil {
			kill(fd, c.Process.Pid)
			unix.Close(fd)
		}
	}
}

func (c *Container) refuseDelete() error {
	return &StatusError{c.ID, "delete", c.Status,
		"cannot delete container " + c.ID + " that is not stopped: " + string(c.Status)}
}

// deleteBroken deletes a container of which not everything can be read, by what can.
func (s Store) deleteBroken(id string, warn func(string)) error {
	d := &stateDir{path: s.Root + "/" + id}
	var err error
	if d.fd, err = unix.Open(d.path, openDir|unix.O_NOFOLLOW, 0); err != nil {
		return wrap("open", d.path, err)
	}
	c := &Container{ID: id, store: s, dir: d}
	defer c.Close()
	if err := private(d.fd); err != nil {
		return wrap("delete", d.path, err)
	}
	c.loadParts()
	if c.Record != nil && c.State == nil {
		c.killCreator()
	}
	if err := d.lock(id, lockWait); err != nil {
		return err
	}
	if c.Record == nil && c.State == nil {
		warn("nothing of container " + id + " can be read: processes and cgroups of it may be left")
	}
	if c.State == nil { // init is not known: all that is in its cgroup
		if err := c.cgroup().Kill(unix.SIGKILL); err != nil && !errors.Is(err, cgroup.ErrNoCgroup) {
			return err
		}
	}
	return c.destroy(true, warn)
}

// killCreator ends a create that is stuck (in a hook, for instance). Its stage1 sees that it
// is alone and ends too.
func (c *Container) killCreator() {
	if c.Record == nil {
		return
	}
	fd, err := pidfd(c.Record.Creator)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	kill(fd, c.Record.Creator.Pid)
	waitPidfd(fd, lockWait)
}

// destroy ends every process of the container and removes its cgroups and its directory;
// then the poststop hooks run. The lock is held.
func (c *Container) destroy(force bool, warn func(string)) error {
	if err := c.killInit(); err != nil {
		return err
	}
	if err := c.removeCgroup(force, warn); err != nil {
		return err
	}
	if c.Record != nil && !c.Record.MountNS {
		if err := unmountBelow(c.Record.Rootfs, c.Record.MountsBefore); err != nil {
			return err
		}
	}
	if err := c.store.remove(c.dir, c.ID); err != nil {
		return err
	}
	c.Status, c.Process.Pid = StatusStopped, 0
	if h := c.hooks(); h != nil {
		poststop(h, c.stateJSON(), c.Bundle(), warn)
	}
	return nil
}

// killInit ends init; with a pid namespace of its own that ends every process in it.
func (c *Container) killInit() error {
	if c.Process.Pid == 0 {
		return nil
	}
	if !end(c.Process, c.cgroup()) {
		return wrap("kill", "process "+itoa(c.Process.Pid), errors.New("it did not end"))
	}
	return nil
}

// end kills a process and waits until it has ended.
func end(p record.Process, g *cgroup.Group) bool {
	fd, err := pidfd(p)
	if err == unix.ESRCH {
		return true
	}
	if err != nil { // no pidfds here
		for until := time.Now().Add(killWait); alive(p); time.Sleep(5 * time.Millisecond) {
			unix.Kill(p.Pid, unix.SIGKILL)
			g.ThawAll()
			if time.Now().After(until) {
				return false
			}
		}
		return true
	}
	defer unix.Close(fd)
	kill(fd, p.Pid)
	return waitKilled(fd, g)
}

// kill sends SIGKILL by pidfd; where a filter denies that call, by the pid, which the pidfd
// shows to be the right one.
func kill(fd, pid int) {
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err == unix.ENOSYS || err == unix.EPERM {
		if !waitPidfd(fd, 0) {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// waitKilled waits for the end of a process that got SIGKILL. One that is frozen, by whoever
// and wherever below its cgroup, has to be thawed for it.
func waitKilled(fd int, g *cgroup.Group) bool {
	for end := time.Now().Add(killWait); !waitPidfd(fd, 50*time.Millisecond); {
		if time.Now().After(end) {
			return false
		}
		g.ThawAll()
	}
	return true
}

// removeCgroup removes the cgroup, in which usually nothing is left: rmdir(2) says so at once.
// With a pid namespace of its own the container's processes ended with init, and whoever still
// is in the cgroup came from elsewhere; without, all of it is the container's.
func (c *Container) removeCgroup(force bool, warn func(string)) error {
	g := c.cgroup()
	if !c.ownPID() {
		if err := g.Kill(unix.SIGKILL); err != nil {
			return err
		}
		return g.Remove()
	}
	if g.RemoveEmpty() {
		return nil
	}
	others, err := g.Vacated(2 * time.Second)
	if err != nil {
		return err
	}
	if len(others) == 0 {
		return g.Remove()
	}
	left := fmt.Errorf("cgroup of container %s is in use by other processes (%d and %d more)", c.ID, others[0], len(others)-1)
	if force {
		warn(left.Error() + ": it is left as it is")
		return nil
	}
	return left
}

const killWait = 30 * time.Second

// unmountBelow detaches what a container without a mount namespace has mounted in its root,
// and nothing that was there before.
func unmountBelow(rootfs string, before []string) error {
	points, err := mountsBelow(rootfs)
	if err != nil {
		return err
	}
	for i := len(points) - 1; i >= 0; i-- {
		if slices.Contains(before, points[i]) {
			continue
		}
		if err := unix.Unmount(points[i], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL {
			return wrap("unmount", points[i], err)
		}
	}
	return nil
}

// mountsBelow lists the mount points below a directory, in the order they were made.
func mountsBelow(dir string) ([]string, error) {
	const name = "/proc/self/mountinfo"
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, wrap("read", name, unwrapPath(err))
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(unescape(fields[4]), dir+"/") {
			points = append(points, unescape(fields[4]))
		}
	}
	return points, nil
}

// unescape undoes mountinfo's octal escapes of space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Destroy removes a container that has ended or could not be started, as Delete with Force.
func (c *Container) Destroy(warn func(string)) error {
	if c.dir.fd < 0 {
		return ErrNotExist
	}
	if !c.dir.held {
		if err := c.dir.lock(c.ID, lockWait); err != nil {
			return err
		}
	}
	if err := c.dir.gone(); err != nil {
		return err
	}
	return c.destroy(true, warn)
}

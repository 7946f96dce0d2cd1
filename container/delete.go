package container

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"time"

	"berth/cgroup"
	"berth/container/record"
	"berth/specjson"
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
		return s.removeBroken(id)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Status == StatusCreating && o.Force {
		c.killCreator()
	} else if c.Status == StatusCreating {
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
	return c.destroy(o.Warn)
}

func (c *Container) refuseDelete() error {
	return &StatusError{c.ID, "delete", c.Status,
		"cannot delete container " + c.ID + " that is not stopped: " + string(c.Status)}
}

// removeBroken deletes the directory of a container that can't be read, and, if at least its
// record can be, its cgroups with what is in them.
func (s Store) removeBroken(id string) error {
	d, err := s.open(id)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.lock(id, lockWait); err != nil {
		return err
	}
	if data, err := d.read(recordFile); err == nil {
		if rec, err := record.Parse(data); err == nil {
			group := cgroup.Load(rec.CgroupPaths, rec.CgroupMade)
			if err := group.Kill(unix.SIGKILL); err != nil {
				return err
			}
			if err := group.Remove(); err != nil {
				return err
			}
		}
	}
	return s.remove(d, id)
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
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	waitPidfd(fd, lockWait)
}

// destroy ends every process of the container and removes its cgroups and its directory;
// then the poststop hooks run. The lock is held.
func (c *Container) destroy(warn func(string)) error {
	if err := c.killInit(); err != nil {
		return err
	}
	if err := c.removeCgroup(); err != nil {
		return err
	}
	if c.Record != nil && !c.Record.MountNS {
		if err := unmountBelow(c.Record.Rootfs); err != nil {
			return err
		}
	}
	if err := c.store.remove(c.dir, c.ID); err != nil {
		return err
	}
	c.Status, c.Process.Pid = StatusStopped, 0
	if c.Record != nil && c.Record.Hooks != nil {
		poststop(c.Record.Hooks, specjson.AppendState(nil, c.OCIState()), c.Record.Bundle, warn)
	}
	return nil
}

// killInit ends init; with a pid namespace of its own that ends every process in it.
func (c *Container) killInit() error {
	if c.Process.Pid == 0 {
		return nil
	}
	fd, err := pidfd(c.Process)
	if err != nil {
		return nil // it has ended
	}
	defer unix.Close(fd)
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	c.thaw()
	if !waitPidfd(fd, killWait) {
		return wrap("kill", "process "+itoa(c.Process.Pid), errors.New("it did not end"))
	}
	return nil
}

// removeCgroup kills what is left in the cgroup and removes it. Usually nothing is left, and
// rmdir(2) says so at once.
func (c *Container) removeCgroup() error {
	if c.ownPID() && c.cgroup().RemoveEmpty() {
		return nil
	}
	if err := c.cgroup().Kill(unix.SIGKILL); err != nil {
		return err
	}
	return c.cgroup().Remove()
}

const killWait = 30 * time.Second

// thaw lets frozen processes die.
func (c *Container) thaw() {
	if c.Status == StatusPaused {
		c.cgroup().Thaw()
	}
}

// unmountBelow detaches what a container without a mount namespace has mounted in its root.
func unmountBelow(rootfs string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return unwrapPath(err)
	}
	defer f.Close()
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(unescape(fields[4]), rootfs+"/") {
			points = append(points, unescape(fields[4]))
		}
	}
	for i := len(points) - 1; i >= 0; i-- {
		if err := unix.Unmount(points[i], unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL {
			return wrap("unmount", points[i], err)
		}
	}
	return lines.Err()
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
	return c.destroy(warn)
}

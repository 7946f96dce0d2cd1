// Package container owns the OCI lifecycle: it claims, creates, starts, signals, deletes and
// describes containers, and runs their hooks. It keeps all state in files and leaves no
// process behind but the container's own. It never prints and never exits.
package container

import (
	"errors"
	"os"
	"strings"
	"time"

	"berth/cgroup"
	"berth/container/record"
	"berth/nsenter"
	"berth/runcstate"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Container is one container as its state directory describes it at one moment.
type Container struct {
	ID      string
	Record  *record.Record   // nil: made by runc
	State   *runcstate.State // nil: create has not come so far
	Status  Status
	Process record.Process // init; Pid 0 if there is none

	store Store
	dir   *stateDir
	group *cgroup.Group
}

// Open reads a container. Its errors are ErrNotExist, an IDError or a BrokenError.
func (s Store) Open(id string) (*Container, error) {
	d, err := s.open(id)
	if err != nil {
		return nil, err
	}
	c := &Container{ID: id, store: s, dir: d}
	if err := c.load(); err != nil {
		d.close()
		return nil, err
	}
	return c, nil
}

// Close releases the container's lock, if it is held.
func (c *Container) Close() { c.dir.close() }

// Unlock lets other commands work on the container.
func (c *Container) Unlock() { c.dir.unlock() }

// load reads what the files say and asks the kernel whether the process lives.
func (c *Container) load() error {
	busy := c.dir.locked()
	if err := c.loadParts(); err != nil {
		return &BrokenError{c.ID, err}
	}
	c.Status = c.status(busy)
	return nil
}

// loadParts reads each file that can be read, and returns the first error.
func (c *Container) loadParts() error {
	c.Record, c.State, c.Process, c.group = nil, nil, record.Process{}, nil
	data, first := c.dir.read(recordFile)
	if first == nil && data != nil {
		if c.Record, first = record.Parse(data); first != nil {
			c.Record = nil
		}
	}
	data, err := c.dir.read(stateFile)
	if err == nil && data != nil {
		c.State, err = runcstate.Parse(data)
		if err == nil && (c.State.InitProcessPid <= 0 || c.State.ID != c.ID) {
			err = errors.New(stateFile + ": is not the state of this container")
		}
		if err != nil {
			c.State = nil
		}
	}
	if c.State != nil {
		c.Process = record.Process{Pid: c.State.InitProcessPid, Start: c.State.InitProcessStartTime}
	}
	if first == nil {
		first = err
	}
	return first
}

// status derives the status from facts: the lock, the process, the fifo, the freezer.
func (c *Container) status(busy bool) Status {
	if c.State == nil {
		if busy || c.inClaim() {
			return StatusCreating
		}
		return StatusStopped
	}
	if !alive(c.Process) {
		c.Process = record.Process{}
		return StatusStopped
	}
	var st unix.Stat_t
	if unix.Fstatat(c.dir.fd, fifoName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && c.waits() {
		return StatusCreated
	}
	if frozen, err := c.cgroup().Frozen(); err == nil && frozen {
		return StatusPaused
	}
	return StatusRunning
}

// waits tells whether init is still the runtime's. The fifo alone says so but for a start that
// was killed after the release, before it removed the fifo.
func (c *Container) waits() bool {
	if c.Record == nil {
		return true // runc's contract
	}
	exe, err := os.Readlink("/proc/" + itoa(c.Process.Pid) + "/exe")
	// A memfd, or where the host forbids those a file without a name.
	return err != nil || strings.HasPrefix(exe, "/memfd:"+nsenter.Name) || strings.Contains(exe, "/#")
}

// inClaim: a directory without a record may be one that is being made at this moment, before
// its lock is taken. Whoever makes it holds the store's lock.
func (c *Container) inClaim() bool {
	if c.Record != nil {
		return false
	}
	root, err := c.store.lockRoot(false)
	if err != nil {
		return false
	}
	unix.Close(root)
	return c.dir.locked()
}

// cgroup is the container's cgroup, as state.json or the record has it.
func (c *Container) cgroup() *cgroup.Group {
	if c.group != nil {
		return c.group
	}
	var paths map[string]string
	var made []string
	if c.Record != nil {
		paths, made = c.Record.CgroupPaths, c.Record.CgroupMade
	}
	if c.State != nil && len(c.State.CgroupPaths) > 0 {
		paths = c.State.CgroupPaths
	}
	if c.Record == nil { // runc's: it makes, and so removes, all of them
		made = cgroup.AllMade(paths)
	}
	c.group = cgroup.Load(paths, made)
	return c.group
}

// hooks are those of the config, as create stored them; nil: none.
func (c *Container) hooks() *specs.Hooks {
	switch {
	case c.Record != nil:
		return c.Record.Hooks
	case c.State != nil:
		return c.State.SpecHooks()
	}
	return nil
}

// Bundle is the absolute path of the bundle.
func (c *Container) Bundle() string {
	switch {
	case c.Record != nil:
		return c.Record.Bundle
	case c.State != nil:
		return c.State.Bundle()
	}
	return ""
}

// ownPID tells whether the container has a pid namespace of its own, so that its init's end
// is everybody's.
func (c *Container) ownPID() bool {
	switch {
	case c.Record != nil:
		return c.Record.OwnPID
	case c.State != nil:
		return c.State.OwnPIDNamespace()
	}
	return true
}

// CreatedAt is when create was called.
func (c *Container) CreatedAt() time.Time {
	switch {
	case c.Record != nil:
		return c.Record.Created
	case c.State != nil:
		return c.State.Created
	}
	if c.dir == nil {
		return time.Time{}
	}
	var st unix.Stat_t
	if unix.Fstat(c.dir.fd, &st) == nil {
		return time.Unix(st.Ctim.Unix())
	}
	return time.Time{}
}

// OwnerUID is the user that the state directory belongs to.
func (c *Container) OwnerUID() int {
	var st unix.Stat_t
	if c.dir == nil || unix.Fstat(c.dir.fd, &st) != nil {
		return os.Geteuid()
	}
	return int(st.Uid)
}

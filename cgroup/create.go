package cgroup

import (
	"errors"
	"strings"
	"syscall"
)

// Create makes the directories that are missing, parents too, and sets up what a cgroup
// needs before it takes a process: on v1 cpuset.cpus and cpuset.mems from the parent, on v2
// controllers enabled in the parents. From writes (the result of Writes; others are not
// touched) it applies those marked Early. A cgroup that has processes or is frozen is an
// error. If Create fails, nothing that it made stays.
func (g *Group) Create(writes []Write) (err error) {
	defer func() {
		if err != nil {
			g.Undo()
		}
	}()
	for i := range g.dirs {
		d := &g.dirs[i]
		if err := g.create(d, writes); err != nil {
			if g.without(d, err) {
				continue
			}
			return err
		}
	}
	return nil
}

func (g *Group) create(d *dir, writes []Write) error {
	if err := d.mkdir(); err != nil {
		return err
	}
	if !d.made {
		if err := g.refuse(d); err != nil {
			return err
		}
	}
	if g.v2 {
		return d.enable(writes)
	}
	if contains(d.controllers, "cpuset") {
		return g.createCpuset(d, writes)
	}
	return g.applyTo(d, writes, true)
}

// mkdir makes the directory and its parents. A parent can vanish between two steps
// when another container's deletion takes it away: start over.
func (d *dir) mkdir() error {
	for tries := 0; ; tries++ {
		err := syscall.Mkdir(d.path, 0o755)
		switch {
		case err == nil:
			d.made, d.fresh = true, true
			return nil
		case err == syscall.EEXIST:
			return nil // made is set if MixedFD was it
		case err == syscall.EINTR:
		case err == syscall.ENOENT && tries < 10 && len(d.path) > len(d.mount):
			if err := d.mkParents(); err != nil {
				return err
			}
		case err == syscall.EROFS && exists(d.path):
			return nil // a read-only cgroupfs says so before it looks
		default:
			return opError("mkdir", d.path, err)
		}
	}
}

func exists(path string) bool {
	var st syscall.Stat_t
	return syscall.Stat(path, &st) == nil
}

func (d *dir) mkParents() error {
	for i := len(d.mount) + 1; i < len(d.path); i++ {
		if d.path[i] != '/' {
			continue
		}
		err := syscall.Mkdir(d.path[:i], 0o755)
		if err == nil {
			d.parents = append(d.parents, d.path[:i])
		} else if err != syscall.EEXIST && err != syscall.ENOENT && !(err == syscall.EROFS && exists(d.path[:i])) {
			return opError("mkdir", d.path[:i], err)
		}
	}
	return nil
}

// NotEmptyError: the cgroup that the container should get belongs to someone.
type NotEmptyError struct {
	Path  string
	Procs int
}

func (e *NotEmptyError) Error() string {
	return ErrNotEmpty.Error() + ": " + itoa(e.Procs) + " process(es) found in " + e.Path
}
func (e *NotEmptyError) Is(target error) bool { return target == ErrNotEmpty }

// refuse looks at a directory that was there before: limits of one container must not
// fall on another, and a process that joins a frozen cgroup hangs. As runc it looks at the
// processes of one hierarchy only.
func (g *Group) refuse(d *dir) error {
	if g.main() == d {
		pids, err := d.procs()
		if err != nil && !gone(err) {
			return err
		}
		if len(pids) > 0 {
			return &NotEmptyError{d.path, len(pids)}
		}
	}
	if g.freezer() == d {
		frozen, err := d.frozen(g.v2)
		if err != nil && !gone(err) {
			return err
		}
		if frozen {
			return opError("create", d.path, ErrFrozen)
		}
	}
	return nil
}

// gone tells the errnos of a cgroup that was removed meanwhile.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENODEV)
}

var cpusetFiles = [...]string{"cpuset.cpus", "cpuset.mems"}

// createCpuset fills the files of a cpuset, since one without CPUs or memory nodes refuses tasks
// (ENOSPC): with what the config asks for, else with the parent's, which is filled first as the
// kernel wants subsets. What the config sets is not filled from the parent before, as that could
// clash with a sibling's exclusive set.
func (g *Group) createCpuset(d *dir, writes []Write) error {
	var above [len(cpusetFiles)]string
	if d.path == d.mount {
		return nil // the root has it all
	}
	for i, file := range cpusetFiles {
		var err error
		if above[i], err = cpusetValue(parent(d.path), d.mount, file); err != nil {
			return err
		}
	}
	if err := g.applyTo(d, writes, true); err != nil {
		return err
	}
	for i, file := range cpusetFiles {
		if asked(writes, file) {
			continue
		}
		// A new directory is known to be empty, or (cgroup.clone_children) a copy.
		if !d.fresh {
			v, err := cpusetRead(d.path, file)
			if err != nil {
				return err
			}
			if v != "" {
				continue
			}
		}
		if err := cpusetWrite(d.path, file, above[i]); err != nil {
			return err
		}
	}
	return nil
}

func asked(writes []Write, file string) bool {
	for i := range writes {
		if writes[i].File == file {
			return true
		}
	}
	return false
}

// cpusetValue is the file's content in dir, filled from above if empty.
func cpusetValue(dir, mount, file string) (string, error) {
	v, err := cpusetRead(dir, file)
	if err != nil || v != "" || len(dir) <= len(mount) {
		return v, err
	}
	if v, err = cpusetValue(parent(dir), mount, file); err != nil {
		return "", err
	}
	return v, cpusetWrite(dir, file, v)
}

func cpusetRead(dir, file string) (string, error) {
	text, err := readFile(dir + "/" + file)
	return strings.TrimSuffix(string(text), "\n"), err
}

func cpusetWrite(dir, file, v string) error {
	path := dir + "/" + file
	if err := writeAt(atFDCWD, path, v); err != nil {
		return opError("write "+v+" to", path, err)
	}
	return nil
}

// Undo removes what Create made: the directories and the parents made on the way. It is for
// a create that failed; errors have nobody left to hear them.
func (g *Group) Undo() {
	_ = g.Remove()
	for i := range g.dirs {
		d := &g.dirs[i]
		for j := len(d.parents) - 1; j >= 0; j-- {
			// Not empty: another container moved in meanwhile, and keeps it.
			_ = syscall.Rmdir(d.parents[j])
		}
		d.parents = nil
	}
}

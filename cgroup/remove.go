package cgroup

import (
	"errors"
	"syscall"
	"time"
)

// removeBound is how long Remove waits for dying tasks to be gone.
const removeBound = 5 * time.Second

// Remove removes the container's directories that Create made, cgroups made in them by the
// container first. Tasks that are dying keep a cgroup busy for a moment: it waits for them.
// What is gone already is no error.
func (g *Group) Remove() error {
	g.Close()
	var first error
	for i := range g.dirs {
		d := &g.dirs[i]
		if !d.made {
			continue
		}
		if err := removeTree(d.path, time.Time{}); err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		d.made = false
	}
	return first
}

// removeTree tries rmdir alone first, which is nearly always enough.
func removeTree(path string, until time.Time) error {
	for delay := 20 * time.Microsecond; ; delay = min(2*delay, 20*time.Millisecond) {
		err := syscall.Rmdir(path)
		switch err {
		case nil, syscall.ENOENT:
			return nil
		case syscall.EINTR:
			continue
		case syscall.EBUSY, syscall.ENOTEMPTY:
			// Has tasks or children.
		case syscall.EROFS:
			// A read-only cgroupfs says so also where there is nothing.
			if !exists(path) {
				return nil
			}
			return opError("rmdir", path, err)
		default:
			return opError("rmdir", path, err)
		}
		if until.IsZero() {
			until = time.Now().Add(removeBound)
		}
		if err := removeChildren(path, until); err != nil {
			return err
		}
		if time.Now().After(until) {
			return opError("rmdir", path, err)
		}
		time.Sleep(delay)
	}
}

func removeChildren(path string, until time.Time) error {
	children, err := subgroups(path)
	if err != nil {
		if errors.Is(err, syscall.ENOENT) {
			return nil
		}
		return err
	}
	for _, c := range children {
		if err := removeTree(c, until); err != nil {
			return err
		}
	}
	return nil
}

// subgroups lists the cgroups in a cgroup. The kernel counts them in the directory's links,
// so that mostly nothing has to be listed.
func subgroups(path string) ([]string, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, opError("stat", path, err)
	}
	if st.Nlink == 2 {
		return nil, nil
	}
	entries, err := readDir(path)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.kind == syscall.DT_DIR {
			list = append(list, path+"/"+e.name)
		}
	}
	return list, nil
}

package cgroup

import (
	"bytes"
	"errors"
	"syscall"
	"time"
)

// freezeBound is how long Freeze waits; a task in an uninterruptible system call can take
// any time.
const freezeBound = 5 * time.Second

// ErrNotFrozen: some task did not stop in time.
var ErrNotFrozen = errors.New("not all tasks could be frozen in time")

func (g *Group) freezer() *dir {
	d := g.dir("freezer")
	if d == nil || d.lost != nil {
		return nil
	}
	return d
}

// Frozen tells whether the container's cgroup was frozen (not: one above it). Without a
// freezer it is not.
func (g *Group) Frozen() (bool, error) {
	d := g.freezer()
	if d == nil {
		return false, nil
	}
	frozen, err := d.frozen(g.v2)
	if err != nil && gone(err) {
		return false, nil
	}
	return frozen, err
}

func (d *dir) frozen(v2 bool) (bool, error) {
	if v2 {
		text, err := readFile(d.path + "/cgroup.freeze")
		return len(text) > 0 && text[0] == '1', err
	}
	// Also when only on its way (FREEZING). What froze the parent is not meant: pause and
	// resume are about this one.
	text, err := readFile(d.path + "/freezer.state")
	if err != nil || bytes.HasPrefix(text, []byte("THAWED")) {
		return false, err
	}
	self, err := readFile(d.path + "/freezer.self_freezing")
	if err != nil {
		return true, nil // before Linux 3.9
	}
	return len(self) > 0 && self[0] == '1', nil
}

// Freeze stops every task in the cgroup and below it, and returns when they are stopped. If
// some can't be, none is.
func (g *Group) Freeze() error { return g.freeze(freezeBound) }

func (g *Group) freeze(bound time.Duration) error {
	d := g.freezer()
	if d == nil {
		return ErrNoFreezer
	}
	done, file, value := d.frozenV1, "/freezer.state", "FROZEN"
	if g.v2 {
		done, file, value = d.frozenV2, "/cgroup.freeze", "1"
	}
	until := time.Now().Add(bound)
	for delay := 20 * time.Microsecond; ; delay = min(2*delay, 10*time.Millisecond) {
		// v1 takes a task that joined or forked meanwhile only with another write.
		if err := writeAt(atFDCWD, d.path+file, value); err != nil {
			return opError("write "+value+" to", d.path+file, err)
		}
		frozen, err := done()
		if err != nil || frozen {
			return err
		}
		if time.Now().After(until) {
			_ = g.Thaw()
			return opError("freeze", d.path, ErrNotFrozen)
		}
		time.Sleep(delay)
	}
}

// ThawAll lets the tasks go on that are in cgroups below, too: a container may have frozen
// itself there. What can't be thawed is left as it is.
func (g *Group) ThawAll() {
	if d := g.freezer(); d != nil {
		_ = g.Thaw()
		thawBelow(d.path, g.v2, 0)
	}
}

// maxDepth is how deep a container's own cgroups are followed.
const maxDepth = 64

func thawBelow(path string, v2 bool, depth int) {
	children, err := subgroups(path)
	if err != nil || depth == maxDepth {
		return
	}
	file, value := "/freezer.state", "THAWED"
	if v2 {
		file, value = "/cgroup.freeze", "0"
	}
	for _, c := range children {
		_ = writeAt(atFDCWD, c+file, value)
		thawBelow(c, v2, depth+1)
	}
}

// Thaw lets the tasks go on.
func (g *Group) Thaw() error {
	d := g.freezer()
	if d == nil {
		return ErrNoFreezer
	}
	file, value := "/freezer.state", "THAWED"
	if g.v2 {
		file, value = "/cgroup.freeze", "0"
	}
	if err := writeAt(atFDCWD, d.path+file, value); err != nil {
		return opError("write "+value+" to", d.path+file, err)
	}
	return nil
}

func (d *dir) frozenV1() (bool, error) {
	text, err := readFile(d.path + "/freezer.state")
	return bytes.HasPrefix(text, []byte("FROZEN")), err
}

func (d *dir) frozenV2() (bool, error) {
	text, err := readFile(d.path + "/cgroup.events")
	return bytes.Contains(text, []byte("frozen 1")), err
}

// Populated tells whether anything lives in the cgroup or below it.
func (g *Group) Populated() (bool, error) {
	if d := g.dir(""); g.v2 && d != nil {
		text, err := readFile(d.path + "/cgroup.events")
		if err == nil {
			return bytes.Contains(text, []byte("populated 1")), nil
		}
		if gone(err) && !exists(d.path) {
			return false, nil
		}
		if !errors.Is(err, syscall.ENOENT) {
			return false, err
		}
	}
	pids, err := g.Procs()
	return len(pids) > 0, err
}

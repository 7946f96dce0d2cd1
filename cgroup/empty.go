package cgroup

import (
	"syscall"
	"time"
)

// RemoveEmpty removes the directories that Create made if that needs nothing but rmdir(2):
// no processes, no cgroups below. False: something is left, which Remove can say more about.
// Where the cgroup is in use nothing is removed.
func (g *Group) RemoveEmpty() bool {
	g.Close()
	empty := true
	if d := g.main(); d != nil && d.made {
		// First the one that tells: of a cgroup that others use, no limits may go.
		if err := syscall.Rmdir(d.path); err != nil && err != syscall.ENOENT {
			return false
		}
	}
	for i := range g.dirs {
		d := &g.dirs[i]
		if !d.made || d.lost != nil {
			continue
		}
		if err := syscall.Rmdir(d.path); err != nil && err != syscall.ENOENT {
			empty = false
		}
	}
	return empty
}

// Vacated waits until no process is left in the cgroup, at most for the given time: what was
// killed takes a moment to be gone. The processes that stay are returned.
func (g *Group) Vacated(wait time.Duration) ([]int, error) {
	for end := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		pids, err := g.Procs()
		if err != nil || len(pids) == 0 || time.Now().After(end) {
			return pids, err
		}
	}
}

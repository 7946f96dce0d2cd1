package cgroup

import "syscall"

// RemoveEmpty removes the directories that Create made if that needs nothing but rmdir(2):
// no processes, no cgroups below. False: something is left, which Remove can say more about.
func (g *Group) RemoveEmpty() bool {
	g.Close()
	empty := true
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

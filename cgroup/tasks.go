package cgroup

// TaskFiles lists the v1 `tasks` files by which a process with one thread enters the cgroup
// itself: it writes "0" to each (see Enter for why). The cgroup2 tree of the mixed layout has
// no such file.
func (g *Group) TaskFiles() []string {
	if g.v2 {
		return nil
	}
	files := make([]string, 0, len(g.dirs))
	for i := range g.dirs {
		if g.dirs[i].controllers[0] != "" {
			files = append(files, g.dirs[i].path+"/tasks")
		}
	}
	return files
}

package cgroup

import "strings"

// Mount is one thing to put below a container's /sys/fs/cgroup (on v2: on it, Name "").
type Mount struct {
	// Name below the mount point: "cpu,cpuacct", "systemd", "unified".
	Name string
	// Target, if not "", makes it a symlink to Target and nothing else counts.
	Target string
	// Type and Options are for a new mount, as a cgroup namespace needs it: "cgroup" with
	// "cpu,cpuacct" or "none,name=systemd"; "cgroup2" with "".
	Type, Options string
	// Source is the directory on the host for a bind mount, without a cgroup namespace or
	// where a new mount is refused.
	Source string
}

// ContainerMounts is what a mount of type "cgroup" in config.json stands for. On v1 the
// caller puts a tmpfs at the destination and these into it; symlinks come last. With a
// cgroup namespace they are new mounts (their roots are the container's cgroups, which it has
// joined before it made the namespace); without one each is a bind of the container's own
// directory, as runc does it, so that it does not see the others. For v2 without a cgroup
// namespace runc mounts the whole tree anew; the bind is for when that is refused.
func (h *Host) ContainerMounts(g *Group, cgroupNS bool) []Mount {
	if h.V2 {
		m := Mount{Type: "cgroup2", Source: h.Root}
		if d := g.dir(""); d != nil && cgroupNS {
			m.Source = d.path
		}
		return []Mount{m}
	}
	list := make([]Mount, 0, len(h.Hierarchies)+len(h.Links))
	for i := range h.Hierarchies {
		hi := &h.Hierarchies[i]
		m := Mount{Name: hi.Mountpoint[strings.LastIndexByte(hi.Mountpoint, '/')+1:], Type: "cgroup"}
		switch {
		case hi.Controllers[0] == "":
			m.Type = "cgroup2"
		case strings.HasPrefix(hi.Controllers[0], namePrefix):
			m.Options = "none," + hi.Controllers[0]
		default:
			m.Options = strings.Join(hi.Controllers, ",")
		}
		m.Source = join(hi.Mountpoint, hi.Own)
		if d := g.dir(hi.Controllers[0]); d != nil && d.lost == nil {
			m.Source = d.path
		}
		list = append(list, m)
	}
	for _, l := range h.Links {
		list = append(list, Mount{Name: l.Name, Target: l.Target})
	}
	return list
}

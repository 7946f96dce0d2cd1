package cgroup

import (
	"strings"
	"syscall"
)

// Group is a container's cgroups: one directory for each hierarchy of v1, one on v2,
// none with the manager "disabled" (every method then does nothing).
type Group struct {
	v2       bool
	rootless bool // refusals are taken as they come, as the config asked for no path
	dirs     []dir
}

// dir is a cgroup in one hierarchy.
type dir struct {
	controllers []string
	path        string
	mount       string   // where its hierarchy is mounted
	made        bool     // by this package, so that Remove may take it away
	fresh       bool     // made just now by Create
	parents     []string // made on the way to it, outermost first
	fd          int      // -1 until something is written in it
	lost        error    // why it can't be had; the container goes without
}

// without tells whether the container goes without this directory, which err keeps it from: an
// unprivileged one that asked for no path, and on v1 any one where the hierarchy has no
// controller and so limits nothing. runc does the same.
func (g *Group) without(d *dir, err error) bool {
	c := d.controllers[0]
	if (g.v2 || (c != "" && c != "misc" && !strings.HasPrefix(c, namePrefix))) && !(g.rootless && permission(err)) {
		return false
	}
	d.lost = err
	return true
}

// Disabled is the Group of a container that stays in the caller's cgroups.
func Disabled() *Group { return &Group{} }

// Resolve finds the directories of a container's cgroup, as runc's cgroupfs driver does:
// an absolute linux.cgroupsPath is below each hierarchy's root; a relative one, or the
// id where it is empty, is on v1 below the caller's own cgroup of each controller (in the
// cgroup2 tree beside it: below its root), on v2 beside the caller's own cgroup, whose
// tasks keep it from having children with controllers. A path with ".." is refused. It
// has no side effects. With rootless, refusals of the kernel don't count where
// cgroupsPath is empty.
func (h *Host) Resolve(cgroupsPath, id string, rootless bool) (*Group, error) {
	inner := cgroupsPath
	if inner == "" {
		inner = id
	}
	inner, err := cleanPath(inner)
	if err != nil {
		return nil, err
	}
	absolute := strings.HasPrefix(cgroupsPath, "/")
	g := &Group{v2: h.V2, rootless: rootless && cgroupsPath == "", dirs: make([]dir, 0, len(h.Hierarchies))}
	for i := range h.Hierarchies {
		hi := &h.Hierarchies[i]
		if rank(hi.Controllers[0]) == len(order) {
			continue // name=elogind and the like are nobody's business
		}
		base := hi.Mountpoint
		if !absolute && !strings.HasPrefix(hi.Own, "/..") {
			switch {
			case h.V2:
				base = join(base, parent(hi.Own))
			case hi.Controllers[0] != "":
				base = join(base, hi.Own)
			}
		}
		g.dirs = append(g.dirs, dir{controllers: hi.Controllers, path: join(base, inner), mount: hi.Mountpoint, fd: -1})
	}
	return g, nil
}

// cleanPath is p as "a/b", without the leading slash, or "" for the root.
func cleanPath(p string) (string, error) {
	parts := make([]string, 0, 8)
	for part := range strings.SplitSeq(p, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return "", fieldError("linux.cgroupsPath", `"`+p+`" has a ".."`)
		case strings.ContainsAny(part, "\x00\n"):
			// The kernel refuses a line break, as it would forge lines of /proc/PID/cgroup.
			return "", fieldError("linux.cgroupsPath", "it has a line break or a NUL byte")
		default:
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "/"), nil
}

// Existing lists the directories that are there already.
func (g *Group) Existing() []string {
	var list []string
	for i := range g.dirs {
		var st syscall.Stat_t
		if syscall.Stat(g.dirs[i].path, &st) == nil {
			list = append(list, g.dirs[i].path)
		}
	}
	return list
}

// Paths is what runc's state.json has as cgroup_paths: on v1 each controller's directory
// ("name=systemd" and, for the cgroup2 tree of the mixed layout, "" among them), on v2 the
// one directory under "".
func (g *Group) Paths() map[string]string {
	paths := make(map[string]string, len(g.dirs)+1)
	for i := range g.dirs {
		if g.dirs[i].lost != nil {
			continue
		}
		for _, c := range g.dirs[i].controllers {
			paths[c] = g.dirs[i].path
		}
	}
	return paths
}

// Made lists the containers' directories that Create made, for Load in later verbs.
// Parents that it made are not in it: they stay, as with runc.
func (g *Group) Made() []string {
	list := make([]string, 0, len(g.dirs))
	for i := range g.dirs {
		if g.dirs[i].made {
			list = append(list, g.dirs[i].path)
		}
	}
	return list
}

// Load is the Group with these paths, from a state.json of berth or runc. made is what
// Remove may take away; for a container that runc made that is all of them: AllMade.
func Load(paths map[string]string, made []string) *Group {
	g := &Group{}
	for controller, path := range paths {
		if path == "" {
			continue
		}
		d := g.at(path)
		if d == nil {
			g.dirs = append(g.dirs, dir{path: path, fd: -1, made: contains(made, path)})
			d = &g.dirs[len(g.dirs)-1]
		}
		d.controllers = append(d.controllers, controller)
	}
	for i := range g.dirs {
		sortControllers(g.dirs[i].controllers)
	}
	sortDirs(g.dirs)
	g.v2 = len(g.dirs) == 1 && g.dirs[0].controllers[0] == ""
	return g
}

// AllMade is the made of a container whose state does not tell: every path.
func AllMade(paths map[string]string) []string {
	list := make([]string, 0, len(paths))
	for _, p := range paths {
		list = append(list, p)
	}
	return list
}

func sortControllers(list []string) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && rank(list[j]) < rank(list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func sortDirs(dirs []dir) {
	for i := 1; i < len(dirs); i++ {
		for j := i; j > 0 && rank(dirs[j].controllers[0]) < rank(dirs[j-1].controllers[0]); j-- {
			dirs[j], dirs[j-1] = dirs[j-1], dirs[j]
		}
	}
}

func (g *Group) at(path string) *dir {
	for i := range g.dirs {
		if g.dirs[i].path == path {
			return &g.dirs[i]
		}
	}
	return nil
}

// dir returns the directory of a controller; on v2 the one there is.
func (g *Group) dir(controller string) *dir {
	for i := range g.dirs {
		if g.v2 || contains(g.dirs[i].controllers, controller) {
			return &g.dirs[i]
		}
	}
	return nil
}

// main is the directory that speaks for all where one has to: whose processes are the
// container's. runc takes the one of devices.
func (g *Group) main() *dir {
	for _, c := range [...]string{"devices", "freezer", "pids", "memory", ""} {
		if d := g.dir(c); d != nil && d.lost == nil {
			return d
		}
	}
	for i := range g.dirs {
		if g.dirs[i].lost == nil {
			return &g.dirs[i]
		}
	}
	return nil
}

// open returns the directory's descriptor, kept until Close.
func (d *dir) open() (int, error) {
	if d.fd < 0 {
		fd, err := openDir(d.path)
		if err != nil {
			return -1, err
		}
		d.fd = fd
	}
	return d.fd, nil
}

// Close closes the descriptors that the Group holds. It can be used again after it.
func (g *Group) Close() {
	for i := range g.dirs {
		if g.dirs[i].fd >= 0 {
			syscall.Close(g.dirs[i].fd)
			g.dirs[i].fd = -1
		}
	}
}

// DirFD is a descriptor for clone3's CLONE_INTO_CGROUP: of the one directory on v2, of the
// one in the cgroup2 tree in the mixed layout, -1 where there is none. It is the Group's:
// not to be closed by the caller.
func (g *Group) DirFD() (int, error) {
	d := g.dir("")
	if d == nil || d.lost != nil {
		return -1, nil
	}
	return d.open()
}

// MixedFD is DirFD for the mixed layout alone (-1 elsewhere), and makes that directory first:
// nothing else has to be there for the clone, so that Create can go on beside it. A container
// that is not in it would see the host's cgroup2 tree where its own should be.
func (g *Group) MixedFD() (int, error) {
	d := g.dir("")
	if g.v2 || d == nil || d.lost != nil {
		return -1, nil
	}
	err := d.mkdir()
	if err == nil {
		var fd int
		if fd, err = d.open(); err == nil {
			return fd, nil
		}
	}
	d.lost = err // as in Create: a container can do without
	return -1, nil
}

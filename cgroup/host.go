package cgroup

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	usualRoot  = "/sys/fs/cgroup"
	ownCgroup  = "/proc/self/cgroup"
	mountInfo  = "/proc/self/mountinfo"
	systemdV1  = "name=systemd"
	namePrefix = "name="

	// A kernfs root has inode 1. A mount whose root has another one shows a
	// sub-directory of its hierarchy: a cgroup namespace, or a bind mount.
	hierarchyRootIno = 1
)

// Hierarchy is one mounted tree of cgroups.
type Hierarchy struct {
	// Controllers as in /proc/self/cgroup: "cpu", "cpuacct"; "name=systemd" for one
	// without a controller; "" for the cgroup2 tree.
	Controllers []string
	Mountpoint  string
	// Own is the caller's cgroup, relative to what the mount shows: "/", "/a/b".
	Own string
}

// Link is a symlink beside the mounts of v1: "cpu" to "cpu,cpuacct".
type Link struct{ Name, Target string }

// Host is what this machine has. It is read once and never changed.
type Host struct {
	V2          bool
	Root        string // where the hierarchies are mounted; with V2 the mount itself
	Hierarchies []Hierarchy
	Links       []Link
	controllers []string // with V2: cgroup.controllers of the root
}

// Detect reads what cgroups this machine has. It needs no privilege.
func Detect() (*Host, error) {
	var st syscall.Statfs_t
	err := syscall.Statfs(usualRoot, &st)
	if err != nil && err != syscall.ENOENT {
		return nil, opError("statfs", usualRoot, err)
	}
	own, rerr := readFile(ownCgroup)
	if rerr != nil {
		return nil, rerr
	}
	if err == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
		return detectV2(string(own))
	}
	h := &Host{Root: usualRoot}
	if err == nil && h.scan(parseOwn(string(own))) {
		return h, nil
	}
	return fromMountinfo(string(own))
}

func detectV2(own string) (*Host, error) {
	h := &Host{V2: true, Root: usualRoot}
	list, err := readFile(usualRoot + "/cgroup.controllers")
	if err != nil {
		return nil, err
	}
	h.controllers = strings.Fields(string(list))
	hier := Hierarchy{Controllers: []string{""}, Mountpoint: usualRoot, Own: "/"}
	for _, o := range parseOwn(own) {
		if len(o.controllers) == 1 && o.controllers[0] == "" {
			hier.Own = o.path
		}
	}
	h.Hierarchies = []Hierarchy{hier}
	if !wholeTree(atFDCWD, usualRoot) {
		mounts, err := cgroupMounts()
		if err != nil {
			return nil, err
		}
		h.relate(mounts)
	}
	return h, nil
}

// ownLine is a line of /proc/self/cgroup.
type ownLine struct {
	controllers []string
	path        string
}

// parseOwn reads lines like "4:cpu,cpuacct:/user.slice" and "0::/user.slice".
func parseOwn(text string) []ownLine {
	lines := make([]ownLine, 0, 16)
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		list, path, ok2 := strings.Cut(rest, ":")
		if ok && ok2 {
			lines = append(lines, ownLine{strings.Split(list, ","), path})
		}
	}
	return lines
}

// scan fills h from the directories of /sys/fs/cgroup, the layout that every
// distribution has: a mount named after its controllers, symlinks for the single
// controllers of a shared one, "systemd" and "unified". It is false if nothing
// was found or something is not as usual, and then mountinfo has to tell.
func (h *Host) scan(own []ownLine) bool {
	fd, err := openat(atFDCWD, usualRoot, syscall.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	names, err := readDirFD(fd)
	if err != nil {
		return false
	}
	usual := true
	for _, e := range names {
		switch e.kind {
		case syscall.DT_LNK:
			if target, err := readlink(usualRoot + "/" + e.name); err == nil && !strings.Contains(target, "/") {
				h.Links = append(h.Links, Link{e.name, target})
			}
		case syscall.DT_DIR:
			if line := findOwn(own, e.name); line != nil {
				usual = usual && wholeTree(fd, e.name)
				h.Hierarchies = append(h.Hierarchies, Hierarchy{line.controllers, usualRoot + "/" + e.name, line.path})
			}
		}
	}
	if !usual {
		mounts, err := cgroupMounts()
		if err != nil {
			return false
		}
		h.relate(mounts)
	}
	sortHierarchies(h.Hierarchies)
	return h.find(systemdV1) != nil || h.find("devices") != nil || h.find("memory") != nil
}

// findOwn finds the line that a directory of /sys/fs/cgroup stands for: its name lists
// the same controllers in any order ("cpu,cpuacct" is the kernel's "cpu,cpuacct"), or
// is the name= of a hierarchy, or "unified".
func findOwn(own []ownLine, dir string) *ownLine {
	for i := range own {
		o := &own[i]
		switch first := o.controllers[0]; {
		case first == "":
			if dir == "unified" {
				return o
			}
		case first == dir || first == namePrefix+dir:
			if len(o.controllers) == 1 {
				return o
			}
		}
		if len(o.controllers) > 1 && sameList(o.controllers, dir) {
			return o
		}
	}
	return nil
}

func sameList(list []string, commas string) bool {
	n := 0
	for name := range strings.SplitSeq(commas, ",") {
		n++
		if !contains(list, name) && !contains(list, namePrefix+name) {
			return false
		}
	}
	return n == len(list)
}

// order is that of making and joining. cpuset is first as it is the one that refuses
// tasks until it is set up; the ones without a controller are last, nothing hangs on
// them.
var order = [...]string{"cpuset", "devices", "memory", "cpu", "cpuacct", "pids", "blkio", "hugetlb",
	"net_cls", "net_prio", "perf_event", "freezer", "rdma", "misc", systemdV1, ""}

func sortHierarchies(hs []Hierarchy) {
	for i := 1; i < len(hs); i++ {
		for j := i; j > 0 && rank(hs[j].Controllers[0]) < rank(hs[j-1].Controllers[0]); j-- {
			hs[j], hs[j-1] = hs[j-1], hs[j]
		}
	}
}

func rank(controller string) int {
	for i, name := range order {
		if name == controller {
			return i
		}
	}
	return len(order)
}

// wholeTree tells whether name in the directory fd is a mount of a hierarchy from its root.
func wholeTree(fd int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(fd, name, &st, 0) == nil && st.Ino == hierarchyRootIno
}

// find returns the hierarchy that a controller is in.
func (h *Host) find(controller string) *Hierarchy {
	for i := range h.Hierarchies {
		if contains(h.Hierarchies[i].Controllers, controller) {
			return &h.Hierarchies[i]
		}
	}
	return nil
}

// Facts is what the table of resources needs to know of the machine.
type Facts struct {
	V2          bool
	Controllers []string
	// UserNS: the caller is root only in a user namespace. Device rules can't be set
	// there and aren't needed: such a root can neither make device nodes nor open
	// those of the host.
	UserNS bool
}

// Facts lists the controllers that can be used.
func (h *Host) Facts() Facts {
	if h.V2 {
		return Facts{V2: true, Controllers: append([]string{"devices", "freezer"}, h.controllers...)}
	}
	f := Facts{}
	for i := range h.Hierarchies {
		f.Controllers = append(f.Controllers, h.Hierarchies[i].Controllers...)
	}
	return f
}

func (f *Facts) has(controller string) bool { return contains(f.Controllers, controller) }

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

var errNoMounts = errors.New("no cgroup file system is mounted")

package cgroup

import (
	"strings"
)

// mount is a cgroup file system in mountinfo.
type mount struct {
	root, point string
	v2          bool
	controllers []string // of the superblock options
}

// cgroupMounts reads mountinfo. With thousands of mounts that costs milliseconds, so
// it is only asked where /sys/fs/cgroup is not as usual.
func cgroupMounts() ([]mount, error) {
	text, err := readFile(mountInfo)
	if err != nil {
		return nil, err
	}
	var list []mount
	for line := range strings.Lines(string(text)) {
		if m, ok := parseMount(strings.TrimSuffix(line, "\n")); ok {
			list = append(list, m)
		}
	}
	return list, nil
}

// parseMount reads a line such as (proc_pid_mountinfo(5))
//
//	32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
func parseMount(line string) (mount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	if !ok {
		return mount{}, false
	}
	kind, rest, _ := strings.Cut(right, " ")
	if kind != "cgroup" && kind != "cgroup2" {
		return mount{}, false
	}
	fields := strings.Fields(left)
	if len(fields) < 6 {
		return mount{}, false
	}
	m := mount{root: unescape(fields[3]), point: unescape(fields[4]), v2: kind == "cgroup2"}
	if m.v2 {
		m.controllers = []string{""}
		return m, true
	}
	_, options, _ := strings.Cut(rest, " ")
	for o := range strings.SplitSeq(options, ",") {
		if strings.HasPrefix(o, namePrefix) || rank(o) < len(order) {
			m.controllers = append(m.controllers, o)
		}
	}
	return m, len(m.controllers) > 0
}

// unescape undoes the octal escapes of blanks and backslashes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// relate makes the caller's own cgroups relative to what the mounts show, and drops directories
// on which nothing is mounted. In a container without a cgroup namespace /proc/self/cgroup has
// the host's paths, while the mount shows only the container's part.
func (h *Host) relate(mounts []mount) {
	kept := h.Hierarchies[:0]
	for _, hi := range h.Hierarchies {
		root := ""
		for i := range mounts {
			if mounts[i].point == hi.Mountpoint {
				root = mounts[i].root // of several, the last is on top
			}
		}
		if root != "" {
			hi.Own = below(root, hi.Own)
			kept = append(kept, hi)
		}
	}
	h.Hierarchies = kept
}

// below is path relative to root, both absolute; "/" if it is not below it.
func below(root, path string) string {
	if root == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
		return "/" + strings.TrimPrefix(rest, "/")
	}
	return "/"
}

// fromMountinfo finds hierarchies that are mounted elsewhere (/cgroup, or a cgroup2 not on
// /sys/fs/cgroup). The first mount of each hierarchy counts.
func fromMountinfo(own string) (*Host, error) {
	mounts, err := cgroupMounts()
	if err != nil {
		return nil, err
	}
	h := &Host{}
	for _, o := range parseOwn(own) {
		for i := range mounts {
			if mounts[i].controllers[0] == o.controllers[0] {
				h.Hierarchies = append(h.Hierarchies, Hierarchy{o.controllers, mounts[i].point,
					below(mounts[i].root, o.path)})
				break
			}
		}
	}
	if len(h.Hierarchies) == 0 {
		return nil, opError("find cgroups in", mountInfo, errNoMounts)
	}
	sortHierarchies(h.Hierarchies)
	first := h.Hierarchies[0]
	h.V2 = first.Controllers[0] == ""
	h.Root = parent(first.Mountpoint)
	if h.V2 {
		h.Root = first.Mountpoint
		list, err := readFile(h.Root + "/cgroup.controllers")
		if err != nil {
			return nil, err
		}
		h.controllers = strings.Fields(string(list))
	}
	return h, nil
}

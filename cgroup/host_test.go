package cgroup

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseOwn(t *testing.T) {
	got := parseOwn("12:cpu,cpuacct:/a\n1:name=systemd:/user.slice/x:y\n0::/\nnonsense\n")
	want := []ownLine{{[]string{"cpu", "cpuacct"}, "/a"}, {[]string{"name=systemd"}, "/user.slice/x:y"}, {[]string{""}, "/"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for dir, i := range map[string]int{"cpu,cpuacct": 0, "cpuacct,cpu": 0, "systemd": 1, "unified": 2, "cpu": -1, "memory": -1, "cpu,memory": -1} {
		o := findOwn(want, dir)
		if (i < 0) != (o == nil) || (o != nil && !reflect.DeepEqual(*o, want[i])) {
			t.Errorf("%s: %v", dir, o)
		}
	}
}

func TestParseMount(t *testing.T) {
	for line, want := range map[string]mount{
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct":           {"/", "/sys/fs/cgroup/cpu,cpuacct", false, []string{"cpu", "cpuacct"}},
		"40 31 0:37 /docker/a /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd":                  {"/docker/a", "/sys/fs/cgroup/systemd", false, []string{"name=systemd"}},
		`41 31 0:38 /a\040b /sys/fs/cgroup rw,nosuid master:1 propagate_from:2 - cgroup2 cgroup2 rw,nsdelegate`: {"/a b", "/sys/fs/cgroup", true, []string{""}},
	} {
		if got, ok := parseMount(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", line, got)
		}
	}
	for _, line := range []string{"", "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw", "x - cgroup cgroup rw,cpu", "1 2 3 4 5 6"} {
		if m, ok := parseMount(line); ok {
			t.Errorf("%q: %v", line, m)
		}
	}
}

func TestRelate(t *testing.T) {
	h := &Host{Hierarchies: []Hierarchy{
		{[]string{"memory"}, "/sys/fs/cgroup/memory", "/docker/abc/inner"},
		{[]string{"cpu"}, "/sys/fs/cgroup/cpu", "/docker/abc"},
		{[]string{"pids"}, "/sys/fs/cgroup/pids", "/docker/abcdef"},
		{[]string{"hugetlb"}, "/sys/fs/cgroup/hugetlb", "/"},
	}}
	h.relate([]mount{{root: "/docker/abc", point: "/sys/fs/cgroup/memory"}, {root: "/docker/abc", point: "/sys/fs/cgroup/cpu"}, {root: "/docker/abc", point: "/sys/fs/cgroup/pids"}})
	want := []Hierarchy{
		{[]string{"memory"}, "/sys/fs/cgroup/memory", "/inner"},
		{[]string{"cpu"}, "/sys/fs/cgroup/cpu", "/"},
		{[]string{"pids"}, "/sys/fs/cgroup/pids", "/"},
	}
	if !reflect.DeepEqual(h.Hierarchies, want) {
		t.Errorf("got %v", h.Hierarchies)
	}
}

func hybrid() *Host {
	return &Host{Root: "/sys/fs/cgroup", Links: []Link{{"cpu", "cpu,cpuacct"}, {"cpuacct", "cpu,cpuacct"}}, Hierarchies: []Hierarchy{
		{[]string{"memory"}, "/sys/fs/cgroup/memory", "/user.slice"},
		{[]string{"cpu", "cpuacct"}, "/sys/fs/cgroup/cpu,cpuacct", "/"},
		{[]string{"name=elogind"}, "/sys/fs/cgroup/elogind", "/"},
		{[]string{"name=systemd"}, "/sys/fs/cgroup/systemd", "/user.slice/s"},
		{[]string{""}, "/sys/fs/cgroup/unified", "/user.slice/s"},
	}}
}

func unified(own string) *Host {
	return &Host{V2: true, Root: "/sys/fs/cgroup", Hierarchies: []Hierarchy{{[]string{""}, "/sys/fs/cgroup", own}}}
}

func TestResolve(t *testing.T) {
	mixed := func(memory, cpu, systemd, tree string) map[string]string {
		r := "/sys/fs/cgroup/"
		return map[string]string{"memory": r + "memory" + memory, "cpu": r + "cpu,cpuacct" + cpu, "cpuacct": r + "cpu,cpuacct" + cpu,
			"name=systemd": r + "systemd" + systemd, "": r + "unified" + tree}
	}
	one := func(p string) map[string]string { return map[string]string{"": p} }
	for _, c := range []struct {
		name string
		h    *Host
		path string
		want map[string]string
	}{
		{"v1 absolute", hybrid(), "/a//b/./c/", mixed("/a/b/c", "/a/b/c", "/a/b/c", "/a/b/c")},
		{"v1 relative", hybrid(), "a/b", mixed("/user.slice/a/b", "/a/b", "/user.slice/s/a/b", "/a/b")},
		{"v1 none", hybrid(), "", mixed("/user.slice/ID", "/ID", "/user.slice/s/ID", "/ID")},
		{"v1 root", hybrid(), "/", mixed("", "", "", "")},
		{"v2 absolute", unified("/user.slice/s"), "/a/b", one("/sys/fs/cgroup/a/b")},
		{"v2 relative: beside the caller", unified("/user.slice/s"), "a/b", one("/sys/fs/cgroup/user.slice/a/b")},
		{"v2 none", unified("/user.slice/s"), "", one("/sys/fs/cgroup/user.slice/ID")},
		{"v2 none, caller in the root", unified("/"), "", one("/sys/fs/cgroup/ID")},
		{"v2, caller outside of the namespace's root", unified("/../x"), "", one("/sys/fs/cgroup/ID")},
	} {
		g, err := c.h.Resolve(c.path, "ID", false)
		if err != nil || !reflect.DeepEqual(g.Paths(), c.want) {
			t.Errorf("%s: %v, %v", c.name, g.Paths(), err)
		}
		if l := Load(g.Paths(), nil); !reflect.DeepEqual(l.Paths(), c.want) || l.v2 != c.h.V2 && c.name != "v1 root" {
			t.Errorf("%s loaded: %v", c.name, l.Paths())
		}
	}
	for _, p := range []string{"..", "/a/../b", "a/..", "/a\nb", "a\x00"} {
		if _, err := hybrid().Resolve(p, "ID", false); err == nil || !strings.HasPrefix(err.Error(), "linux.cgroupsPath: ") {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestContainerMounts(t *testing.T) {
	g, _ := hybrid().Resolve("/c", "", false)
	got := hybrid().ContainerMounts(g, true)
	want := []Mount{
		{"memory", "", "cgroup", "memory", "/sys/fs/cgroup/memory/c"},
		{"cpu,cpuacct", "", "cgroup", "cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/c"},
		{"elogind", "", "cgroup", "none,name=elogind", "/sys/fs/cgroup/elogind"},
		{"systemd", "", "cgroup", "none,name=systemd", "/sys/fs/cgroup/systemd/c"},
		{"unified", "", "cgroup2", "", "/sys/fs/cgroup/unified/c"},
		{Name: "cpu", Target: "cpu,cpuacct"}, {Name: "cpuacct", Target: "cpu,cpuacct"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("v1\n got %v\nwant %v", got, want)
	}
	g, _ = unified("/").Resolve("/c", "", false)
	for ns, source := range map[bool]string{true: "/sys/fs/cgroup/c", false: "/sys/fs/cgroup"} {
		want := []Mount{{Type: "cgroup2", Source: source}}
		if got := unified("/").ContainerMounts(g, ns); !reflect.DeepEqual(got, want) {
			t.Errorf("v2 %v: %v", ns, got)
		}
	}
}

func TestDisabled(t *testing.T) {
	g := Disabled()
	for name, err := range map[string]error{"create": g.Create(nil), "join": g.Join(1), "apply": g.Apply([]Write{{}}), "remove": g.Remove(), "kill": g.Kill(9)} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fd, err := g.DirFD(); fd != -1 || err != nil || len(g.Paths()) != 0 || len(g.TaskFiles()) != 0 || g.Exists() {
		t.Error("a disabled group has something")
	}
}

func TestMissing(t *testing.T) {
	for _, c := range [][3]string{{"cpu io memory\n", "memory\n", "+cpu +io"}, {"cpu", "cpu", ""}, {"", "", ""}, {"cpuset cpu", "cpuset", "+cpu"}} {
		if got := missing(c[0], c[1]); got != c[2] {
			t.Errorf("%q", got)
		}
	}
}

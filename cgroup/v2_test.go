package cgroup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/cgroups/fs2"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// The tests of v2 run in a mount namespace of their own with a cgroup2 file system on
// /sys/fs/cgroup, in this same program executed once more. On a machine of v1 that tree has
// few controllers or none, but all of the core, the freezer and device programs.

const insideV2 = "BERTH_CGROUP_TEST_V2"

var inside = []struct {
	name string
	test func(*testing.T)
}{
	{"Life", insideLife},
	{"PathsAsReference", insidePathsAsReference},
	{"Freeze", insideFreeze},
	{"Frozen", insideFrozen},
	{"Devices", insideDevices},
	{"Threaded", insideThreaded},
	{"Controllers", insideControllers},
	{"Limits", insideLimits},
	{"RemoveWaits", insideRemoveWaits},
	{"Nested", insideNested},
}

func TestV2(t *testing.T) {
	if os.Getenv(insideV2) != "" {
		hostV2(t)
		defer restoreControllers(t)()
		for _, i := range inside {
			t.Run(i.name, i.test)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	c := exec.Command("/proc/self/exe", "-test.run=^TestV2$", "-test.count=1", "-test.v")
	c.Env = append(os.Environ(), insideV2+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Error(err)
	}
	if n := bytes.Count(out, []byte("    --- PASS: TestV2/")); err == nil && n != len(inside) {
		t.Errorf("%d tests ran inside", n)
	}
}

// restoreControllers: Create enables what there is in the root's subtree_control, which is the
// machine's own, whoever mounted it. What a test enabled it disables again.
func restoreControllers(t *testing.T) func() {
	const file = usualRoot + "/cgroup.subtree_control"
	read := func() []string {
		text, err := os.ReadFile(file)
		must(t, err)
		return strings.Fields(string(text))
	}
	before := read()
	return func() {
		for _, c := range read() {
			if !slices.Contains(before, c) {
				must(t, os.WriteFile(file, []byte("-"+c), 0))
			}
		}
	}
}

// hostV2 is the Host inside.
func hostV2(t *testing.T) *Host {
	t.Helper()
	var st syscall.Statfs_t
	must(t, syscall.Statfs(usualRoot, &st))
	if st.Type != unix.CGROUP2_SUPER_MAGIC {
		must(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		must(t, syscall.Mount("cgroup2", usualRoot, "cgroup2", 0, ""))
	}
	h, err := Detect()
	must(t, err)
	if !h.V2 || len(h.Hierarchies) != 1 {
		t.Fatal(h)
	}
	return h
}

// inCgroup runs a shell script in the cgroup.
func inCgroup(t *testing.T, g *Group, script string) (string, error) {
	t.Helper()
	fd, err := g.DirFD()
	must(t, err)
	c := exec.Command("/bin/busybox", "sh", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func insideLife(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t)+"/leaf")
	must(t, g.Create(nil))
	dir := g.Paths()[""]
	if out, err := inCgroup(t, g, "cat /proc/self/cgroup"); err != nil || !strings.Contains(out, "0::"+testPath(t)+"/leaf") {
		t.Error(out, err)
	}
	pid := sleeper(t)
	must(t, g.Join(pid))
	if pids, err := g.Procs(); err != nil || len(pids) != 1 || pids[0] != pid {
		t.Error(pids, err)
	}
	other, err := h.Resolve(testPath(t)+"/leaf", "x", false)
	must(t, err)
	if err := other.Create(nil); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	must(t, os.MkdirAll(dir+"/a/b", 0o755))
	must(t, os.WriteFile(dir+"/a/b/cgroup.procs", []byte(itoa(sleeper(t))), 0))
	l := Load(g.Paths(), g.Made())
	if pids, err := l.Procs(); err != nil || len(pids) != 2 {
		t.Error(pids, err)
	}
	must(t, l.Kill(syscall.SIGKILL))
	if p, err := l.Populated(); p || err != nil {
		t.Error(p, err)
	}
	must(t, l.Remove())
	if exists(dir) {
		t.Error("left")
	}
}

func insidePathsAsReference(t *testing.T) {
	h := hostV2(t)
	for _, path := range []string{"", "/a/b", "a/b", "/"} {
		m, err := fs2.NewManager(referenceConfig(path), "")
		must(t, err)
		g, err := h.Resolve(path, "ID", false)
		must(t, err)
		if got, want := g.Paths()[""], m.Path(""); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func insideFreeze(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	must(t, g.Join(sleeper(t)))
	must(t, g.Freeze())
	if f, err := g.Frozen(); !f || err != nil {
		t.Error(f, err)
	}
	must(t, g.Thaw())
	if f, err := g.Frozen(); f || err != nil {
		t.Error(f, err)
	}
	must(t, g.Freeze())
	must(t, g.Kill(syscall.SIGTERM))
	if f, _ := g.Frozen(); !f {
		t.Error("a signal thawed it")
	}
	must(t, g.Kill(syscall.SIGKILL))
	if pids, err := g.Procs(); len(pids) != 0 || err != nil {
		t.Error(pids, err)
	}
}

// A frozen cgroup that was there is refused.
func insideFrozen(t *testing.T) {
	h := hostV2(t)
	owner := resolve(t, h, testPath(t))
	must(t, owner.Create(nil))
	must(t, owner.Freeze())
	g, err := h.Resolve(testPath(t), "x", false)
	must(t, err)
	if err := g.Create(nil); !errors.Is(err, ErrFrozen) {
		t.Error(err)
	}
	if len(owner.Existing()) != 1 {
		t.Error("a cgroup that was there before was taken away")
	}
}

// The device program does what it says, and an update takes its place.
func insideDevices(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t))
	try := func(script string, allowed bool) {
		t.Helper()
		out, err := inCgroup(t, g, script)
		if (err == nil) != allowed || (!allowed && !strings.Contains(out, "Operation not permitted")) {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}
	zero, kmsg, mknod := "head -c 1 /dev/zero >/dev/null", "true </dev/kmsg", "mknod "+t.TempDir()+"/n c 4 4"
	apply := func(texts ...string) {
		t.Helper()
		w, err := Writes(rules(texts...), h.Facts())
		must(t, err)
		must(t, g.Apply(w))
	}
	must(t, g.Create(nil))
	try(kmsg, true)
	apply("deny a *:* rwm")
	try(zero, true)
	try(kmsg, false)
	try(mknod, true)
	g.Close()
	g = Load(g.Paths(), g.Made())
	defer g.Close()
	apply("allow c 1:11 r")
	try(kmsg, true)
	try("true >/dev/kmsg", false)
	fd, err := g.DirFD()
	must(t, err)
	progs, err := attached(fd)
	if err != nil || len(progs) != 1 {
		t.Errorf("programs after an update: %v %v", progs, err)
	}
	for _, p := range progs {
		syscall.Close(p)
	}
	apply("allow a *:* rwm", "deny c 1:11 w")
	try(kmsg, true)
	try("true >/dev/kmsg", false)
	try("true <>/dev/kmsg", false) // part of the access is denied, so all of it is
}

// Below a threaded cgroup a new one is invalid, and is made threaded.
func insideThreaded(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t)+"/t/leaf")
	above := usualRoot + testPath(t)
	must(t, os.MkdirAll(above+"/t", 0o755))
	t.Cleanup(func() { g.Undo(); os.Remove(above + "/t"); os.Remove(above) })
	must(t, os.WriteFile(above+"/t/cgroup.type", []byte("threaded"), 0))
	err := g.Create([]Write{{Controller: "memory", File: "memory.max", Field: "linux.resources.memory.limit"}})
	want := `set linux.resources.memory.limit: use ` + above + `/t/leaf: cgroup of type "domain invalid": this controller does not work in threaded cgroups`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if exists(above + "/t/leaf") {
		t.Error("left")
	}
	must(t, g.Create(nil))
	if got := read(t, above+"/t/leaf/cgroup.type"); got != "threaded" {
		t.Error(got)
	}
	must(t, g.Join(sleeper(t)))
	if pids, err := g.Procs(); err != nil || len(pids) != 1 { // cgroup.procs can't be read there
		t.Error(pids, err)
	}
	must(t, g.Kill(syscall.SIGKILL))
}

// Controllers are enabled on the way to the cgroup, as far as this tree has any.
func insideControllers(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t)+"/a/leaf")
	must(t, g.Create(nil))
	have, all := read(t, g.Paths()[""]+"/cgroup.controllers"), read(t, usualRoot+"/cgroup.controllers")
	t.Logf("controllers of the root: %q", all)
	if missing(all, have) != "" {
		t.Errorf("%q of %q", have, all)
	}
	if strings.Contains(all, "hugetlb") {
		w, err := Writes(&specs.Linux{Resources: &specs.LinuxResources{HugepageLimits: []specs.LinuxHugepageLimit{{Pagesize: "2MB", Limit: 1 << 21}}}}, h.Facts())
		must(t, err)
		must(t, g.Apply(w))
		if got := read(t, g.Paths()[""]+"/hugetlb.2MB.max"); got != "2097152" {
			t.Error(got)
		}
	}
	err := g.Apply([]Write{{Controller: "memory", File: "memory.max", Value: "1", Field: "F"}})
	if !strings.Contains(all, "memory") && (err == nil || !strings.Contains(err.Error(), "memory.max: no such file or directory (the controller memory is not enabled here")) {
		t.Error(err)
	}
	must(t, g.Apply([]Write{{File: "cgroup.max.depth", Value: "3", Field: "F"}}))
	if got := read(t, g.Paths()[""]+"/cgroup.max.depth"); got != "3" {
		t.Error(got)
	}
}

// What linux.resources asks for is in the files, as far as this tree has the controllers.
func insideLimits(t *testing.T) {
	h := hostV2(t)
	f := h.Facts()
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	r := &specs.LinuxResources{}
	want := map[string]string{}
	if f.has("memory") {
		r.Memory = &specs.LinuxMemory{Limit: ptr(int64(1 << 20)), Swap: ptr(int64(3 << 20)), Reservation: ptr(int64(4096))}
		want["memory.max"], want["memory.low"] = "1048576", "4096"
		if exists(g.Paths()[""] + "/memory.swap.max") {
			want["memory.swap.max"] = "2097152"
		} else {
			r.Memory.Swap = ptr(int64(1 << 20))
		}
	}
	if f.has("pids") {
		r.Pids = &specs.LinuxPids{Limit: ptr(int64(1))}
		want["pids.max"] = "1"
	}
	if f.has("cpu") {
		r.CPU = &specs.LinuxCPU{Shares: ptr(uint64(1024)), Quota: ptr(int64(10000)), Period: ptr(uint64(20000)), Burst: ptr(uint64(10000))}
		want["cpu.weight"], want["cpu.max"], want["cpu.max.burst"] = "100", "10000 20000", "10000"
	}
	if f.has("cpuset") && r.CPU != nil {
		r.CPU.Cpus, r.CPU.Mems = "0", "0"
		want["cpuset.cpus"], want["cpuset.mems"] = "0", "0"
	}
	if f.has("hugetlb") {
		r.HugepageLimits = []specs.LinuxHugepageLimit{{Pagesize: "2MB", Limit: 1 << 21}}
		want["hugetlb.2MB.max"], want["hugetlb.2MB.rsvd.max"] = "2097152", "2097152"
	}
	if f.has("io") {
		r.BlockIO = &specs.LinuxBlockIO{Weight: ptr(uint16(500))}
		if exists(g.Paths()[""] + "/io.bfq.weight") {
			want["io.bfq.weight"] = "default 500"
		} else {
			want["io.weight"] = "default 4950"
		}
	}
	w, err := Writes(&specs.Linux{Resources: r}, f)
	must(t, err)
	must(t, g.Apply(w))
	for file, value := range want {
		if got := read(t, g.Paths()[""]+"/"+file); got != value {
			t.Errorf("%s: %q, want %q", file, got, value)
		}
	}
	t.Logf("%d files set: %v", len(want), f.Controllers)
	if out, err := inCgroup(t, g, "cat /proc/self/cgroup"); err != nil || out == "" {
		t.Error(out, err)
	}
}

// Remove waits for a process that is on its way out.
func insideRemoveWaits(t *testing.T) {
	h := hostV2(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	pid := sleeper(t)
	must(t, g.Join(pid))
	time.AfterFunc(30*time.Millisecond, func() { syscall.Kill(pid, syscall.SIGKILL) })
	must(t, g.Remove())
}

// In a container without a cgroup namespace the mount shows a part of the tree, and
// /proc/self/cgroup has paths of the whole.
func insideNested(t *testing.T) {
	h := hostV2(t)
	outer := resolve(t, h, testPath(t))
	must(t, outer.Create(nil))
	must(t, os.Mkdir(outer.Paths()[""]+"/mine", 0o755))
	t.Cleanup(func() { os.Remove(usualRoot + testPath(t) + "/mine") })
	must(t, syscall.Mount(usualRoot+testPath(t), usualRoot, "", syscall.MS_BIND, ""))
	defer syscall.Unmount(usualRoot, syscall.MNT_DETACH)
	mounts, err := cgroupMounts()
	must(t, err)
	n := &Host{Hierarchies: []Hierarchy{{[]string{""}, usualRoot, testPath(t) + "/mine"}}}
	n.relate(mounts)
	if n.Hierarchies[0].Own != "/mine" {
		t.Error(n.Hierarchies, mounts)
	}
	d, err := Detect()
	if err != nil || d.Hierarchies[0].Own != "/" {
		t.Error(d, err)
	}
}

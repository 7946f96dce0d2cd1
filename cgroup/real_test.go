package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// Tests on this machine's own hierarchies, in cgroups of the test's own. They need root, and v1
// or the mixed layout; v2_test.go has what needs v2.

func ptr[T any](v T) *T { return &v }

func hostV1(t *testing.T) *Host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	h, err := Detect()
	if err != nil {
		t.Fatal(err)
	}
	if h.V2 {
		t.Skip("needs cgroup v1, and this machine has v2")
	}
	return h
}

func testPath(t *testing.T) string {
	return "/berth-test-" + itoa(os.Getpid()) + "-" + strings.ReplaceAll(t.Name(), "/", "-")
}

// resolve gives a Group of the test's own that leaves nothing behind.
func resolve(t *testing.T, h *Host, path string) *Group {
	t.Helper()
	g, err := h.Resolve(path, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Kill(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		g.Undo()
		for c, p := range g.Paths() {
			if exists(p) && p != h.find(c).Mountpoint {
				t.Error("left: " + p)
			}
		}
	})
	return g
}

// sleeper is a process of the test's own.
func sleeper(t *testing.T) int {
	t.Helper()
	c := exec.Command("/bin/sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c.Process.Pid
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writesFor(t *testing.T, h *Host, r *specs.LinuxResources) []Write {
	t.Helper()
	w, err := Writes(&specs.Linux{Resources: r}, h.Facts())
	must(t, err)
	return w
}

func TestRealLife(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t)+"/leaf")
	w := writesFor(t, h, &specs.LinuxResources{
		Memory:  &specs.LinuxMemory{Limit: ptr(int64(524288))},
		Pids:    &specs.LinuxPids{Limit: ptr(int64(1))},
		CPU:     &specs.LinuxCPU{Shares: ptr(uint64(512)), Quota: ptr(int64(50000)), Period: ptr(uint64(100000)), Cpus: "0"},
		Devices: []specs.LinuxDeviceCgroup{{Access: "rwm"}, {Allow: true, Type: "c", Major: ptr(int64(4)), Minor: ptr(int64(1)), Access: "rw"}},
	})
	if len(g.Existing()) != 0 {
		t.Fatal(g.Existing())
	}
	must(t, g.Create(w))
	must(t, g.Apply(w))
	pid := sleeper(t)
	must(t, g.Join(pid))
	p := g.Paths()
	for file, want := range map[string]string{
		p["memory"] + "/memory.limit_in_bytes": "524288", p["pids"] + "/pids.max": "1", p["cpu"] + "/cpu.shares": "512",
		p["cpu"] + "/cpu.cfs_quota_us": "50000", p["cpuset"] + "/cpuset.cpus": "0", p["cpuset"] + "/cpuset.mems": read(t, h.find("cpuset").Mountpoint+"/cpuset.mems"),
		p["devices"] + "/devices.list": "c 4:1 rw\n" + strings.ReplaceAll(defaults, ", ", "\n"),
	} {
		if got := read(t, file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	own := parseOwn(read(t, "/proc/"+itoa(pid)+"/cgroup"))
	for controller, path := range p {
		hi := h.find(controller)
		for _, o := range own {
			if slices.Contains(o.controllers, controller) && join(hi.Mountpoint, o.path) != path {
				t.Errorf("%s: the process is in %s, not %s", controller, o.path, path)
			}
		}
	}
	if pids, err := g.Procs(); err != nil || !slices.Equal(pids, []int{pid}) {
		t.Error(pids, err)
	}
	// A later verb knows only the paths, and the container made cgroups of its own.
	for _, path := range p {
		must(t, os.MkdirAll(path+"/sub/sub", 0o755))
	}
	l := Load(p, g.Made())
	must(t, l.Kill(syscall.SIGKILL))
	must(t, l.Remove())
	for _, path := range p {
		if exists(path) {
			t.Error("not removed: " + path)
		}
		if !exists(parent(path)) {
			t.Error("a parent was removed: " + path)
		}
	}
	if l.Exists() {
		t.Error("exists")
	}
	must(t, l.Remove())
}

func TestRealEnter(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	before := read(t, "/proc/thread-self/cgroup")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave, err := g.Enter(h)
	must(t, err)
	c := exec.Command("/bin/cat", "/proc/self/cgroup")
	out, err := c.Output()
	must(t, err)
	must(t, leave())
	if after := read(t, "/proc/thread-self/cgroup"); after != before {
		t.Errorf("the thread is in\n%s\nand was in\n%s", after, before)
	}
	for _, o := range parseOwn(string(out)) {
		if p := g.Paths()[o.controllers[0]]; o.controllers[0] != "" && p != "" && join(h.find(o.controllers[0]).Mountpoint, o.path) != p {
			t.Errorf("the child is in %v %s", o.controllers, o.path)
		}
	}
}

// A process with one thread moves itself by the files of TaskFiles or the descriptors of TasksFDs.
func TestRealTasks(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	script := ""
	for _, f := range g.TaskFiles() {
		script += "echo 0 > " + f + " || exit 1\n"
	}
	out, err := exec.Command("/bin/busybox", "sh", "-c", script+"exec /bin/busybox cat /proc/self/cgroup").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "memory:"+testPath(t)) {
		t.Errorf("%v %s", err, out)
	}
	fds, err := g.TasksFDs()
	if err != nil || len(fds) != len(g.TaskFiles()) {
		t.Errorf("%v %v", fds, err)
	}
	for _, fd := range fds {
		syscall.Close(fd)
	}
	fd, err := g.MixedFD()
	must(t, err)
	if h.find("") == nil {
		if fd != -1 {
			t.Error("a descriptor of no cgroup2 tree")
		}
		return
	}
	c := exec.Command("/bin/cat", "/proc/self/cgroup")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	if out, err := c.Output(); err != nil || !strings.Contains(string(out), "0::"+testPath(t)+"\n") {
		t.Errorf("%v %s", err, out)
	}
}

// referenceConfig is what runc makes of linux.cgroupsPath and the id "ID" for its module.
func referenceConfig(path string) *cgroups.Cgroup {
	c := &cgroups.Cgroup{Path: path, Resources: &cgroups.Resources{}}
	if path == "" {
		c.Name = "ID"
	}
	return c
}

func TestRealPathsAsReference(t *testing.T) {
	h := hostV1(t)
	for _, path := range []string{"", "/a/b", "a/b", "/"} {
		m, err := fs.NewManager(referenceConfig(path), nil)
		must(t, err)
		g, err := h.Resolve(path, "ID", false)
		must(t, err)
		want := m.GetPaths()
		if _, ok := want["hugetlb"]; ok && h.find("hugetlb") == nil {
			delete(want, "hugetlb") // mounted elsewhere, which is nobody's business
		}
		if !reflect.DeepEqual(g.Paths(), want) {
			t.Errorf("%q\n got %v\nwant %v", path, g.Paths(), want)
		}
	}
}

func TestRealExisting(t *testing.T) {
	h := hostV1(t)
	owner := resolve(t, h, testPath(t))
	must(t, owner.Create(nil))
	g, err := h.Resolve(testPath(t), "x", false)
	must(t, err)
	if len(g.Existing()) != len(g.dirs) {
		t.Error(g.Existing())
	}
	must(t, g.Create(nil))
	must(t, g.Remove())
	if len(g.Made()) != 0 || len(owner.Existing()) != len(owner.dirs) {
		t.Error("a cgroup that was there before was taken away")
	}
	pid := sleeper(t)
	must(t, owner.Join(pid))
	if err := g.Create(nil); !errors.Is(err, ErrNotEmpty) || !strings.HasPrefix(err.Error(), "container's cgroup is not empty: 1 process(es) found in /sys/fs/cgroup/") {
		t.Error(err)
	}
	must(t, owner.Kill(syscall.SIGKILL))
	must(t, owner.Freeze())
	if err := g.Create(nil); !errors.Is(err, ErrFrozen) {
		t.Error(err)
	}
	must(t, owner.Thaw())
}

func TestRealUndo(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t)+"/a/b")
	err := g.Create(writesFor(t, h, &specs.LinuxResources{CPU: &specs.LinuxCPU{Cpus: "4000"}}))
	want := "set linux.resources.cpu.cpus: write 4000 to " + g.Paths()["cpuset"] + "/cpuset.cpus: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	for i := range h.Hierarchies {
		if p := h.Hierarchies[i].Mountpoint + testPath(t); exists(p) {
			t.Error("left: " + p)
		}
	}
}

func TestRealFreezeAndKill(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	for range 3 {
		must(t, g.Join(sleeper(t)))
	}
	sub := g.Paths()["devices"] + "/sub"
	must(t, os.Mkdir(sub, 0o755))
	must(t, os.WriteFile(sub+"/cgroup.procs", []byte(itoa(sleeper(t))), 0))
	if pids, err := g.Procs(); err != nil || len(pids) != 4 {
		t.Fatal(pids, err)
	}
	must(t, g.Kill(syscall.SIGCONT))
	if frozen, err := g.Frozen(); frozen || err != nil {
		t.Error(frozen, err)
	}
	must(t, g.Freeze())
	if frozen, err := g.Frozen(); !frozen || err != nil {
		t.Error(frozen, err)
	}
	if p, err := g.Populated(); !p || err != nil {
		t.Error(p, err)
	}
	must(t, g.Kill(syscall.SIGTERM)) // stays frozen: the signal waits
	if frozen, err := g.Frozen(); !frozen || err != nil {
		t.Error(frozen, err)
	}
	must(t, g.Kill(syscall.SIGKILL))
	if pids, err := g.Procs(); err != nil || len(pids) != 0 {
		t.Error(pids, err)
	}
	must(t, g.Remove())
	if err := g.Kill(syscall.SIGTERM); !errors.Is(err, ErrNoCgroup) {
		t.Error(err)
	}
	must(t, g.Kill(syscall.SIGKILL))
}

// A fork bomb ends.
func TestRealForkBomb(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	w := writesFor(t, h, &specs.LinuxResources{Pids: &specs.LinuxPids{Limit: ptr(int64(60))}})
	must(t, g.Create(w))
	must(t, g.Apply(w))
	c := exec.Command("/bin/busybox", "sh", "-c", "read go; f() { f 2>/dev/null & f 2>/dev/null & sleep 0.01; f; }; f")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.StdinPipe()
	must(t, err)
	must(t, c.Start())
	must(t, g.Join(c.Process.Pid))
	in.Write([]byte("\n"))
	for {
		if pids, _ := g.Procs(); len(pids) > 20 {
			break
		}
	}
	must(t, g.Kill(syscall.SIGKILL))
	c.Wait()
	must(t, g.Remove())
}

func TestRealUpdate(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	set := func(limit, swap int64) {
		t.Helper()
		w, err := UpdateWrites(&specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: &limit, Swap: &swap}, CPU: &specs.LinuxCPU{Cpus: "0"}}, h.Facts())
		must(t, err)
		must(t, g.Update(w))
		for file, want := range map[string]int64{"/memory.limit_in_bytes": limit, "/memory.memsw.limit_in_bytes": swap} {
			if got := read(t, g.Paths()["memory"]+file); want != -1 && got != signed(want) {
				t.Errorf("%s: %s, want %d", file, got, want)
			}
		}
	}
	for _, c := range [][2]int64{{8 << 20, 16 << 20}, {32 << 20, 64 << 20}, {1 << 20, 2 << 20}, {64 << 20, 64 << 20}, {-1, -1}, {1 << 20, 1 << 20}, {4 << 20, -1}} {
		set(c[0], c[1])
	}
}

func TestRealErrors(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	memory := g.Paths()["memory"]
	for _, c := range []struct {
		w    Write
		want string
	}{
		{Write{Controller: "memory", File: "memory.limit_in_bytes", Value: "x", Field: "F"}, "set F: write x to " + memory + "/memory.limit_in_bytes: invalid argument"},
		{Write{Controller: "memory", File: "memory.none", Value: "1", Field: "F"}, "set F: write 1 to " + memory + "/memory.none: no such file or directory (this kernel has no such setting)"},
		{Write{Controller: "none", File: "none.none", Value: "1", Field: "F"}, "set F: the cgroup controller none is not available"},
		{Write{Controller: "memory", File: "memory.usage_in_bytes", Limit: 0, Value: "1", Field: "F"}, "set F: write 1 to " + memory + "/memory.usage_in_bytes: permission denied"},
	} {
		if os.Getuid() == 0 && c.w.File == "memory.usage_in_bytes" {
			c.want = strings.Replace(c.want, "permission denied", "invalid argument", 1) // root may open it
		}
		if err := g.Apply([]Write{c.w}); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	must(t, g.Apply([]Write{{Controller: "memory", File: "memory.none", Value: "1", Field: "F", Optional: true},
		{Controller: "memory", File: "memory.none", Else: &Write{File: "memory.limit_in_bytes", Value: "4096000"}}}))
	if got := read(t, memory+"/memory.limit_in_bytes"); got != "4096000" {
		t.Error(got)
	}
	if err := g.Join(1 << 30); !errors.Is(err, syscall.ESRCH) && !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
	elsewhere := Load(map[string]string{"memory": t.TempDir()}, nil)
	if err := elsewhere.Apply([]Write{{Controller: "memory", File: "x", Value: "1", Field: "F"}}); !errors.Is(err, ErrNotCgroupfs) {
		t.Error(err)
	}
}

// A limit below what is used names the usage.
func TestRealMemoryBusy(t *testing.T) {
	h := hostV1(t)
	g := resolve(t, h, testPath(t))
	must(t, g.Create(nil))
	c := exec.Command("/bin/busybox", "sh", "-c", "read go; x=$(head -c 8000000 /dev/zero | tr '\\0' x); echo ready; read go")
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	must(t, c.Start())
	defer c.Wait()
	defer c.Process.Kill()
	must(t, g.Join(c.Process.Pid))
	in.Write([]byte("\n"))
	out.Read(make([]byte, 10))
	err := g.Apply(writesFor(t, h, &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: ptr(int64(65536)), Swap: ptr(int64(65536))}})[:1])
	want := "set linux.resources.memory.limit: write 65536 to " + g.Paths()["memory"] + "/memory.limit_in_bytes: device or resource busy (current usage: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, syscall.EBUSY) {
		t.Errorf("got %v", err)
	}
}

package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func memory(limit int64) mod {
	return resources(func(r *specs.LinuxResources) { r.Memory = &specs.LinuxMemory{Limit: &limit} })
}

func pids(limit int64) mod {
	return resources(func(r *specs.LinuxResources) { r.Pids = &specs.LinuxPids{Limit: &limit} })
}

// 512 KiB and one process are enough for a static program, and in force when create returns.
func TestTinyLimits(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		c := w.create(w.bundle(args("/bin/tiny", "wait"), memory(512<<10), pids(1)))
		expect(w, "memory limit", c.cgroupValue("memory", "memory.limit_in_bytes", "memory.max"), "524288")
		expect(w, "pids limit", c.cgroupValue("pids", "pids.max", "pids.max"), "1")
		c.start()
		c.prints("tiny")
		c.hasStatus("running")
		c.delete("--force")
	}
	r := w.runs(w.bundle(args("/bin/tiny"), memory(512<<10), pids(1))).ok()
	expect(w, "output", r.out, "tiny\n")
}

func TestLimitsAreSet(t *testing.T) {
	w := newWorld(t)
	period, quota, shares, swap, reserve := uint64(50000), int64(25000), uint64(512), int64(128<<20), int64(32<<20)
	c := w.create(w.bundle(forever, memory(64<<20), pids(77), resources(func(r *specs.LinuxResources) {
		r.Memory.Swap, r.Memory.Reservation = &swap, &reserve
		r.CPU = &specs.LinuxCPU{Period: &period, Quota: &quota, Shares: &shares, Cpus: "0", Mems: "0"}
	})))
	for _, l := range []struct{ controller, v1, v2, want1, want2 string }{
		{"memory", "memory.limit_in_bytes", "memory.max", "67108864", "67108864"},
		{"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", "134217728", "67108864"},
		{"memory", "memory.soft_limit_in_bytes", "memory.low", "33554432", "33554432"},
		{"pids", "pids.max", "pids.max", "77", "77"},
		{"cpu", "cpu.cfs_period_us", "cpu.max", "50000", "25000 50000"},
		{"cpu", "cpu.cfs_quota_us", "cpu.max", "25000", "25000 50000"},
		{"cpu", "cpu.shares", "cpu.weight", "512", ""},
		{"cpuset", "cpuset.cpus", "cpuset.cpus", "0", "0"},
		{"cpuset", "cpuset.mems", "cpuset.mems", "0", "0"},
	} {
		want := l.want1
		if unified() {
			want = l.want2
		}
		if got := c.cgroupValue(l.controller, l.v1, l.v2); want != "" && got != want {
			t.Errorf("%s: %s, want %s", l.v1, got, want)
		}
	}
}

func TestUnlimited(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever, pids(-1), memory(-1)))
	expect(w, "pids", c.cgroupValue("pids", "pids.max", "pids.max"), "max")
}

func TestBadLimits(t *testing.T) {
	w := newWorld(t)
	for name, m := range map[string]mod{
		"memory": memory(-5000),
		"cpus":   resources(func(r *specs.LinuxResources) { r.CPU = &specs.LinuxCPU{Cpus: "99999"} }),
		"swap below memory": resources(func(r *specs.LinuxResources) {
			limit, swap := int64(64<<20), int64(32<<20)
			r.Memory = &specs.LinuxMemory{Limit: &limit, Swap: &swap}
		}),
	} {
		if c, r := w.tryCreate(w.bundle(forever, m)); r.code == 0 {
			t.Errorf("%s: a limit that the kernel refuses was accepted", name)
			c.delete("--force")
		} else {
			r.fails()
		}
		if left := w.leaks(); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// A fork above pids.limit fails inside.
func TestPidsLimitHolds(t *testing.T) {
	w := newWorld(t)
	r := w.runs(w.bundle(sh("for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; echo forked"), pids(3)))
	if r.code == 0 && strings.TrimSpace(r.err) == "" {
		t.Errorf("8 processes in a cgroup of 3: %v", r)
	}
}

func TestMemoryLimitHolds(t *testing.T) {
	w := newWorld(t)
	var swap int64 = 32 << 20
	r := w.runs(w.bundle(args("dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"), memory(32<<20),
		resources(func(r *specs.LinuxResources) { r.Memory.Swap = &swap })))
	expect(w, "status of a program killed for memory", r.code, 137)
}

func TestDeviceRules(t *testing.T) {
	w := newWorld(t)
	script := "probe mknod /tmp/one b 7 1; probe mknod /tmp/two b 7 2; probe open /tmp/one r; probe open /tmp/two r; " +
		"probe open /dev/null rw; probe open /dev/zero r; probe open /dev/tty rw"
	base := []mod{sh(script), caps("CAP_MKNOD"), mount("tmpfs", "tmpfs", "/tmp", "mode=1777", "dev")}
	out := w.output(w.bundle(base...))
	holds(w, "all but the default devices denied", out, "/tmp/one: EPERM", "/tmp/two: EPERM", "/dev/null: ok", "/dev/zero: ok", "/dev/tty: ENXIO")
	major, minor := int64(7), int64(2)
	allow := resources(func(r *specs.LinuxResources) {
		r.Devices = append(r.Devices, specs.LinuxDeviceCgroup{Allow: true, Type: "b", Major: &major, Minor: &minor, Access: "rwm"})
	})
	out = w.output(w.bundle(append(base, allow)...))
	holds(w, "device 7:2 allowed", out, "/tmp/one: EPERM")
	if strings.Contains(out, "/tmp/two: EPERM") {
		t.Errorf("mknod or open of the allowed device:\n%s", out)
	}
}

// cgroupsPath: absolute is below the hierarchy's root, relative and none are the runtime's choice.
func TestCgroupsPath(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/" + w.mark + "-abs/sub/deep", w.mark + "-rel/sub", ""} {
		c := w.create(w.bundle(forever, cgroupsPath(path)))
		dir := cgroupDir(w, c.state().Pid, "pids")
		switch {
		case path == "":
			expect(w, "last element", filepath.Base(dir), c.id)
		case path[0] == '/':
			expect(w, "absolute path", strings.TrimPrefix(strings.TrimPrefix(dir, "/sys/fs/cgroup/pids"), "/sys/fs/cgroup"), path)
		default:
			if !strings.HasSuffix(dir, "/"+path) {
				t.Errorf("relative path %s: %s", path, dir)
			}
		}
		procs := w.read(dir + "/cgroup.procs")
		expect(w, "init is in it", contains(strings.Fields(procs), c.proc("")[len("/proc/"):]), true)
		c.delete("--force")
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("delete left %s", dir)
		}
		// Parents that create made: runc leaves them, and nothing says otherwise.
		for dirs := cgroupsOf(w.mark); len(dirs) > 0; dirs = dirs[:len(dirs)-1] {
			os.Remove(dirs[len(dirs)-1])
		}
	}
	for _, path := range []string{"/../" + w.mark + "-up", "/a/../../" + w.mark + "-up"} {
		c, r := w.tryCreate(w.bundle(forever, cgroupsPath(path)))
		if r.code == 0 {
			c.delete("--force")
		}
		if _, err := os.Stat("/sys/fs/" + w.mark + "-up"); err == nil {
			t.Errorf("cgroupsPath %s left the hierarchy", path)
		}
		for _, dir := range cgroupsOf(w.mark) {
			os.Remove(dir)
		}
	}
}

// The container's processes see their own cgroup as the root.
func TestCgroupNamespace(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(args("cat", "/proc/self/cgroup")))
	for _, l := range lines(out) {
		if f := strings.SplitN(l, ":", 3); len(f) == 3 && f[2] != "/" {
			t.Errorf("the host's cgroup path shows inside: %s", l)
		}
	}
	out = w.output(w.bundle(args("cat", "/proc/self/cgroup"), without(specs.CgroupNamespace)))
	if !strings.Contains(out, w.mark) {
		t.Errorf("without a cgroup namespace the path shows:\n%s", out)
	}
}

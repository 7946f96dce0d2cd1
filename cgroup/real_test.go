package cgroup

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

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

func testID(t *testing.T) string {
	return "berth-test-" + itoa(os.Getpid()) + "-" + strings.ReplaceAll(t.Name(), "/", "-")
}

func ptr[T any](v T) *T { return &v }

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func host(t *testing.T) *Host {
	t.Helper()
	h, err := Detect()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestRealV1(t *testing.T) {
	h := host(t)
	g, err := h.Resolve("/"+testID(t)+"/leaf", "x", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Undo)
	linux := &specs.Linux{Resources: &specs.LinuxResources{
		Memory:  &specs.LinuxMemory{Limit: ptr(int64(524288))},
		Pids:    &specs.LinuxPids{Limit: ptr(int64(1))},
		CPU:     &specs.LinuxCPU{Shares: ptr(uint64(512)), Quota: ptr(int64(50000)), Period: ptr(uint64(100000)), Cpus: "0"},
		Devices: []specs.LinuxDeviceCgroup{{Access: "rwm"}, {Allow: true, Type: "c", Major: ptr(int64(4)), Minor: ptr(int64(1)), Access: "rw"}},
	}}
	w, err := Writes(linux, h.Facts())
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Create(w); err != nil {
		t.Fatal(err)
	}
	pid := sleeper(t)
	if err := g.Join(pid); err != nil {
		t.Fatal(err)
	}
	if err := g.Apply(w); err != nil {
		t.Fatal(err)
	}
	p := g.Paths()
	t.Log(read(t, p["devices"]+"/devices.list"), p, g.Made())
	t.Log(read(t, p["cpuset"]+"/cpuset.cpus"), read(t, p["memory"]+"/memory.limit_in_bytes"), read(t, p["pids"]+"/pids.max"))
	if err := g.Kill(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
}

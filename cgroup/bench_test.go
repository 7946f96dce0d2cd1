package cgroup

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func usualLinux() *specs.Linux {
	return &specs.Linux{Resources: &specs.LinuxResources{
		Memory:  &specs.LinuxMemory{Limit: ptr(int64(64 << 20))},
		Pids:    &specs.LinuxPids{Limit: ptr(int64(100))},
		CPU:     &specs.LinuxCPU{Shares: ptr(uint64(512)), Quota: ptr(int64(50000)), Period: ptr(uint64(100000))},
		Devices: []specs.LinuxDeviceCgroup{{Access: "rwm"}},
	}}
}

func BenchmarkDetect(b *testing.B) {
	for b.Loop() {
		if _, err := Detect(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrites(b *testing.B) {
	h, _ := Detect()
	l, f := usualLinux(), h.Facts()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Writes(l, f); err != nil {
			b.Fatal(err)
		}
	}
}

// The parts of a create's cgroup work with runc's default config and limits of memory, CPU and
// pids. They are alone on the machine only if nothing else runs.
func BenchmarkCreate(b *testing.B) {
	runtime.LockOSThread()
	h, err := Detect()
	if err != nil {
		b.Fatal(err)
	}
	if os.Getuid() != 0 || h.V2 {
		b.Skip("needs root and cgroup v1")
	}
	w, _ := Writes(usualLinux(), h.Facts())
	var parts [5]float64
	n := 0
	for b.Loop() {
		n++
		g, err := h.Resolve("", "berth-bench-"+itoa(os.Getpid())+"-"+itoa(n), false)
		if err != nil {
			b.Fatal(err)
		}
		t := now()
		step := func(i int, err error) {
			if err != nil {
				b.Fatal(i, err)
			}
			x := now()
			parts[i] += x - t
			t = x
		}
		step(0, g.Create(w))
		leave, err := g.Enter(h)
		step(1, err)
		step(2, leave())
		step(3, g.Apply(w))
		step(4, g.Remove())
	}
	for i, name := range []string{"create", "enter", "leave", "apply", "remove"} {
		b.ReportMetric(parts[i]/float64(n), name+"-us")
	}
}

func now() float64 { return float64(time.Since(epoch).Nanoseconds()) / 1e3 }

var epoch = time.Now()

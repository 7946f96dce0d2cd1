package main

import (
	"slices"
	"strings"
	"testing"
)

// A run of a runtime with two threads, in the kernel's format: driver 10 starts 20, which
// has thread 21, which clones 30; 30 forks 31, which mounts, pivots and executes.
const traceText = `# tracer: nop
#
# entries-in-buffer/entries-written: 30/30   #P:2
#
           bench-10      [000] .....   100.000000: sys_clone(clone_flags: 0x4111, newsp: 0)
           bench-10      [000] .....   100.000050: sched_process_fork: comm=bench pid=10 child_comm=bench child_pid=20
        a-b c-20      [001] .....   100.000100: sys_execve(filename: 0x1, argv: 0x2, envp: 0x3)
           crun-20      [001] .....   100.000300: sched_process_exec: filename=/usr/bin/crun pid=20 old_pid=20
           crun-20      [001] .....   100.000310: sys_execve -> 0x0
           bench-10      [000] .....   100.000320: sys_clone -> 0x14
           bench-10      [000] .....   100.000330: sys_wait4(upid: 0x14, stat_addr: 0, options: 0, ru: 0)
           crun-20      [001] .....   100.000400: sys_clone(clone_flags: 0x10f00, newsp: 0)
           crun-20      [001] .....   100.000410: sched_process_fork: comm=crun pid=20 child_comm=crun child_pid=21
           crun-20      [001] .....   100.000420: sys_clone -> 0x15
           crun-21      [000] .....   100.000500: sys_clone(clone_flags: 0x6c020011, newsp: 0)
           crun-21      [000] .....   100.000900: sched_process_fork: comm=crun pid=21 child_comm=crun child_pid=30
           crun-21      [000] .....   100.000950: sys_clone -> 0x1e
           crun-30      [000] .....   100.001000: sys_clone3(uargs: 0x7ff, size: 0x58)
           crun-30      [000] .....   100.001010: sched_process_fork: comm=crun pid=30 child_comm=crun child_pid=31
           crun-30      [000] .....   100.001020: sys_clone3 -> 0x1f
           crun-31      [000] .....   100.001100: sys_mount(dev_name: 0, dir_name: 0x5)
           crun-31      [000] .....   100.001130: sys_mount -> 0x0
           crun-20      [001] .....   100.001140: sys_write(fd: 7, buf: 0x1, count: 4)
           crun-20      [001] .....   100.001640: sys_write -> 0x4
           crun-31      [000] .....   100.002000: sys_pivot_root(new_root: 0x1, put_old: 0x1)
           crun-31      [000] .....   100.002090: sys_pivot_root -> 0x0
           crun-31      [000] .....   100.002200: sys_execve(filename: 0x1, argv: 0x2, envp: 0x3)
           true-31      [000] .....   100.002500: sched_process_exec: filename=/bin/true pid=31 old_pid=31
           true-31      [000] .....   100.002900: sched_process_exit: comm=true pid=31 prio=120
           crun-20      [001] .....   100.003000: sys_exit_group(error_code: 0)
           crun-20      [001] .....   100.003100: sched_process_exit: comm=crun pid=20 prio=120
           bench-10      [000] .....   100.003500: sys_wait4 -> 0x14
           bench-10      [000] .....   100.003600: sys_openat(dfd: 0xffffff9c, filename: 0x1)
`

func TestTimeline(t *testing.T) {
	line, err := readTimeline(traceText, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{0, 300, 500, 1000, 1100, 2000, 2500, 2900, 3500}
	for i, m := range line.marks {
		if m < want[i]-0.5 || m > want[i]+0.5 {
			t.Errorf("mark %d is at %.1f, want %.1f", i, m, want[i])
		}
	}
	if len(line.marks) != len(want) || len(want) != len(phases)+1 {
		t.Errorf("%d marks for %d phases", len(line.marks), len(phases))
	}
	if !line.runtime[20] || !line.runtime[21] || line.runtime[30] || line.runtime[31] {
		t.Errorf("the runtime's threads are %v", line.runtime)
	}
	var names []string
	for _, s := range line.slowest(3) {
		names = append(names, s.Who+" "+s.Name)
	}
	if got := strings.Join(names, ", "); got != "runtime execve, runtime clone, runtime write" {
		t.Errorf("the longest calls are %s", got)
	}
	if slices.ContainsFunc(line.calls, func(c call) bool { return c.tid == 10 }) {
		t.Error("the driver's own calls are counted")
	}
}

func TestTimelineErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "no fork"},
		{"lost events", strings.Replace(traceText, "30/30", "30/31", 1), "buffer is too small"},
		{"not reaped", strings.ReplaceAll(traceText, "sys_wait4", "sys_waitid"), "no wait4"},
	} {
		if _, err := readTimeline(c.text, 10); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	line, err := readTimeline(traceText, 10)
	if err != nil {
		t.Fatal(err)
	}
	longer := line
	longer.end += 1000
	longer.marks = slices.Clone(line.marks)
	longer.marks[len(longer.marks)-1] += 1000
	if got := middleRun([]timeline{longer, line, longer}).end; got != longer.end {
		t.Errorf("the run in the middle takes %v", got)
	}
	r := summarize([]timeline{line, line, longer})
	if p := r.Phases["mounts, until pivot_root"]; p < 899.5 || p > 900.5 {
		t.Errorf("mounts take %v", p)
	}
	if r.Syscalls != 9 || r.Total < 3499 || r.Total > 3501 {
		t.Errorf("%v calls in %v", r.Syscalls, r.Total)
	}
}

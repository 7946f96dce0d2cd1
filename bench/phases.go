package main

import (
	"errors"
	"slices"
)

// phases are what lies between two marks of a timeline. They hold for any runtime: each of
// them forks, clones, mounts, pivots and executes.
var phases = []string{
	"fork and exec of the runtime",
	"runtime, until it clones",
	"clone, until the child runs",
	"child, until its first mount",
	"mounts, until pivot_root",
	"pivot_root, until execve is done",
	"/bin/true",
	"clean-up and exit",
}

// mountCalls are those of which the first begins a container's mounts.
var mountCalls = []string{"mount", "umount", "fsopen", "fsmount", "open_tree", "open_tree_attr", "move_mount", "mount_setattr", "pivot_root"}

// newTimeline finds the marks.
func newTimeline(calls []call, driver int) (timeline, error) {
	born := births(calls)
	root := slices.IndexFunc(calls, func(c call) bool { return c.name == "-fork" && c.tid == driver })
	app := lastIndex(calls, func(c call) bool { return c.name == "-exec" })
	if root < 0 || app < 0 {
		return timeline{}, errors.New("no fork or no exec in it")
	}
	wait := slices.IndexFunc(calls, func(c call) bool {
		return c.tid == driver && c.name == "wait4" && c.start > calls[root].start
	})
	chain := lineage(born, calls[app].tid, driver)
	if wait < 0 || len(chain) < 2 {
		return timeline{}, errors.New("no wait4 in it, or the last program was not started by the runtime")
	}
	start := calls[born[chain[0]].clone].start
	end := calls[wait].start + calls[wait].took
	t := timeline{end: end - start, runtime: map[int]bool{chain[0]: true}}
	for tid := range born {
		t.runtime[tid] = process(born, tid) == chain[0]
	}
	t.marks = marks(calls, chain, calls[born[chain[1]].clone].start, app, start, end)
	for i := range t.marks {
		t.marks[i] -= start
	}
	t.keep(calls, driver, start, end)
	return t, nil
}

// marks returns the start, the end of each phase, and the end. chain is the lineage of the
// container's process, clone the time its second member was asked for, app the index of
// the last exec.
func marks(calls []call, chain []int, clone float64, app int, start, end float64) []float64 {
	exec := calls[app].start
	first := func(otherwise float64, want func(c call) bool) float64 {
		if i := slices.IndexFunc(calls, want); i >= 0 {
			return calls[i].start
		}
		return otherwise
	}
	inside := func(c call) bool { return c.start < exec && slices.Contains(chain[1:], c.tid) }
	return []float64{
		start,
		first(start, func(c call) bool { return c.name == "-exec" && c.tid == chain[0] }),
		clone,
		first(clone, func(c call) bool { return c.tid == chain[1] }),
		first(exec, func(c call) bool { return inside(c) && slices.Contains(mountCalls, c.name) }),
		first(exec, func(c call) bool { return inside(c) && c.name == "pivot_root" }),
		exec,
		first(end, func(c call) bool { return c.name == "-exit" && c.tid == calls[app].tid }),
		end,
	}
}

// keep takes what others than the driver did between start and end, with times from start.
func (t *timeline) keep(calls []call, driver int, start, end float64) {
	for _, c := range calls {
		if c.tid != driver && c.start >= start && c.start <= end {
			c.start -= start
			t.calls = append(t.calls, c)
		}
	}
}

func lastIndex(calls []call, want func(call) bool) int {
	for i := len(calls) - 1; i >= 0; i-- {
		if want(calls[i]) {
			return i
		}
	}
	return -1
}

// A slowCall is one system call that took long, microseconds.
type slowCall struct {
	Who  string  `json:"who"` // "runtime", or "child": all that it started
	Name string  `json:"name"`
	At   float64 `json:"at"`
	Took float64 `json:"took"`
}

const slowestCalls = 12

// waits are calls whose time is another process's: reads too, for what comes from a file
// here is in memory, and what takes long comes from a pipe or socket.
var waits = []string{"read", "futex", "wait4", "waitid", "poll", "ppoll", "epoll_wait", "epoll_pwait", "nanosleep",
	"clock_nanosleep", "pause", "select", "pselect6", "rt_sigtimedwait", "recvmsg", "recvfrom"}

// slowest returns the n longest calls, in the order of time. Waits are left out.
func (t timeline) slowest(n int) []slowCall {
	var out []slowCall
	for _, c := range t.calls {
		if c.isCall() && !slices.Contains(waits, c.name) {
			out = append(out, slowCall{t.who(c.tid), c.name, c.start, c.took})
		}
	}
	slices.SortStableFunc(out, func(a, b slowCall) int { return int(b.Took - a.Took) })
	out = out[:min(n, len(out))]
	slices.SortFunc(out, func(a, b slowCall) int { return int(a.At - b.At) })
	return out
}

// middleRun is the one with the median total.
func middleRun(runs []timeline) timeline {
	s := slices.Clone(runs)
	slices.SortFunc(s, func(a, b timeline) int { return int(a.end - b.end) })
	return s[len(s)/2]
}

func summarize(runs []timeline) traceResult {
	r := traceResult{Phases: map[string]float64{}}
	var totals, counts []float64
	for _, t := range runs {
		n := 0
		for _, c := range t.calls {
			if c.isCall() {
				n++
			}
		}
		totals, counts = append(totals, t.end), append(counts, float64(n))
	}
	r.Total, r.Syscalls = median(totals), median(counts)
	for i, p := range phases {
		var took []float64
		for _, t := range runs {
			took = append(took, t.marks[i+1]-t.marks[i])
		}
		r.Phases[p] = median(took)
	}
	return r
}

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A timeline is one traced run of a container, from just before the fork of the runtime
// until wait4 returned it. Times are microseconds since its start.
type timeline struct {
	calls   []call
	marks   []float64 // the ends of phases; marks[0] is the start of the first
	end     float64
	runtime map[int]bool // threads of the program that was started
}

// A call is one system call, or an event of a process (its name begins with "-").
type call struct {
	tid         int
	name, args  string
	start, took float64
	result      string
}

func (c call) isCall() bool { return !strings.HasPrefix(c.name, "-") }

var traceLine = regexp.MustCompile(`^\s*.*-(\d+)\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (.*)$`)

// readTimeline reads the kernel's text. driver is the thread that started the runtime.
func readTimeline(text string, driver int) (timeline, error) {
	calls, err := readCalls(text)
	if err != nil {
		return timeline{}, err
	}
	return newTimeline(calls, driver)
}

func readCalls(text string) ([]call, error) {
	var calls []call
	pending := map[int]int{} // thread: index of its unfinished call
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			if lost(line) {
				return nil, errors.New("the trace buffer is too small")
			}
			continue
		}
		m := traceLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		tid, _ := strconv.Atoi(m[1])
		at, _ := strconv.ParseFloat(m[2], 64)
		calls = addEvent(calls, pending, tid, at*1e6, m[3])
	}
	return calls, nil
}

// addEvent takes "sys_open(...)", "sys_open -> 0x3" or "sched_process_exec: ...".
func addEvent(calls []call, pending map[int]int, tid int, at float64, event string) []call {
	if name, result, ok := strings.Cut(event, " -> "); ok && !strings.Contains(name, "(") {
		if i, ok := pending[tid]; ok {
			calls[i].took, calls[i].result = at-calls[i].start, result
			delete(pending, tid)
		}
		return calls
	}
	if name, args, ok := strings.Cut(event, "("); ok && strings.HasPrefix(name, "sys_") {
		pending[tid] = len(calls)
		return append(calls, call{tid: tid, name: name[len("sys_"):], args: strings.TrimSuffix(args, ")"), start: at})
	}
	if name, args, ok := strings.Cut(event, ": "); ok && strings.HasPrefix(name, "sched_process_") {
		return append(calls, call{tid: tid, name: "-" + name[len("sched_process_"):], args: args, start: at})
	}
	return calls
}

// lost tells whether a header line says that events were overwritten.
func lost(line string) bool {
	var in, written int
	n, _ := fmt.Sscanf(line, "# entries-in-buffer/entries-written: %d/%d", &in, &written)
	return n == 2 && in < written
}

// number returns the value of name in the arguments of an event ("pid=12 child_pid=13") or
// of a call ("flags: 0x10, mode: 0" where numbers are hexadecimal); 0 if it is not there.
func number(args, name string) int {
	for _, f := range strings.FieldsFunc(strings.ReplaceAll(args, ": ", "="), func(r rune) bool { return r == ' ' || r == ',' }) {
		if v, ok := strings.CutPrefix(f, name+"="); ok {
			n, _ := strconv.ParseInt(v, 0, 64)
			return int(n)
		}
	}
	return 0
}

// A birth is how a thread or process came to be.
type birth struct {
	parent int // thread
	clone  int // index of the parent's call
	thread bool
}

const cloneThread = 0x10000

func births(calls []call) map[int]birth {
	out := map[int]birth{}
	last := map[int]int{} // thread: its last call
	for i, c := range calls {
		if c.isCall() {
			last[c.tid] = i
			continue
		}
		if c.name != "-fork" {
			continue
		}
		at, known := last[c.tid]
		thread := known && calls[at].name == "clone" && number(calls[at].args, "clone_flags")&cloneThread != 0
		out[number(c.args, "child_pid")] = birth{c.tid, at, thread}
	}
	return out
}

// process follows threads back to the process they belong to.
func process(born map[int]birth, tid int) int {
	for born[tid].thread {
		tid = born[tid].parent
	}
	return tid
}

// lineage returns the processes from the driver's child to pid, and nil if pid is no
// descendant of the driver.
func lineage(born map[int]birth, pid, driver int) []int {
	var chain []int
	for pid != driver {
		if _, ok := born[pid]; !ok {
			return nil
		}
		chain = append(chain, pid)
		pid = process(born, born[pid].parent)
	}
	slices.Reverse(chain)
	return chain
}

// String is the timeline for reading: the phases, then one line an event.
func (t timeline) String() string {
	var b strings.Builder
	for i, p := range phases {
		fmt.Fprintf(&b, "%9.0f %7.0f  %s\n", t.marks[i], t.marks[i+1]-t.marks[i], p)
	}
	for _, c := range t.calls {
		fmt.Fprintf(&b, "%9.0f %7.0f  %-7d %-8s %s(%s) = %s\n", c.start, c.took, c.tid, t.who(c.tid), c.name, c.args, c.result)
	}
	return b.String()
}

func (t timeline) who(tid int) string {
	if t.runtime[tid] {
		return "runtime"
	}
	return "child"
}

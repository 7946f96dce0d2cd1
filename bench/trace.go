package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Where the time goes is read from the kernel's trace points, on runs of their own: every
// system call, fork, exec and exit of the runtime and of all that it starts. It needs
// nothing from the contenders and costs them little; ptrace would double their time.

const (
	traceRuns = 15
	tracefs   = "/sys/kernel/tracing"
)

// A traceResult is where the time of one workload goes, for one contender.
type traceResult struct {
	Workload string             `json:"workload"`
	Name     string             `json:"name"`
	Total    float64            `json:"total"`    // median of the traced runs, microseconds
	Phases   map[string]float64 `json:"phases"`   // medians, microseconds
	Syscalls float64            `json:"syscalls"` // median number, all processes
	Slowest  []slowCall         `json:"slowest"`  // of the run with the median total
}

// A tracer is an instance of the kernel's trace buffer that sees this thread and its
// descendants.
type tracer struct {
	dir string
}

// newTracer mounts tracefs in this mount namespace unless it is there.
func newTracer() (*tracer, error) {
	if !exists(filepath.Join(tracefs, "instances")) {
		if err := syscall.Mount("tracefs", tracefs, "tracefs", 0, ""); err != nil {
			return nil, fmt.Errorf("mount tracefs on %s: %w", tracefs, err)
		}
	}
	t := &tracer{filepath.Join(tracefs, "instances", fmt.Sprintf("berth-bench-%d", os.Getpid()))}
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return nil, err
	}
	for _, s := range [][2]string{
		{"trace_clock", "mono"},
		{"buffer_size_kb", "8192"},
		{"options/event-fork", "1"},
		{"set_event_pid", strconv.Itoa(unix.Gettid())},
		{"tracing_on", "0"},
		{"events/sched/sched_process_fork/enable", "1"},
		{"events/sched/sched_process_exec/enable", "1"},
		{"events/sched/sched_process_exit/enable", "1"},
		{"events/syscalls/enable", "1"},
	} {
		if err := t.set(s[0], s[1]); err != nil {
			t.close()
			return nil, err
		}
	}
	return t, nil
}

func (t *tracer) set(file, value string) error {
	return os.WriteFile(filepath.Join(t.dir, file), []byte(value), 0)
}

func (t *tracer) close() error { return syscall.Rmdir(t.dir) }

// record returns what happened during f. It does f once before, untraced: reading the last
// trace took a while, and the traced run shall follow another one as closely as those that
// are timed.
func (t *tracer) record(f func() error) (string, error) {
	if err := errors.Join(t.set("trace", ""), f()); err != nil {
		return "", err
	}
	if err := t.set("tracing_on", "1"); err != nil {
		return "", err
	}
	err := f()
	if err := errors.Join(err, t.set("tracing_on", "0")); err != nil {
		return "", err
	}
	data, err := os.ReadFile(filepath.Join(t.dir, "trace"))
	return string(data), err
}

// measureTraces traces each workload that is one command. Without tracefs there is no
// breakdown, and why is said in its place.
func measureTraces(e *env, ws []workload, cs []contender, timelines string) (out []traceResult, missing string, err error) {
	t, err := newTracer()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	defer t.close()
	if err := e.noteMounts(); err != nil {
		return nil, "", err
	}
	for _, w := range ws {
		for _, c := range cs {
			if w.cycle || !w.fits(c) {
				continue
			}
			r, err := traceOne(e, t, w, c, timelines)
			if err != nil {
				return nil, "", err
			}
			out = append(out, r)
		}
	}
	return out, "", nil
}

func traceOne(e *env, t *tracer, w workload, c contender, timelines string) (traceResult, error) {
	var runs []timeline
	for i := range traceRuns + 1 {
		text, err := t.record(func() error {
			_, err := w.measure(e, c)
			return err
		})
		if err != nil {
			return traceResult{}, err
		}
		line, err := readTimeline(text, unix.Gettid())
		if err != nil {
			return traceResult{}, fmt.Errorf("trace of %s, %s: %w", w.name, c.name, err)
		}
		if i > 0 { // the first one warms up
			runs = append(runs, line)
		}
	}
	middle := middleRun(runs)
	if timelines != "" {
		file := filepath.Join(timelines, w.name+"."+c.name+".txt")
		if err := os.WriteFile(file, []byte(middle.String()), 0o644); err != nil {
			return traceResult{}, err
		}
	}
	r := summarize(runs)
	r.Workload, r.Name, r.Slowest = w.name, c.name, middle.slowest(slowestCalls)
	return r, nil
}

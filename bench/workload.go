package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A workload is something that each contender is timed at.
type workload struct {
	name    string
	title   string
	seccomp bool // a Docker-size profile besides runc's default config
	cold    bool // caches are emptied before each run
	cycle   bool // create, start, wait, delete; else run
	idle    bool // after a pause
}

// idlePause is longer than the kernel stays ready to move tasks between cgroups: the first
// move after it waits for an RCU grace period, unless the runtime knows how to avoid that.
// Containers on a host that is not busy starting others are in this case.
const idlePause = 50 * time.Millisecond

var workloads = []workload{
	{name: "run-default", title: "run, runc's default config"},
	{name: "run-idle", title: "run, runc's default config, after a pause", idle: true},
	{name: "run-seccomp-warm", title: "run, with seccomp, warm cache", seccomp: true},
	{name: "run-seccomp-cold", title: "run, with seccomp, cold cache", seccomp: true, cold: true},
	{name: "cycle-default", title: "create+start+delete, runc's default config", cycle: true},
	{name: "cycle-seccomp-warm", title: "create+start+delete, with seccomp, warm cache", seccomp: true, cycle: true},
	{name: "cycle-seccomp-cold", title: "create+start+delete, with seccomp, cold cache", seccomp: true, cold: true, cycle: true},
}

// pickWorkloads returns those whose names are in list (comma-separated; empty: all).
func pickWorkloads(list string) ([]workload, error) {
	if list == "" {
		return workloads, nil
	}
	var out []workload
	for _, name := range strings.Split(list, ",") {
		before := len(out)
		for _, w := range workloads {
			if w.name == name {
				out = append(out, w)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("no workload is called %q", name)
		}
	}
	return out, nil
}

// fits tells whether the contender can do the workload: the floors are one plain container.
func (w workload) fits(c contender) bool { return !c.floor || !w.cycle && !w.seccomp }

func (w workload) bundle(e *env) string {
	if w.seccomp {
		return filepath.Join(e.dir, "seccomp")
	}
	return filepath.Join(e.dir, "default")
}

func makeBundles(e *env) error {
	if _, err := makeBundle(e.dir, "default", bundleOptions{}); err != nil {
		return err
	}
	_, err := makeBundle(e.dir, "seccomp", bundleOptions{seccomp: true})
	return err
}

// cycleParts are the parts of a cycle's sample.
var cycleParts = []string{"create", "start", "exit", "delete"}

// A sample is one run of a workload.
type sample struct {
	total time.Duration
	parts []time.Duration // of a cycle
	late  bool            // something was left when the last command had ended
}

// measure does the workload once. Any exit status but 0, and anything left, is an error.
func (w workload) measure(e *env, c contender) (sample, error) {
	if err := e.interrupted(); err != nil {
		return sample{}, err
	}
	if w.cold {
		if err := e.emptyCaches(c); err != nil {
			return sample{}, err
		}
	}
	pause := e.settle
	if w.idle {
		pause = max(pause, idlePause)
	}
	time.Sleep(pause)
	id := e.newID()
	s, end, err := w.once(e, c, id)
	if err == nil {
		var gone time.Time
		gone, err = e.clean(c, id, end)
		s.late = gone != end
		s.total += gone.Sub(end)
	}
	if err != nil {
		e.destroy(c, id)
		return s, fmt.Errorf("%s: %s: %w", w.name, c.name, err)
	}
	return s, nil
}

func (w workload) once(e *env, c contender, id string) (sample, time.Time, error) {
	if w.cycle {
		return w.onceCycle(e, c, id)
	}
	cmd, err := e.spawner.run(c.run(e, w.bundle(e), id))
	return sample{total: cmd.took()}, cmd.end, err
}

// onceCycle does what a shim does: it is the container's reaper, and deletes it when it
// has seen its end.
func (w workload) onceCycle(e *env, c contender, id string) (sample, time.Time, error) {
	var s sample
	pidFile := filepath.Join(e.dir, "pid")
	create, err := e.spawner.run(c.verb(e, "create", "--bundle", w.bundle(e), "--pid-file", pidFile, id))
	if err != nil {
		return s, create.end, err
	}
	start, err := e.spawner.run(c.verb(e, "start", id))
	if err != nil {
		return s, start.end, err
	}
	exited, err := waitFor(pidFile)
	if err != nil {
		return s, exited, err
	}
	del, err := e.spawner.run(c.verb(e, "delete", id))
	s.parts = []time.Duration{create.took(), start.took(), exited.Sub(start.end), del.took()}
	s.total = del.end.Sub(create.start)
	return s, del.end, err
}

// waitFor reaps the container's init and returns when it was gone.
func waitFor(pidFile string) (time.Time, error) {
	pid, err := readPid(pidFile)
	if err != nil {
		return time.Time{}, err
	}
	var ru syscall.Rusage
	ws, err := reap(pid, &ru)
	now := time.Now()
	if err != nil {
		return now, fmt.Errorf("wait for init, pid %d: %w", pid, err)
	}
	if ws != 0 {
		return now, fmt.Errorf("/bin/true: %s", describe(ws))
	}
	return now, nil
}

func readPid(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

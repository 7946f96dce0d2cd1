// Command bench measures berth side by side with its peers: how long a container takes,
// how much memory it needs, and where the time goes. It writes docs/performance.md and
// bench/results, and is the only thing that does. It never judges: no test fails because
// something was slow, but a run that fails or leaves anything behind ends the benchmark.
//
// It needs root. All that it mounts is in a mount namespace of its own.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

type options struct {
	berth      string
	dir        string // bench/
	runs       int
	quick      bool
	only       string
	contenders string
	parts      string
	settle     time.Duration
	write      bool
	render     bool
	timelines  string
}

const (
	quickRuns = 5
	leastRuns = 50 // for results that are kept
)

func parseFlags() options {
	var o options
	flag.StringVar(&o.berth, "berth", "../berth", "the berth `program` to measure")
	flag.StringVar(&o.dir, "dir", ".", "the `directory` of the benchmark's sources")
	flag.IntVar(&o.runs, "runs", 60, "`number` of rounds")
	flag.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d rounds of speed alone", quickRuns))
	flag.StringVar(&o.only, "only", "", "comma-separated `workloads`: run-default, run-seccomp-warm, run-seccomp-cold, cycle-...")
	flag.StringVar(&o.contenders, "contenders", "", "comma-separated `names`: berth, crun, crun-static, runc, floor, floor-cgroups")
	flag.StringVar(&o.parts, "parts", "", "comma-separated: speed, memory, trace (default all; with -quick speed)")
	flag.DurationVar(&o.settle, "settle", 0, "pause before each run, besides the look at what the last one left")
	flag.BoolVar(&o.write, "write", false, "write bench/results, docs/performance.md and its chart")
	flag.BoolVar(&o.render, "render", false, "write the report again from bench/results; measure nothing")
	flag.StringVar(&o.timelines, "timelines", "", "also write each traced workload's median run, call by call, to this `directory`")
	flag.Parse()
	if o.quick {
		o.runs = quickRuns
		if o.parts == "" {
			o.parts = "speed"
		}
	}
	return o
}

func main() {
	o := parseFlags()
	status, err := 0, error(nil)
	switch {
	case o.render:
		err = renderAgain(o)
	case os.Getenv(innerEnv) != "":
		err = measure(o)
	default:
		status, err = prepare(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		status = 1
	}
	os.Exit(status)
}

// prepare checks the request, builds what is missing, and runs the rest in isolation.
func prepare(o options) (int, error) {
	whole := o.only == "" && o.contenders == "" && o.parts == ""
	if o.write && (!whole || o.runs < leastRuns) {
		return 1, fmt.Errorf("-write wants every workload, contender and part, and %d rounds or more", leastRuns)
	}
	if os.Getuid() != 0 {
		return 1, fmt.Errorf("must run as root")
	}
	if _, err := buildTools(o.dir); err != nil {
		return 1, err
	}
	return isolate()
}

// measure is the inner process.
func measure(o options) error {
	runtime.LockOSThread()
	t, cs, ws, err := chosen(o)
	if err != nil {
		return err
	}
	e, err := newEnv(o.settle)
	if err != nil {
		return err
	}
	defer e.destroyAll(cs)
	if err := makeBundles(e); err != nil {
		return err
	}
	r, err := measureAll(o, e, t, cs, ws)
	if err != nil {
		return err
	}
	if err := printResults(os.Stdout, r); err != nil {
		return err
	}
	if o.write {
		return writeReport(o, r)
	}
	return nil
}

func measureAll(o options, e *env, t tools, cs []contender, ws []workload) (*results, error) {
	r := &results{
		Commit:  commit(o.dir),
		Date:    time.Now().UTC().Format(time.RFC3339),
		Machine: describeMachine(e),
		Runs:    o.runs,
		Settle:  o.settle.String(),
	}
	var err error
	if r.Contenders, err = describeContenders(e, cs); err != nil {
		return nil, err
	}
	if o.has("speed") {
		if r.Workloads, err = measureSpeed(e, ws, cs, o.runs); err != nil {
			return nil, err
		}
	}
	if o.has("memory") {
		if r.Memory, err = measureMemory(e, cs, t); err != nil {
			return nil, err
		}
	}
	if o.has("trace") {
		if r.Traces, r.NoTraces, err = measureTraces(e, ws, cs, o.timelines); err != nil {
			return nil, err
		}
	}
	r.Machine.After = load()
	return r, nil
}

func (o options) has(part string) bool {
	return o.parts == "" || contains(strings.Split(o.parts, ","), part)
}

func chosen(o options) (tools, []contender, []workload, error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return tools{}, nil, nil, err
	}
	program, err := filepath.Abs(o.berth)
	if err != nil {
		return tools{}, nil, nil, err
	}
	t, err := buildTools(dir)
	if err != nil {
		return tools{}, nil, nil, err
	}
	cs, err := pick(allContenders(program, t), o.contenders)
	if err != nil {
		return tools{}, nil, nil, err
	}
	ws, err := pickWorkloads(o.only)
	return t, cs, ws, err
}

package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A memoryResult is what one contender needs, in kB unless it says otherwise; medians.
type memoryResult struct {
	Name    string `json:"name"`
	MaxRSS  micros `json:"max_rss"`  // run: the largest process that wait4 saw
	PeakAll micros `json:"peak_all"` // run: memory.max_usage of all processes, container and kernel memory too

	// One container that waits in `created`. The floors have none.
	Created *createdResult `json:"created,omitempty"`
}

// A createdResult is one created container's cost, of several at once: each value is for one.
type createdResult struct {
	Containers int     `json:"containers"`
	RSS        float64 `json:"rss"` // of the waiting process, smaps_rollup
	PSS        float64 `json:"pss"`
	Private    float64 `json:"private"`
	Usage      float64 `json:"usage"`     // charged to its memory cgroup, kernel memory too
	Processes  float64 `json:"processes"` // on the host
	Mounts     float64 `json:"mounts"`    // in the host's mount table
	Cgroups    float64 `json:"cgroups"`
	Files      float64 `json:"files"` // in its state directory
	FileBytes  float64 `json:"file_bytes"`
}

const (
	memoryRuns        = 11
	createdContainers = 10
	memoryHierarchy   = "memory"
)

// measureMemory uses a memory cgroup made for each run, so that nothing else is counted.
// That takes a v1 memory hierarchy, as the machine that the report is from has.
func measureMemory(e *env, cs []contender, t tools) ([]memoryResult, error) {
	if !contains(e.hierarchies, memoryHierarchy) {
		return nil, nil
	}
	var out []memoryResult
	for _, c := range cs {
		if len(c.flags) > 0 {
			continue // the floor with cgroups would make its own beside the one measured
		}
		r := memoryResult{Name: c.name}
		for range memoryRuns {
			rss, peak, err := peakMemory(e, c, t)
			if err != nil {
				return nil, fmt.Errorf("memory: %s: %w", c.name, err)
			}
			r.MaxRSS, r.PeakAll = append(r.MaxRSS, rss), append(r.PeakAll, peak)
		}
		if !c.floor {
			created, err := measureCreated(e, c)
			if err != nil {
				return nil, fmt.Errorf("memory: %s: %w", c.name, err)
			}
			r.Created = created
		}
		out = append(out, r)
	}
	return out, nil
}

// peakMemory runs /bin/true once, started by native/launch from inside a new memory
// cgroup that holds the container's cgroup too, and returns the peaks.
func peakMemory(e *env, c contender, t tools) (rss, peak float64, err error) {
	if err := e.interrupted(); err != nil {
		return 0, 0, err
	}
	id := e.newID()
	group := filepath.Join(cgroupDir, memoryHierarchy, id)
	if err := os.Mkdir(group, 0o755); err != nil {
		return 0, 0, err
	}
	defer e.removeCgroups(id)
	bundle, err := makeBundle(e.dir, "memory", bundleOptions{cgroupsPath: "/" + id + "/container"})
	if err != nil {
		return 0, 0, err
	}
	report := filepath.Join(e.dir, "launch")
	argv := append([]string{t.launch, filepath.Join(group, "cgroup.procs"), report}, c.run(e, bundle, id)...)
	if _, err := e.spawner.run(argv); err != nil {
		e.destroy(c, id)
		return 0, 0, err
	}
	data, err := os.ReadFile(report)
	if err != nil {
		return 0, 0, err
	}
	var status int
	if _, err := fmt.Sscan(string(data), &status, &rss); err != nil || status != 0 {
		return 0, 0, fmt.Errorf("exit status %d: %s", status, e.spawner.said())
	}
	peak, err = readKB(filepath.Join(group, "memory.max_usage_in_bytes"))
	return rss, peak, err
}

// measureCreated creates several containers, looks at them, and removes them.
func measureCreated(e *env, c contender) (*createdResult, error) {
	r := &createdResult{Containers: createdContainers}
	defer e.destroyAll([]contender{c})
	mounts, err := countLines("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for range createdContainers {
		if err := e.createOne(c, r); err != nil {
			return nil, err
		}
	}
	after, err := countLines("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	r.Mounts = float64(after - mounts)
	processes, err := children()
	if err != nil {
		return nil, err
	}
	r.Processes = float64(processes)
	for _, v := range []*float64{&r.RSS, &r.PSS, &r.Private, &r.Usage, &r.Processes, &r.Mounts, &r.Cgroups, &r.Files, &r.FileBytes} {
		*v /= createdContainers
	}
	return r, nil
}

// createOne creates a container and adds what it costs to r.
func (e *env) createOne(c contender, r *createdResult) error {
	if err := e.interrupted(); err != nil {
		return err
	}
	id, pidFile := e.newID(), filepath.Join(e.dir, "pid")
	bundle, err := makeBundle(e.dir, "memory", bundleOptions{cgroupsPath: "/" + id})
	if err != nil {
		return err
	}
	if _, err := e.spawner.run(c.verb(e, "create", "--bundle", bundle, "--pid-file", pidFile, id)); err != nil {
		return err
	}
	pid, err := readPid(pidFile)
	if err != nil {
		return err
	}
	time.Sleep(20 * time.Millisecond) // it may still be on the way from "waiting" to its last sleep
	if err := addSmaps(pid, r); err != nil {
		return err
	}
	usage, err := readKB(filepath.Join(cgroupDir, memoryHierarchy, id, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	r.Usage += usage
	cgroups, err := filepath.Glob(filepath.Join(cgroupDir, "*", id))
	if err != nil {
		return err
	}
	r.Cgroups += float64(len(cgroups))
	return addFiles(filepath.Join(e.root(c), id), r)
}

func addSmaps(pid int, r *createdResult) error {
	path := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		v, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		switch f[0] {
		case "Rss:":
			r.RSS += v
		case "Pss:":
			r.PSS += v
		case "Private_Clean:", "Private_Dirty:":
			r.Private += v
		}
	}
	return nil
}

func addFiles(dir string, r *createdResult) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			r.Files++
			r.FileBytes += float64(info.Size())
		}
		return err
	})
}

// children counts the processes below this one: what runtimes left running.
func children() (int, error) {
	parents := map[int]int{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		parents[pid], _ = strconv.Atoi(f[1])
	}
	n := 0
	for pid := range parents {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == syscall.Getpid() {
				n++
				break
			}
		}
	}
	return n, nil
}

// removeCgroups removes the cgroups called name, and what is below them, in every
// hierarchy: a runtime keeps the parents of the cgroup it was told to use.
func (e *env) removeCgroups(name string) {
	dirs, err := filepath.Glob(filepath.Join(cgroupDir, "*", name)) // cgroup2's "unified" too
	if err != nil {
		return
	}
	for _, dir := range dirs {
		syscall.Rmdir(filepath.Join(dir, "container"))
		syscall.Rmdir(dir)
	}
}

func readKB(path string) (float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	return v / 1024, err
}

func countLines(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		n++
	}
	return n, nil
}

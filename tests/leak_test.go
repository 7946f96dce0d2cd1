package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// close deletes what the test left, and fails it for whatever that does not remove.
func (w *world) close() {
	for _, id := range w.ids {
		if _, err := os.Lstat(filepath.Join(w.root, id)); err != nil {
			continue
		}
		if r := w.rt("delete", "--force", id).run(); r.code != 0 {
			w.Errorf("clean-up: %v", r)
		}
	}
	var left []string
	if !eventually(3*time.Second, func() bool { left = w.leaks(); return len(left) == 0 }) {
		w.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
		w.clear()
	}
	// What the test was about is worth reading only if it failed.
	if !w.Failed() || os.Getenv("KEEP") == "" {
		os.RemoveAll(w.dir)
	}
}

// leaks lists everything that mentions this world: mounts, cgroups, processes, state.
func (w *world) leaks() []string {
	var out []string
	for _, line := range mountsOf("self", w.dir) {
		out = append(out, "mount "+line)
	}
	for _, dir := range cgroupsOf(w.mark) {
		out = append(out, "cgroup "+dir)
	}
	for _, pid := range w.processes() {
		cmd, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		out = append(out, "process "+strconv.Itoa(pid)+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
	}
	entries, _ := os.ReadDir(w.root)
	for _, e := range entries {
		out = append(out, "state "+filepath.Join(w.root, e.Name()))
	}
	return out
}

// mountsOf lists the lines of a process's mount table that hold text.
func mountsOf(pid, text string) []string {
	data, _ := os.ReadFile("/proc/" + pid + "/mountinfo")
	var out []string
	for _, line := range strings.Split(string(data), "\n") {
		if strings.Contains(line, text+"/") || strings.Contains(line, text+" ") {
			out = append(out, line)
		}
	}
	return out
}

// cgroupsOf lists the cgroup directories whose path holds mark (followed by no digit).
func cgroupsOf(mark string) []string {
	var out []string
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if mentions(path, mark) {
			out = append(out, path)
		}
		return nil
	})
	return out
}

func mentions(text, mark string) bool {
	_, after, found := strings.Cut(text, mark)
	return found && (after == "" || after[0] < '0' || after[0] > '9')
}

// processes lists those that the test started, directly or not.
func (w *world) processes() []int {
	var out []int
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == 1 || pid == os.Getpid() || !w.marked(d.Name()) && !w.rooted(d.Name()) {
			continue
		}
		if stat, _ := os.ReadFile("/proc/" + d.Name() + "/stat"); strings.Contains(string(stat), ") Z ") {
			continue
		}
		out = append(out, pid)
	}
	return out
}

// marked: the test's own mark is in the environment or in the name of the cgroup. Nothing else
// on the machine has it, so only such a process is ever killed.
func (w *world) marked(pid string) bool {
	env, _ := os.ReadFile("/proc/" + pid + "/environ")
	cgroup, _ := os.ReadFile("/proc/" + pid + "/cgroup")
	return mentions(string(env), "BERTH_TEST_MARK="+w.mark) || mentions(string(cgroup), w.mark)
}

// rooted: its root directory is one of the test's bundles.
func (w *world) rooted(pid string) bool {
	data, _ := os.ReadFile("/proc/" + pid + "/mountinfo")
	for _, m := range parseMounts(string(data)) {
		if m.point == "/" && strings.HasPrefix(m.root, w.dir+"/") {
			return true
		}
	}
	return false
}

// clear removes by hand what the runtime left, so that one failure stays one.
func (w *world) clear() {
	for _, pid := range w.processes() {
		if w.marked(strconv.Itoa(pid)) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	eventually(2*time.Second, func() bool { return len(w.processes()) == 0 })
	for range mountsOf("self", w.dir) {
		for _, line := range mountsOf("self", w.dir) {
			if point := strings.Fields(line)[4]; strings.HasPrefix(point, w.dir+"/") {
				syscall.Unmount(point, syscall.MNT_DETACH)
			}
		}
	}
	dirs := cgroupsOf(w.mark)
	for i := len(dirs) - 1; i >= 0; i-- {
		syscall.Rmdir(dirs[i])
	}
	os.RemoveAll(w.root)
}

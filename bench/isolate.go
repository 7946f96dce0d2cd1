package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// The benchmark runs in a mount namespace of its own. Its parent makes the directories
// that it needs outside, and removes them however it ended. No mount is seen outside; but
// a hierarchy for hugetlb shows in everybody's /proc/self/cgroup until the end.

const (
	innerEnv  = "BERTH_BENCH_DIRS" // set for the inner process: scratch and state directory
	cgroupDir = "/sys/fs/cgroup"
	cacheDir  = "/var/cache/berth"
)

// isolate runs this program again in a new mount namespace and returns its exit status.
func isolate() (status int, err error) {
	scratch, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	state, err := os.MkdirTemp("/run", "berth-bench-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(state)
	undo, err := makeDir(cacheDir)
	if err != nil {
		return 1, err
	}
	defer undo()
	return runInner(scratch, state)
}

// makeDir makes dir unless it is there. undo removes it if it was made here and is empty.
func makeDir(dir string) (undo func(), err error) {
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return func() {}, nil
	}
	return func() { os.Remove(dir) }, err
}

func runInner(scratch, state string) (int, error) {
	// The interrupt key reaches the inner process too; this one stays to clean up. The
	// parent-death signal belongs to the thread that forks, so that one must live on.
	signal.Ignore(syscall.SIGINT)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM, syscall.SIGHUP)
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), innerEnv+"="+scratch+":"+state)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGTERM,
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range terminate {
			cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// needsHugetlb tells whether the host has cgroup v1 hierarchies but none for hugetlb is
// mounted. Debian's crun takes such a host for a hybrid one, and refuses it. (A hierarchy
// that nothing mounts any more may still be listed for a while.)
func needsHugetlb() bool {
	mounted, err := v1Hierarchies()
	if err != nil || len(mounted) == 0 || contains(mounted, "hugetlb") {
		return false
	}
	data, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 4 && f[0] == "hugetlb" && f[3] == "1" {
			return true
		}
	}
	return false
}

// prepareMounts makes the mounts of the inner process: none of them is seen outside. The
// cache that berth fills and the benchmark empties is not the host's.
func prepareMounts(scratch string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make / private: %w", err)
	}
	cache := filepath.Join(scratch, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount(cache, cacheDir, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", cache, cacheDir, err)
	}
	if !needsHugetlb() {
		return nil
	}
	return addHugetlb(scratch)
}

// addHugetlb puts another tmpfs on /sys/fs/cgroup, moves all hierarchies there, and mounts
// one for hugetlb beside them. A directory made in the host's own tmpfs would do too, but
// be seen by every other program: they would take it for the hierarchy.
func addHugetlb(scratch string) error {
	dir := filepath.Join(scratch, "cgroup")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", dir, err)
	}
	entries, err := os.ReadDir(cgroupDir)
	if err != nil {
		return err
	}
	for _, d := range entries {
		if err := moveHierarchy(filepath.Join(cgroupDir, d.Name()), filepath.Join(dir, d.Name()), d); err != nil {
			return err
		}
	}
	hugetlb := filepath.Join(dir, "hugetlb")
	if err := os.MkdirAll(hugetlb, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("cgroup", hugetlb, "cgroup", 0, "hugetlb"); err != nil {
		return fmt.Errorf("mount cgroup on %s: %w", hugetlb, err)
	}
	return move(dir, cgroupDir)
}

// moveHierarchy moves what is mounted at from, or copies a symlink ("cpu" may be one).
func moveHierarchy(from, to string, d fs.DirEntry) error {
	if d.Type() == fs.ModeSymlink {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	err := move(from, to)
	if errors.Is(err, syscall.EINVAL) {
		return nil // nothing is mounted there
	}
	return err
}

func move(from, to string) error {
	if err := syscall.Mount(from, to, "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move %s to %s: %w", from, to, err)
	}
	return nil
}

// v1Hierarchies returns the names under /sys/fs/cgroup where v1 hierarchies are mounted.
func v1Hierarchies() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		target := strings.Fields(before)[4]
		if strings.HasPrefix(after, "cgroup ") && filepath.Dir(target) == cgroupDir {
			names = append(names, filepath.Base(target))
		}
	}
	return names, nil
}

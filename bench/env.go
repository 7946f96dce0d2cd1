package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An env is what the runs of one benchmark share.
type env struct {
	dir         string // rootfs and bundles
	state       string // a --root for each contender below it
	hierarchies []string
	mounts      []byte // /proc/self/mountinfo with nothing running
	spawner     *spawner
	settle      time.Duration
	next        int
	stop        chan os.Signal
}

func newEnv(settle time.Duration) (*env, error) {
	scratch, state, _ := strings.Cut(os.Getenv(innerEnv), ":")
	e := &env{dir: scratch, state: state, settle: settle}
	if err := prepareMounts(scratch); err != nil {
		return nil, err
	}
	// What a runtime leaves running becomes this process's child, as it would a shim's.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	e.stop = make(chan os.Signal, 1)
	signal.Notify(e.stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	var err error
	if e.hierarchies, err = v1Hierarchies(); err != nil {
		return nil, err
	}
	if err := e.noteMounts(); err != nil {
		return nil, err
	}
	if e.spawner, err = newSpawner(scratch); err != nil {
		return nil, err
	}
	return e, makeRootfs(scratch)
}

// noteMounts takes the mounts that are there now for the benchmark's own.
func (e *env) noteMounts() (err error) {
	e.mounts, err = os.ReadFile("/proc/self/mountinfo")
	return err
}

// root is the contender's --root.
func (e *env) root(c contender) string { return filepath.Join(e.state, c.name) }

// newID returns a container id that no other container on the host contains.
func (e *env) newID() string {
	e.next++
	return fmt.Sprintf("bench%d-%06d", os.Getpid(), e.next)
}

// emptyCaches removes what the contender keeps between runs: crun has a seccomp cache below
// its root, berth's is in cacheDir (this mount namespace's own). Another contender's stays:
// the run that follows fills this one again, so that the next warm run finds it warm.
func (e *env) emptyCaches(c contender) error {
	if c.name != berth {
		return os.RemoveAll(filepath.Join(e.root(c), ".cache"))
	}
	entries, err := os.ReadDir(cacheDir)
	if err != nil {
		return err
	}
	for _, f := range entries {
		if err := os.RemoveAll(filepath.Join(cacheDir, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// leftover names something that the container id of contender c left on the host; empty:
// nothing is left. Processes come first: they are what would clean up late.
func (e *env) leftover(c contender, id string) (string, error) {
	if pid, err := e.reapOrphans(); err != nil || pid != 0 {
		return "a process", err
	}
	if path := filepath.Join(e.root(c), id); exists(path) {
		return path, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	if !bytes.Equal(mounts, e.mounts) {
		return "a mount", nil
	}
	return findCgroup(id)
}

// reapOrphans takes the dead ones and returns 1 if others live.
func (e *env) reapOrphans() (int, error) {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("wait4: %w", err)
		case pid == 0:
			return 1, nil
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// findCgroup returns the path of a cgroup whose name contains id, in any hierarchy.
func findCgroup(id string) (string, error) {
	found := ""
	err := filepath.WalkDir(cgroupDir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another program's, removed meanwhile
		}
		if err == nil && d.IsDir() && strings.Contains(d.Name(), id) {
			found = path
			return fs.SkipAll
		}
		return err
	})
	return found, err
}

const lateLimit = 2 * time.Second

// clean waits until nothing of the container is left and returns when that was: end
// itself if nothing was left then, which is looked at with the clock stopped.
func (e *env) clean(c contender, id string, end time.Time) (time.Time, error) {
	for first := true; ; first = false {
		what, err := e.leftover(c, id)
		now := time.Now()
		switch {
		case err != nil:
			return end, err
		case what == "" && first:
			return end, nil
		case what == "":
			return now, nil
		case now.Sub(end) > lateLimit:
			return end, fmt.Errorf("%s left %s of %s", c.name, what, id)
		}
	}
}

// destroy removes what a failed run left, as far as its runtime can.
func (e *env) destroy(c contender, id string) {
	if !c.floor && exists(filepath.Join(e.root(c), id)) {
		e.spawner.run(c.verb(e, "delete", "--force", id))
	}
	e.reapOrphans()
}

// destroyAll removes every container that is left below the state directory.
func (e *env) destroyAll(cs []contender) {
	for _, c := range cs {
		entries, err := os.ReadDir(e.root(c))
		if err != nil {
			continue // it ran nothing
		}
		for _, d := range entries {
			if strings.HasPrefix(d.Name(), "bench") {
				e.destroy(c, d.Name())
			}
		}
	}
}

// interrupted is the error of a signal that asked this program to end.
func (e *env) interrupted() error {
	select {
	case s := <-e.stop:
		return fmt.Errorf("ended by a signal: %s", s)
	default:
		return nil
	}
}

package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Each test here is a flaw that a review found once.

// A cgroup file that is not there ended in an endless wait for a stage1 that was well.
func TestMissingCgroupFileIsAnError(t *testing.T) {
	w := newWorld(t)
	weight := uint16(100)
	b := w.bundle(forever, resources(func(r *specs.LinuxResources) { r.BlockIO = &specs.LinuxBlockIO{LeafWeight: &weight} }))
	_, r := w.tryCreate(b)
	r.fails("leafWeight")
}

// Deleting a container killed another one that had come into the same, then empty, cgroup.
func TestSharedCgroupSurvivesDelete(t *testing.T) {
	w := newWorld(t)
	path := cgroupsPath("/" + w.mark + "-shared")
	a := w.started(w.bundle(args("/bin/true"), path))
	a.becomes("stopped")
	b := w.started(w.bundle(forever, path))
	w.rt("delete", a.id).run().fails("in use by other processes")
	w.rt("delete", "--force", a.id).ok()
	b.hasStatus("running")
	b.delete("--force")
	for _, dir := range globs("/sys/fs/cgroup/*/" + w.mark + "-shared") {
		os.Remove(dir) // b's delete leaves what was there before b
	}
}

func globs(pattern string) []string {
	list, _ := filepath.Glob(pattern)
	more, _ := filepath.Glob(filepath.Dir(filepath.Dir(pattern)) + "/memory/*/*/" + filepath.Base(pattern))
	return append(list, more...)
}

// With a createContainer hook at work the status was "created", and delete --force busy.
func TestHangingHookCanBeDeleted(t *testing.T) {
	w := newWorld(t)
	for _, kind := range []string{"createRuntime", "createContainer"} {
		b := w.bundle(forever, func(s *specs.Spec) {
			h := []specs.Hook{{Path: "/bin/sleep", Args: []string{"sleep", "60"}}}
			s.Hooks = &specs.Hooks{}
			if kind == "createRuntime" {
				s.Hooks.CreateRuntime = h
			} else {
				s.Hooks.CreateContainer = h
			}
		})
		id := w.id()
		create := w.rt("create", "--bundle", b.dir, id).start()
		w.until("the container is creating", func() bool {
			r := w.rt("state", id).run()
			return r.code == 0 && strings.Contains(r.out, `"creating"`)
		})
		time.Sleep(50 * time.Millisecond) // well into the hook
		if r := w.rt("state", id).run(); !strings.Contains(r.out, `"creating"`) {
			t.Errorf("%s: state while the hook runs: %s", kind, r.out)
		}
		w.rt("delete", "--force", id).ok()
		create.cmd.Wait()
		w.rt("state", id).run().fails("does not exist")
	}
}

// delete --force of a container with a damaged record returned 0 and left it running.
func TestDamagedRecordIsNoEscape(t *testing.T) {
	w := newWorld(t)
	for _, file := range []string{"berth.json", "state.json"} {
		c := w.started(w.bundle(forever))
		pid := c.state().Pid
		w.must(os.WriteFile(filepath.Join(w.root, c.id, file), []byte("{x"), 0o600))
		w.rt("delete", "--force", c.id).ok()
		w.until("init is gone", func() bool { return !exists(pid) })
		c.gone()
	}
}

func exists(pid int) bool {
	_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	return err == nil
}

// A container could freeze itself below its cgroup, and then not be deleted.
func TestSelfFrozenContainerCanBeDeleted(t *testing.T) {
	if unified() {
		t.Skip("needs the v1 freezer")
	}
	w := newWorld(t)
	b := w.bundle(writable, sh("mkdir /sys/fs/cgroup/freezer/sub; echo 1 > /sys/fs/cgroup/freezer/sub/tasks; echo FROZEN > /sys/fs/cgroup/freezer/sub/freezer.state; sleep 1000"),
		func(s *specs.Spec) {
			for i := range s.Mounts {
				if s.Mounts[i].Type == "cgroup" {
					s.Mounts[i].Options = []string{"nosuid", "nodev", "noexec", "rw"}
				}
			}
		})
	c := w.started(b)
	state := filepath.Join("/sys/fs/cgroup/freezer", c.id, "sub/freezer.state")
	w.until("it is frozen", func() bool {
		text, _ := os.ReadFile(state)
		return strings.HasPrefix(string(text), "FR") // FREEZING or FROZEN
	})
	w.rt("delete", "--force", c.id).ok()
	c.gone()
}

// A --root that others can write is not used.
func TestRootOfOthers(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	open := w.dir + "/open"
	w.must(os.Mkdir(open, 0o777))
	w.must(os.Chmod(open, 0o777))
	call := w.rt("create", "--bundle", b.dir, w.id())
	call.global = []string{"--root", open}
	call.run().fails("can be written by others")
}

// An init that was killed in a startContainer hook passed for a program that had run.
func TestInitKilledInStartHook(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever, logged(w), func(s *specs.Spec) {
		s.Hooks = &specs.Hooks{StartContainer: []specs.Hook{{Path: "/bin/sh", Args: []string{"sh", "-c", "echo x > /log/in; sleep 60"}}}}
	})
	c := w.create(b)
	pid := c.state().Pid
	start := w.rt("start", c.id).start()
	w.until("the hook runs", func() bool { _, err := os.Stat(w.dir + "/log/in"); return err == nil })
	w.must(syscall.Kill(pid, syscall.SIGKILL))
	if err := start.cmd.Wait(); err == nil {
		t.Error("start says that all is well")
	}
	holds(w, "start's error", w.read(start.errFile), "startContainer hook")
	w.rt("delete", "--force", c.id).ok()
}

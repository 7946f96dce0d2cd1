package tests

import (
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A runtime killed with SIGKILL at any instant of create leaves something that state and
// delete --force handle, and that list shows or passes over.
func TestKilledCreate(t *testing.T) {
	w := newWorld(t)
	plain := w.bundle(forever)
	hooked := w.bundle(forever, logged(w), hook(w, "createRuntime", "a"), hook(w, "createContainer", "b"))
	limited := w.bundle(forever, cgroupsPath("/"+w.mark+"-killed"), memory(64<<20))
	for i := range 90 {
		b := []*bundle{plain, plain, hooked, limited}[i%4]
		killAt(w, time.Duration(rand.Intn(7000))*time.Microsecond, "create", "--bundle", b.dir)
	}
}

func TestKilledRun(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 30 {
		killAt(w, time.Duration(rand.Intn(10000))*time.Microsecond, "run", "--bundle", b.dir)
	}
}

// The same for start: the container is still created, or it runs.
func TestKilledStart(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	for range 30 {
		c := w.create(b)
		start := w.rt("start", c.id).start()
		time.Sleep(time.Duration(rand.Intn(4000)) * time.Microsecond)
		start.cmd.Process.Kill()
		start.cmd.Wait()
		switch s := c.state().Status; s {
		case "created":
			if r := w.rt("start", c.id).run(); r.code != 0 && c.state().Status == "created" {
				t.Errorf("a second start after a killed one: %v", r)
			}
		case "running", "stopped":
		default:
			t.Errorf("status %q", s)
		}
		c.delete("--force")
	}
}

// And for delete: it can be repeated.
func TestKilledDelete(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever, cgroupsPath("/"+w.mark+"-killed-delete"))
	for range 30 {
		c := w.started(b)
		del := w.rt("delete", "--force", c.id).start()
		time.Sleep(time.Duration(rand.Intn(4000)) * time.Microsecond)
		del.cmd.Process.Kill()
		del.cmd.Wait()
		w.rt("list").ok()
		c.delete("--force")
		c.gone()
	}
}

func killAt(w *world, delay time.Duration, args ...string) {
	w.Helper()
	id := w.id()
	call := w.rt(append(args, id)...).start()
	time.Sleep(delay)
	call.cmd.Process.Kill()
	call.cmd.Wait()
	w.rt("list").ok()
	w.rt("list", "--format", "json").ok()
	_, err := os.Lstat(filepath.Join(w.root, id))
	r := w.rt("state", id).run()
	switch {
	case r.code != 0 && err != nil:
		r.fails("does not exist")
	case r.code != 0:
		// Killed between the directory and its contents: state may refuse, by a clear error.
		r.fails(id)
	default:
		var s state
		w.decode(r.out, &s)
		if !contains([]string{"creating", "created", "running", "stopped"}, s.Status) {
			w.Errorf("killed after %v: status %q", delay, s.Status)
		}
	}
	w.rt("delete", "--force", id).ok()
	w.rt("state", id).run().fails("does not exist")
	if _, err := os.Lstat(filepath.Join(w.root, id)); err == nil {
		w.Errorf("killed after %v: delete --force left the state", delay)
	}
	var left []string
	if !eventually(5*time.Second, func() bool { left = w.leaks(); return len(left) == 0 }) {
		w.Fatalf("killed after %v: delete --force left %v", delay, left)
	}
}

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestCardVerbs(t *testing.T) {
	w := newWorld(t)
	for name, b := range map[string]*bundle{"runc default": w.bundle(forever), "runtime-tools": w.generated(forever)} {
		c := w.create(b)
		c.hasStatus("created")
		c.start()
		c.hasStatus("running")
		c.prints("ready")
		c.kill("TERM")
		c.becomes("stopped")
		holds(w, name, c.stdout(), "got 15")
		c.delete()
		c.gone()
	}
}

func TestIDs(t *testing.T) {
	w := newWorld(t)
	b := w.bundle()
	for _, id := range []string{"", ".", "..", "a/b", "/", "/abs", "../up", "a b", "a\tb", "a\nb", "ä", "a:b", "a*", strings.Repeat("x", 1100)} {
		w.rt("create", "--bundle", b.dir, id).run().fails()
		w.rt("run", "--bundle", b.dir, id).run().fails()
		for _, verb := range []string{"state", "start", "kill", "delete"} {
			w.rt(verb, id).run().fails()
		}
	}
	if entries, _ := os.ReadDir(w.root); len(entries) > 0 {
		t.Errorf("a refused id left %v", entries)
	}
	for _, id := range []string{"a", "1", "A_b.c-d+1", "x.y", strings.Repeat("y", 200)} {
		id = w.mark + id
		w.ids = append(w.ids, id)
		w.rt("create", "--bundle", b.dir, id).ok()
		var s state
		w.decode(w.rt("state", id).ok().out, &s)
		expect(w, "id", s.ID, id)
		w.rt("delete", "--force", id).ok()
	}
}

func TestIDIsUnique(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	before := c.state()
	w.rt("create", "--bundle", w.bundle().dir, c.id).run().fails("exist").lacks("does not exist")
	w.rt("run", "--bundle", w.bundle().dir, c.id).run().fails("exist")
	after := c.state()
	expect(w, "pid", after.Pid, before.Pid)
	expect(w, "bundle", after.Bundle, before.Bundle)
	c.start()
	c.prints("ready")
}

// config.json is read once: what happens to it after create has no effect.
func TestConfigIsReadOnce(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(sh("echo original; hostname"), func(s *specs.Spec) { s.Annotations = map[string]string{"k": "v"} })
	edited, removed := w.create(b), w.create(b)
	args("/bin/echo", "edited")(b.spec)
	b.spec.Annotations = map[string]string{"k": "other"}
	b.spec.Hostname = "other"
	b.write()
	expect(w, "annotation", edited.state().Annotations["k"], "v")
	edited.start()
	edited.becomes("stopped")
	expect(w, "output", edited.stdout(), "original\nrunc\n")
	w.must(os.Remove(b.config()))
	expect(w, "annotation", removed.state().Annotations["k"], "v")
	removed.start()
	removed.becomes("stopped")
	expect(w, "output", removed.stdout(), "original\nrunc\n")
	edited.delete()
	removed.delete()
}

func TestArgsRunOnlyAtStart(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(sh("echo ran > /log/marker"), logged(w)))
	marker := filepath.Join(w.dir, "log/marker")
	c.hasStatus("created")
	time.Sleep(100 * time.Millisecond)
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("process.args ran before start")
	}
	c.hasStatus("created")
	c.start()
	w.until("marker", func() bool { _, err := os.Stat(marker); return err == nil })
	c.becomes("stopped")
}

func TestStartOnlyFromCreated(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	c.start()
	pid := c.state().Pid
	w.rt("start", c.id).run().fails()
	expect(w, "pid after a second start", c.state().Pid, pid)
	c.hasStatus("running")
	c.stop()
	w.rt("start", c.id).run().fails()
	c.hasStatus("stopped")
	c.delete()
	w.rt("start", c.id).run().fails("does not exist")
}

// A container whose init died in created is stopped, and start says so.
func TestStartAfterKilledInCreated(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	c.kill("KILL")
	c.becomes("stopped")
	w.rt("start", c.id).run().fails()
	c.delete()
}

func TestKillStates(t *testing.T) {
	w := newWorld(t)
	w.rt("kill", w.id(), "TERM").run().fails("does not exist")
	c := w.started(w.bundle(forever))
	c.prints("ready")
	for _, s := range []string{"USR1", "SIGUSR2", "1", "sigusr1"} {
		c.kill(s)
	}
	for _, n := range []string{"got 10", "got 12", "got 1\n"} {
		c.prints(n)
	}
	c.kill("37")
	c.prints("got 37")
	for _, s := range []string{"NOSUCH", "SIGNOSUCH", "-1", "999", "1x"} {
		w.rt("kill", c.id, "--", s).run().fails()
		c.hasStatus("running")
	}
	w.rt("kill", c.id, "0").ok() // asks whether it is there
	w.rt("kill", c.id).ok()      // SIGTERM is the default
	c.prints("got 15")
	c.becomes("stopped")
	for _, s := range []string{"TERM", "KILL", "USR1", "0"} {
		w.rt("kill", c.id, s).run().fails("container not running")
	}
	w.rt("kill", "--all", c.id, "KILL").run()
	c.hasStatus("stopped")
}

func TestDeleteOnlyStopped(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	w.rt("delete", c.id).run().fails("created")
	c.hasStatus("created")
	c.start()
	w.rt("delete", c.id).run().fails("running")
	c.hasStatus("running")
	c.prints("ready")
	c.stop()
	c.delete()
	c.gone()
	w.rt("delete", c.id).run().fails("does not exist")
	w.rt("delete", "--force", c.id).ok() // as runc: nothing to do
}

func TestDeleteForce(t *testing.T) {
	w := newWorld(t)
	created, running, stopped := w.create(w.bundle(forever)), w.started(w.bundle(forever)), w.started(w.bundle())
	stopped.becomes("stopped")
	for _, c := range []*container{created, running, stopped} {
		c.delete("--force")
		c.gone()
	}
	w.rt("delete", "-f", w.id()).ok()
	if left := w.leaks(); len(left) > 0 {
		t.Errorf("right after delete there is still: %v", left)
	}
}

func TestIDIsReusableAtOnce(t *testing.T) {
	w := newWorld(t)
	b, id := w.bundle(forever), w.id()
	for range 25 {
		w.rt("create", "--bundle", b.dir, id).ok()
		w.rt("start", id).ok()
		w.rt("delete", "--force", id).ok()
		w.rt("run", "--bundle", w.dir+"/none", id).run().fails()
	}
	b = w.bundle()
	for range 25 {
		w.rt("run", "--bundle", b.dir, id).ok()
	}
}

func TestStateProperties(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever, func(s *specs.Spec) { s.Annotations = map[string]string{"com.example.a": "1", "b": "ü\"\n"} })
	c := w.id()
	call := w.rt("create", c) // the bundle is the current directory
	call.dir = b.dir
	call.ok()
	check := func(status string) state {
		out := w.rt("state", c).ok().out
		var s state
		var keys map[string]any
		w.decode(out, &s)
		w.decode(out, &keys)
		for _, k := range []string{"ociVersion", "id", "pid", "status", "bundle", "rootfs", "created", "owner", "annotations"} {
			if _, has := keys[k]; !has {
				t.Errorf("state lacks %q", k)
			}
		}
		for k := range keys {
			if k == "bundlePath" || k == "rootfsPath" {
				t.Errorf("state has %q, which runc has not", k)
			}
		}
		expect(w, "id", s.ID, c)
		expect(w, "status", s.Status, status)
		expect(w, "bundle", s.Bundle, b.dir)
		expect(w, "rootfs", s.Rootfs, b.rootfs())
		expect(w, "annotations", fmt.Sprint(s.Annotations), fmt.Sprint(b.spec.Annotations))
		if !strings.HasPrefix(s.OCIVersion, "1.") {
			t.Errorf("ociVersion %q", s.OCIVersion)
		}
		made, err := time.Parse(time.RFC3339Nano, s.Created)
		if err != nil || time.Since(made) < 0 || time.Since(made) > time.Minute {
			t.Errorf("created %q: %v", s.Created, err)
		}
		return s
	}
	created := check("created")
	w.rt("start", c).ok()
	running := check("running")
	expect(w, "pid", running.Pid, created.Pid)
	expect(w, "created", running.Created, created.Created)
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", running.Pid))
	if err != nil || !strings.HasSuffix(exe, "/bin/probe") {
		t.Errorf("pid %d of the state runs %q, %v", running.Pid, exe, err)
	}
	w.rt("kill", c, "KILL").ok()
	w.until("stopped", func() bool { return strings.Contains(w.rt("state", c).ok().out, `"stopped"`) })
	stopped := check("stopped")
	expect(w, "pid of a stopped container", stopped.Pid, 0)
}

// A config without process can be created, not started.
func TestNoProcess(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(func(s *specs.Spec) { s.Process = nil }))
	c.hasStatus("created")
	w.rt("start", c.id).run().fails("process")
	c.delete("--force")
	c.gone()
}

func TestExistingCgroupSurvives(t *testing.T) {
	w := newWorld(t)
	name := w.mark + "-pre"
	var made []string
	for _, c := range []string{"memory", "pids", "freezer", ""} {
		dir := filepath.Join("/sys/fs/cgroup", c, name)
		if (c == "") != unified() {
			continue
		}
		w.must(os.Mkdir(dir, 0o755))
		made = append(made, dir)
		t.Cleanup(func() { os.Remove(dir) })
	}
	b := w.bundle(forever, cgroupsPath("/"+name))
	for _, force := range []bool{true, false} {
		c := w.started(b)
		if force {
			c.delete("--force")
		} else {
			c.stop()
			c.delete()
		}
		for _, dir := range made {
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("delete removed a cgroup that was there before: %v", err)
			}
		}
		expect(w, "cgroups left", len(cgroupsOf(name)), len(made))
	}
	b.spec.Process.Args = []string{"/no/such/file"}
	b.write()
	_, r := w.tryCreate(b)
	r.fails()
	expect(w, "cgroups left by a failed create", len(cgroupsOf(name)), len(made))
	for _, dir := range made {
		w.must(os.Remove(dir))
	}
}

func TestBundleIsUntouched(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(sh("echo hello"))
	list := func() string {
		var out []string
		w.must(filepath.Walk(b.dir, func(path string, info os.FileInfo, err error) error {
			w.must(err)
			out = append(out, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime()))
			return nil
		}))
		return strings.Join(out, "\n")
	}
	before := list()
	w.output(b)
	c := w.started(b)
	c.becomes("stopped")
	c.delete()
	w.create(b).delete("--force")
	expect(w, "the bundle's files", list(), before)
}

func TestListFormats(t *testing.T) {
	w := newWorld(t)
	for _, format := range []string{"json", "table"} {
		w.rt("list", "--format", format).ok() // the root does not exist yet
	}
	c, d := w.create(w.bundle(forever)), w.started(w.bundle(forever))
	table := w.rt("list").ok().out
	holds(w, "list", table, c.id, d.id, "created", "running", c.b.dir)
	expect(w, "columns", strings.Join(strings.Fields(lines(table)[0]), " "), "ID PID STATUS BUNDLE CREATED OWNER")
	expect(w, "list -q", w.rt("list", "-q").ok().out, c.id+"\n"+d.id+"\n")
	expect(w, "list --quiet", w.rt("list", "--quiet").ok().out, c.id+"\n"+d.id+"\n")
	var all []map[string]json.RawMessage
	w.decode(w.rt("list", "-f", "json").ok().out, &all)
	expect(w, "containers", len(all), 2)
	for _, e := range all {
		for _, k := range []string{"ociVersion", "id", "pid", "status", "bundle", "rootfs", "created", "owner"} {
			if len(e[k]) == 0 {
				t.Errorf("list json lacks %q: %v", k, e)
			}
		}
	}
	w.rt("list", "--format", "yaml").run().fails()
}

package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runc finds an installed runc. Its verbs work on the containers of the binary under test.
func runc(w *world, args ...string) *call {
	w.Helper()
	path, err := exec.LookPath("runc")
	w.must(err)
	other := *w
	other.bin = path
	w.n += 2
	other.n = w.n
	w.n += 50 // its files have numbers of their own
	return other.rt(args...)
}

func TestRuncWorksOnOurContainers(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(sh("echo in $$; exec probe term"), profile(1, "swapon"), memory(64<<20), pids(50)))
	var theirs state
	w.decode(runc(w, "state", c.id).ok().out, &theirs)
	ours := c.state()
	expect(w, "runc's pid", theirs.Pid, ours.Pid)
	expect(w, "runc's status", theirs.Status, "created")
	expect(w, "runc's bundle", theirs.Bundle, ours.Bundle)
	runc(w, "start", c.id).ok()
	c.prints("ready")
	c.hasStatus("running")
	holds(w, "runc list", runc(w, "list").ok().out, c.id, "running")
	out := runc(w, "exec", c.id, "/bin/sh", "-c", "hostname; cat /proc/self/status; ps").ok().out
	holds(w, "runc exec", out, "runc\n", "probe term")
	expect(w, "seccomp of runc's exec", field(out, "Seccomp"), "2")
	expect(w, "capabilities of runc's exec", field(out, "CapBnd"), "0000000020000420")
	expect(w, "no_new_privs of runc's exec", field(out, "NoNewPrivs"), "1")
	for _, args := range [][]string{{"pause", c.id}, {"resume", c.id}, {"ps", c.id}, {"events", "--stats", c.id}, {"update", "--pids-limit", "60", c.id}} {
		runc(w, args...).ok()
	}
	expect(w, "pids limit after runc's update", c.cgroupValue("pids", "pids.max", "pids.max"), "60")
	runc(w, "kill", c.id, "TERM").ok()
	c.becomes("stopped")
	w.until("runc sees it stopped", func() bool { return strings.Contains(runc(w, "state", c.id).ok().out, `"stopped"`) })
	runc(w, "delete", c.id).ok()
	c.gone()
	for _, b := range []*bundle{w.bundle(forever), w.generated(forever), hand(w, w.bundle(forever, userns(w)), 100000)} {
		c := w.started(b)
		runc(w, "delete", "--force", c.id).ok()
		c.gone()
	}
}

// A host can be switched from runc under running containers.
func TestOurVerbsWorkOnRuncsContainers(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(forever)
	id := w.id()
	create := runc(w, "create", "--bundle", b.dir, id)
	create.ok()
	c := &container{w, id, b, create}
	c.hasStatus("created")
	expect(w, "bundle", c.state().Bundle, b.dir)
	holds(w, "list", w.rt("list").ok().out, id)
	c.start()
	c.prints("ready")
	c.hasStatus("running")
	c.kill("USR1")
	c.prints("got 10")
	c.kill("TERM")
	c.becomes("stopped")
	c.delete()
	c.gone()
	id = w.id()
	runc(w, "run", "-d", "--bundle", b.dir, id).ok()
	w.rt("delete", "--force", id).ok()
}

// state.json is runc's document: the keys that libcontainer.Load needs are there.
func TestStateFile(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	var doc map[string]json.RawMessage
	w.decode(w.read(filepath.Join(w.root, c.id, "state.json")), &doc)
	for _, k := range []string{"id", "init_process_pid", "init_process_start", "created", "config", "cgroup_paths", "namespace_paths", "external_descriptors"} {
		if len(doc[k]) == 0 {
			t.Errorf("state.json lacks %q", k)
		}
	}
	var config map[string]json.RawMessage
	w.decode(string(doc["config"]), &config)
	for _, k := range []string{"rootfs", "namespaces", "cgroups", "labels", "capabilities", "mounts", "mask_paths", "readonly_paths", "no_new_privileges"} {
		if len(config[k]) == 0 {
			t.Errorf("config in state.json lacks %q", k)
		}
	}
	holds(w, "labels", string(config["labels"]), "bundle="+c.b.dir)
	info, err := os.Stat(filepath.Join(w.root, c.id, "exec.fifo"))
	w.must(err)
	expect(w, "mode of exec.fifo", info.Mode(), os.ModeNamedPipe|0o622)
}

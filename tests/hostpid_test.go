package tests

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// members are the processes in the container's cgroup.
func members(w *world) []string {
	w.Helper()
	name := w.mark + "-hostpid"
	for _, dir := range []string{"/sys/fs/cgroup/pids/" + name, "/sys/fs/cgroup/" + name} {
		if data, err := os.ReadFile(dir + "/cgroup.procs"); err == nil {
			return strings.Fields(string(data))
		}
	}
	return nil
}

func (w *world) membersBecome(n int) {
	w.Helper()
	w.until(strconv.Itoa(n)+" processes in the cgroup", func() bool { return len(members(w)) == n })
}

// In the host's pid namespace nothing ends with init by itself: SIGKILL, kill --all and delete
// reach the whole cgroup.
func TestHostPidKill(t *testing.T) {
	for name, verb := range map[string][]string{"SIGKILL": {"kill", "ID", "KILL"}, "kill --all": {"kill", "--all", "ID", "KILL"}, "kill -a 9": {"kill", "-a", "ID", "9"},
		"delete --force": {"delete", "--force", "ID"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.started(w.bundle(args("/bin/probe", "spawn", "3"), hostPid(w)))
			c.prints("ready")
			w.membersBecome(4)
			call := w.rt()
			for _, a := range verb {
				if a == "ID" {
					a = c.id
				}
				call.args = append(call.args, a)
			}
			call.ok()
			w.membersBecome(0)
			if verb[0] == "delete" {
				c.gone()
				return
			}
			c.becomes("stopped")
			w.rt("kill", c.id, "KILL").run().fails("container not running")
			w.rt("kill", "--all", c.id, "KILL").run().fails("container not running")
			c.delete()
		})
	}
}

func TestHostPidInitIsGone(t *testing.T) {
	for name, verb := range map[string][]string{"SIGKILL": {"kill", "ID", "KILL"}, "kill --all": {"kill", "--all", "ID", "KILL"}, "delete": {"delete", "ID"}, "delete --force": {"delete", "--force", "ID"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.started(w.bundle(args("/bin/probe", "spawn", "3", "exit"), hostPid(w)))
			c.prints("ready")
			w.membersBecome(3)
			c.becomes("stopped")
			w.rt("kill", c.id, "TERM").run()
			call := w.rt()
			for _, a := range verb {
				if a == "ID" {
					a = c.id
				}
				call.args = append(call.args, a)
			}
			call.ok()
			w.membersBecome(0)
			if verb[0] == "kill" {
				w.rt(call.args...).run().fails("container not running")
				c.delete()
			}
			c.gone()
		})
	}
}

// kill --all with another signal reaches everything that is in the cgroup.
func TestHostPidKillAllSignal(t *testing.T) {
	w := newWorld(t)
	c := w.started(w.bundle(sh("probe term & probe term & exec probe term"), hostPid(w)))
	w.until("three are ready", func() bool { return strings.Count(c.stdout(), "ready") == 3 })
	w.rt("kill", "--all", c.id, "USR1").ok()
	w.until("three got it", func() bool { return strings.Count(c.stdout(), "got 10") == 3 })
	c.kill("USR2")
	w.until("init got it", func() bool { return strings.Count(c.stdout(), "got 12") == 1 })
	w.rt("kill", "--all", c.id).ok()
	w.until("all ended", func() bool { return strings.Count(c.stdout(), "got 15") == 3 })
	w.membersBecome(0)
	c.becomes("stopped")
}

// A container that joined another's pid namespace: the same rules, and the other one lives on.
func TestSharedPidKill(t *testing.T) {
	w := newWorld(t)
	owner := w.started(w.bundle(forever))
	owner.prints("ready")
	c := w.started(w.bundle(args("/bin/probe", "spawn", "3", "exit"), joins(specs.PIDNamespace, owner.proc("ns/pid")), cgroupsPath("/"+w.mark+"-hostpid")))
	c.prints("ready")
	w.membersBecome(3)
	c.becomes("stopped")
	w.rt("kill", c.id, "KILL").ok()
	w.membersBecome(0)
	w.rt("kill", c.id, "KILL").run().fails("container not running")
	c.delete()
	owner.hasStatus("running")
}

// A foreground run in the host's pid namespace leaves nothing of its cgroup.
func TestHostPidRun(t *testing.T) {
	w := newWorld(t)
	r := w.runs(w.bundle(args("/bin/probe", "spawn", "3", "exit"), hostPid(w)))
	expect(w, "status", r.code, 0)
	expect(w, "processes left", len(members(w)), 0)
}

// A frozen container: paused counts as running, SIGKILL and delete --force thaw it.
func TestFrozen(t *testing.T) {
	w := newWorld(t)
	freeze := func(c *container) {
		file, value := cgroupDir(w, c.state().Pid, "freezer")+"/freezer.state", "FROZEN"
		if unified() {
			file, value = cgroupDir(w, c.state().Pid, "")+"/cgroup.freeze", "1"
		}
		w.must(os.WriteFile(file, []byte(value), 0o644))
		if !unified() {
			w.until("frozen", func() bool { return strings.TrimSpace(w.read(file)) == "FROZEN" })
		}
	}
	c := w.started(w.bundle(forever))
	c.prints("ready")
	freeze(c)
	c.hasStatus("paused")
	w.rt("start", c.id).run().fails()
	w.rt("delete", c.id).run().fails()
	c.kill("USR1") // it is delivered, to be seen after a thaw
	c.kill("KILL")
	c.becomes("stopped")
	c.delete()

	c = w.started(w.bundle(args("/bin/probe", "spawn", "2"), hostPid(w)))
	c.prints("ready")
	freeze(c)
	c.kill("KILL")
	w.membersBecome(0)
	c.becomes("stopped")
	c.delete()

	c = w.started(w.bundle(forever))
	freeze(c)
	c.delete("--force")
	c.gone()
}

// The pid of a state is never taken for another process: a recycled pid means stopped.
func TestPidIsNotTrustedAlone(t *testing.T) {
	w := newWorld(t)
	c := w.started(w.bundle(forever))
	c.prints("ready")
	file := w.root + "/" + c.id + "/state.json"
	text := w.read(file)
	pid := c.state().Pid
	other := w.started(w.bundle(forever))
	other.prints("ready")
	changed := strings.Replace(text, `"init_process_pid":`+strconv.Itoa(pid), `"init_process_pid":`+strconv.Itoa(other.state().Pid), 1)
	if changed == text {
		t.Fatal("state.json has no init_process_pid as runc's has")
	}
	w.must(os.WriteFile(file, []byte(changed), 0o600))
	c.hasStatus("stopped")
	w.rt("kill", c.id, "KILL").run()
	other.hasStatus("running")
	w.must(os.WriteFile(file, []byte(text), 0o600))
	c.hasStatus("running")
	w.must(syscall.Kill(pid, syscall.SIGKILL))
	c.becomes("stopped")
}

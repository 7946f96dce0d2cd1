package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A container is one that a test made, by its id and the call that made it.
type container struct {
	w  *world
	id string
	b  *bundle
	by *call // create; its stdout and stderr are the container's
}

// state is the document that `state` prints, with every key that runc's has.
type state struct {
	OCIVersion  string            `json:"ociVersion"`
	ID          string            `json:"id"`
	Pid         int               `json:"pid"`
	Status      string            `json:"status"`
	Bundle      string            `json:"bundle"`
	Rootfs      string            `json:"rootfs"`
	Created     string            `json:"created"`
	Owner       *string           `json:"owner"`
	Annotations map[string]string `json:"annotations"`
}

// tryCreate calls create and says how that went.
func (w *world) tryCreate(b *bundle, flags ...string) (*container, result) {
	w.Helper()
	id := w.id()
	by := w.rt(append(append([]string{"create", "--bundle", b.dir}, flags...), id)...)
	r := by.run()
	return &container{w, id, b, by}, r
}

func (w *world) create(b *bundle, flags ...string) *container {
	w.Helper()
	c, r := w.tryCreate(b, flags...)
	r.ok()
	return c
}

// started is a container that runs.
func (w *world) started(b *bundle, flags ...string) *container {
	w.Helper()
	c := w.create(b, flags...)
	c.start()
	return c
}

// output runs a container to its end, which must be a good one, and returns what it printed.
func (w *world) output(b *bundle, flags ...string) string {
	w.Helper()
	return w.runs(b, flags...).ok().out
}

func (w *world) runs(b *bundle, flags ...string) result {
	w.Helper()
	return w.rt(append(append([]string{"run", "--bundle", b.dir}, flags...), w.id())...).run()
}

func (c *container) start()             { c.w.Helper(); c.w.rt("start", c.id).ok() }
func (c *container) kill(signal string) { c.w.Helper(); c.w.rt("kill", c.id, signal).ok() }
func (c *container) delete(f ...string) {
	c.w.Helper()
	c.w.rt(append(append([]string{"delete"}, f...), c.id)...).ok()
}
func (c *container) stdout() string     { c.w.Helper(); return c.w.read(c.by.outFile) }
func (c *container) hasStatus(s string) { c.w.Helper(); c.expect(s, c.state().Status) }
func (c *container) expect(a, b string) { c.w.Helper(); expect(c.w, "status of "+c.id, b, a) }
func (c *container) prints(text string) {
	c.w.Helper()
	c.w.until("output holds "+strconv.Quote(text), func() bool { return strings.Contains(c.stdout(), text) })
}
func (c *container) becomes(s string) {
	c.w.Helper()
	c.w.until(c.id+" becomes "+s, func() bool { return c.state().Status == s })
}
func (c *container) gone() { c.w.Helper(); c.w.rt("state", c.id).run().fails("does not exist") }
func (c *container) link(ns string) string {
	c.w.Helper()
	l, err := os.Readlink(c.proc("ns/" + ns))
	c.w.must(err)
	return l
}

func (c *container) state() state {
	c.w.Helper()
	var s state
	c.w.decode(c.w.rt("state", c.id).ok().out, &s)
	return s
}

// proc is a path in the init process's directory in the host's /proc.
func (c *container) proc(name string) string {
	c.w.Helper()
	return filepath.Join("/proc", strconv.Itoa(c.state().Pid), name)
}

// stop ends the container the hard way and waits until the runtime has seen it.
func (c *container) stop() {
	c.w.Helper()
	c.kill("KILL")
	c.becomes("stopped")
}

// cgroup is the directory of a v1 controller, or of the v2 tree, that process pid is in.
func cgroupDir(w *world, pid int, controller string) string {
	w.Helper()
	for _, line := range strings.Split(w.read("/proc/"+strconv.Itoa(pid)+"/cgroup"), "\n") {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) < 3:
		case unified() && f[0] == "0":
			return "/sys/fs/cgroup" + f[2]
		case !unified() && (f[1] == controller || f[1] == "name="+controller || contains(strings.Split(f[1], ","), controller)):
			return "/sys/fs/cgroup/" + controller + f[2]
		}
	}
	w.Fatalf("process %d is in no cgroup of %s", pid, controller)
	return ""
}

// cgroupValue reads a limit: the file's name is given for v1 and for v2.
func (c *container) cgroupValue(controller, v1, v2 string) string {
	c.w.Helper()
	file := v1
	if unified() {
		file = v2
	}
	return strings.TrimSpace(c.w.read(filepath.Join(cgroupDir(c.w, c.state().Pid, controller), file)))
}

// unified is true on hosts with cgroup v2 alone.
func unified() bool {
	var s syscall.Statfs_t
	return syscall.Statfs("/sys/fs/cgroup", &s) == nil && s.Type == 0x63677270
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// expect compares one value, with a name for it.
func expect[T comparable](w *world, what string, got, want T) {
	w.Helper()
	if got != want {
		w.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// holds asserts that text has each of parts.
func holds(w *world, what, text string, parts ...string) {
	w.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			w.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

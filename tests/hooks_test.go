package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// hookRecord is what one call of cmd/hook wrote down.
type hookRecord struct {
	Name  string
	Args  []string
	Env   []string
	NS    map[string]string
	State json.RawMessage
	Cwd   string
	Pid   int
	Exist map[string]bool
	Host  string
	Fds   []string
}

var hookKinds = []string{"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}

func hookList(s *specs.Spec, kind string) *[]specs.Hook {
	if s.Hooks == nil {
		s.Hooks = &specs.Hooks{}
	}
	h := s.Hooks
	return map[string]*[]specs.Hook{"prestart": &h.Prestart, "createRuntime": &h.CreateRuntime, "createContainer": &h.CreateContainer,
		"startContainer": &h.StartContainer, "poststart": &h.Poststart, "poststop": &h.Poststop}[kind]
}

// hook adds one of a kind, logged under name. startContainer's resolves in the container.
func hook(w *world, kind, name string, more ...string) mod {
	path, log := tools+"/hook", w.dir+"/log/hooks"
	if kind == "startContainer" {
		path, log = "/bin/hook", "/log/hooks"
	}
	return func(s *specs.Spec) {
		list := hookList(s, kind)
		*list = append(*list, specs.Hook{Path: path, Args: append([]string{"hook-" + name, log, name}, more...),
			Env: []string{"ONLY=" + name, "BERTH_TEST_MARK=" + w.mark}})
	}
}

func allHooks(w *world) mod {
	return func(s *specs.Spec) {
		for _, kind := range hookKinds {
			hook(w, kind, kind+"-1")(s)
			hook(w, kind, kind+"-2")(s)
		}
		logged(w)(s)
	}
}

func (w *world) hookRecords() []hookRecord {
	w.Helper()
	var out []hookRecord
	f, err := os.Open(w.dir + "/log/hooks")
	if os.IsNotExist(err) {
		return nil
	}
	w.must(err)
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var r hookRecord
		w.decode(in.Text(), &r)
		out = append(out, r)
	}
	return out
}

func (w *world) hookNames() string {
	w.Helper()
	var names []string
	for _, r := range w.hookRecords() {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

func (w *world) record(name string) hookRecord {
	w.Helper()
	for _, r := range w.hookRecords() {
		if r.Name == name {
			return r
		}
	}
	w.Fatalf("hook %s did not run; those that ran: %s", name, w.hookNames())
	return hookRecord{}
}

func TestHooksOrder(t *testing.T) {
	w := newWorld(t)
	both := func(kinds ...string) string {
		var out []string
		for _, k := range kinds {
			out = append(out, k+"-1", k+"-2")
		}
		return strings.Join(out, " ")
	}
	c := w.create(w.bundle(forever, allHooks(w)))
	expect(w, "hooks of create", w.hookNames(), both("prestart", "createRuntime", "createContainer"))
	c.start()
	expect(w, "hooks of start", w.hookNames(), both("prestart", "createRuntime", "createContainer", "startContainer", "poststart"))
	c.stop()
	expect(w, "hooks after the end", w.hookNames(), both("prestart", "createRuntime", "createContainer", "startContainer", "poststart"))
	c.delete()
	expect(w, "hooks of delete", w.hookNames(), both(hookKinds...))
}

func TestHooksOfRun(t *testing.T) {
	w := newWorld(t)
	w.output(w.bundle(sh("echo hello"), allHooks(w)))
	var want []string
	for _, k := range hookKinds {
		want = append(want, k+"-1", k+"-2")
	}
	expect(w, "hooks of run", w.hookNames(), strings.Join(want, " "))
}

func TestHooksAreCalledAsConfigured(t *testing.T) {
	w := newWorld(t)
	c := w.started(w.bundle(forever, allHooks(w)))
	c.stop()
	c.delete()
	for _, kind := range hookKinds {
		r := w.record(kind + "-2")
		expect(w, kind+" args[0]", r.Args[0], "hook-"+kind+"-2")
		slices.Sort(r.Env)
		expect(w, kind+" env", strings.Join(r.Env, " "), "BERTH_TEST_MARK="+w.mark+" ONLY="+kind+"-2")
		for _, fd := range r.Fds {
			if n := strings.Fields(fd)[0]; n != "0" && n != "1" && n != "2" {
				t.Errorf("%s: a descriptor of the runtime is open in the hook: %s", kind, fd)
			}
		}
	}
}

// Without args, execv's argv[0] is the path; without env, the environment is empty.
func TestHookDefaults(t *testing.T) {
	w := newWorld(t)
	script := w.dir + "/log/h"
	w.must(os.WriteFile(script, []byte("#!/bin/busybox sh\nbusybox echo \"[$0]\" $# >>"+w.dir+"/log/plain\nbusybox tr '\\0' '\\n' </proc/self/environ >>"+w.dir+"/log/env\n"), 0o755))
	w.output(w.bundle(func(s *specs.Spec) { s.Hooks = &specs.Hooks{CreateRuntime: []specs.Hook{{Path: script}}} }))
	expect(w, "hook without args", w.read(w.dir+"/log/plain"), "["+script+"] 0\n")
	for _, l := range lines(w.read(w.dir + "/log/env")) {
		// what the shell itself exports
		if l != "" && !strings.HasPrefix(l, "PWD=") && !strings.HasPrefix(l, "SHLVL=") && !strings.HasPrefix(l, "OLDPWD=") {
			t.Errorf("the hook's environment is not empty: %q", l)
		}
	}
}

func TestHooksNamespaces(t *testing.T) {
	w := newWorld(t)
	c := w.started(w.bundle(forever, allHooks(w)))
	inside := map[string]string{}
	host := map[string]string{}
	for _, ns := range []string{"mnt", "pid", "net", "ipc", "uts"} {
		inside[ns] = c.link(ns)
		host[ns], _ = os.Readlink("/proc/self/ns/" + ns)
	}
	c.stop()
	c.delete()
	for _, kind := range hookKinds {
		r, want := w.record(kind+"-1"), host
		if kind == "createContainer" || kind == "startContainer" {
			want = inside
		}
		for ns, id := range want {
			expect(w, kind+" runs in namespace "+ns, r.NS[ns], id)
		}
	}
	expect(w, "startContainer's hostname", w.record("startContainer-1").Host, "runc")
}

// Before pivot_root the host's files are visible; startContainer sees the container's.
func TestHooksRoot(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever, logged(w), writable,
		hook(w, "prestart", "p", "check="+w.dir), hook(w, "createRuntime", "cr", "check="+w.dir),
		hook(w, "createContainer", "cc", "check="+w.dir),
		hook(w, "startContainer", "sc", "check="+w.dir, "check=/log", "check=/proc/1")))
	c.start()
	c.delete("--force")
	for _, name := range []string{"p", "cr", "cc"} {
		if !w.record(name).Exist[w.dir] {
			t.Errorf("hook %s does not see the host's files", name)
		}
	}
	sc := w.record("sc")
	if sc.Exist[w.dir] || !sc.Exist["/log"] || !sc.Exist["/proc/1"] {
		t.Errorf("startContainer sees %v", sc.Exist)
	}
}

// The mounts of the config are there in createContainer's mount namespace.
func TestCreateContainerHookSeesMounts(t *testing.T) {
	w := newWorld(t)
	src := w.dir + "/src"
	w.must(os.Mkdir(src, 0o755))
	w.must(os.WriteFile(src+"/file", nil, 0o644))
	b := w.bundle(forever, bind(src, "/mnt"))
	hook(w, "createContainer", "cc", "check="+b.rootfs()+"/mnt/file")(b.spec)
	hook(w, "createRuntime", "cr", "check="+b.rootfs()+"/mnt/file")(b.spec)
	b.write()
	w.create(b)
	expect(w, "createContainer sees the mount", w.record("cc").Exist[b.rootfs()+"/mnt/file"], true)
	expect(w, "createRuntime sees the mount on the host", w.record("cr").Exist[b.rootfs()+"/mnt/file"], false)
}

func TestHooksState(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever, allHooks(w), func(s *specs.Spec) { s.Annotations = map[string]string{"a": "b"} }))
	pid := c.state().Pid
	c.start()
	c.stop()
	c.delete()
	want := map[string]struct {
		status string
		pid    int
	}{
		"prestart": {"creating", pid}, "createRuntime": {"creating", pid}, "createContainer": {"creating", 1},
		"startContainer": {"created", 1}, "poststart": {"running", pid}, "poststop": {"stopped", 0},
	}
	for kind, e := range want {
		for _, n := range []string{"-1", "-2"} {
			var s state
			w.decode(string(w.record(kind+n).State), &s)
			expect(w, kind+" id", s.ID, c.id)
			expect(w, kind+" status", s.Status, e.status)
			expect(w, kind+" bundle", s.Bundle, c.b.dir)
			expect(w, kind+" annotations", fmt.Sprint(s.Annotations), "map[a:b]")
			expect(w, kind+" pid", s.Pid, e.pid)
			if !strings.HasPrefix(s.OCIVersion, "1.") {
				t.Errorf("%s ociVersion %q", kind, s.OCIVersion)
			}
		}
	}
}

// A hook that does not read its stdin, with a state larger than a pipe, is not an error.
func TestHookMayIgnoreState(t *testing.T) {
	w := newWorld(t)
	w.output(w.bundle(logged(w), func(s *specs.Spec) {
		s.Annotations = map[string]string{"long": strings.Repeat("x", 200000)}
		for _, kind := range hookKinds {
			path := "/bin/busybox"
			if kind != "startContainer" {
				path = rootfs + path
			}
			*hookList(s, kind) = []specs.Hook{{Path: path, Args: []string{"true"}}}
		}
		hook(w, "createRuntime", "reads")(s)
		hook(w, "startContainer", "reads2")(s)
	}))
	for _, name := range []string{"reads", "reads2"} {
		var s state
		w.decode(string(w.record(name).State), &s)
		expect(w, "length of the annotation", len(s.Annotations["long"]), 200000)
	}
}

// A hook within its timeout is no failure, and a timeout of 0 or less is refused or means none.
func TestHookInTime(t *testing.T) {
	w := newWorld(t)
	ten := 10
	w.output(w.bundle(logged(w), allHooks(w), func(s *specs.Spec) {
		for _, kind := range hookKinds {
			for i := range *hookList(s, kind) {
				(*hookList(s, kind))[i].Timeout = &ten
			}
		}
	}))
	expect(w, "number of hooks", len(w.hookRecords()), 12)
}

// A hook of the runtime namespace can use the pid of its state: network plugins enter the network
// namespace, NVIDIA's hook the mount namespace, where it works on the rootfs at its host's path.
func TestRuntimeHooksCanEnterNamespaces(t *testing.T) {
	w := newWorld(t)
	script := w.dir + "/enter.sh"
	b := w.bundle(args("/bin/sh", "-c", "ip addr; cat /mnt/by-hook"), mount("tmpfs", "t", "/mnt", "mode=755"))
	w.must(os.WriteFile(script, []byte(`#!/bin/sh
exec >`+w.dir+`/log/script 2>&1
pid=$(grep -o '"pid": *[0-9]*' | grep -o '[0-9]*$')
nsenter -t $pid -n ip addr add 127.0.0.7/32 dev lo
nsenter -t $pid -m sh -c 'echo hello > `+b.rootfs()+`/mnt/by-hook' || echo no rootfs in the mount namespace
true
`), 0o755))
	b.spec.Hooks = &specs.Hooks{CreateRuntime: []specs.Hook{{Path: script, Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}}}}
	b.write()
	c := w.create(b)
	c.start()
	c.becomes("stopped")
	holds(w, "what the hook did ("+w.read(w.dir+"/log/script")+")", c.stdout(), "127.0.0.7", "hello")
}

package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// plain runs the binary without a --root.
func (w *world) plain(args ...string) *call {
	c := w.rt(args...)
	c.global = nil
	return c
}

func TestVersion(t *testing.T) {
	w := newWorld(t)
	for _, flag := range []string{"--version", "-v"} {
		l := lines(w.plain(flag).ok().out)
		if !regexp.MustCompile(`^berth version \d+\.\d+\.\d+`).MatchString(l[0]) && !strings.HasPrefix(l[0], "runc version") {
			t.Errorf("first line: %q", l[0])
		}
		for i, prefix := range []string{"commit: ", "spec: 1.3", "go: go1.", "libseccomp: 2."} {
			if i+1 >= len(l) || !strings.HasPrefix(l[i+1], prefix) {
				t.Errorf("line %d lacks %q: %q", i+1, prefix, l)
			}
		}
	}
}

func TestGlobalFlags(t *testing.T) {
	w := newWorld(t)
	b := w.bundle()
	for _, flags := range [][]string{
		{"--debug"}, {"--log", w.dir + "/l1"}, {"--log", w.dir + "/l2", "--log-format", "json"}, {"--log-format", "text"}, {"--rootless", "false"}, {"--rootless=auto"},
		{"--cgroup-manager", "cgroupfs"}, {"--cgroup-manager=cgroupfs"}, {"--log", "file:" + w.dir + "/l3"}, {"--log-level", "debug"}, {"--log-level", "error"}, {"--log-level=warning"},
	} {
		call := w.rt("run", "--bundle", b.dir, w.id())
		call.global = append(call.global, flags...)
		call.ok()
	}
	call := w.rt("state", "nosuch")
	call.global = append(call.global, "--log", "file:"+w.dir+"/l4", "--log-format", "json")
	call.run().fails()
	holds(w, "--log file:", w.read(w.dir+"/l4"), "does not exist")
	for _, flags := range [][]string{{"--cgroup-manager", "nosuch"}, {"--log-level", "nosuch"}, {"--rootless", "nosuch"}} {
		call := w.rt("list")
		call.global = append(call.global, flags...)
		call.run().fails("nosuch")
	}
	// The journal and syslog may not be there: the error itself is what counts.
	for _, log := range []string{"journald:berth", "journald:", "syslog:berth", "syslog:"} {
		call := w.rt("state", "nosuch")
		call.global = append(call.global, "--log", log)
		r := call.run().fails()
		expect(w, "lines on stderr with --log "+log+": "+r.err, len(lines(r.err)), 1)
	}
	// --root may also be a relative path.
	call = w.plain("--root", "relroot", "create", "--bundle", b.dir, "x")
	call.dir = w.dir
	call.ok()
	if _, err := os.Stat(w.dir + "/relroot/x/state.json"); err != nil {
		t.Error(err)
	}
	call = w.plain("--root", "relroot", "delete", "-f", "x")
	call.dir = w.dir
	call.ok()
}

// With cgroups disabled none is made, and a container still works.
func TestCgroupManagerDisabled(t *testing.T) {
	w := newWorld(t)
	call := w.rt("create", "--bundle", w.bundle(forever, func(s *specs.Spec) { s.Linux.Resources = nil }).dir, w.id())
	call.global = append(call.global, "--cgroup-manager", "disabled")
	if r := call.run(); r.code != 0 {
		r.fails("not supported yet: --cgroup-manager disabled")
		return
	}
	if left := cgroupsOf(w.mark); len(left) > 0 {
		t.Errorf("cgroups with --cgroup-manager disabled: %v", left)
	}
	w.rt("start", w.ids[0]).ok()
	w.rt("delete", "--force", w.ids[0]).ok()
}

func TestCreateFlags(t *testing.T) {
	w := newWorld(t)
	b := w.bundle()
	for _, flags := range [][]string{
		{"-b", b.dir}, {"--bundle=" + b.dir}, {"--bundle", b.dir, "--no-pivot"}, {"--bundle", b.dir, "--no-new-keyring"}, {"--bundle", b.dir, "--preserve-fds", "0"},
		{"--bundle", b.dir, "--preserve-fds=0"}, {"--bundle", b.dir, "--pid-file", w.dir + "/pid"}, {"--bundle", b.dir + "/"}, {"--bundle", b.dir + "/../" + filepath.Base(b.dir)},
	} {
		id := w.id()
		w.rt(append(append([]string{"create"}, flags...), id)...).ok()
		w.rt("delete", id, "--force").ok() // flags after the id, as runc takes them
		w.rt(append(append([]string{"run"}, flags...), id)...).ok()
		w.rt(append([]string{"run", id}, flags...)...).ok()
	}
}

func TestSpecVerb(t *testing.T) {
	w := newWorld(t)
	b := w.bundle()
	w.must(os.Remove(b.config()))
	call := w.plain("spec")
	call.dir = b.dir
	call.ok()
	var s specs.Spec
	w.decode(w.read(b.config()), &s)
	expect(w, "terminal", s.Process.Terminal, true)
	want := defaultSpec(w)
	w.must(same(s.Mounts, want.Mounts))
	w.must(same(s.Linux.MaskedPaths, want.Linux.MaskedPaths))
	w.must(same(s.Linux.ReadonlyPaths, want.Linux.ReadonlyPaths))
	w.must(same(s.Process.Rlimits, want.Process.Rlimits))
	if len(s.Process.Capabilities.Inheritable) > 0 {
		t.Error("spec has inheritable capabilities (CVE-2022-29162)")
	}
	w.plain("spec", "--bundle", b.dir).run().fails("config.json")
	// What it writes runs.
	s.Process.Terminal, s.Process.Args = false, []string{"/bin/echo", "from spec"}
	b.spec = &s
	b.write()
	expect(w, "output", w.output(b), "from spec\n")
	dir := w.bundle()
	w.must(os.Remove(dir.config()))
	w.plain("spec", "--rootless", "-b", dir.dir).ok()
	var rootless specs.Spec
	w.decode(w.read(dir.config()), &rootless)
	expect(w, "has a user namespace", slices.ContainsFunc(rootless.Linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Type == specs.UserNamespace }), true)
	expect(w, "has maps", len(rootless.Linux.UIDMappings), 1)
}

func same(a, b any) error {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		return &os.PathError{Op: "compare", Path: string(x), Err: os.ErrInvalid}
	}
	return nil
}

func TestFeatures(t *testing.T) {
	w := newWorld(t)
	var f struct {
		Min   string   `json:"ociVersionMin"`
		Max   string   `json:"ociVersionMax"`
		Hooks []string `json:"hooks"`
		Mount []string `json:"mountOptions"`
		Linux struct {
			Namespaces   []string `json:"namespaces"`
			Capabilities []string `json:"capabilities"`
			Cgroup       map[string]bool
			Seccomp      struct {
				Enabled   bool
				Actions   []string
				Operators []string
				Archs     []string
			}
		} `json:"linux"`
		Annotations map[string]string `json:"annotations"`
	}
	w.decode(w.plain("features").ok().out, &f)
	expect(w, "ociVersionMax", f.Max, specs.Version)
	for _, k := range hookKinds {
		expect(w, "hook "+k, contains(f.Hooks, k), true)
	}
	for _, o := range []string{"ro", "rbind", "rprivate", "nosuid", "relatime", "rro"} {
		expect(w, "mount option "+o, contains(f.Mount, o), true)
	}
	for _, n := range []string{"pid", "network", "mount", "user", "cgroup", "uts", "ipc"} {
		expect(w, "namespace "+n, contains(f.Linux.Namespaces, n), true)
	}
	expect(w, "CAP_SYS_ADMIN", contains(f.Linux.Capabilities, "CAP_SYS_ADMIN"), true)
	expect(w, "cgroup v1", f.Linux.Cgroup["v1"], true)
	expect(w, "cgroup v2", f.Linux.Cgroup["v2"], true)
	expect(w, "seccomp", f.Linux.Seccomp.Enabled, true)
	expect(w, "SCMP_ACT_ERRNO", contains(f.Linux.Seccomp.Actions, "SCMP_ACT_ERRNO"), true)
}

// Under the name runc, or with BERTH_COMPAT=runc, two things are as runc does them.
func TestRuncCompatibility(t *testing.T) {
	w := newWorld(t)
	link := w.dir + "/runc"
	w.must(os.Symlink(berth, link))
	byName := func(c *call) *call { c.argv0 = link; return c }
	byEnv := func(c *call) *call { c.env = append(c.env, "BERTH_COMPAT=runc"); return c }
	for name, compat := range map[string]func(*call) *call{"name": byName, "environment": byEnv} {
		c := w.create(w.bundle(forever))
		compat(w.rt("delete", c.id)).ok()
		c.gone()
		running := w.started(w.bundle(forever))
		compat(w.rt("delete", running.id)).run().fails("running")
		running.delete("--force")
		out := compat(w.plain("--version")).ok().out
		if !strings.HasPrefix(out, "runc version ") {
			t.Errorf("%s: --version: %q", name, out)
		}
		holds(w, name, out, "\ncommit: ", "\nspec: 1.", "\ngo: go", "\nlibseccomp: ")
	}
}

func TestPlan(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(args("/bin/echo", "hello"), mount("tmpfs", "tmpfs", "/planned", "size=1m"), userns(w))
	plan := w.plain("plan", "--bundle", b.dir)
	plan.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out := plan.ok().out
	holds(w, "plan", out, "/planned", "/bin/echo", "pivot")
	if n := len(lines(out)); n < 30 {
		t.Errorf("a plan of %d lines:\n%s", n, out)
	}
	again := w.plain("plan", "-b", b.dir)
	again.attr = plan.attr
	expect(w, "the same plan again", again.ok().out, out)
	expect(w, "as root", w.plain("plan", "--bundle", b.dir).ok().out != "", true)
	b.spec.Mounts[0].Options = []string{"nosuchoption=\n"}
	b.spec.Process.Cwd = "rel"
	b.write()
	bad := w.plain("plan", "--bundle", b.dir)
	bad.attr = plan.attr
	bad.run().fails("cwd")
	w.plain("plan", "--bundle", "/nonexistent").run().fails("/nonexistent")
	if left := w.leaks(); len(left) > 0 {
		t.Errorf("plan left: %v", left)
	}
}

// Help goes to stdout and is no error.
func TestHelp(t *testing.T) {
	w := newWorld(t)
	holds(w, "--help", w.plain("--help").ok().out, "create", "start", "kill", "delete", "state", "run", "list", "plan", "spec", "features", "--root")
	for _, verb := range []string{"create", "run", "start", "kill", "delete", "state", "list", "spec", "features", "plan"} {
		if out := w.plain(verb, "--help").ok().out; len(lines(out)) < 3 {
			t.Errorf("%s --help: %q", verb, out)
		}
	}
}

// The state directories are closed to others.
func TestStateIsPrivate(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	for path, mode := range map[string]os.FileMode{w.root: 0o700, filepath.Join(w.root, c.id): 0o700} {
		info, err := os.Stat(path)
		w.must(err)
		if info.Mode().Perm()&^mode != 0 && info.Mode().Perm() != 0o711 {
			t.Errorf("%s: mode %o", path, info.Mode().Perm())
		}
	}
	info, err := os.Stat(filepath.Join(w.root, c.id, "state.json"))
	w.must(err)
	expect(w, "mode of state.json", info.Mode().Perm()&0o077, 0)
	entries, _ := os.ReadDir(w.root)
	expect(w, "entries of --root", len(entries), 1)
}

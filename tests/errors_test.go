package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// What a manager's regular expressions look for; an error has one only if it is the cause.
var matched = []string{"does not exist", "container not running", "executable file not found in $path",
	"no such file or directory", "permission denied"}

// An executable that can't be run is an error of create where it can be known, else of start.
func TestExecutableErrors(t *testing.T) {
	w := newWorld(t)
	prepare := func(b *bundle) {
		files := map[string]os.FileMode{"bin/noexec": 0o644, "bin/garbage": 0o755}
		for name, mode := range files {
			w.must(os.WriteFile(filepath.Join(b.rootfs(), name), []byte("\x01\x02 not a program"), mode))
		}
		w.must(os.WriteFile(filepath.Join(b.rootfs(), "bin/interp"), []byte("#!/no/such/interpreter\n"), 0o755))
		w.must(os.Mkdir(filepath.Join(b.rootfs(), "bin/dir"), 0o755))
	}
	for _, c := range []struct {
		name, phrase string
		verb         string // the last one that may name it
		mods         []mod
	}{
		{"not in PATH", "executable file not found in $PATH", "create", []mod{args("nosuchprogram")}},
		{"no such path", "no such file or directory", "create", []mod{args("/no/such/program")}},
		{"relative path", "no such file or directory", "create", []mod{args("./nosuch")}},
		{"empty PATH", "executable file not found in $PATH", "create", []mod{args("ls"), func(s *specs.Spec) { s.Process.Env = []string{"PATH=/nowhere"} }}},
		{"no x bit", "permission denied", "create", []mod{args("/bin/noexec")}},
		{"no x bit in PATH", "", "create", []mod{args("noexec")}},
		{"a directory", "", "create", []mod{args("/bin/dir")}},
		{"not a program", "exec format error", "start", []mod{args("/bin/garbage")}},
		{"no interpreter", "no such file or directory", "start", []mod{args("/bin/interp")}},
		{"an unreadable path", "permission denied", "create", []mod{args("/root/x"), user(1000, 1000)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bundle(c.mods...)
			prepare(b)
			if c.name == "an unreadable path" {
				w.must(os.Chmod(b.rootfs()+"/root", 0o700))
			}
			made, r := w.tryCreate(b)
			if r.code == 0 {
				if c.verb == "create" {
					t.Errorf("create could have known that it can't run %v", b.spec.Process.Args)
				}
				r = w.rt("start", made.id).run()
			}
			r.fails()
			if c.phrase != "" {
				r.fails(c.phrase)
			}
			for _, m := range matched {
				if !strings.EqualFold(m, c.phrase) && c.phrase != "" {
					r.lacks(m)
				}
			}
			w.runs(b).fails(c.phrase)
			if entries, _ := os.ReadDir(w.root); len(entries) > 0 && r.what != "start "+made.id {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

// Each wrong config is an error of create that names its place, and leaves nothing.
func TestConfigErrors(t *testing.T) {
	w := newWorld(t)
	file := w.dir + "/file"
	w.must(os.WriteFile(file, nil, 0o644))
	for name, e := range map[string]struct {
		m     mod
		words []string
	}{
		"missing bind source":     {bind("/no/such/source", "/mnt"), []string{"mounts[7]", "/no/such/source"}},
		"unknown file system":     {mount("nosuchfs", "x", "/mnt"), []string{"nosuchfs", "/mnt"}},
		"refused mount option":    {mount("tmpfs", "tmpfs", "/mnt", "nosuchoption=1"), []string{"nosuchoption", "/mnt"}},
		"bad tmpfs size":          {mount("tmpfs", "tmpfs", "/mnt", "size=banana"), []string{"/mnt"}},
		"relative cwd":            {func(s *specs.Spec) { s.Process.Cwd = "rel" }, []string{"cwd"}},
		"cwd is a file":           {func(s *specs.Spec) { s.Process.Cwd = "/etc/passwd" }, []string{"/etc/passwd"}},
		"no args":                 {func(s *specs.Spec) { s.Process.Args = nil }, []string{"args"}},
		"unknown namespace":       {func(s *specs.Spec) { s.Linux.Namespaces[0].Type = "nosuch" }, []string{"namespaces[0]"}},
		"namespace twice":         {func(s *specs.Spec) { s.Linux.Namespaces = append(s.Linux.Namespaces, s.Linux.Namespaces[0]) }, []string{"namespaces"}},
		"missing namespace path":  {joins(specs.NetworkNamespace, "/no/such/ns"), []string{"/no/such/ns"}},
		"wrong namespace type":    {joins(specs.NetworkNamespace, "/proc/self/ns/uts"), []string{"namespaces"}},
		"not a namespace":         {joins(specs.NetworkNamespace, file), []string{file}},
		"unknown rlimit":          {func(s *specs.Spec) { s.Process.Rlimits[0].Type = "RLIMIT_X" }, []string{"RLIMIT_X"}},
		"rlimit twice":            {func(s *specs.Spec) { s.Process.Rlimits = append(s.Process.Rlimits, s.Process.Rlimits[0]) }, []string{"rlimits"}},
		"unknown sysctl":          {func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"net.no.such": "1"} }, []string{"net.no.such"}},
		"sysctl of the host":      {func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"vm.swappiness": "1"} }, []string{"vm.swappiness"}},
		"no root":                 {func(s *specs.Spec) { s.Root = nil }, []string{"root"}},
		"missing rootfs":          {func(s *specs.Spec) { s.Root.Path = "none" }, []string{"none"}},
		"rootfs is a file":        {func(s *specs.Spec) { s.Root.Path = file }, nil},
		"unknown device type":     {func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/x", Type: "q"}} }, []string{"devices[0]"}},
		"mask of a relative path": {func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"rel"} }, []string{"maskedPaths"}},
		"hostname without uts":    {without(specs.UTSNamespace), []string{"hostname"}},
		"propagation":             {func(s *specs.Spec) { s.Linux.RootfsPropagation = "nosuch" }, []string{"rootfsPropagation"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c, r := w.tryCreate(w.bundle(e.m))
			if r.code == 0 {
				t.Errorf("accepted")
				c.delete("--force")
				return
			}
			r.fails()
			for _, word := range e.words {
				if !strings.Contains(r.err, word) {
					t.Errorf("the error lacks %q: %s", word, r.err)
				}
			}
			if left := w.leaks(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestBadBundles(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{"empty": "", "not JSON": "{", "wrong type": `{"ociVersion": 1}`, "an array": "[]",
		"no version": "{}", "rubbish after": `{"ociVersion":"1.3.0","root":{"path":"rootfs"}}x`, "wrong nested type": `{"ociVersion":"1.3.0","root":{"path":"rootfs"},"process":{"args":"sh"}}`,
		"old version": `{"ociVersion":"0.2.0"}`, "version 2": `{"ociVersion":"2.0.0","root":{"path":"rootfs"}}`} {
		b := w.bundle()
		w.must(os.WriteFile(b.config(), []byte(text), 0o644))
		_, r := w.tryCreate(b)
		if r.code == 0 {
			t.Errorf("%s: accepted", name)
			continue
		}
		r.fails().lacks("panic", "goroutine")
	}
	b := w.bundle()
	w.must(os.Remove(b.config()))
	_, r := w.tryCreate(b)
	r.fails("config.json")
	w.rt("create", "--bundle", w.dir+"/none", w.id()).run().fails(w.dir + "/none")
}

func TestUnknownIDs(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"state"}, {"start"}, {"kill"}, {"delete"}} {
		r := w.rt(append(args, "nosuch")...).run().fails("does not exist").lacks("container not running", "no such file")
		expect(w, "lines on stderr", len(lines(r.err)), 1)
	}
}

func TestArguments(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	q := w.id()
	for _, a := range [][]string{
		{"create"}, {"create", "a", "b"}, {"start"}, {"start", c.id, "x"}, {"state"}, {"state", c.id, "x"}, {"kill"}, {"kill", c.id, "TERM", "x"},
		{"delete"}, {"run"}, {"run", "a", "b"}, {"nosuchverb"}, {"state", "--nosuchflag", c.id}, {"--nosuchflag", "list"},
		{"create", "--bundle"}, {"create", "--preserve-fds", "x", "--bundle", c.b.dir, q}, {"create", "--preserve-fds", "-1", "--bundle", c.b.dir, q},
	} {
		r := w.rt(a...).run()
		if r.code == 0 {
			t.Errorf("accepted: %v", a)
			continue
		}
		if strings.TrimSpace(r.err+r.out) == "" {
			t.Errorf("%v: an error without a message", a)
		}
	}
	c.hasStatus("created")
}

// With stderr not a terminal, an error is one line, and has no hint.
func TestErrorIsOneLine(t *testing.T) {
	w := newWorld(t)
	for _, r := range []result{
		w.rt("state", "nosuch").run(), w.runs(w.bundle(args("nosuch"))), w.runs(w.bundle(bind("/no\nsuch", "/mnt"))),
		w.runs(w.bundle(mount("tmpfs", "t", "/mnt", "nosuch=1"))), w.rt("create", "--bundle", "/nonexistent", w.id()).run(),
	} {
		r.fails().lacks("hint:")
		expect(w, "lines on stderr of "+r.what, len(lines(r.err)), 1)
	}
}

func TestLogFile(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(args("nosuch"))
	log := w.dir + "/log.json"
	call := w.rt("create", "--bundle", b.dir, w.id())
	call.global = append(call.global, "--log", log, "--log-format", "json")
	call.run().fails("executable file not found in $PATH")
	expect(w, "objects in the log", len(lines(w.read(log))), 1)
	var entry map[string]string
	w.decode(w.read(log), &entry)
	expect(w, "level", entry["level"], "error")
	holds(w, "msg", entry["msg"], "executable file not found in $PATH")
	if entry["time"] == "" {
		t.Error("the log's object has no time")
	}
	// A second error is appended: managers read the last.
	call = w.rt("state", "nosuch")
	call.global = append(call.global, "--log="+log, "--log-format=json")
	call.run().fails("does not exist")
	expect(w, "objects in the log", len(lines(w.read(log))), 2)

	text := w.dir + "/log.txt"
	call = w.rt("state", "nosuch")
	call.global = append(call.global, "--log", text)
	call.run().fails("does not exist")
	holds(w, "text log", w.read(text), "level=error", "msg=", "does not exist")
	expect(w, "lines in the log", len(lines(w.read(text))), 1)

	call = w.rt("list")
	call.global = append(call.global, "--log", w.dir+"/quiet", "--log-format", "json")
	call.ok()
	if data, _ := os.ReadFile(w.dir + "/quiet"); len(data) > 0 {
		t.Errorf("a call without an error logged %s", data)
	}
	call = w.rt("run", "--bundle", w.bundle().dir, w.id())
	call.global = append(call.global, "--debug", "--log", w.dir+"/debug", "--log-format", "json")
	call.ok()
	if w.read(w.dir+"/debug") == "" {
		t.Error("--debug has no effect: nothing in the log")
	}
	for _, l := range strings.Fields(strings.ReplaceAll(w.read(w.dir+"/debug"), " ", "")) {
		if !json.Valid([]byte(l)) {
			t.Errorf("debug log: not JSON: %s", l)
		}
	}
	call = w.rt("list")
	call.global = append(call.global, "--log-format", "nosuch")
	call.run().fails("nosuch")
	call = w.rt("list")
	call.global = append(call.global, "--log", "/no/such/dir/log")
	call.run().fails("/no/such/dir/log")
}

// Broken directories never make list fail, and delete --force takes them away where they are named.
func TestBrokenContainers(t *testing.T) {
	w := newWorld(t)
	good := w.create(w.bundle(forever))
	var bad []string
	for name, text := range map[string]string{"garbage": "{\"id\":", "nothing": "", "wrong": `{"id":7,"init_process_pid":"x"}`, "null": "null",
		"huge": `{"init_process_pid":99999999999999999999}`, "bare": "{}"} {
		id := w.mark + name
		bad = append(bad, id)
		w.ids = append(w.ids, id)
		w.must(os.Mkdir(filepath.Join(w.root, id), 0o700))
		w.must(os.WriteFile(filepath.Join(w.root, id, "state.json"), []byte(text), 0o600))
	}
	empty := w.mark + "empty"
	bad, w.ids = append(bad, empty), append(w.ids, empty)
	w.must(os.Mkdir(filepath.Join(w.root, empty), 0o700))
	w.must(os.WriteFile(filepath.Join(w.root, "a-file"), []byte("x"), 0o600))
	w.must(os.Symlink("/nonexistent", filepath.Join(w.root, "a-link")))
	w.must(os.Mkdir(filepath.Join(w.root, "bad name"), 0o700))
	for _, format := range []string{"table", "json"} {
		r := w.rt("list", "--format", format).ok()
		holds(w, "list", r.out, good.id)
		if format == "json" && !json.Valid([]byte(r.out)) {
			t.Errorf("list: not JSON: %s", r.out)
		}
	}
	holds(w, "list -q", w.rt("list", "-q").ok().out, good.id)
	for _, id := range bad {
		if r := w.rt("state", id).run(); r.code != 0 {
			r.fails(id).lacks("panic", "goroutine")
		}
		w.rt("delete", "--force", id).ok()
		if _, err := os.Lstat(filepath.Join(w.root, id)); err == nil {
			t.Errorf("delete --force left %s", id)
		}
	}
	w.must(os.Remove(filepath.Join(w.root, "a-file")))
	w.must(os.Remove(filepath.Join(w.root, "a-link")))
	w.must(os.Remove(filepath.Join(w.root, "bad name")))
}

// What this host can't apply is an error, never passed over.
func TestWhatTheHostLacks(t *testing.T) {
	w := newWorld(t)
	lacks := map[string]mod{
		"a controller's file": resources(func(r *specs.LinuxResources) {
			r.HugepageLimits = []specs.LinuxHugepageLimit{{Pagesize: "3MB", Limit: 1 << 20}}
		}),
		"device": func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/mnt", Type: "ext4", Source: "/dev/nosuch"})
		},
		"binding": mount("bind", "/proc/self/nosuch", "/mnt", "bind"),
	}
	if _, err := os.Stat("/sys/kernel/security/apparmor/profiles"); err != nil {
		lacks["AppArmor"] = func(s *specs.Spec) { s.Process.ApparmorProfile = "docker-default" }
	}
	if _, err := os.Stat("/sys/fs/selinux/enforce"); err != nil {
		lacks["SELinux"] = func(s *specs.Spec) { s.Process.SelinuxLabel = "system_u:system_r:container_t:s0" }
	}
	if _, err := os.Stat("/sys/fs/cgroup/net_cls"); err != nil {
		class := uint32(0x100001)
		lacks["net_cls"] = resources(func(r *specs.LinuxResources) { r.Network = &specs.LinuxNetwork{ClassID: &class} })
	}
	for name, m := range lacks {
		c, r := w.tryCreate(w.bundle(forever, m))
		if r.code == 0 {
			t.Errorf("%s: accepted", name)
			c.delete("--force")
			continue
		}
		r.fails()
	}
}

// Fields that are not built yet say so in one form.
func TestNotSupportedYet(t *testing.T) {
	w := newWorld(t)
	for name, m := range map[string]mod{
		"linux.intelRdt": func(s *specs.Spec) { s.Linux.IntelRdt = &specs.LinuxIntelRdt{ClosID: "x"} },
		"linux.timeOffsets": func(s *specs.Spec) {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.TimeNamespace})
			s.Linux.TimeOffsets = map[string]specs.LinuxTimeOffset{"monotonic": {Secs: 5}}
		},
		"linux.memoryPolicy": func(s *specs.Spec) { s.Linux.MemoryPolicy = &specs.LinuxMemoryPolicy{Mode: "MPOL_BIND", Nodes: "0"} },
		"linux.netDevices":   func(s *specs.Spec) { s.Linux.NetDevices = map[string]specs.LinuxNetDevice{"nosuch0": {Name: "x"}} },
		"linux.personality":  func(s *specs.Spec) { s.Linux.Personality = &specs.LinuxPersonality{Domain: "LINUX32"} },
		"process.scheduler":  func(s *specs.Spec) { s.Process.Scheduler = &specs.Scheduler{Policy: "SCHED_BATCH"} },
		"process.ioPriority": func(s *specs.Spec) {
			s.Process.IOPriority = &specs.LinuxIOPriority{Class: "IOPRIO_CLASS_BE", Priority: 4}
		},
		"domainname": func(s *specs.Spec) { s.Domainname = "example" },
	} {
		// Either it works (and is then tested elsewhere) or it is refused by name: never ignored silently.
		c, r := w.tryCreate(w.bundle(forever, m))
		if r.code == 0 {
			c.delete("--force")
			continue
		}
		if !strings.Contains(r.err, "not supported yet: "+name) && name != "linux.netDevices" && name != "linux.intelRdt" {
			t.Errorf("%s: %s", name, r.err)
		}
	}
	call := w.rt("create", "--bundle", w.bundle().dir, w.id())
	call.global = append(call.global, "--systemd-cgroup")
	if r := call.run(); r.code != 0 && !strings.Contains(r.err, "not supported yet: --systemd-cgroup") && !strings.Contains(r.err, "systemd") {
		t.Error(r)
	}
}

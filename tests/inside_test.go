package tests

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// inside runs a program in a container whose runtime was called by an untidy process: signals
// blocked and ignored, umask 077, descriptors 10 to 19 open, its own RLIMIT_NOFILE.
func inside(w *world, m ...mod) string {
	w.Helper()
	return insideCall(w, nil, m...)
}

func insideCall(w *world, flags []string, m ...mod) string {
	w.Helper()
	c := w.rt(append(append([]string{"run"}, flags...), "--bundle", w.bundle(m...).dir, w.id())...)
	c.prefix = []string{tools + "/probe", "nofile", "2345", "6789", tools + "/probe", "dirty"}
	return c.ok().out
}

// field is the value of a line "Name:<tab>value" of /proc/self/status.
func field(status, name string) string {
	for _, l := range lines(status) {
		if k, v, found := strings.Cut(l, ":"); found && k == name {
			return strings.TrimSpace(v)
		}
	}
	return "no " + name
}

func TestSignalState(t *testing.T) {
	w := newWorld(t)
	out := inside(w, args("cat", "/proc/self/status"))
	for _, f := range []string{"SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd"} {
		expect(w, f, field(out, f), "0000000000000000")
	}
	// The same when create and start are two processes.
	c := w.rt("create", "--bundle", w.bundle(args("cat", "/proc/self/status")).dir, w.id())
	c.prefix = []string{tools + "/probe", "dirty"}
	c.ok()
	id := w.ids[len(w.ids)-1]
	start := w.rt("start", id)
	start.prefix = c.prefix
	start.ok()
	w.until("output", func() bool { return strings.Contains(w.read(c.outFile), "SigCgt") })
	for _, f := range []string{"SigBlk", "SigIgn", "SigCgt"} {
		expect(w, f+" after start", field(w.read(c.outFile), f), "0000000000000000")
	}
}

func TestOpenFilesLimit(t *testing.T) {
	w := newWorld(t)
	none := func(s *specs.Spec) { s.Process.Rlimits = nil }
	expect(w, "without rlimits, as the caller had it", inside(w, args("/bin/probe", "limits"), none), "nofile 2345 6789\n")
	expect(w, "with rlimits", inside(w, args("/bin/probe", "limits")), "nofile 1024 1024\n")
	other := func(s *specs.Spec) { s.Process.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_CORE", Soft: 5, Hard: 5}} }
	expect(w, "with another rlimit", inside(w, args("/bin/probe", "limits"), other), "nofile 2345 6789\n")
}

func TestRlimits(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(args("cat", "/proc/self/limits"), func(s *specs.Spec) {
		s.Process.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: 100, Hard: 200}, {Type: "RLIMIT_CORE", Soft: 0, Hard: 4096},
			{Type: "RLIMIT_NPROC", Soft: 50, Hard: 60}, {Type: "RLIMIT_CPU", Soft: 1000, Hard: 2000},
			{Type: "RLIMIT_STACK", Soft: 4 << 20, Hard: 8 << 20}, {Type: "RLIMIT_FSIZE", Soft: 1 << 30, Hard: 1 << 31},
			{Type: "RLIMIT_SIGPENDING", Soft: 10, Hard: 20}, {Type: "RLIMIT_AS", Soft: 1 << 32, Hard: 1 << 33}}
	}))
	for name, want := range map[string]string{"Max open files": "100 200", "Max core file size": "0 4096", "Max processes": "50 60",
		"Max cpu time": "1000 2000", "Max stack size": "4194304 8388608", "Max file size": "1073741824 2147483648",
		"Max pending signals": "10 20", "Max address space": "4294967296 8589934592"} {
		got := ""
		for _, l := range lines(out) {
			if strings.HasPrefix(l, name+" ") {
				got = strings.Join(strings.Fields(strings.TrimPrefix(l, name))[:2], " ")
			}
		}
		expect(w, name, got, want)
	}
}

func TestUmask(t *testing.T) {
	w := newWorld(t)
	expect(w, "umask of a silent config", inside(w, args("/bin/probe", "umask")), "umask 0022\n")
	mask := uint32(0o027)
	expect(w, "process.user.umask", inside(w, args("/bin/probe", "umask"), func(s *specs.Spec) { s.Process.User.Umask = &mask }), "umask 0027\n")
}

func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	environ := func(m ...mod) string {
		out := inside(w, append([]mod{args("/bin/busybox", "cat", "/proc/self/environ")}, m...)...)
		l := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
		slices.Sort(l)
		return strings.Join(l, "\n")
	}
	set := func(e ...string) mod { return func(s *specs.Spec) { s.Process.Env = e } }
	for _, c := range []struct {
		env  []string
		want string
		m    mod
	}{
		{[]string{"HOME=/x", "A=1", "EMPTY=", "SP=a b=c"}, "A=1\nEMPTY=\nHOME=/x\nSP=a b=c", user(0, 0)},
		{[]string{"A=1"}, "A=1\nHOME=/root", user(0, 0)},
		{[]string{"A=1"}, "A=1\nHOME=/home/app", user(1000, 1000)},
	} {
		expect(w, fmt.Sprint("environment for ", c.env), environ(set(c.env...), c.m), c.want)
	}
	// A user that passwd does not know: runc says HOME=/, crun nothing.
	if got := environ(set("A=1"), user(4242, 4242)); got != "A=1\nHOME=/" && got != "A=1" {
		t.Errorf("environment of an unknown user: %s", got)
	}
}

func TestDescriptors(t *testing.T) {
	w := newWorld(t)
	numbers := func(out string) string {
		var n []string
		for _, l := range lines(out) {
			n = append(n, strings.Fields(l)[0])
		}
		return strings.Join(n, " ")
	}
	expect(w, "without a flag", numbers(inside(w, args("/bin/probe", "fds"))), "0 1 2")
	expect(w, "in the bundle's first process", numbers(insideCall(w, []string{"--preserve-fds", "0"}, args("/bin/probe", "fds"))), "0 1 2")
	file, err := os.Open(rootfs + "/etc/passwd")
	w.must(err)
	defer file.Close()
	other, err := os.Open(rootfs + "/etc/group")
	w.must(err)
	defer other.Close()
	with := func(env []string, n int, flags ...string) string {
		c := w.rt(append(append([]string{"run"}, flags...), "--bundle", w.bundle(args("/bin/probe", "fds")).dir, w.id())...)
		for range n / 2 {
			c.files = append(c.files, file, other)
		}
		// LISTEN_PID is to be the runtime's own pid, as systemd and conmon set it.
		c.env, c.prefix = env, []string{tools + "/probe", "listen"}
		return c.ok().out
	}
	expect(w, "--preserve-fds 2 of 4", numbers(with(nil, 4, "--preserve-fds", "2")), "0 1 2 3 4")
	out := with(nil, 2, "--preserve-fds=2")
	holds(w, "--preserve-fds keeps what they are", out, "passwd", "group")
	expect(w, "LISTEN_FDS=1", numbers(with([]string{"LISTEN_FDS=1"}, 4)), "0 1 2 3")
	expect(w, "LISTEN_FDS=1 and --preserve-fds 2", numbers(with([]string{"LISTEN_FDS=1"}, 4, "--preserve-fds", "2")), "0 1 2 3 4 5")

	c := w.rt("run", "--bundle", w.bundle(args("env")).dir, w.id())
	c.env, c.files, c.prefix = []string{"LISTEN_FDS=2"}, []*os.File{file, other}, []string{tools + "/probe", "listen"}
	holds(w, "environment with LISTEN_FDS", c.ok().out, "LISTEN_FDS=2\n", "LISTEN_PID=1\n")
	c = w.rt("run", "--bundle", w.bundle(args("env")).dir, w.id())
	if out := c.ok().out; strings.Contains(out, "LISTEN_") {
		t.Errorf("LISTEN_ variables from nowhere:\n%s", out)
	}
	c = w.rt("run", "--preserve-fds", "3", "--bundle", w.bundle().dir, w.id())
	c.files = []*os.File{file} // 4 and 5 are not open
	c.run().fails()
}

func TestWorkingDirectory(t *testing.T) {
	w := newWorld(t)
	expect(w, "cwd /", inside(w, args("/bin/probe", "cwd")), "cwd /\n")
	expect(w, "cwd /usr/bin", inside(w, args("/bin/probe", "cwd"), func(s *specs.Spec) { s.Process.Cwd = "/usr/bin" }), "cwd /usr/bin\n")
	b := w.bundle(args("/bin/probe", "cwd"), writable, func(s *specs.Spec) { s.Process.Cwd = "/made/by/runtime" })
	expect(w, "a cwd that is made", w.output(b), "cwd /made/by/runtime\n")
	// CVE-2024-21626: a working directory outside the root.
	for fd := 3; fd < 12; fd++ {
		r := w.runs(w.bundle(args("/bin/probe", "cwd"), func(s *specs.Spec) { s.Process.Cwd = fmt.Sprint("/proc/self/fd/", fd) }))
		if r.code == 0 && !strings.HasPrefix(r.out, "cwd /\n") && !strings.HasPrefix(r.out, "cwd /proc") {
			t.Errorf("cwd /proc/self/fd/%d: %v", fd, r)
		}
	}
	b = w.bundle(args("/bin/probe", "cwd"), user(1000, 1000), func(s *specs.Spec) { s.Process.Cwd = "/home/app" })
	w.must(os.Chmod(b.rootfs()+"/home/app", 0o700))
	w.must(os.Chown(b.rootfs()+"/home/app", 1000, 1000))
	expect(w, "a cwd that only the user may enter", w.output(b), "cwd /home/app\n")
}

// oomScoreAdj is set when given, else inherited.
func TestOOMScore(t *testing.T) {
	w := newWorld(t)
	for _, n := range []int{100, 1000} {
		out := inside(w, args("cat", "/proc/self/oom_score_adj"), func(s *specs.Spec) { s.Process.OOMScoreAdj = &n })
		expect(w, "oomScoreAdj", out, fmt.Sprintln(n))
	}
	own := w.read("/proc/self/oom_score_adj")
	expect(w, "without oomScoreAdj", inside(w, args("cat", "/proc/self/oom_score_adj")), own)
	// Set before create returns, and not by start.
	n := 321
	c := w.create(w.bundle(forever, func(s *specs.Spec) { s.Process.OOMScoreAdj = &n }))
	expect(w, "oomScoreAdj of a created container", w.read(c.proc("oom_score_adj")), "321\n")
}

func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	bit := map[string]uint64{"CAP_CHOWN": 1, "CAP_DAC_OVERRIDE": 1 << 1, "CAP_KILL": 1 << 5, "CAP_NET_BIND_SERVICE": 1 << 10, "CAP_AUDIT_WRITE": 1 << 29}
	set := func(names ...string) string {
		var n uint64
		for _, name := range names {
			n |= bit[name]
		}
		return fmt.Sprintf("%016x", n)
	}
	for name, c := range map[string]struct {
		caps                     *specs.LinuxCapabilities
		user                     mod
		eff, prm, inh, bnd, amb_ string
	}{
		"default": {nil, user(0, 0), "0000000020000420", "0000000020000420", set(), "0000000020000420", set()},
		"none":    {&specs.LinuxCapabilities{}, user(0, 0), set(), set(), set(), set(), set()},
		"each its own": {&specs.LinuxCapabilities{Bounding: []string{"CAP_CHOWN", "CAP_KILL", "CAP_DAC_OVERRIDE"}, Permitted: []string{"CAP_CHOWN", "CAP_KILL"},
			Effective: []string{"CAP_CHOWN", "CAP_KILL"}}, user(0, 0), set("CAP_CHOWN", "CAP_KILL"), set("CAP_CHOWN", "CAP_KILL"), set(),
			set("CAP_CHOWN", "CAP_KILL", "CAP_DAC_OVERRIDE"), set()},
		"a user without ambient": {&specs.LinuxCapabilities{Bounding: []string{"CAP_CHOWN"}, Permitted: []string{"CAP_CHOWN"},
			Effective: []string{"CAP_CHOWN"}}, user(1000, 1000), set(), set(), set(), set("CAP_CHOWN"), set()},
		"a user with ambient": {&specs.LinuxCapabilities{Bounding: []string{"CAP_CHOWN", "CAP_KILL"}, Permitted: []string{"CAP_CHOWN", "CAP_KILL"}, Effective: []string{"CAP_CHOWN", "CAP_KILL"},
			Inheritable: []string{"CAP_CHOWN"}, Ambient: []string{"CAP_CHOWN"}}, user(1000, 1000), set("CAP_CHOWN"), set("CAP_CHOWN"), set("CAP_CHOWN"), set("CAP_CHOWN", "CAP_KILL"), set("CAP_CHOWN")},
		"inheritable": {&specs.LinuxCapabilities{Bounding: []string{"CAP_KILL"}, Permitted: []string{"CAP_KILL"}, Effective: []string{"CAP_KILL"},
			Inheritable: []string{"CAP_KILL"}}, user(0, 0), set("CAP_KILL"), set("CAP_KILL"), set("CAP_KILL"), set("CAP_KILL"), set()},
	} {
		out := w.output(w.bundle(args("cat", "/proc/self/status"), c.user, func(s *specs.Spec) {
			if c.caps != nil {
				s.Process.Capabilities = c.caps
			}
		}))
		got := []string{field(out, "CapEff"), field(out, "CapPrm"), field(out, "CapInh"), field(out, "CapBnd"), field(out, "CapAmb")}
		expect(w, name+": eff prm inh bnd amb", strings.Join(got, " "), strings.Join([]string{c.eff, c.prm, c.inh, c.bnd, c.amb_}, " "))
	}
	// What can't be granted is a warning.
	w.output(w.bundle(caps("CAP_NOSUCH", "CAP_KILL")))
}

func TestNoNewPrivileges(t *testing.T) {
	w := newWorld(t)
	expect(w, "NoNewPrivs", field(w.output(w.bundle(args("cat", "/proc/self/status"))), "NoNewPrivs"), "1")
	off := func(s *specs.Spec) { s.Process.NoNewPrivileges = false }
	expect(w, "NoNewPrivs", field(w.output(w.bundle(args("cat", "/proc/self/status"), off)), "NoNewPrivs"), "0")
}

func TestUser(t *testing.T) {
	w := newWorld(t)
	out := inside(w, args("cat", "/proc/self/status"), user(1000, 2000, 3000, 4000))
	expect(w, "Uid", strings.Join(strings.Fields(field(out, "Uid")), " "), "1000 1000 1000 1000")
	expect(w, "Gid", strings.Join(strings.Fields(field(out, "Gid")), " "), "2000 2000 2000 2000")
	expect(w, "Groups", field(out, "Groups"), "3000 4000")
	c := w.rt("run", "--bundle", w.bundle(args("cat", "/proc/self/status")).dir, w.id())
	c.attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{5, 6}}}
	expect(w, "the caller's groups inside", field(c.ok().out, "Groups"), "")
	// To setresuid(2) this is "no change": the app would stay root.
	for _, r := range []result{w.runs(w.bundle(user(1<<32-1, 0))), w.runs(w.bundle(user(0, 1<<32-1)))} {
		r.fails()
	}
}

func TestKeyring(t *testing.T) {
	w := newWorld(t)
	id := func(flags ...string) string {
		c := w.rt(append(append([]string{"run"}, flags...), "--bundle", w.bundle(args("/bin/probe", "keyring")).dir, w.id())...)
		return strings.TrimSpace(strings.TrimPrefix(c.ok().out, "keyring "))
	}
	own, _, _ := syscall.Syscall(syscall.SYS_KEYCTL, 0, ^uintptr(2), 0)
	host := strconv.FormatInt(int64(int32(own)), 10)
	first, second := id(), id()
	if first == host || first == second || strings.HasPrefix(first, "-") {
		t.Errorf("session keyrings: host %s, containers %s and %s", host, first, second)
	}
	if got := id("--no-new-keyring"); got != host {
		t.Errorf("--no-new-keyring: %s, host %s", got, host)
	}
}

func TestHostnameSysctlLoopback(t *testing.T) {
	w := newWorld(t)
	own, _ := os.Hostname()
	out := w.output(w.bundle(sh("hostname; cat /proc/sys/net/ipv4/ip_forward /proc/sys/kernel/shm_rmid_forced /proc/sys/fs/mqueue/queues_max; cat /sys/class/net/lo/flags"),
		func(s *specs.Spec) {
			s.Hostname = "in-side.example"
			s.Linux.Sysctl = map[string]string{"net.ipv4.ip_forward": "1", "kernel.shm_rmid_forced": "1", "fs.mqueue.queues_max": "123"}
		}))
	expect(w, "hostname, sysctls, lo", out, "in-side.example\n1\n1\n123\n0x9\n")
	now, _ := os.Hostname()
	expect(w, "the host's name", now, own)
	expect(w, "sysctl with slashes", w.output(w.bundle(args("cat", "/proc/sys/net/ipv4/conf/lo/forwarding"), func(s *specs.Spec) {
		s.Linux.Sysctl = map[string]string{"net/ipv4/conf/lo/forwarding": "1"}
	})), "1\n")
	expect(w, "no hostname", w.output(w.bundle(args("hostname"), func(s *specs.Spec) { s.Hostname = "" })), own+"\n")
	expect(w, "args", w.output(w.bundle(args("/bin/probe", "argv", "", "a b", "ü\n"))), "[/bin/probe]\n[argv]\n[]\n[a b]\n[ü\n]\n")
}

// The process is the leader of its own session, in all namespaces of the config, and pid 1.
func TestIdentity(t *testing.T) {
	w := newWorld(t)
	c := w.started(w.bundle(args("/bin/sh", "-c", "echo $$; exec probe term")))
	c.prints("ready")
	expect(w, "pid inside", lines(c.stdout())[0], "1")
	for _, ns := range []string{"pid", "net", "ipc", "uts", "mnt", "cgroup"} {
		host, _ := os.Readlink("/proc/self/ns/" + ns)
		if c.link(ns) == host {
			t.Errorf("namespace %s is the host's", ns)
		}
	}
	own, _ := os.Readlink("/proc/self/ns/user")
	expect(w, "user namespace", c.link("user"), own)
	stat := strings.Fields(w.read(c.proc("stat")))
	expect(w, "session", stat[5], stat[0])
	root, _ := os.Readlink(c.proc("root"))
	expect(w, "root", root, "/")
}

// The process that waits in created is small, and no descriptor of it leads to the host's files
// but for its standard ones and the fifo.
func TestCreatedProcess(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	host := map[string]string{}
	for _, l := range lines(w.read("/proc/self/mountinfo")) {
		host[strings.Fields(l)[0]] = l
	}
	fds, err := os.ReadDir(c.proc("fd"))
	w.must(err)
	for _, fd := range fds {
		to, _ := os.Readlink(c.proc("fd/" + fd.Name()))
		info, err := os.ReadFile(c.proc("fdinfo/" + fd.Name()))
		if err != nil {
			continue // the socket to create is closed just after create returns
		}
		mount, shared := host[field(string(info), "mnt_id")]
		if n, _ := strconv.Atoi(fd.Name()); n > 2 && shared && !strings.HasSuffix(to, "/exec.fifo") {
			t.Errorf("a created container holds %s -> %s on the host's mount %s", fd.Name(), to, mount)
		}
	}
	rollup := w.read(c.proc("smaps_rollup"))
	kb, _ := strconv.Atoi(strings.Fields(field(rollup, "Rss"))[0])
	if kb <= 0 || kb >= 100 {
		t.Errorf("resident memory of a created container: %d kB, the limit is 100", kb)
	}
}

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// pinned makes namespaces that are held by bind mounts in the test's directory.
func pinned(w *world, kinds ...string) map[string]string {
	w.Helper()
	dir := filepath.Join(w.dir, "pinned")
	w.must(os.Mkdir(dir, 0o755))
	flags := map[string]string{"net": "--net", "uts": "--uts", "ipc": "--ipc"}
	paths, args := map[string]string{}, []string{}
	for _, kind := range kinds {
		paths[kind] = filepath.Join(dir, kind)
		w.must(os.WriteFile(paths[kind], nil, 0o644))
		args = append(args, flags[kind]+"="+paths[kind])
	}
	out, err := exec.Command("unshare", append(args, "sh", "-c", "hostname pinned; ip link set lo up")...).CombinedOutput()
	if err != nil {
		w.Fatalf("unshare: %v: %s", err, out)
	}
	return paths
}

func unpin(paths map[string]string) {
	for _, p := range paths {
		syscall.Unmount(p, syscall.MNT_DETACH)
	}
}

func nsID(w *world, path string) string {
	w.Helper()
	var s syscall.Stat_t
	w.must(syscall.Stat(path, &s))
	return fmt.Sprint(s.Ino)
}

// Namespaces given by path are entered, and survive delete.
func TestJoinedNamespacesSurvive(t *testing.T) {
	w := newWorld(t)
	paths := pinned(w, "net", "uts", "ipc")
	defer unpin(paths)
	types := map[string]specs.LinuxNamespaceType{"net": specs.NetworkNamespace, "uts": specs.UTSNamespace, "ipc": specs.IPCNamespace}
	m := []mod{forever, func(s *specs.Spec) { s.Hostname = "" }}
	for kind, p := range paths {
		m = append(m, joins(types[kind], p))
	}
	before := map[string]string{}
	c := w.started(w.bundle(m...))
	for kind, p := range paths {
		before[kind] = nsID(w, p)
		expect(w, "container's "+kind, c.link(kind), kind+":["+before[kind]+"]")
	}
	expect(w, "host's name inside", strings.TrimSpace(w.output(w.bundle(args("hostname"), joins(specs.UTSNamespace, paths["uts"]), func(s *specs.Spec) { s.Hostname = "" }))), "pinned")
	c.delete("--force")
	for kind, p := range paths {
		expect(w, kind+" after delete", nsID(w, p), before[kind])
	}
	expect(w, "pins left", len(mountsOf("self", w.dir)), len(paths))
	// Two containers in one namespace; the first one's end does not matter.
	a, b := w.started(w.bundle(forever, joins(specs.NetworkNamespace, paths["net"]))), w.started(w.bundle(forever, joins(specs.NetworkNamespace, paths["net"])))
	expect(w, "shared", a.link("net"), b.link("net"))
	a.delete("--force")
	b.hasStatus("running")
	b.delete("--force")
	unpin(paths)
}

// Joining a running container's pid, ipc, uts and net namespaces, as pods do.
func TestJoinContainersNamespaces(t *testing.T) {
	w := newWorld(t)
	first := w.started(w.bundle(forever))
	first.prints("ready")
	m := []mod{forever, func(s *specs.Spec) { s.Hostname = "" }}
	for kind, typ := range map[string]specs.LinuxNamespaceType{"pid": specs.PIDNamespace, "ipc": specs.IPCNamespace, "uts": specs.UTSNamespace, "net": specs.NetworkNamespace} {
		m = append(m, joins(typ, first.proc("ns/"+kind)))
	}
	second := w.started(w.bundle(m...))
	second.prints("ready")
	for _, kind := range []string{"pid", "ipc", "uts", "net"} {
		expect(w, kind, second.link(kind), first.link(kind))
	}
	if second.link("mnt") == first.link("mnt") {
		t.Error("the mount namespace is shared too")
	}
	out := w.output(w.bundle(append(m, args("ps", "-o", "pid,args"))...))
	holds(w, "processes of the shared namespace", out, "    1 /bin/probe term")
	second.stop()
	second.delete()
	first.hasStatus("running")
}

func TestJoinedCgroupAndMountNamespaceErrors(t *testing.T) {
	w := newWorld(t)
	for _, typ := range []specs.LinuxNamespaceType{specs.PIDNamespace, specs.UTSNamespace} {
		_, r := w.tryCreate(w.bundle(joins(typ, w.dir+"/nosuch")))
		r.fails(w.dir + "/nosuch")
	}
	own := specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: "relative"}
	_, r := w.tryCreate(w.bundle(func(s *specs.Spec) { s.Linux.Namespaces[1] = own }))
	r.fails("relative")
}

// hand gives the rootfs to a mapped root, as image stores do.
func hand(w *world, b *bundle, uid int) *bundle {
	w.Helper()
	// Directories only: the files are links shared with other tests, and readable to all.
	w.must(filepath.Walk(b.rootfs(), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.IsDir() {
			err = os.Chown(path, uid, uid)
		}
		return err
	}))
	return b
}

func TestUserNamespace(t *testing.T) {
	w := newWorld(t)
	b := hand(w, w.bundle(writable, userns(w), sh(`cat /proc/self/uid_map /proc/self/gid_map; id -u; id -g; touch /tmp/made; stat -c '%u:%g' /tmp/made /proc/1 /dev/null
		for d in null zero full random urandom; do probe open /dev/$d r; done; echo x >/dev/null && echo wrote; cat /proc/self/setgroups; hostname; cat /proc/self/mountinfo; ls -l /dev`)), 100000)
	out := w.output(b)
	m := lines(out)
	expect(w, "uid_map", strings.Join(strings.Fields(m[0]), " "), "0 100000 65536")
	expect(w, "gid_map", strings.Join(strings.Fields(m[1]), " "), "0 100000 65536")
	holds(w, "inside", out, "\n0\n0\n0:0\n0:0\n", "/dev/null: ok", "/dev/zero: ok", "/dev/full: ok", "/dev/random: ok", "/dev/urandom: ok", "wrote", "allow", "\nrunc\n")
	var s syscall.Stat_t
	w.must(syscall.Stat(b.rootfs()+"/tmp/made", &s))
	expect(w, "the file's owner on the host", s.Uid, 100000)
	mounts := parseMounts(out)
	for _, p := range []string{"/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys", "/sys/fs/cgroup"} {
		at(w, mounts, p)
	}
}

// The mapped root can't search a 0700 directory of the host; its bind sources and rootfs work all the same.
func TestUserNamespaceClosedDirectories(t *testing.T) {
	w := newWorld(t)
	closed := w.dir + "/closed"
	w.must(os.MkdirAll(closed+"/data", 0o755))
	w.must(os.WriteFile(closed+"/data/file", []byte("from behind\n"), 0o644))
	w.must(os.WriteFile(closed+"/single", []byte("single\n"), 0o644))
	w.must(os.Chmod(closed, 0o700))
	b := hand(w, w.bundle(userns(w), writable, sh("cat /data/file /single; probe open /ro/file w; cat /proc/self/mountinfo"),
		bind(closed+"/data", "/data"), bind(closed+"/data", "/ro", "ro"), mount("bind", closed+"/single", "/single", "bind")), 100000)
	w.must(os.Chmod(b.dir, 0o700))
	out := w.output(b)
	holds(w, "binds", out, "from behind\nsingle\n", "/ro/file: E")
	c := w.started(hand(w, w.bundle(userns(w), forever, user(1000, 1000)), 100000))
	c.prints("ready")
	holds(w, "uid on the host", w.read(c.proc("status")), "Uid:\t101000\t101000\t101000\t101000")
	c.kill("TERM")
	c.becomes("stopped")
	c.delete()
}

func TestUserNamespaceCapabilities(t *testing.T) {
	w := newWorld(t)
	b := hand(w, w.bundle(userns(w), sh("cat /proc/self/status; mount -t tmpfs none /tmp && echo mounted"), caps("CAP_SYS_ADMIN", "CAP_CHOWN")), 100000)
	out := w.output(b)
	expect(w, "CapEff", field(out, "CapEff"), "0000000000200001")
	holds(w, "a mount by the mapped root", out, "mounted")
}

func TestUserNamespaceByPath(t *testing.T) {
	w := newWorld(t)
	owner := w.started(hand(w, w.bundle(userns(w), forever), 100000))
	owner.prints("ready")
	b := hand(w, w.bundle(joins(specs.UserNamespace, owner.proc("ns/user")), joins(specs.NetworkNamespace, owner.proc("ns/net")), sh("cat /proc/self/uid_map; id -u; readlink /proc/self/ns/user; exec probe open /dev/null rw")), 100000)
	out := w.output(b)
	expect(w, "joined user namespace", strings.Join(strings.Fields(out), " "), "0 100000 65536 0 "+owner.link("user")+" /dev/null: ok")
}

func TestUserNamespaceErrors(t *testing.T) {
	w := newWorld(t)
	for name, m := range map[string]mod{
		"no maps":  func(s *specs.Spec) { s.Linux.UIDMappings, s.Linux.GIDMappings = nil, nil },
		"overlaps": func(s *specs.Spec) { s.Linux.UIDMappings = append(s.Linux.UIDMappings, s.Linux.UIDMappings...) },
		"zero":     func(s *specs.Spec) { s.Linux.UIDMappings[0].Size = 0 },
	} {
		_, r := w.tryCreate(w.bundle(userns(w), func(s *specs.Spec) {
			s.Linux.UIDMappings = append([]specs.LinuxIDMapping{}, s.Linux.UIDMappings...)
		}, m))
		if r.code == 0 {
			t.Errorf("%s: accepted", name)
			continue
		}
		r.fails()
	}
	// A user that the map does not have.
	_, r := w.tryCreate(hand(w, w.bundle(userns(w), user(70000, 0)), 100000))
	r.fails()
}

func TestUserNamespaceHooksAndLimits(t *testing.T) {
	w := newWorld(t)
	c := w.create(hand(w, w.bundle(userns(w), args("/bin/tiny", "x"), memory(512<<10), pids(1)), 100000))
	expect(w, "pids", c.cgroupValue("pids", "pids.max", "pids.max"), "1")
	c.start()
	c.prints("tiny")
	c.hasStatus("running")
	c.delete("--force")
	all := w.bundle(userns(w), sh("echo hello"), allHooks(w))
	hand(w, all, 100000)
	expect(w, "output", w.output(all), "hello\n")
	expect(w, "number of hooks", len(w.hookRecords()), 12)
}

package tests

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// A mountLine is one line of /proc/self/mountinfo.
type mountLine struct {
	root, point, options, optional, fstype, super string
}

func parseMounts(text string) []mountLine {
	var out []mountLine
	for _, l := range lines(text) {
		left, right, found := strings.Cut(l, " - ")
		// The source may be empty.
		f, g := strings.Fields(left), strings.SplitN(right, " ", 3)
		if !found || len(f) < 6 || len(g) < 3 {
			continue
		}
		out = append(out, mountLine{f[3], f[4], f[5], strings.Join(f[6:], " "), g[0], g[2]})
	}
	return out
}

// at is the topmost mount at a point.
func at(w *world, mounts []mountLine, point string) mountLine {
	w.Helper()
	for _, m := range slices.Backward(mounts) {
		if m.point == point {
			return m
		}
	}
	w.Errorf("nothing is mounted at %s", point)
	return mountLine{}
}

func (m mountLine) has(w *world, options ...string) {
	w.Helper()
	all := strings.Split(m.options+","+m.super, ",")
	for _, o := range options {
		if no, is := strings.CutPrefix(o, "!"); is == contains(all, no) {
			w.Errorf("%s (%s): options %s | %s, expected %s", m.point, m.fstype, m.options, m.super, o)
		}
	}
}

func containerMounts(w *world, m ...mod) []mountLine {
	w.Helper()
	return parseMounts(w.output(w.bundle(append([]mod{args("cat", "/proc/self/mountinfo")}, m...)...)))
}

func TestDefaultMounts(t *testing.T) {
	w := newWorld(t)
	m := containerMounts(w)
	for _, e := range []struct {
		point, fstype string
		options       []string
	}{
		{"/", "", []string{"ro"}},
		{"/proc", "proc", []string{"!ro", "!nosuid"}},
		{"/dev", "tmpfs", []string{"nosuid", "!noexec", "!nodev", "mode=755", "size=65536k", "!relatime"}},
		{"/dev/pts", "devpts", []string{"nosuid", "noexec", "gid=5", "mode=620", "ptmxmode=666"}},
		{"/dev/shm", "tmpfs", []string{"nosuid", "noexec", "nodev", "size=65536k"}},
		{"/dev/mqueue", "mqueue", []string{"nosuid", "noexec", "nodev"}},
		{"/sys", "sysfs", []string{"nosuid", "noexec", "nodev", "ro"}},
		{"/proc/sys", "proc", []string{"ro"}},
		{"/proc/bus", "proc", []string{"ro"}},
		{"/sys/firmware", "tmpfs", []string{"ro"}},
	} {
		got := at(w, m, e.point)
		if e.fstype != "" {
			expect(w, "type of "+e.point, got.fstype, e.fstype)
		}
		got.has(w, e.options...)
	}
	for _, l := range m {
		if strings.Contains(l.optional, "shared:") {
			t.Errorf("%s is shared with the host: %s", l.point, l.optional)
		}
		if strings.Contains(l.point, w.dir) {
			t.Errorf("the host's tree is visible: %s", l.point)
		}
	}
	expect(w, "number of mounts at /", len(slices.DeleteFunc(slices.Clone(m), func(l mountLine) bool { return l.point != "/" })), 1)
}

func TestReadonlyRootfs(t *testing.T) {
	w := newWorld(t)
	expect(w, "read-only", w.output(w.bundle(args("/bin/probe", "open", "/tmp/x", "c"))), "/tmp/x: EROFS\n")
	b := w.bundle(args("/bin/probe", "open", "/tmp/x", "c"), writable)
	expect(w, "writable", w.output(b), "/tmp/x: ok\n")
	if _, err := os.Stat(b.rootfs() + "/tmp/x"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{b.rootfs(), "./rootfs/", "../" + filepath.Base(b.dir) + "/rootfs"} {
		c := w.bundle(args("cat", "/etc/passwd"), func(s *specs.Spec) { s.Root.Path = path })
		if strings.HasPrefix(path, "..") {
			c.w.must(os.RemoveAll(c.rootfs()))
		}
		holds(w, "rootfs "+path, w.output(c), "root:")
	}
}

func TestTmpfs(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(sh("stat -c '%a %F' /mnt /mnt2 /three; df -k /mnt | tail -n1; touch /mnt/x && echo written; cat /proc/self/mountinfo"), writable,
		mount("tmpfs", "tmpfs", "/mnt", "size=1m", "mode=1750"), mount("tmpfs", "t", "/mnt2", "ro", "nosuid", "nodev", "noexec", "noatime", "mode=700"),
		mount("tmpfs", "", "/three")))
	holds(w, "tmpfs", out, "1750 directory", "700 directory", " 1024 ", "written")
	m := parseMounts(out)
	at(w, m, "/mnt").has(w, "rw", "relatime", "!nosuid", "size=1024k")
	at(w, m, "/mnt2").has(w, "ro", "nosuid", "nodev", "noexec", "noatime")
	at(w, m, "/three").has(w, "rw")
}

func TestBindMounts(t *testing.T) {
	w := newWorld(t)
	src := w.dir + "/src"
	w.must(os.MkdirAll(src+"/sub", 0o755))
	w.must(os.WriteFile(src+"/file", []byte("content\n"), 0o644))
	w.must(os.WriteFile(src+"/sub/f", []byte("sub\n"), 0o644))
	w.must(syscall.Mount("tmpfs", src+"/sub", "tmpfs", 0, "size=1m"))
	defer syscall.Unmount(src+"/sub", syscall.MNT_DETACH)
	w.must(os.WriteFile(src+"/sub/below", []byte("below\n"), 0o644))
	b := w.bundle(writable, sh(`cat /rb/file /rb/sub/below /file /deep/er/file; ls /plain/sub
		for f in /rw/new /ro/new /rb/sub/new /rro/sub/new /file /rofile; do probe open $f c; done; cat /proc/self/mountinfo`),
		bind(src, "/rb"), mount("bind", src, "/plain", "bind"), mount("", src, "/rw", "bind", "rw"), mount("bind", src, "/ro", "rbind", "ro", "nosuid"),
		mount("bind", src, "/rro", "rbind", "rro"), mount("bind", src+"/file", "/file", "bind"), mount("bind", src+"/file", "/rofile", "bind", "ro", "noexec"),
		mount("bind", src+"/file", "/deep/er/file", "bind"))
	out := w.output(b)
	holds(w, "bind mounts", out, "content\nbelow\ncontent\ncontent\nf\n", "/rw/new: ok", "/ro/new: EROFS", "/rb/sub/new: ok", "/rro/sub/new: EROFS",
		"/file: ok", "/rofile: EROFS")
	m := parseMounts(out)
	at(w, m, "/ro").has(w, "ro", "nosuid", "!noexec")
	at(w, m, "/rofile").has(w, "ro", "noexec")
	at(w, m, "/rw").has(w, "rw")
	if _, err := os.Stat(src + "/new"); err != nil {
		t.Error(err)
	}
	info, err := os.Lstat(b.rootfs() + "/deep/er/file")
	if err != nil || !info.Mode().IsRegular() || info.Size() != 0 {
		t.Errorf("the target that create made: %v %v", info, err)
	}
}

// A relative bind source is below the bundle.
func TestRelativeBindSource(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(args("cat", "/mnt/f"), writable, bind("data", "/mnt"))
	w.must(os.Mkdir(b.dir+"/data", 0o755))
	w.must(os.WriteFile(b.dir+"/data/f", []byte("relative\n"), 0o644))
	expect(w, "relative source", w.output(b), "relative\n")
}

// Symlinks in the rootfs never lead a mount, a directory or a file out of it.
func TestMountTargetsStayInside(t *testing.T) {
	w := newWorld(t)
	outside := w.dir + "/outside"
	w.must(os.Mkdir(outside, 0o777))
	w.must(os.WriteFile(w.dir+"/file", []byte("f\n"), 0o644))
	b := w.bundle(writable, sh("cat /proc/self/mountinfo; ls -R /real /abs /nested"),
		mount("tmpfs", "tmpfs", "/up/one", "size=1m"), mount("tmpfs", "tmpfs", "/abs/two", "size=1m"),
		mount("bind", w.dir+"/file", "/up/three/file", "bind"), mount("tmpfs", "tmpfs", "/inlink/four"),
		mount("tmpfs", "tmpfs", "/../../../nested/five"), mount("tmpfs", "tmpfs", "/dangling/six"))
	for link, to := range map[string]string{"up": "../../../../../../../../../.." + outside, "abs": outside, "inlink": "/real/dir", "dangling": "/not/there"} {
		w.must(os.Symlink(to, filepath.Join(b.rootfs(), link)))
	}
	w.must(os.MkdirAll(b.rootfs()+"/real/dir", 0o755))
	w.must(os.MkdirAll(b.rootfs()+outside, 0o755))
	r := w.runs(b)
	if r.code == 0 {
		m := parseMounts(r.out)
		at(w, m, "/real/dir/four")
		at(w, m, outside+"/one")
		at(w, m, outside+"/two")
		at(w, m, "/nested/five")
	} else {
		r.fails("/dangling/six") // refusing a dangling link is fine too
		b.spec.Mounts = b.spec.Mounts[:len(b.spec.Mounts)-1]
		b.write()
		m := parseMounts(w.output(b))
		at(w, m, "/real/dir/four")
		at(w, m, outside+"/one")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("made outside of the rootfs: %v", left)
	}
	for _, dst := range []string{"/", "/.", "/bin/.."} {
		w.runs(w.bundle(mount("tmpfs", "tmpfs", dst))).fails()
	}
}

func TestMaskedAndReadonlyPaths(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(writable, sh(`cat /secret/file /hidden; ls -A /secret | wc -l; for f in /secret/x /ro/x /rofile /hidden /other; do probe open $f c; done`),
		func(s *specs.Spec) {
			s.Linux.MaskedPaths = append(s.Linux.MaskedPaths, "/secret", "/hidden", "/no/such/path", "/dirlink")
			s.Linux.ReadonlyPaths = append(s.Linux.ReadonlyPaths, "/ro", "/rofile", "/no/such/path")
		})
	for _, d := range []string{"secret", "ro"} {
		w.must(os.Mkdir(b.rootfs()+"/"+d, 0o755))
	}
	for _, f := range []string{"secret/file", "hidden", "rofile"} {
		w.must(os.WriteFile(b.rootfs()+"/"+f, []byte("SECRET\n"), 0o644))
	}
	r := w.runs(b).ok()
	if strings.Contains(r.out, "SECRET") {
		t.Errorf("a masked file shows:\n%s", r.out)
	}
	holds(w, "paths", r.out, "0\n", "/secret/x: EROFS", "/ro/x: EROFS", "/rofile: EROFS", "/other: ok")
	holds(w, "hidden is /dev/null", r.out, "/hidden: ok")
	if w.read(b.rootfs()+"/hidden") != "SECRET\n" {
		t.Error("writing to the masked file reached it")
	}
	out := w.output(w.bundle(sh("cat /proc/keys /proc/kcore /proc/timer_list | wc -c; echo 1 >/proc/sys/net/ipv4/ip_forward || echo refused; echo h >/proc/sysrq-trigger || echo refused; ls -A /sys/firmware | wc -l")))
	expect(w, "default masks", out, "0\nrefused\nrefused\n0\n")
}

func TestDevices(t *testing.T) {
	w := newWorld(t)
	mode, uid, gid := os.FileMode(0o640), uint32(7), uint32(8)
	out := w.output(w.bundle(sh(`stat -c '%n %F %t,%T %a %u:%g' /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/mine /dev/sub/fifo /dev/blk
		for l in ptmx fd stdin stdout stderr; do echo $l $(readlink /dev/$l); done; ls /dev; test -e /dev/console || echo no console; test -c /dev/pts/ptmx && echo ptmx
		test -e /dev/core || echo no core`),
		func(s *specs.Spec) {
			s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/mine", Type: "c", Major: 10, Minor: 229, FileMode: &mode, UID: &uid, GID: &gid},
				{Path: "/dev/sub/fifo", Type: "p"}, {Path: "/dev/blk", Type: "b", Major: 7, Minor: 0}}
		}))
	for _, l := range []string{"null character special file 1,3 666 0:0", "zero character special file 1,5 666 0:0", "full character special file 1,7 666 0:0",
		"random character special file 1,8 666 0:0", "urandom character special file 1,9 666 0:0", "tty character special file 5,0 666 0:0",
		"mine character special file a,e5 640 7:8", "sub/fifo fifo 0,0", "blk block special file 7,0"} {
		holds(w, "devices", out, "/dev/"+l)
	}
	for _, l := range []string{"fd /proc/self/fd", "stdin /proc/self/fd/0", "stdout /proc/self/fd/1", "stderr /proc/self/fd/2", "no console", "ptmx\n"} {
		holds(w, "device links", out, l+"\n"[:min(1, 1-strings.Count(l, "\n"))])
	}
	if !strings.Contains(out, "ptmx pts/ptmx") && !strings.Contains(out, "ptmx /dev/pts/ptmx") {
		t.Errorf("/dev/ptmx is not the instance's own:\n%s", out)
	}
	// A device that exists with another number is an error or is replaced; never the wrong one.
	w.runs(w.bundle(func(s *specs.Spec) {
		s.Linux.Devices = []specs.LinuxDevice{{Path: "relative", Type: "c", Major: 1, Minor: 3}}
	})).fails()
}

// With /dev a bind of the host's or a symlink in the image, nothing is made outside (CVE-2026-41579).
func TestDevIsASymlink(t *testing.T) {
	w := newWorld(t)
	outside := w.dir + "/outside"
	w.must(os.Mkdir(outside, 0o777))
	b := w.bundle(writable)
	w.must(os.Remove(b.rootfs() + "/dev"))
	w.must(os.Symlink("../../../../.."+outside, b.rootfs()+"/dev"))
	b.spec.Mounts = b.spec.Mounts[:1]
	b.write()
	w.runs(b)
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("made outside of the rootfs: %v", left)
	}
}

// CVE-2019-16884 and its kind: what only looks like /proc or /sys is refused.
func TestProcMustBeReal(t *testing.T) {
	w := newWorld(t)
	for _, where := range []string{"proc", "sys"} {
		b := w.bundle(writable)
		w.must(os.Remove(filepath.Join(b.rootfs(), where)))
		w.must(os.Symlink("/tmp", filepath.Join(b.rootfs(), where)))
		w.runs(b).fails(where)
	}
	w.runs(w.bundle(mount("tmpfs", "tmpfs", "/proc/self/attr"))).fails("/proc/self/attr")
	w.runs(w.bundle(bind(w.dir+"/log", "/proc"))).fails("/proc")
	file := w.dir + "/uptime"
	w.must(os.WriteFile(file, []byte("1 1\n"), 0o644))
	expect(w, "an lxcfs file", w.output(w.bundle(args("cat", "/proc/uptime"), mount("bind", file, "/proc/uptime", "bind"))), "1 1\n")
}

func TestCgroupMount(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(sh("cat /proc/self/mountinfo; cat /sys/fs/cgroup/pids/cgroup.procs /sys/fs/cgroup/cgroup.procs 2>/dev/null; mkdir /sys/fs/cgroup/pids/x /sys/fs/cgroup/x || echo refused")))
	m := parseMounts(out)
	root := at(w, m, "/sys/fs/cgroup")
	holds(w, "own processes, read-only", out, "1\n", "refused")
	if unified() {
		expect(w, "type", root.fstype, "cgroup2")
		root.has(w, "ro", "nosuid", "noexec", "nodev")
		return
	}
	for _, c := range []string{"memory", "pids", "cpu", "devices", "freezer"} {
		l := at(w, m, "/sys/fs/cgroup/"+c)
		expect(w, "type of "+c, l.fstype, "cgroup")
		l.has(w, "ro", "nosuid", "noexec", "nodev")
		expect(w, "root of "+c, l.root, "/")
	}
	// Without a cgroup namespace: binds of the own cgroup.
	out = w.output(w.bundle(sh("cat /sys/fs/cgroup/pids/cgroup.procs"), without(specs.CgroupNamespace)))
	if !strings.Contains(out, "1\n") {
		t.Errorf("the own cgroup's processes: %q", out)
	}
}

// Mounts are made in the order of the config: the later one covers.
func TestMountOrder(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(writable, sh("df -k /mnt | tail -n1; ls /mnt"), mount("tmpfs", "t", "/mnt/sub/x", "size=1m"), mount("tmpfs", "t", "/mnt", "size=2m"), mount("tmpfs", "t", "/mnt/later", "size=3m")))
	holds(w, "mount order", out, " 2048 ", "later")
	if strings.Contains(out, "sub") {
		t.Errorf("the first mount is not covered:\n%s", out)
	}
}

func TestNoPivot(t *testing.T) {
	w := newWorld(t)
	out := w.output(w.bundle(sh("cat /etc/passwd; cat /proc/self/mountinfo; ls "+w.dir+" 2>/dev/null || echo hidden")), "--no-pivot")
	holds(w, "--no-pivot", out, "root:x", "hidden")
	at(w, parseMounts(out), "/proc").has(w, "rw")
}

func TestNoMountNamespace(t *testing.T) {
	w := newWorld(t)
	before := len(parseMounts(w.read("/proc/self/mountinfo")))
	b := w.bundle(args("cat", "/etc/passwd"), without(specs.MountNamespace, specs.CgroupNamespace), func(s *specs.Spec) {
		s.Mounts, s.Root.Readonly = nil, false
		s.Linux.MaskedPaths, s.Linux.ReadonlyPaths = nil, nil
	})
	if r := w.runs(b); r.code != 0 {
		r.fails()
	} else {
		holds(w, "output", r.out, "app:x")
	}
	if after := len(mountsOf("self", w.dir)); after != 0 {
		t.Errorf("%d mounts on the host (%d before)", after, before)
	}
	if _, err := os.Stat("/dev/null"); err != nil {
		t.Error(err)
	}
}

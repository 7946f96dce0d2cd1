package nsenter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// rooted is a plan's beginning: a private mount namespace, and a directory mounted on itself, whose
// root is slot 0. Slot 9: procfs.
func rooted(dir string, more ...op) []op {
	return append([]op{cloexec, private, openProc,
		{name: "OPEN_TREE", slot: [2]int{0, -1}, str: [3]any{dir}, num: [4]uint64{1}},
		{name: "OPEN_PATH", slot: [2]int{-1, 1}, str: [3]any{dir}},
		{name: "MOVE_MOUNT", slot: [2]int{0, 1}},
	}, more...)
}

func fsmount(slot int, typ string, attr uint64, options ...any) op {
	return op{name: "FSMOUNT", slot: [2]int{slot}, str: [3]any{typ, typ, pairs(options)}, num: [4]uint64{attr}}
}

func attach(mount int, path string, how uint64) []op {
	return []op{{name: "TARGET", slot: [2]int{0, 2}, str: [3]any{path}, num: [4]uint64{how | tgtNotRoot, 0o755}},
		{name: "MOVE_MOUNT", slot: [2]int{mount, 2}}}
}

// paused runs the plan up to a meeting point at its end, where the test looks around.
func paused(t *testing.T, ops []op, opts ...launchOption) *stage1 {
	t.Helper()
	s := start(t, &program{ops: append(ops, send(15), wait(15))}, opts...)
	s.reached(15)
	return s
}

func (s *stage1) root(path string) string { return fmt.Sprintf("/proc/%d/root%s", s.Pid, path) }

// mounts returns the fields of the mounts at and below the path that stage1 sees, by mount point.
func (s *stage1) mounts(below string) map[string]string {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", s.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	m := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Fields(line)
		if at, ok := strings.CutPrefix(f[4], below); ok {
			m[at] = line
		}
	}
	return m
}

func TestMounts(t *testing.T) {
	dir := imageDir(t)
	ops := rooted(dir)
	ops = append(ops, fsmount(3, "tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode", "711", "size", "64k"))
	ops = append(ops, attach(3, "/abs/tmp", tgtDir)...)
	ops = append(ops, op{name: "OPEN_TREE", slot: [2]int{4, -1}, str: [3]any{"/usr"}, num: [4]uint64{1}},
		op{name: "SETATTR", slot: [2]int{4, -1}, num: [4]uint64{unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC, 0, 0, 1}})
	ops = append(ops, attach(4, "/usr", tgtDir)...)
	ops = append(ops, op{name: "OPEN_TREE", slot: [2]int{5, 4}},
		op{name: "OPEN_TREE", slot: [2]int{5, -1}, str: [3]any{"/etc/passwd"}})
	ops = append(ops, attach(5, "/a/etc/passwd", tgtFile)...)
	s := paused(t, ops, inNamespaces(unix.CLONE_NEWNS))
	m := s.mounts(dir)
	for at, parts := range map[string][]string{
		"/a/tmp":        {"nosuid", "nodev", "tmpfs", "size=64k", "mode=711"},
		"/usr":          {"ro", "noexec"},
		"/a/etc/passwd": {" /etc/passwd "},
	} {
		for _, p := range parts {
			if !strings.Contains(m[at], p) {
				t.Errorf("%s: %q lacks %q", at, m[at], p)
			}
		}
	}
	if err := os.WriteFile(s.root(dir+"/usr/x"), nil, 0o644); err == nil {
		os.Remove(s.root(dir + "/usr/x"))
		t.Error("/usr is writable")
	}
}

// mount(2), where the new API is not enough, on a target by descriptor; the cwd stays.
func TestMountSyscall(t *testing.T) {
	dir := imageDir(t)
	ops := append(rooted(dir), op{name: "CHDIR", str: [3]any{"/usr"}},
		target("/abs/data", tgtDir, 0o755),
		op{name: "MOUNT", slot: [2]int{9, 1}, str: [3]any{"name", "tmpfs", "mode=700,size=8k"}, num: [4]uint64{unix.MS_NOEXEC}},
		op{name: "VERIFY_CWD"})
	s := paused(t, ops, inNamespaces(unix.CLONE_NEWNS))
	contains(t, s.mounts(dir)["/a/data"], "noexec")
	contains(t, s.mounts(dir)["/a/data"], "size=8k")
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.Pid)); cwd != "/usr" {
		t.Errorf("cwd %q %v", cwd, err)
	}
}

func TestMaskAndReadonly(t *testing.T) {
	dir := imageDir(t)
	for _, d := range []string{"d1", "d2", "d3"} {
		if err := os.MkdirAll(filepath.Join(dir, d, "secret"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mask := func(path string) op {
		return op{name: "MASK_DIR", slot: [2]int{0, 6}, str: [3]any{path}, on: onENOTDIR}
	}
	file := func(path string) op { return op{name: "MASK_FILE", slot: [2]int{0, 7}, str: [3]any{path}} }
	ops := append(rooted(dir), fsmount(6, "tmpfs", unix.MOUNT_ATTR_RDONLY, "mode", "755"),
		op{name: "OPEN_PATH", slot: [2]int{-1, 7}, str: [3]any{"/dev/null"}})
	p := &program{}
	for _, path := range []string{"/d1", "/d2", "/nothing", "/etc/file", "/etc/file/x", "/d3", "/abs/b"} {
		o := mask(path)
		o.alt = uint32(len(p.alts))
		ops, p.alts = append(ops, o), append(p.alts, file(path))
	}
	ops = append(ops, file("/a"), // a directory: nothing
		op{name: "READONLY_PATH", slot: [2]int{0}, str: [3]any{"/etc"}},
		op{name: "READONLY_PATH", slot: [2]int{0}, str: [3]any{"/nothing"}},
		op{name: "READONLY_PATH", slot: [2]int{0}, str: [3]any{"/etc/file/x"}},
		send(15), wait(15))
	p.ops = ops
	for i := range p.ops {
		if p.ops[i].name == "MASK_DIR" {
			p.ops[i].alt = p.alternative(int(p.ops[i].alt))
		}
	}
	s := start(t, p, inNamespaces(unix.CLONE_NEWNS))
	s.reached(15)
	for _, d := range []string{"/d1", "/d2", "/d3", "/a/b"} {
		if left, err := os.ReadDir(s.root(dir + d)); err != nil || len(left) != 0 {
			t.Errorf("%s shows %v (%v)", d, left, err)
		}
		contains(t, s.mounts(dir)[d], "ro")
	}
	if fi, err := os.Stat(s.root(dir + "/etc/file")); err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("/etc/file is %v (%v)", fi, err)
	}
	if _, ok := s.mounts(dir)["/a"]; ok {
		t.Error("/a is masked by a file")
	}
	if err := os.WriteFile(s.root(dir+"/etc/x"), nil, 0o644); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("write below a read-only path: %v", err)
	}
}

func TestRoots(t *testing.T) {
	for _, name := range []string{"PIVOT", "MOVE_ROOT", "CHROOT"} {
		dir := imageDir(t)
		if err := os.WriteFile(dir+"/marker", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		ops := append(rooted(dir), op{name: name, slot: [2]int{0}}, op{name: "VERIFY_CWD"})
		s := paused(t, ops, inNamespaces(unix.CLONE_NEWNS))
		if _, err := os.Stat(s.root("/marker")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.Pid)); err != nil || filepath.Base(cwd) != filepath.Base(dir) && cwd != "/" {
			t.Errorf("%s: cwd %q %v", name, cwd, err)
		}
		if m := s.mounts(""); name == "PIVOT" && len(m) != 1 {
			t.Errorf("mounts after pivot: %v", m)
		}
	}
}

// The unmount of the old root stays in the container even where everything is shared.
func TestPivotShared(t *testing.T) {
	inChild(t, "pivotShared", unix.CLONE_NEWNS)
}

func init() {
	children["pivotShared"] = func() error {
		for _, flags := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
			if err := unix.Mount("", "/", "", flags|unix.MS_REC, ""); err != nil {
				return err
			}
		}
		dir, err := os.MkdirTemp("", "pivot")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			return err
		}
		if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		defer unix.Unmount(dir, unix.MNT_DETACH)
		before, _ := os.ReadFile("/proc/self/mountinfo")
		p := &program{ops: []op{cloexec, openRoot(dir), {name: "SETATTR", slot: [2]int{-1, -1}, str: [3]any{dir}, num: [4]uint64{2: unix.MS_PRIVATE}},
			{name: "SETATTR", slot: [2]int{-1, -1}, str: [3]any{"/"}, num: [4]uint64{2: unix.MS_PRIVATE}}, {name: "PIVOT", slot: [2]int{0}}}}
		if err := runPlainly(p, unix.CLONE_NEWNS); err != nil {
			return err
		}
		after, _ := os.ReadFile("/proc/self/mountinfo")
		if strings.Count(string(after), "\n") != strings.Count(string(before), "\n") {
			return fmt.Errorf("mounts before:\n%s\nafter:\n%s", before, after)
		}
		return nil
	}
}

func TestCgroupMountInUserNamespace(t *testing.T) {
	dir := imageDir(t)
	os.Chmod(filepath.Dir(dir), 0o755)
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 100000, Size: 65536}}
	for _, d := range []string{dir, dir + "/a", dir + "/etc"} {
		if err := os.Chown(d, 100000, 100000); err != nil {
			t.Fatal(err)
		}
	}
	ops := append(rooted(dir), fsmount(3, "tmpfs", 0, "uid", "7"))
	ops = append(ops, attach(3, "/a/tmp", tgtDir)...)
	ops = append(ops, op{name: "OPEN_TREE", slot: [2]int{4, -1}, str: [3]any{"/proc"}, num: [4]uint64{1}})
	ops = append(ops, attach(4, "/proc", tgtDir)...)
	ops = append(ops, op{name: "READONLY_PATH", slot: [2]int{0}, str: [3]any{"/proc/sys"}}) // flags of /proc are locked here
	s := paused(t, ops, inNamespaces(unix.CLONE_NEWNS|unix.CLONE_NEWUSER|unix.CLONE_NEWPID), func(l *Launch) {
		l.UidMappings, l.GidMappings = ids, ids
	})
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(status), "Uid:\t100000\t100000\t100000\t100000\n")
	contains(t, string(status), "Groups:\t \n")
	contains(t, s.mounts(dir)["/proc/sys"], " ro,")
}

package nsenter

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tgtDir      = 1
	tgtFile     = 2
	tgtExisting = 4
	tgtStrict   = 8
	tgtNotRoot  = 16
)

func target(path string, how, mode uint64) op {
	return op{name: "TARGET", slot: [2]int{0, 1}, str: [3]any{path}, num: [4]uint64{how, mode}}
}

// imageDir makes a root with symlinks that lead everywhere.
func imageDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"etc", "a/b"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"abs": "/a", "up": "../../../../a", "out": "/tmp/../../../..", "dangling": "/nowhere",
		"loop": "loop", "root": "/", "etc/link": "file", "a/dangling": "nothing", "var": "a/../a",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		path  string
		how   uint64
		errno syscall.Errno
		made  string // relative to the root
		mode  os.FileMode
	}{
		{path: "/a/b", how: tgtDir},
		{path: "/a/b/", how: tgtDir},
		{path: "", how: tgtDir},
		{path: "/", how: tgtDir},
		{path: "/", how: tgtDir | tgtNotRoot, errno: unix.EBUSY},
		{path: "/a/..", how: tgtDir | tgtNotRoot, errno: unix.EBUSY},
		{path: "/root", how: tgtDir | tgtNotRoot, errno: unix.EBUSY},
		{path: "/../..", how: tgtDir | tgtNotRoot, errno: unix.EBUSY},
		{path: "/out", how: tgtDir | tgtNotRoot, errno: unix.ELOOP}, // /tmp is not in the image
		{path: "/a", how: tgtDir | tgtNotRoot},
		{path: "/new", how: tgtDir, made: "new", mode: os.ModeDir | 0o711},
		{path: "new/./deep//er/", how: tgtDir, made: "new/deep/er", mode: os.ModeDir | 0o711},
		{path: "/abs/new", how: tgtDir, made: "a/new", mode: os.ModeDir | 0o711},
		{path: "/up/new", how: tgtDir, made: "a/new", mode: os.ModeDir | 0o711},
		{path: "/var/x/y", how: tgtDir, made: "a/x/y", mode: os.ModeDir | 0o711},
		{path: "/x/../y", how: tgtDir, errno: unix.EINVAL},
		{path: "/dangling", how: tgtDir, errno: unix.ELOOP},
		{path: "/dangling/x", how: tgtDir, errno: unix.ELOOP},
		{path: "/loop", how: tgtDir, errno: unix.ELOOP},
		{path: "/loop/x", how: tgtDir, errno: unix.ELOOP},
		{path: "/etc/file", how: tgtDir, errno: unix.ENOTDIR},
		{path: "/etc/file/x", how: tgtDir, errno: unix.ENOTDIR},
		{path: "/etc/file", how: tgtFile},
		{path: "/etc/link", how: tgtFile},
		{path: "/etc", how: tgtFile, errno: unix.EISDIR},
		{path: "/a/new", how: tgtFile, made: "a/new", mode: 0o711},
		{path: "/p/q/new", how: tgtFile, made: "p/q/new", mode: 0o711},
		{path: "/p/q/new/", how: tgtFile, errno: unix.EISDIR},
		{path: "/p/..", how: tgtFile, errno: unix.EISDIR},
		{path: "/a/dangling", how: tgtFile, errno: unix.ELOOP},
		{path: "/dangling/x", how: tgtFile, errno: unix.ELOOP},
		{path: "/nothing", how: tgtExisting, errno: unix.ENOENT},
		{path: "/etc/file", how: tgtExisting},
		{path: "/a", how: tgtExisting},
		{path: "/abs", how: tgtDir | tgtStrict, errno: unix.ELOOP},
		{path: "/abs/new", how: tgtDir | tgtStrict, errno: unix.ELOOP},
		{path: "/a/new", how: tgtDir | tgtStrict, made: "a/new", mode: os.ModeDir | 0o711},
	} {
		dir := imageDir(t)
		s := start(t, &program{ops: []op{cloexec, openRoot(dir), target(c.path, c.how, 0o711)}})
		if c.errno != 0 {
			s.fails(2, "TARGET", c.errno)
			for _, name := range []string{"nowhere", "x", "a/nothing"} {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					t.Errorf("%q: %s was made", c.path, name)
				}
			}
			continue
		}
		s.succeeds()
		if c.made == "" {
			continue
		}
		fi, err := os.Lstat(filepath.Join(dir, c.made))
		if err != nil || fi.Mode() != c.mode {
			t.Errorf("%q: %s is %v (%v), want mode %v", c.path, c.made, fi, err, c.mode)
		}
	}
}

// CVE-2021-30465, CVE-2024-45310: while someone in the container renames a directory and a symlink to the
// outside over each other, nothing is made outside, and no other failure appears than a refusal.
func TestTargetRace(t *testing.T) {
	for _, how := range []uint64{tgtDir, tgtFile} {
		top := t.TempDir()
		root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
		for _, d := range []string{root + "/real", outside} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(outside, root+"/link"); err != nil {
			t.Fatal(err)
		}
		stop := make(chan bool)
		var renamer sync.WaitGroup
		renamer.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, root+"/real", unix.AT_FDCWD, root+"/link", unix.RENAME_EXCHANGE)
				}
			}
		})
		counts := raceTargets(t, root, how)
		close(stop)
		renamer.Wait()
		if left, _ := os.ReadDir(outside); len(left) != 0 {
			t.Errorf("made outside of the root: %v", left)
		}
		t.Logf("outcomes %v", counts)
	}
}

func raceTargets(t *testing.T, root string, how uint64) map[syscall.Errno]int {
	counts := map[syscall.Errno]int{}
	const each = 400
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		p := &program{ops: []op{cloexec, openRoot(root)}}
		for i := range each {
			p.ops = append(p.ops, target("/real/../real/n"+string(rune('a'+i%20))+"/m"+string(rune('a'+i/20)), how, 0o755))
		}
		s := start(t, p)
		m := s.next()
		s.wait()
		if m == nil {
			counts[0]++
			continue
		}
		counts[m.Errno]++
		switch m.Errno {
		case unix.ELOOP, unix.ENOTDIR, unix.ENOENT, unix.EAGAIN, unix.EINVAL:
		default:
			t.Fatalf("message %s", describe(m))
		}
	}
	return counts
}

func TestMknod(t *testing.T) {
	dir := imageDir(t)
	if err := os.Symlink("/a", dir+"/dev"); err != nil { // CVE-2026-41579
		t.Fatal(err)
	}
	const major, minor = 1025, 70007 // both wider than a byte
	dev := unix.Mkdev(major, minor)
	null := func(path string, mode uint64) op {
		return op{name: "MKNOD", slot: [2]int{0}, str: [3]any{path}, num: [4]uint64{mode, unix.Mkdev(1, 3), 5, 6}}
	}
	fifo := op{name: "MKNOD", slot: [2]int{0}, str: [3]any{"/dev/fifo"}, num: [4]uint64{unix.S_IFIFO | 0o604, 0, 0, 0}}
	block := op{name: "MKNOD", slot: [2]int{0}, str: [3]any{"/dev/deep/block"}, num: [4]uint64{unix.S_IFBLK | 0o600, dev, 0, 0}}
	start(t, &program{ops: []op{cloexec, openRoot(dir), null("/dev/null", unix.S_IFCHR|0o666), fifo, block}}).succeeds()
	// once more: they stay as they are
	start(t, &program{ops: []op{cloexec, openRoot(dir), null("/dev/null", unix.S_IFCHR|0o600), fifo, block}}).succeeds()

	var st unix.Stat_t
	if err := unix.Lstat(dir+"/a/null", &st); err != nil || st.Mode != unix.S_IFCHR|0o666 || st.Rdev != unix.Mkdev(1, 3) || st.Uid != 5 || st.Gid != 6 {
		t.Errorf("null: %v %+v", err, st)
	}
	if err := unix.Lstat(dir+"/a/deep/block", &st); err != nil || st.Mode != unix.S_IFBLK|0o600 || st.Rdev != dev {
		t.Errorf("block: %v mode %o rdev %#x, want %#x", err, st.Mode, st.Rdev, dev)
	}
	if err := unix.Lstat(dir+"/a/fifo", &st); err != nil || st.Mode != unix.S_IFIFO|0o604 {
		t.Errorf("fifo: %v mode %o", err, st.Mode)
	}
	// another type, another number, a symlink: not taken for the device
	for _, o := range []op{
		null("/dev/fifo", unix.S_IFCHR|0o666), null("/dev/deep/block", unix.S_IFBLK|0o666),
		null("/abs", unix.S_IFCHR|0o666), null("/a/dangling", unix.S_IFCHR|0o666),
	} {
		start(t, &program{ops: []op{cloexec, openRoot(dir), o}}).fails(2, "MKNOD", unix.EEXIST)
	}
	start(t, &program{ops: []op{cloexec, openRoot(dir), null("/dangling/null", unix.S_IFCHR|0o666)}}).fails(2, "MKNOD", unix.ELOOP)
}

func TestSymlink(t *testing.T) {
	dir := imageDir(t)
	link := func(to, at string, replace uint64) op {
		return op{name: "SYMLINK", slot: [2]int{0}, str: [3]any{to, at}, num: [4]uint64{replace}}
	}
	start(t, &program{ops: []op{cloexec, openRoot(dir),
		link("/proc/self/fd", "/abs/fd", 0), link("/other", "/abs/fd", 0), link("/proc/kcore", "/n/core", 0),
		link("x", "/etc/link", 1), link("y", "/etc/file", 0)}}).succeeds()
	for name, want := range map[string]string{"a/fd": "/proc/self/fd", "n/core": "/proc/kcore", "etc/link": "x"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != want {
			t.Errorf("%s → %q (%v), want %q", name, got, err, want)
		}
	}
	if fi, err := os.Lstat(dir + "/etc/file"); err != nil || !fi.Mode().IsRegular() {
		t.Errorf("/etc/file: %v, %v", fi, err)
	}
	start(t, &program{ops: []op{cloexec, openRoot(dir), link("z", "/a", 1)}}).fails(2, "SYMLINK", unix.EISDIR)
}

func TestOpenDev(t *testing.T) {
	dir := imageDir(t)
	for name, dev := range map[string]uint64{"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5)} {
		if err := unix.Mknod(dir+"/a/"+name, unix.S_IFCHR|0o666, int(dev)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("null", dir+"/a/link"); err != nil {
		t.Fatal(err)
	}
	for path, errno := range map[string]syscall.Errno{
		"/a/null": 0, "/abs/null": 0, "/a/zero": unix.ENODEV, "/etc/file": unix.ENODEV,
		"/a/link": unix.ENODEV, // CVE-2025-31133
		"/a/none": unix.ENOENT,
	} {
		s := start(t, &program{ops: []op{cloexec, openRoot(dir),
			{name: "OPEN_DEV", slot: [2]int{0, 1}, str: [3]any{path}, num: [4]uint64{1: unix.Mkdev(1, 3)}}}})
		if errno == 0 {
			s.succeeds()
		} else {
			s.fails(2, "OPEN_DEV", errno)
		}
	}
}

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// CVE-2019-5736: what waits in created is no file of the host, and can't be changed.
func TestCreatedRunsFromSealedMemory(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever))
	exe, err := os.Readlink(c.proc("exe"))
	w.must(err)
	if !strings.HasPrefix(exe, "/memfd:") {
		t.Errorf("the created process runs %s", exe)
	}
	f, err := os.Open(c.proc("exe"))
	w.must(err)
	defer f.Close()
	seals, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0)
	w.must(err)
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	expect(w, "seals", seals&all, all)
	if g, err := os.OpenFile(c.proc("exe"), os.O_WRONLY, 0); err == nil {
		g.Close()
		t.Error("the created process's program can be opened for writing")
	}
	other := w.create(w.bundle(forever))
	var a, b syscall.Stat_t
	w.must(syscall.Stat(c.proc("exe"), &a))
	w.must(syscall.Stat(other.proc("exe"), &b))
	if a.Ino == b.Ino && a.Dev == b.Dev {
		t.Error("two containers run from one inode")
	}
	// The classic attack: the image's program is a link to what runs it.
	attack := w.bundle(args("/proc/self/exe"))
	if r := w.runs(attack); r.code == 0 {
		t.Errorf("/proc/self/exe as the program: %v", r)
	}
}

// vm.memfd_noexec is a setting of each pid namespace: the runtime is called in one of its own.
func TestMemfdNoexec(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		t.Run(level, func(t *testing.T) {
			w := newWorld(t)
			call := w.rt("run", "--bundle", w.bundle(sh("echo ran; cat /proc/sys/vm/memfd_noexec")).dir, w.id())
			call.prefix = []string{"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", "echo " + level + ` >/proc/sys/vm/memfd_noexec && exec "$@"`, "sh"}
			expect(w, "output with vm.memfd_noexec "+level, call.ok().out, "ran\n"+level+"\n")
			call = w.rt("run", "--bundle", w.bundle(sh("echo ran"), profile(uint(20+len(level)), "swapoff", "no_such_"+w.mark)).dir, w.id())
			call.prefix = []string{"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", "echo " + level + ` >/proc/sys/vm/memfd_noexec && exec "$@"`, "sh"}
			expect(w, "output with the helper", call.ok().out, "ran\n")
		})
	}
}

// CVE-2021-30465: somebody exchanges a mount's target with a symlink while create runs.
func TestRacingSymlinkExchange(t *testing.T) {
	w := newWorld(t)
	outside := w.dir + "/outside"
	w.must(os.Mkdir(outside, 0o777))
	b := w.bundle(writable, mount("tmpfs", "tmpfs", "/a/target", "size=1m"), bind(w.dir+"/log", "/a/new/deep/dir"), mount("bind", rootfs+"/etc/passwd", "/a/file", "bind"))
	a, link := filepath.Join(b.rootfs(), "a"), filepath.Join(b.rootfs(), "link")
	w.must(os.MkdirAll(a+"/target", 0o755))
	w.must(os.Symlink(outside, link))
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	for range 60 {
		w.runs(b)
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Fatalf("made outside of the rootfs: %v", left)
		}
	}
	close(stop)
	<-stopped
}

// CVE-2025-31133: the container's /dev/null is something else; masks must not use it.
func TestMaskSourceIsVerified(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(writable, args("cat", "/hidden", "/secret"), func(s *specs.Spec) {
		s.Mounts = []specs.Mount{s.Mounts[0]} // /dev is the image's
		s.Linux.MaskedPaths = []string{"/hidden"}
	})
	w.must(os.WriteFile(b.rootfs()+"/hidden", []byte("HIDDEN\n"), 0o644))
	w.must(os.WriteFile(b.rootfs()+"/secret", nil, 0o644))
	w.must(os.WriteFile(b.rootfs()+"/evil", []byte("EVIL\n"), 0o644))
	w.must(os.Symlink("/evil", b.rootfs()+"/dev/null"))
	r := w.runs(b)
	if strings.Contains(r.out, "HIDDEN") || strings.Contains(r.out, "EVIL") {
		t.Errorf("the masked file shows %q", r.out)
	}
}

// CVE-2025-52565: /dev/console and the terminal are the instance's own, whatever the image has there.
func TestConsoleIsNotRedirected(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	target := w.dir + "/target"
	w.must(os.WriteFile(target, []byte("untouched\n"), 0o644))
	b := w.bundle(terminal, writable, sh("stat -c %t,%T /dev/console; cat /dev/console </dev/null; echo x >/dev/console"), func(s *specs.Spec) { s.Mounts = []specs.Mount{s.Mounts[0], s.Mounts[2]} })
	w.must(os.Mkdir(b.rootfs()+"/dev/pts", 0o755))
	w.must(os.Symlink("/proc/sys/kernel/hostname", b.rootfs()+"/dev/console"))
	w.must(os.Symlink(target, b.rootfs()+"/dev/ptmx"))
	own, _ := os.Hostname()
	c, r := w.tryCreate(b, "--console-socket", s.path)
	if r.code == 0 {
		p := s.terminal()
		c.start()
		c.becomes("stopped")
		_ = p
	}
	now, _ := os.Hostname()
	expect(w, "the host's name", now, own)
	expect(w, "the file", w.read(target), "untouched\n")
}

// CVE-2016-9962 and its kind: a process of a shared pid namespace can't look into what joins it.
func TestCreatedIsNotDumpable(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever, user(1000, 1000)))
	info, err := os.Stat(c.proc("fd"))
	w.must(err)
	expect(w, "owner of /proc/PID/fd of a created container", info.Sys().(*syscall.Stat_t).Uid, 0)
	c.start()
	c.prints("ready")
	info, err = os.Stat(c.proc("fd"))
	w.must(err)
	expect(w, "owner of /proc/PID/fd of a running container", info.Sys().(*syscall.Stat_t).Uid, 1000)
}

// Another user can neither read the state nor start a container by its fifo.
func TestOtherUsersAreShutOut(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever, user(1000, 1000)))
	fifo := filepath.Join(w.root, c.id, "exec.fifo")
	for _, script := range []string{"cat " + fifo, "echo x >" + fifo, "cat " + filepath.Join(w.root, c.id, "state.json"), "ls " + w.root, "cat " + c.proc("fd/4")} {
		if exec.Command("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "timeout", "5", "sh", "-c", script).Run() == nil {
			t.Errorf("another user may: %s", script)
		}
	}
	c.hasStatus("created")
	c.start()
	c.prints("ready")
}

// Symlinks in --root are not followed.
func TestRootIsNotFollowed(t *testing.T) {
	w := newWorld(t)
	victim := w.dir + "/victim"
	w.must(os.Mkdir(victim, 0o755))
	w.must(os.WriteFile(victim+"/file", nil, 0o644))
	w.create(w.bundle(forever)).delete("--force")
	w.must(os.MkdirAll(w.root, 0o700))
	id := w.mark + "link"
	w.must(os.Symlink(victim, filepath.Join(w.root, id)))
	w.rt("delete", "--force", id).run()
	w.rt("create", "--bundle", w.bundle().dir, id).run().fails()
	if _, err := os.Stat(victim + "/file"); err != nil {
		t.Errorf("delete --force followed a symlink: %v", err)
	}
	os.Remove(filepath.Join(w.root, id))
}

// Large and odd configs: right, or a clear error.
func TestLargeConfigs(t *testing.T) {
	w := newWorld(t)
	for n, m := range map[string]mod{
		"environment": func(s *specs.Spec) {
			for i := range 4000 {
				s.Process.Env = append(s.Process.Env, fmt.Sprintf("V%d=%s", i, strings.Repeat("v", 100)))
			}
		},
		"argument": func(s *specs.Spec) { s.Process.Args = append(s.Process.Args, strings.Repeat("a", 120000)) },
		"mounts": func(s *specs.Spec) {
			for i := range 300 {
				s.Mounts = append(s.Mounts, specs.Mount{Destination: "/mnt/" + strconv.Itoa(i), Type: "bind", Source: w.dir + "/log", Options: []string{"rbind", "ro"}})
			}
		},
		"annotations": func(s *specs.Spec) { s.Annotations = map[string]string{"x": strings.Repeat("y", 1<<20)} },
		"masks": func(s *specs.Spec) {
			for i := range 500 {
				s.Linux.MaskedPaths = append(s.Linux.MaskedPaths, fmt.Sprint("/proc/none", i))
			}
		},
		"rlimits, groups": func(s *specs.Spec) {
			for i := range uint32(1000) {
				s.Process.User.AdditionalGids = append(s.Process.User.AdditionalGids, i+1)
			}
		},
	} {
		c := w.create(w.bundle(writable, args("/bin/sh", "-c", "echo fine"), m))
		c.start()
		c.becomes("stopped")
		expect(w, n, c.stdout(), "fine\n")
		c.delete()
	}
	_, r := w.tryCreate(w.bundle(func(s *specs.Spec) { s.Process.Args = append(s.Process.Args, strings.Repeat("a", 200000)) }))
	if r.code == 0 {
		w.rt("start", w.ids[len(w.ids)-1]).run().fails("argument list too long")
	}
}

// lowerdir of an overlay is often longer than the 255 bytes that fsconfig takes.
func TestLongOverlay(t *testing.T) {
	w := newWorld(t)
	var lower []string
	for i := range 12 {
		dir := filepath.Join(w.dir, "layers", fmt.Sprint(strings.Repeat("l", 60), i))
		w.must(os.MkdirAll(dir, 0o755))
		w.must(os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), nil, 0o644))
		lower = append(lower, dir)
	}
	for _, d := range []string{"upper", "work"} {
		w.must(os.Mkdir(filepath.Join(w.dir, d), 0o755))
	}
	out := w.output(w.bundle(writable, sh("ls /mnt | wc -l; touch /mnt/new"), mount("overlay", "overlay", "/mnt", "lowerdir="+strings.Join(lower, ":"), "upperdir="+w.dir+"/upper", "workdir="+w.dir+"/work")))
	expect(w, "files of all layers", out, "12\n")
	if _, err := os.Stat(w.dir + "/upper/new"); err != nil {
		t.Error(err)
	}
}

// A signal to a created container is sent: TERM ends it, as a manager that gives up expects.
func TestKillCreated(t *testing.T) {
	w := newWorld(t)
	for _, sig := range []string{"TERM", "KILL", "INT", "HUP"} {
		c := w.create(w.bundle(forever))
		c.kill(sig)
		c.becomes("stopped")
		w.rt("start", c.id).run().fails()
		c.delete()
	}
}

// Nothing of the host's mounts is left in the container's namespace: who enters it (exec, or a
// process with CAP_SYS_ADMIN inside) finds the container's root alone.
func TestHostRootIsGone(t *testing.T) {
	for name, flags := range map[string][]string{"pivot": nil, "no pivot": {"--no-pivot"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := w.bundle(forever, caps("CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE"))
			w.must(os.WriteFile(b.rootfs()+"/own-root", nil, 0o644))
			c := w.started(b, flags...)
			c.prints("ready")
			for _, m := range parseMounts(w.read(c.proc("mountinfo"))) {
				if m.root == "/" && (m.fstype == "devtmpfs" || m.fstype == "ext4") || strings.HasPrefix(m.point, w.dir) {
					t.Errorf("a mount of the host is in the container's namespace: %+v", m)
				}
			}
			out, _ := exec.Command("nsenter", "-t", strconv.Itoa(c.state().Pid), "-m", "/bin/busybox", "ls", "/").CombinedOutput()
			holds(w, "root of who enters", string(out), "own-root")
			c.delete("--force")
			// From inside: unmounting or leaving the root uncovers nothing.
			b.spec.Process.Args = []string{"/bin/sh", "-c", "cd /; umount -l / 2>/dev/null; busybox nsenter -t 1 -m /bin/busybox ls / 2>/dev/null; busybox chroot . /bin/busybox ls / 2>/dev/null; ls /.. ../../.. 2>/dev/null; true"}
			b.write()
			for _, l := range lines(w.output(b, flags...)) {
				if l == "boot" || l == "lib64" || l == filepath.Base(base) {
					t.Errorf("the host's root is in reach: %s", l)
				}
			}
		})
	}
}

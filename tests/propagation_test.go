package tests

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// sharedSource is a directory of the host that is a shared mount, with two mount points in it.
func sharedSource(w *world) string {
	w.Helper()
	src := w.dir + "/src"
	w.must(os.Mkdir(src, 0o755))
	w.must(syscall.Mount("tmpfs", src, "tmpfs", 0, "size=1m"))
	w.must(syscall.Mount("", src, "", syscall.MS_SHARED, ""))
	for _, d := range []string{"/late", "/inside"} {
		w.must(os.Mkdir(src+d, 0o755))
	}
	return src
}

const waitForGo = "echo ready; while ! test -e /log/go; do sleep 0.01; done; "

// mountLate mounts something on the host below a running container's bind source.
func mountLate(w *world, c *container, src string) {
	w.Helper()
	c.prints("ready")
	w.must(syscall.Mount("tmpfs", src+"/late", "tmpfs", 0, "size=1m"))
	w.must(os.WriteFile(src+"/late/new", nil, 0o644))
	w.must(os.WriteFile(w.dir+"/log/go", nil, 0o644))
	c.prints("end")
}

func TestPropagation(t *testing.T) {
	w := newWorld(t)
	src := sharedSource(w)
	defer syscall.Unmount(src, syscall.MNT_DETACH)
	c := w.started(w.bundle(sh(waitForGo+"cat /proc/self/mountinfo; ls /slave/late /private/late; mount -t tmpfs none /slave/inside && echo mounted; echo end; exec probe term"),
		writable, logged(w), caps("CAP_SYS_ADMIN"), bind(src, "/slave", "rslave"), bind(src, "/private", "rprivate"), mount("bind", src, "/unbindable", "bind", "unbindable")))
	mountLate(w, c, src)
	out := c.stdout()
	holds(w, "late mount", out, "/slave/late:\nnew", "mounted")
	if strings.Contains(out, "/private/late:\nnew") {
		t.Error("a private mount got the host's later one")
	}
	m := parseMounts(out)
	for point, want := range map[string]string{"/slave": "master:", "/unbindable": "unbindable"} {
		if o := at(w, m, point).optional; !strings.Contains(o, want) {
			t.Errorf("%s: propagation %q", point, o)
		}
	}
	expect(w, "propagation of /private", at(w, m, "/private").optional, "")
	expect(w, "the container's mount on the host", len(mountsOf("self", src+"/inside")), 0)
	c.delete("--force")
	syscall.Unmount(src+"/late", syscall.MNT_DETACH)
}

// Mounts in an rshared bind reach the host, and the other way round. Docker then sets rootfsPropagation too.
func TestSharedPropagation(t *testing.T) {
	w := newWorld(t)
	src := sharedSource(w)
	defer syscall.Unmount(src, syscall.MNT_DETACH)
	c := w.started(w.bundle(sh(waitForGo+"cat /proc/self/mountinfo; ls /shared/late; mount -t tmpfs none /shared/inside && echo mounted; echo end; exec probe term"),
		func(s *specs.Spec) { s.Linux.RootfsPropagation = "shared" }, writable, logged(w), caps("CAP_SYS_ADMIN"), bind(src, "/shared", "rshared")))
	mountLate(w, c, src)
	holds(w, "late mount", c.stdout(), "\nnew\n", "mounted")
	if o := at(w, parseMounts(c.stdout()), "/shared").optional; !strings.Contains(o, "shared:") {
		t.Errorf("/shared: propagation %q", o)
	}
	if !eventually(waitTimeout/10, func() bool { return len(mountsOf("self", src+"/inside")) == 1 }) {
		t.Error("the container's mount does not show on the host")
	}
	syscall.Unmount(src+"/inside", syscall.MNT_DETACH)
	c.delete("--force")
	syscall.Unmount(src+"/late", syscall.MNT_DETACH)
}

func TestRootfsPropagation(t *testing.T) {
	w := newWorld(t)
	parent := w.dir + "/parent"
	w.must(os.Mkdir(parent, 0o755))
	w.must(syscall.Mount("tmpfs", parent, "tmpfs", 0, "size=64m"))
	defer syscall.Unmount(parent, syscall.MNT_DETACH)
	w.must(syscall.Mount("", parent, "", syscall.MS_SHARED, ""))
	before := len(mountsOf("self", w.dir))
	for value, want := range map[string]string{"": "", "private": "", "rprivate": "", "slave": "", "rslave": "", "shared": "shared:", "rshared": "shared:", "unbindable": "unbindable"} {
		b := w.bundle(args("cat", "/proc/self/mountinfo"), func(s *specs.Spec) { s.Linux.RootfsPropagation = value })
		if strings.HasSuffix(want, ":") {
			// The rootfs lies on a shared mount of the host.
			b.spec.Root.Path = parent + "/rootfs" + value
			w.must(os.CopyFS(b.spec.Root.Path, os.DirFS(b.rootfs()+"/bin/..")))
			b.write()
		}
		got := at(w, parseMounts(w.output(b)), "/").optional
		// A slave of a private parent has no master.
		if want == "" && strings.Contains(got, "shared:") || want != "" && !strings.Contains(got, want) {
			t.Errorf("rootfsPropagation %q: %q", value, got)
		}
		expect(w, "mounts on the host after "+value, len(mountsOf("self", w.dir)), before)
	}
}

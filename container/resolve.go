package container

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"berth/cgroup"
	"berth/plan"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Options of create and run that shape the container itself.
type Options struct {
	NoPivot, NoNewKeyring bool
	PreserveFDs           int // --preserve-fds
	ListenFDs             int // LISTEN_FDS of the environment
	NoCgroup              bool
}

// host is what resolve found out, besides the plan's facts.
type host struct {
	group  *cgroup.Group
	writes []cgroup.Write
}

// resolve reads of the host what the plan of one container depends on. It changes nothing.
func resolve(id string, b *bundle, o *Options) (*plan.Facts, *host, error) {
	f := &plan.Facts{
		ID: id, Bundle: b.path, Rootfs: b.rootfs,
		NoPivot: o.NoPivot, NoNewKeyring: o.NoNewKeyring,
		PreserveFDs: o.PreserveFDs + o.ListenFDs, ListenFDs: o.ListenFDs,
		Seccomp: b.raw.Seccomp != nil, Privileged: os.Geteuid() == 0, Caps: permitted(),
	}
	var nofile unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &nofile) == nil {
		f.NofileHard = nofile.Max
	}
	f.Early = plan.EarlyNamespaces(b.spec)
	f.NoKcore = unix.Access("/proc/kcore", unix.F_OK) != nil
	f.Kinds = sourceKinds(b)
	if p := b.spec.Process; p != nil && !hasHome(p.Env) {
		f.Home = home(b, p.User.UID)
	}
	if l := b.spec.Linux; l != nil {
		if l.RootfsPropagation == "shared" || l.RootfsPropagation == "rshared" {
			f.RootfsParent = mountPoint(b.rootfs)
		}
		f.OwnedByUser = owners(l.Namespaces)
	}
	if err := realProc(b); err != nil {
		return nil, nil, err
	}
	h, err := resolveCgroup(id, b.spec, o, f)
	return f, h, err
}

// permitted is the caller's permitted set of capabilities.
func permitted() uint64 {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return 0
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted)
}

// sourceKinds looks at the sources of bind mounts. One that can't be looked at counts as a
// directory; opening it will say what is wrong.
func sourceKinds(b *bundle) map[int]plan.Kind {
	kinds := map[int]plan.Kind{}
	for i := range b.spec.Mounts {
		m := &b.spec.Mounts[i]
		if m.Source == "" || m.Source[0] != '/' && m.Type != "bind" && m.Type != "" && m.Type != "none" {
			continue
		}
		source := m.Source
		if !path.IsAbs(source) {
			source = path.Join(b.path, source)
		}
		var st unix.Stat_t
		if unix.Stat(source, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			kinds[i] = plan.KindFile
		}
	}
	return kinds
}

func hasHome(env []string) bool {
	for _, e := range env {
		if len(e) >= 5 && e[:5] == "HOME=" {
			return true
		}
	}
	return false
}

// home is the home directory that the container's /etc/passwd gives a user; "/" if none. A
// bind mount over /etc/passwd counts.
func home(b *bundle, uid uint32) string {
	dir, file := b.rootfs, "etc/passwd"
	for _, m := range b.spec.Mounts {
		if path.Clean("/"+m.Destination) == "/etc/passwd" && path.IsAbs(m.Source) {
			dir, file = path.Dir(m.Source), path.Base(m.Source)
		}
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "/"
	}
	defer unix.Close(root)
	// Looked at before it is opened: opening a device can have effects.
	found, err := unix.Openat2(root, file, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return "/"
	}
	defer unix.Close(found)
	var st unix.Stat_t
	if unix.Fstat(found, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "/"
	}
	fd, err := unix.Open("/proc/self/fd/"+itoa(found), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "/"
	}
	defer unix.Close(fd)
	data, _ := readAll(fd, 4<<20)
	return passwdHome(data, uid)
}

func passwdHome(data []byte, uid uint32) string {
	want := []byte(strconv.FormatUint(uint64(uid), 10))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		f := bytes.Split(line, []byte(":"))
		if len(f) >= 7 && bytes.Equal(f[2], want) && len(f[5]) > 0 && bytes.IndexByte(f[5], 0) < 0 {
			return string(f[5])
		}
	}
	return "/"
}

// mountPoint is the root of the mount that holds a path.
func mountPoint(p string) string {
	for ; p != "/"; p = filepath.Dir(p) {
		var st unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, p, 0, 0, &st) == nil && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0 {
			return p
		}
	}
	return "/"
}

// owners tells which of the namespaces that are joined by path belong to the user namespace
// that is joined with them (ioctl_ns(2)).
func owners(list []specs.LinuxNamespace) map[string]bool {
	var user unix.Stat_t
	for _, ns := range list {
		if ns.Type == specs.UserNamespace && ns.Path != "" && unix.Stat(ns.Path, &user) != nil {
			return nil
		}
	}
	if user.Ino == 0 {
		return nil
	}
	owned := map[string]bool{}
	for _, ns := range list {
		if ns.Path != "" && ns.Type != specs.UserNamespace && ownedBy(ns.Path, &user) {
			owned[string(ns.Type)] = true
		}
	}
	return owned
}

func ownedBy(p string, user *unix.Stat_t) bool {
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	owner, err := unix.IoctlRetInt(fd, unix.NS_GET_USERNS)
	if err != nil {
		return false
	}
	defer unix.Close(owner)
	var st unix.Stat_t
	return unix.Fstat(owner, &st) == nil && st.Ino == user.Ino && st.Dev == user.Dev
}

// smallMemory is the memory limit below which a container enters its cgroup only after its
// mounts are made: what those need is not its own.
const smallMemory = 16 << 20

func resolveCgroup(id string, spec *specs.Spec, o *Options, f *plan.Facts) (*host, error) {
	h := &host{group: cgroup.Disabled()}
	hierarchies, err := cgroup.Detect()
	if err != nil {
		return nil, err
	}
	l := spec.Linux
	if l == nil {
		l = &specs.Linux{}
	}
	cgroupNS, userNS := false, false
	for _, ns := range l.Namespaces {
		cgroupNS = cgroupNS || ns.Type == specs.CgroupNamespace
		userNS = userNS || ns.Type == specs.UserNamespace
	}
	if h.writes, err = cgroup.Writes(l, hierarchies.Facts()); err != nil {
		return nil, err
	}
	if o.NoCgroup {
		f.Cgroup = cgroupFacts(hierarchies, h.group, cgroupNS, userNS)
		return h, h.dropWrites()
	}
	if h.group, err = hierarchies.Resolve(l.CgroupsPath, id, false); err != nil {
		return nil, err
	}
	f.Cgroup = cgroupFacts(hierarchies, h.group, cgroupNS, userNS)
	small := l.Resources != nil && l.Resources.Memory != nil && l.Resources.Memory.Limit != nil &&
		*l.Resources.Memory.Limit > 0 && *l.Resources.Memory.Limit < smallMemory
	f.IntoCgroup = hierarchies.V2 && !small
	return h, nil
}

// dropWrites: without cgroups there are no device rules, as the caller asked; but a limit that
// would not hold is an error.
func (h *host) dropWrites() error {
	for i := range h.writes {
		if w := &h.writes[i]; w.Controller != "devices" {
			return &plan.SpecError{Path: w.Field, Msg: "needs a cgroup, and --cgroup-manager is disabled"}
		}
	}
	h.writes = nil
	return nil
}

// realProc: what is bound over /proc has to be the root of a procfs, so that nobody can pass
// off files as the kernel's.
func realProc(b *bundle) error {
	for i, m := range b.spec.Mounts {
		if path.Clean("/"+m.Destination) != "/proc" || !plan.IsBind(&m) {
			continue
		}
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Statfs(m.Source, &fs) == nil && unix.Stat(m.Source, &st) == nil &&
			(fs.Type != unix.PROC_SUPER_MAGIC || st.Ino != 1) {
			return &plan.SpecError{Path: fmt.Sprintf("mounts[%d].source", i), Msg: "only a procfs may be bound on /proc"}
		}
	}
	return nil
}

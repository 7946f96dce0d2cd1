package plan

// Facts is all that a plan needs to know besides the specification: what the caller asked
// on the command line and what the host has. package container fills it.
type Facts struct {
	ID     string
	Bundle string // absolute
	Rootfs string // absolute, host path
	// RootfsParent is the mount point of the mount that holds Rootfs; needed only where
	// linux.rootfsPropagation is shared.
	RootfsParent string

	NoPivot, NoNewKeyring bool
	PreserveFDs           int // descriptors 3.. kept in the app: --preserve-fds plus ListenFDs
	ListenFDs             int // of these, from LISTEN_FDS
	Home                  string
	Kinds                 map[int]Kind // of the sources of bind mounts, by index in mounts
	// Namespaces that linux.namespaces joins by path and that the user namespace of the
	// same list owns (they are joined after it), by type.
	OwnedByUser map[string]bool
	NoKcore     bool   // the host has no /proc/kcore for /dev/core to point to
	Privileged  bool   // root in the initial sense: may open any path, join and map anything
	Seccomp     bool   // linux.seccomp is there (package specjson leaves it undecoded)
	NofileHard  uint64 // the caller's hard RLIMIT_NOFILE
	Caps        uint64 // capabilities that can be granted (bit = capability)
	Cgroup      CgroupFacts
	// Early are new namespaces (CLONE_NEW*) that a thread of stage0 is already in when it clones
	// the first process; of a network namespace lo is up.
	Early uint64
	// IntoCgroup: the first process is cloned straight into its only cgroup (v2), so that its
	// cgroup namespace can be made by the clone too.
	IntoCgroup bool
}

// Kind says what a bind mount's source is.
type Kind uint8

const (
	KindDir  Kind = iota // a directory, or not known
	KindFile             // anything else
)

// CgroupFacts describes the cgroups that a mount of type "cgroup" shows.
type CgroupFacts struct {
	Version int // 0: none, 1 (hybrid included), 2
	Mounts  []CgroupMount
	Links   [][2]string // v1: symlinks beside Mounts, name and target ("cpu", "cpu,cpuacct")
	// Join lists the v1 "tasks" files by which stage1 enters its cgroups itself; empty where
	// stage0 moves it.
	Join []string
}

// CgroupMount is one hierarchy below the container's /sys/fs/cgroup (v1), or all of it (v2,
// with an empty Name).
type CgroupMount struct {
	Name    string // directory below the mount, for instance "cpu,cpuacct"
	Source  string // the container's cgroup on the host
	Type    string // cgroup or cgroup2
	Options string // of a fresh mount in a cgroup namespace
}

// SpecError is a mistake in config.json, or something that berth does not do.
type SpecError struct {
	Path string // JSON path, for instance mounts[3].options[1]
	Msg  string
}

func (e *SpecError) Error() string {
	if e.Path == "" {
		return "config.json: " + e.Msg
	}
	return "config.json: " + e.Path + ": " + e.Msg
}

// UnsupportedError is a field that this version of berth does not apply.
type UnsupportedError struct{ Path string }

func (e *UnsupportedError) Error() string { return "not supported yet: " + e.Path }

package container

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MinKernel is the oldest kernel that berth runs on (what every plan needs is there since
// mount_setattr(2) of 5.12 and what goes with it in 5.14, the oldest kernel of a distribution
// that is still supported).
const MinKernel = "5.14"

// KernelNeed is something newer than MinKernel, or that a host around may refuse, with what
// berth does without it.
type KernelNeed struct {
	Feature, Since, Instead string
}

// KernelNeeds is the one table of them (docs/kernel.md prints it).
var KernelNeeds = []KernelNeed{
	{"memfd_create MFD_EXEC", "6.3", "memfd_create without the flag (EINVAL)"},
	{"memfd_create of an executable", "3.17", "vm.memfd_noexec=2 (EACCES): an unnamed file (O_TMPFILE), read-only"},
	{"F_SEAL_EXEC", "6.3", "the other seals"},
	{"clone3 CLONE_INTO_CGROUP", "5.7", "clone, then the move into the cgroup (ENOSYS, EPERM)"},
	{"move of oneself by v1 tasks without an RCU wait", "5.18", "the same, slower"},
	{"close_range CLOSE_RANGE_CLOEXEC", "5.11", "fcntl on each descriptor (ENOSYS, EPERM)"},
	{"fsopen of proc", "5.2", "a clone of /proc (ENOSYS, EPERM, EACCES)"},
	{"open_tree of a detached mount", "6.15", "the first masked path takes the mount itself"},
	{"faccessat2", "5.8", "faccessat (ENOSYS, EPERM)"},
	{"cgroup.kill", "5.14", "signals until the cgroup is empty"},
}

// KernelError is a kernel that is too old.
type KernelError struct{ Release string }

func (e *KernelError) Error() string {
	return "berth needs Linux " + MinKernel + " or newer: this is " + e.Release
}

// checkKernel asks for the one version that everything else builds on.
func checkKernel() error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return wrap("uname", "", err)
	}
	return checkRelease(unix.ByteSliceToString(u.Release[:]))
}

func checkRelease(release string) error {
	if !newerOrSame(release, MinKernel) {
		return &KernelError{release}
	}
	return nil
}

// newerOrSame compares "major.minor" at the head of two release strings; one that can't be
// read counts as new.
func newerOrSame(release, than string) bool {
	a, okA := majorMinor(release)
	b, okB := majorMinor(than)
	return !okA || !okB || a[0] > b[0] || a[0] == b[0] && a[1] >= b[1]
}

func majorMinor(release string) (v [2]int, ok bool) {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	for i := range v {
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

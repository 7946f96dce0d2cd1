package seccomp

import (
	"crypto/sha256"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// knownFlags are the filter flags this program knows: all up to WAIT_KILLABLE_RECV (Linux 5.19).
const knownFlags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_LOG |
	unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER |
	unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | flagWaitKillableRecv

const flagWaitKillableRecv = 1 << 5

// kernelFlags asks the kernel which filter flags it has. Actions need no question of their own:
// each came with a flag (LOG and KILL_PROCESS with FLAG_LOG in 4.14, USER_NOTIF with
// FLAG_NEW_LISTENER in 5.0). Asked of the kernel rather than read from its release: the answer
// holds for back-ports, rebuilt kernels and outer filters alike.
func kernelFlags() uint64 {
	// On every kernel since 5.19 this is one syscall. In a user's outer filter it may be EPERM.
	if hasFlags(knownFlags) {
		return knownFlags
	}
	var have uint64
	for bit := uint64(1); bit <= knownFlags; bit <<= 1 {
		ask := bit
		if bit == flagWaitKillableRecv {
			ask |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER // EINVAL without
		}
		if knownFlags&bit != 0 && hasFlags(ask) {
			have |= bit
		}
	}
	return have
}

// hasFlags passes no program: EFAULT says that the flags were accepted, EINVAL that they were not.
func hasFlags(flags uint64) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, uintptr(flags), 0)
	return errno == unix.EFAULT
}

// key names a cache entry: all that the result depends on.
type key [sha256.Size]byte

func cacheKey(profile []byte, kernel uint64) key {
	h := sha256.New()
	// helperID is the helper's hash and libseccomp's version. Lines can't be mistaken for one
	// another, and the profile is last.
	h.Write([]byte("berth seccomp 1\n" + helperID + runtime.GOARCH + "\n" + mask(kernel) + "\n"))
	h.Write(profile)
	var k key
	h.Sum(k[:0])
	return k
}

func mask(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

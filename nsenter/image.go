package nsenter

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Name is stage1's name in /proc/PID/comm and its argv[0], from its first instruction until it executes
// the app. It is stable: security rules may match it.
const Name = "berth-stage1"

const (
	mfdExec   = 0x10 // Linux 6.3
	fSealExec = 0x20 // Linux 6.3
	seals     = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
)

// tmpDirs are where an unnamed file goes when vm.memfd_noexec=2 forbids executable memfds; the first
// that only root writes, on a file system that executes, is taken.
var tmpDirs = [...]string{"/run", "/var/lib", "/var/cache", "/usr/local", "/root", "/"}

// executable returns a descriptor of stage1's image, at least from on, that nothing can change.
// CVE-2019-5736: what a container finds at /proc/PID/exe is sealed, or gone after this launch.
func executable(userns bool, from int) (int, error) {
	fd, err := newMemfd()
	if err == syscall.EACCES {
		fd, err = newTmpfile(userns)
	}
	if err != nil {
		return -1, err
	}
	if fd >= from {
		return fd, nil
	}
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, from)
	unix.Close(fd)
	if err != nil {
		return -1, &Error{"duplicate stage1's image", err}
	}
	return high, nil
}

// newMemfd returns the bare EACCES of vm.memfd_noexec=2.
func newMemfd() (int, error) {
	fd, err := unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|mfdExec)
	if err == syscall.EINVAL {
		fd, err = unix.MemfdCreate(Name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err == syscall.EACCES {
		return -1, err
	}
	if err != nil {
		return -1, &Error{"memfd_create", err}
	}
	if err = fillImage(fd); err == nil {
		err = seal(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func seal(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals|fSealExec)
	if err == syscall.EINVAL {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		return &Error{"seal stage1's memfd", err}
	}
	return nil
}

func fillImage(fd int) error {
	for b := image; len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &Error{"write stage1's image", err}
		}
		b = b[n:]
	}
	return nil
}

// newTmpfile puts the image into a file without a name, for this launch alone. A mapped root that is not
// the file's owner must still be able to execute it.
func newTmpfile(userns bool) (int, error) {
	mode := uint32(0o500)
	if userns {
		mode = 0o555
	}
	for _, dir := range tmpDirs {
		if !rootOnly(dir) {
			continue
		}
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode)
		if err != nil {
			continue
		}
		return reopenFilled(fd, mode)
	}
	return -1, &Error{"memfd_create", noexecError{}}
}

type noexecError struct{}

func (noexecError) Error() string {
	return "vm.memfd_noexec=2, and no directory that only root writes takes an executable file"
}
func (noexecError) Unwrap() error { return syscall.EACCES }

// rootOnly: a directory of ours that nobody else writes, where programs may be executed.
func rootOnly(dir string) bool {
	var st unix.Stat_t
	var fs unix.Statfs_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR &&
		st.Uid == uint32(unix.Geteuid()) && st.Mode&0o022 == 0 &&
		unix.Statfs(dir, &fs) == nil && fs.Flags&(unix.ST_NOEXEC|unix.ST_RDONLY) == 0
}

// reopenFilled trades the writable descriptor for a read-only one: execve refuses a file that anyone
// may write (ETXTBSY).
func reopenFilled(w int, mode uint32) (int, error) {
	defer unix.Close(w)
	if err := fillImage(w); err != nil {
		return -1, err
	}
	if err := unix.Fchmod(w, mode); err != nil { // whatever the umask was
		return -1, &Error{"chmod stage1's image", err}
	}
	r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(w), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == syscall.ENOENT {
		err = ErrNoProc
	}
	if err != nil {
		return -1, &Error{"reopen stage1's image", err}
	}
	return r, nil
}

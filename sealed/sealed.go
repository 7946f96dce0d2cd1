// Package sealed turns an embedded program into a file that can be executed and that nothing
// can change or use again (CVE-2019-5736): a sealed memfd or, where the host forbids executable
// memfds, an unnamed file for one run. It never executes anything.
package sealed

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	mfdExec   = 0x10 // Linux 6.3
	fSealExec = 0x20 // Linux 6.3
	seals     = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
)

// ErrNoProc: what berth executes from a descriptor goes through /proc/self/fd.
var ErrNoProc = errors.New("/proc is not mounted: berth's own programs are executed from /proc/self/fd")

// Error is a step that failed; it unwraps to the errno.
type Error struct {
	Op  string
	Err error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

type noexecError struct{}

func (noexecError) Error() string {
	return "vm.memfd_noexec=2, and no directory that only this user writes takes an executable file"
}
func (noexecError) Unwrap() error { return syscall.EACCES }

// File returns a close-on-exec descriptor of a file that holds image. With others, also a
// process that is not its owner may execute it (the mapped root of a user namespace). name is
// what /proc/PID/exe shows of a memfd: "/memfd:NAME (deleted)".
func File(name, image string, others bool) (int, error) {
	fd, err := memfd(name, image)
	if err == syscall.EACCES {
		return unnamed(image, others)
	}
	return fd, err
}

// memfd returns the bare EACCES of vm.memfd_noexec=2.
func memfd(name, image string) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|mfdExec)
	if err == syscall.EINVAL {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err == syscall.EACCES {
		return -1, err
	}
	if err != nil {
		return -1, &Error{"memfd_create", err}
	}
	if err = fill(fd, image); err == nil {
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
		return &Error{"seal memfd", err}
	}
	return nil
}

func fill(fd int, image string) error {
	for len(image) > 0 {
		n, err := unix.Write(fd, unsafeBytes(image))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &Error{"write embedded program", err}
		}
		image = image[n:]
	}
	return nil
}

// dirs are where an unnamed file goes: the first that only the caller writes, on a file system
// that executes.
func dirs() []string {
	if os.Geteuid() == 0 {
		return []string{"/run", "/var/lib", "/var/cache", "/usr/local", "/root", "/"}
	}
	return []string{os.Getenv("XDG_RUNTIME_DIR"), os.Getenv("HOME")}
}

func unnamed(image string, others bool) (int, error) {
	mode := uint32(0o500)
	if others {
		mode = 0o555
	}
	for _, dir := range dirs() {
		if !private(dir) {
			continue
		}
		if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, mode); err == nil {
			return reopen(fd, image, mode)
		} // else a file system without O_TMPFILE, or full
	}
	return -1, &Error{"memfd_create", noexecError{}}
}

// private: a directory of the caller's that nobody else writes, where programs may be executed.
func private(dir string) bool {
	var st unix.Stat_t
	var fs unix.Statfs_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR &&
		st.Uid == uint32(os.Geteuid()) && st.Mode&0o022 == 0 &&
		unix.Statfs(dir, &fs) == nil && fs.Flags&(unix.ST_NOEXEC|unix.ST_RDONLY) == 0
}

// reopen fills w and trades it for a read-only descriptor: execve(2) refuses a file that
// anyone has open for writing (ETXTBSY).
func reopen(w int, image string, mode uint32) (int, error) {
	defer unix.Close(w)
	if err := fill(w, image); err != nil {
		return -1, err
	}
	if err := unix.Fchmod(w, mode); err != nil { // whatever the umask was
		return -1, &Error{"chmod embedded program", err}
	}
	r, err := unix.Open("/proc/self/fd/"+strconv.Itoa(w), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == syscall.ENOENT {
		err = ErrNoProc
	}
	if err != nil {
		return -1, &Error{"reopen embedded program", err}
	}
	return r, nil
}

package seccomp

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const imageName = "berth-helper"

const (
	seals    = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	sealExec = 0x20 // F_SEAL_EXEC, since Linux 6.3
)

// imageDirs are tried in turn where vm.memfd_noexec=2 forbids executable memfds. Root's come
// first; a user's own are below XDG_RUNTIME_DIR and HOME.
func imageDirs() []string {
	if os.Geteuid() == 0 {
		return []string{"/run", "/var/lib", "/var/cache", "/usr/local", "/root", "/"}
	}
	return []string{os.Getenv("XDG_RUNTIME_DIR"), os.Getenv("HOME")}
}

// helperFile returns the helper as a file that can be executed and that nothing can change or
// use again: a sealed memfd, or else an unnamed file for this one run.
func helperFile() (*os.File, error) {
	file, err := sealedFile()
	if errors.Is(err, unix.EACCES) {
		return unnamedFile()
	}
	return file, err
}

func sealedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate(imageName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // MFD_EXEC came with Linux 6.3
		fd, err = unix.MemfdCreate(imageName, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), imageName)
	_, err = file.WriteString(helperImage)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals|sealExec)
	}
	if errors.Is(err, unix.EINVAL) {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("make the sealed memfd: %w", err)
	}
	return file, nil
}

func unnamedFile() (*os.File, error) {
	for _, dir := range imageDirs() {
		if !private(dir) {
			continue
		}
		fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o500)
		if err != nil {
			continue // a file system without O_TMPFILE, or full
		}
		return readOnly(os.NewFile(uintptr(fd), imageName))
	}
	return nil, errors.New("vm.memfd_noexec=2, and no directory that only this user writes takes an executable file")
}

// private: a directory that only the caller writes, where programs may be executed.
func private(dir string) bool {
	var st unix.Stat_t
	var fs unix.Statfs_t
	return unix.Lstat(dir, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR &&
		st.Uid == uint32(os.Geteuid()) && st.Mode&0o022 == 0 &&
		unix.Statfs(dir, &fs) == nil && fs.Flags&(unix.ST_NOEXEC|unix.ST_RDONLY) == 0
}

// readOnly fills w and trades it for a descriptor that can't write: execve(2) refuses a file
// that anyone has open for writing (ETXTBSY).
func readOnly(w *os.File) (*os.File, error) {
	defer w.Close()
	if _, err := w.WriteString(helperImage); err != nil {
		return nil, err
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
}

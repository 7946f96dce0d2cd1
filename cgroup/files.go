package cgroup

import (
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The files of cgroupfs and procfs are small: one read, no os.File, no poller.

func readFile(path string) ([]byte, error) {
	return readAt(unix.AT_FDCWD, path, path)
}

// readAt reads name in the directory dirfd; path is what errors say.
func readAt(dirfd int, name, path string) ([]byte, error) {
	fd, err := openat(dirfd, name, syscall.O_RDONLY)
	if err != nil {
		return nil, opError("open", path, err)
	}
	defer syscall.Close(fd)
	buf := make([]byte, 4096)
	n := 0
	for {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, opError("read", path, err)
		}
		if m == 0 {
			return buf[:n], nil
		}
		n += m
	}
}

// openat never follows a symlink in the last component and leaves nothing to children.
func openat(dirfd int, name string, flags int) (int, error) {
	for {
		fd, err := syscall.Openat(dirfd, name, flags|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// openDir opens a directory that must be on a cgroup file system: a limit written to
// a file elsewhere would hold nobody back.
func openDir(path string) (int, error) {
	fd, err := openat(unix.AT_FDCWD, path, syscall.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return -1, opError("open", path, err)
	}
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(fd, &st); err != nil {
		syscall.Close(fd)
		return -1, opError("statfs", path, err)
	}
	if st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC {
		syscall.Close(fd)
		return -1, opError("open", path, ErrNotCgroupfs)
	}
	return fd, nil
}

// writeFD writes in one write(2): cgroup files take a value whole or not at all.
func writeFD(fd int, value string) error {
	for {
		_, err := syscall.Write(fd, unsafe.Slice(unsafe.StringData(value), len(value)))
		if err != syscall.EINTR {
			return err
		}
	}
}

func writeAt(dirfd int, name, value string) error {
	fd, err := openat(dirfd, name, syscall.O_WRONLY)
	if err != nil {
		return err
	}
	err = writeFD(fd, value)
	syscall.Close(fd)
	return err
}

func readlink(path string) (string, error) {
	buf := make([]byte, 256)
	n, err := syscall.Readlink(path, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

type dirent struct {
	name string
	kind byte
}

// readDir lists a directory with the type of each entry, which os.ReadDir would sort
// and wrap.
func readDir(path string) ([]dirent, error) {
	fd, err := openat(unix.AT_FDCWD, path, syscall.O_RDONLY|syscall.O_DIRECTORY)
	if err != nil {
		return nil, opError("open", path, err)
	}
	defer syscall.Close(fd)
	list, err := readDirFD(fd)
	if err != nil {
		return nil, opError("read", path, err)
	}
	return list, nil
}

func readDirFD(fd int) ([]dirent, error) {
	var list []dirent
	buf := make([]byte, 4096)
	for {
		n, err := syscall.Getdents(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return list, nil
		}
		list = appendDirents(list, buf[:n])
	}
}

// appendDirents decodes struct linux_dirent64: inode and offset (8 bytes each), length
// of the record (2), type (1), name.
func appendDirents(list []dirent, buf []byte) []dirent {
	const head = 19
	for len(buf) > head {
		size := int(buf[16]) | int(buf[17])<<8
		if size <= head || size > len(buf) {
			break
		}
		name := buf[head:size]
		end := 0
		for end < len(name) && name[end] != 0 {
			end++
		}
		if s := string(name[:end]); s != "." && s != ".." {
			list = append(list, dirent{s, buf[18]})
		}
		buf = buf[size:]
	}
	return list
}

// parent of an absolute clean path.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// join puts a path below another, both absolute and clean.
func join(dir, path string) string {
	if path == "/" || path == "" {
		return dir
	}
	if dir == "/" {
		return "/" + strings.TrimPrefix(path, "/")
	}
	return dir + "/" + strings.TrimPrefix(path, "/")
}

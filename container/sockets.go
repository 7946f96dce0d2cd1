package container

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dialUnix connects to a unix socket. A path longer than a socket address goes by its
// directory's descriptor.
func dialUnix(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	name := path
	if len(name) >= 108 {
		dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
		defer unix.Close(dir)
		name = "/proc/self/fd/" + itoa(dir) + "/" + filepath.Base(path)
	}
	err = ignoreEINTR(func() error { return unix.Connect(fd, &unix.SockaddrUnix{Name: name}) })
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sendFD passes a descriptor, with a name as the message (as runc's console socket does).
func sendFD(sock int, name string, fd int) error {
	return ignoreEINTR(func() error {
		return unix.Sendmsg(sock, []byte(name), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	})
}

// writePidFile puts the pid, without a newline, in place whole: nobody reads half a number.
func writePidFile(path string, pid int) error {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+itoa(os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return unwrapPath(err)
	}
	_, err = f.WriteString(itoa(pid))
	f.Close()
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return unwrapPath(err)
}

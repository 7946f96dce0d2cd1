package container

import (
	"errors"
	"os"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

// Files in a container's state directory.
const (
	recordFile = "berth.json"
	stateFile  = "state.json"
	fifoName   = "exec.fifo"
)

// Store is the directory (--root) that holds one directory for each container and nothing
// else. Two locks order what happens in it, both by flock(2): that of the store itself, held
// only while a directory is made or removed; that of a container's directory, held by
// whoever changes the container (create from beginning to end).
type Store struct{ Root string }

// stateDir is an open and locked state directory.
type stateDir struct {
	fd   int
	path string
	held bool // this process holds the lock
}

func (d *stateDir) close() {
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd, d.held = -1, false
	}
}

func ignoreEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func flock(fd, how int) error {
	return ignoreEINTR(func() error { return unix.Flock(fd, how) })
}

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

// lockRoot opens the store and locks it. With create, it is made if missing.
func (s Store) lockRoot(create bool) (int, error) {
	fd, err := unix.Open(s.Root, openDir, 0)
	if err == unix.ENOENT && create {
		if err := os.MkdirAll(s.Root, 0o700); err != nil {
			return -1, err
		}
		fd, err = unix.Open(s.Root, openDir, 0)
	}
	if err != nil {
		return -1, wrap("open", s.Root, err)
	}
	if err = private(fd); err == nil {
		err = lockSoon(fd, lockWait)
	}
	if err != nil {
		unix.Close(fd)
		return -1, wrap("lock", s.Root, err)
	}
	return fd, nil
}

// errNotPrivate: another user could put words into our mouth.
var errNotPrivate = errors.New("it belongs to another user or can be written by others (chmod go-w it, or choose another --root)")

// private checks that nobody but the caller writes to a directory.
func private(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Uid != uint32(os.Geteuid()) || st.Mode&0o022 != 0 {
		return errNotPrivate
	}
	return nil
}

// lockSoon takes a lock, or fails with EWOULDBLOCK when the time is up.
func lockSoon(fd int, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
		err := flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK || time.Now().After(end) {
			return err
		}
	}
}

// claim makes the directory of a new container and holds its lock.
func (s Store) claim(id string) (*stateDir, error) {
	root, err := s.lockRoot(true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(root)
	d := &stateDir{fd: -1, path: s.Root + "/" + id}
	if err := unix.Mkdirat(root, id, 0o700); err == unix.EEXIST {
		return nil, ErrExists
	} else if err != nil {
		return nil, wrap("create", d.path, err)
	}
	if d.fd, err = unix.Openat(root, id, openDir|unix.O_NOFOLLOW, 0); err == nil {
		err = flock(d.fd, unix.LOCK_EX) // readers probe it for an instant
	}
	d.held = err == nil
	if err != nil {
		d.close()
		unix.Unlinkat(root, id, unix.AT_REMOVEDIR)
		return nil, wrap("lock", d.path, err)
	}
	return d, nil
}

// open gives the directory of an existing container, not locked.
func (s Store) open(id string) (*stateDir, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	d := &stateDir{path: s.Root + "/" + id}
	var err error
	d.fd, err = unix.Open(d.path, openDir|unix.O_NOFOLLOW, 0)
	switch err {
	case nil:
		if err := private(d.fd); err != nil {
			d.close()
			return nil, &BrokenError{id, err}
		}
		return d, nil
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil, ErrNotExist
	}
	return nil, wrap("open", d.path, err)
}

// lockWait is how long a verb waits for another one on the same container to end.
const lockWait = 10 * time.Second

// lock takes the container's lock, and checks that the directory is still there.
func (d *stateDir) lock(id string, wait time.Duration) error {
	if err := lockSoon(d.fd, wait); err == unix.EWOULDBLOCK {
		return &BusyError{id}
	} else if err != nil {
		return wrap("lock", d.path, err)
	}
	d.held = true
	return d.gone()
}

// locked tells whether somebody else works on the container.
func (d *stateDir) locked() bool {
	if d.held {
		return false
	}
	if flock(d.fd, unix.LOCK_SH|unix.LOCK_NB) != nil {
		return true
	}
	flock(d.fd, unix.LOCK_UN)
	return false
}

// read returns a file of the directory; nil if it is not there.
func (d *stateDir) read(name string) ([]byte, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("open", d.path+"/"+name, err)
	}
	defer unix.Close(fd)
	data, err := readAll(fd, 16<<20)
	return data, wrap("read", d.path+"/"+name, err)
}

// readAll reads a whole file of at most max bytes.
func readAll(fd, max int) ([]byte, error) {
	buf := make([]byte, 0, 16<<10)
	for {
		if len(buf) == cap(buf) {
			if len(buf) >= max {
				return nil, unix.EFBIG
			}
			buf = append(buf, make([]byte, len(buf))...)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// write puts a file in place whole: a reader sees the old one or the new one. It is not
// fsynced: after a crash of the machine no container is left for it to describe.
func (d *stateDir) write(name string, data []byte) error {
	tmp := "." + name + ".tmp"
	fd, err := unix.Openat(d.fd, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		err = writeAll(fd, data)
		unix.Close(fd)
	}
	if err == nil {
		err = unix.Renameat(d.fd, tmp, d.fd, name)
	}
	if err != nil {
		unix.Unlinkat(d.fd, tmp, 0)
	}
	return wrap("write", d.path+"/"+name, err)
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// remove deletes the directory. The known files go by name; anything else is listed.
func (s Store) remove(d *stateDir, id string) error {
	root, err := s.lockRoot(false)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	for _, f := range []string{fifoName, stateFile, recordFile} {
		unix.Unlinkat(d.fd, f, 0)
	}
	err = unix.Unlinkat(root, id, unix.AT_REMOVEDIR)
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		err = os.RemoveAll(d.path)
	}
	if err == unix.ENOENT {
		err = nil
	}
	return wrap("remove", d.path, err)
}

// IDs lists the containers, sorted. What is no directory, or has no valid id as its name, is
// not a container.
func (s Store) IDs() ([]string, error) {
	entries, err := os.ReadDir(s.Root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() && CheckID(e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

// unlock lets others work on the container; the directory stays open.
func (d *stateDir) unlock() {
	if d.held {
		flock(d.fd, unix.LOCK_UN)
		d.held = false
	}
}

// gone: the directory was deleted.
func (d *stateDir) gone() error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil || st.Nlink == 0 {
		return ErrNotExist
	}
	return nil
}

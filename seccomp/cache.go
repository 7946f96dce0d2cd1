package seccomp

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"berth/seccomp/wire"

	"golang.org/x/sys/unix"
)

// An entry is one file, named by its key: this header, then a wire.Filter.
//
//	8 bytes   magic, with the format's version
//	32 bytes  the key again: a file under another name is not taken for the profile's
//	8 bytes   checksum of the rest, little-endian
const (
	magic      = "brthscf1"
	headerSize = len(magic) + len(key{}) + 8
	maxEntry   = 8 << 20 // larger ones are not stored, and not read
)

// The cache as a whole; see evict.
const (
	maxEntries = 256
	maxBytes   = 32 << 20
)

// cache is an open cache directory. That directory and its entries belong to the caller and
// nobody else can write them, or the cache is not used: whoever can write an entry chooses the
// filter of the next container.
type cache struct {
	fd  int
	dir string
	uid uint32
}

// CacheError says why the cache, or one entry of it, was not used.
type CacheError struct {
	Path string
	Err  error
}

func (e *CacheError) Error() string { return "seccomp cache: " + e.Path + ": " + e.Err.Error() }
func (e *CacheError) Unwrap() error { return e.Err }

// DefaultCacheDir is /var/cache/berth for root, else berth in the user's cache directory
// (XDG Base Directory Specification).
func DefaultCacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/berth", nil
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "berth"), nil
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "berth"), nil
	}
	return "", errors.New("seccomp cache: neither XDG_CACHE_HOME nor HOME is an absolute path")
}

func openCache(dir string) (*cache, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	c := &cache{dir: dir, uid: uint32(os.Geteuid())}
	fd, err := unix.Open(dir, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := makeDir(dir); err != nil {
			return nil, &CacheError{dir, err}
		}
		fd, err = unix.Open(dir, flags, 0)
	}
	if err != nil {
		return nil, &CacheError{dir, err}
	}
	c.fd = fd
	if _, err := c.owned(fd, unix.S_IFDIR); err != nil {
		c.close()
		return nil, &CacheError{dir, err}
	}
	return c, nil
}

func makeDir(dir string) error {
	parents := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		parents = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(dir), parents); err != nil {
		return err
	}
	if err := unix.Mkdir(dir, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func (c *cache) close() { unix.Close(c.fd) }

// owned checks that fd is of the given type, the caller's, and nobody else's to read or write.
// An ACL can't hide from this: its mask is the mode's group bits.
func (c *cache) owned(fd int, format uint32) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != format:
		return nil, errors.New("wrong type of file; not used")
	case st.Uid != c.uid:
		return nil, fmt.Errorf("owned by uid %d; not used", st.Uid)
	case st.Mode&0o077 != 0:
		return nil, fmt.Errorf("mode %#o lets other users in; not used", st.Mode&0o777)
	}
	return &st, nil
}

// lookup returns the entry of k, or nil if there is none. An error says why one was not used.
func (c *cache) lookup(k key) (*wire.Filter, error) {
	var name [2 * len(k)]byte
	hex.Encode(name[:], k[:])
	// O_NONBLOCK: a FIFO must not hold a create up.
	fd, err := unix.Openat(c.fd, string(name[:]), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err == nil {
		defer unix.Close(fd)
		var f *wire.Filter
		if f, err = c.read(fd, k); err == nil {
			return f, nil
		}
	}
	return nil, &CacheError{filepath.Join(c.dir, string(name[:])), err}
}

var errDamaged = errors.New("damaged; not used")

func (c *cache) read(fd int, k key) (*wire.Filter, error) {
	st, err := c.owned(fd, unix.S_IFREG)
	if err != nil {
		return nil, err
	}
	if st.Size < int64(headerSize) || st.Size > maxEntry {
		return nil, errDamaged
	}
	b := make([]byte, st.Size)
	// Entries are written whole and renamed into place; regular files give all of it at once.
	if n, err := unix.Pread(fd, b, 0); err != nil || n != len(b) {
		return nil, errors.Join(errDamaged, err)
	}
	rest := b[headerSize:]
	sum := binary.LittleEndian.Uint64(b[headerSize-8:])
	if string(b[:len(magic)]) != magic || key(b[len(magic):headerSize-8]) != k || checksum(rest) != sum {
		return nil, errDamaged
	}
	return wire.Decode(rest)
}

// store writes an entry and makes room for it. It is not synced to the disk: after a power
// failure the checksum finds what is cut short, and the profile is compiled again.
func (c *cache) store(k key, f *wire.Filter) error {
	b := make([]byte, headerSize, headerSize+2*len(f.BPF)+len(f.Config))
	copy(b, magic)
	copy(b[len(magic):], k[:])
	b = f.Append(b)
	binary.LittleEndian.PutUint64(b[headerSize-8:], checksum(b[headerSize:]))
	if len(b) > maxEntry {
		return nil
	}
	if err := c.write(hex.EncodeToString(k[:]), b); err != nil {
		return &CacheError{c.dir, fmt.Errorf("store an entry: %w", err)}
	}
	return c.evict()
}

func (c *cache) write(name string, b []byte) error {
	// The process id keeps processes apart, O_EXCL the threads of one and a namesake's leftovers.
	temp := fmt.Sprintf("%s%s.%d", tempPrefix, name[:16], os.Getpid())
	fd, err := unix.Openat(c.fd, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), temp)
	_, err = file.Write(b)
	if err == nil {
		err = file.Chmod(0o600) // whatever the umask is
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = unix.Renameat(c.fd, temp, c.fd, name)
	}
	if err != nil {
		unix.Unlinkat(c.fd, temp, 0)
	}
	return err
}

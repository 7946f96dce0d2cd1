package seccomp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tempPrefix = ".new-"
	tempAge    = time.Minute // a store takes milliseconds: an older one's process was killed
)

type entry struct {
	name  string
	size  int64
	mtime int64
}

// evict removes the oldest entries until the cache is within maxEntries and maxBytes, and what
// killed processes left. Only a store calls it: a cache that is only read can't grow.
func (c *cache) evict() error {
	entries, err := c.list()
	if err != nil {
		return &CacheError{c.dir, err}
	}
	slices.SortFunc(entries, func(a, b entry) int { return int(min(max(a.mtime-b.mtime, -1), 1)) })
	var total int64
	for _, e := range entries {
		total += e.size
	}
	for len(entries) > maxEntries || total > maxBytes {
		// Another process may have been here first.
		if err := unix.Unlinkat(c.fd, entries[0].name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
			return &CacheError{c.dir, fmt.Errorf("remove %s: %w", entries[0].name, err)}
		}
		total -= entries[0].size
		entries = entries[1:]
	}
	return nil
}

// list returns the entries and removes stale temporary files. Files of other names are nobody's
// business here.
func (c *cache) list() ([]entry, error) {
	fd, err := unix.Openat(c.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), c.dir)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, name := range names {
		temp := strings.HasPrefix(name, tempPrefix)
		if !temp && len(name) != 2*len(key{}) {
			continue
		}
		var st unix.Stat_t
		if unix.Fstatat(c.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue // gone meanwhile
		}
		if !temp {
			entries = append(entries, entry{name, st.Size, st.Mtim.Nano()})
		} else if time.Since(time.Unix(st.Mtim.Unix())) > tempAge {
			unix.Unlinkat(c.fd, name, 0)
		}
	}
	return entries, nil
}

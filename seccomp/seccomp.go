// Package seccomp turns the seccomp profile of a container into the BPF program that stage1
// loads, through a cache. It owns the cache and runs the helper, which does the compiling. It
// never parses a profile and never loads a filter.
//
// It is on the hot path of create: a profile that was seen before costs a hash and one small
// file.
package seccomp

import (
	"fmt"
	"strings"

	"berth/seccomp/wire"
)

// Filter is a compiled profile. Its slices are not to be written to.
type Filter struct {
	wire.Filter

	// Warnings say why the cache was not used or an entry was thrown away. The filter is right
	// all the same.
	Warnings []string

	// Cached is true where the filter came from the cache.
	Cached bool
}

// Options of Compile.
type Options struct {
	// CacheDir is an absolute path; "" is DefaultCacheDir(). It is made, 0700, if missing; its
	// parents are made 0755, or 0700 below a user's home.
	CacheDir string

	// NoCache compiles anew and stores nothing.
	NoCache bool
}

// ProfileError is a fault of the profile, named by its path in config.json.
type ProfileError struct {
	Path   string // for instance linux.seccomp.syscalls[3].action
	Reason string
}

func (e *ProfileError) Error() string { return e.Path + ": " + e.Reason }

// Compile returns the filter for profile, the bytes of linux.seccomp in config.json. A Filter
// whose BPF is empty means that the profile asks for none ("null", "{}"). Its error is a
// *ProfileError where the profile is at fault.
func Compile(profile []byte, opts Options) (*Filter, error) {
	kernel := kernelFlags()
	if opts.NoCache {
		return compile(profile, kernel, nil)
	}
	dir := opts.CacheDir
	if dir == "" {
		var err error
		if dir, err = DefaultCacheDir(); err != nil {
			return compile(profile, kernel, []string{err.Error()})
		}
	}
	key := cacheKey(profile, kernel)
	c, err := openCache(dir)
	if err != nil {
		return compile(profile, kernel, []string{err.Error()})
	}
	defer c.close()
	var warnings []string
	f, err := c.lookup(key)
	if err != nil {
		warnings = append(warnings, err.Error())
	} else if f != nil {
		return &Filter{Filter: *f, Cached: true}, nil
	}
	filter, err := compile(profile, kernel, warnings)
	if err != nil {
		return nil, err
	}
	if err := c.store(key, &filter.Filter); err != nil {
		filter.Warnings = append(filter.Warnings, err.Error())
	}
	return filter, nil
}

func compile(profile []byte, kernel uint64, warnings []string) (*Filter, error) {
	out, err := runHelper(profile, "seccomp", mask(kernel))
	if err != nil {
		return nil, err
	}
	f, err := wire.Decode(out)
	if err != nil {
		return nil, fmt.Errorf("seccomp helper: %w", err)
	}
	return &Filter{Filter: *f, Warnings: warnings}, nil
}

// Version is the version of the libseccomp that the helper is linked with, known since the build.
func Version() string {
	_, version, _ := strings.Cut(strings.TrimSpace(helperID), " ")
	return version
}

// Features returns linux.seccomp of the spec's features document, as JSON.
func Features() ([]byte, error) {
	return runHelper(nil, "features", mask(kernelFlags()))
}

// CheckNotify refuses a filter with SCMP_ACT_NOTIFY on a syscall that stage1 has yet to make
// after the filter is loaded, when nobody answers the listener any more: it would wait for ever.
// after is the caller's table of those syscalls.
func CheckNotify(f *Filter, after []string) error {
	for _, name := range f.NotifySyscalls {
		for _, needed := range after {
			if name == needed {
				return &ProfileError{"linux.seccomp.syscalls", "SCMP_ACT_NOTIFY on " + name + ": berth itself makes this call after the filter is loaded"}
			}
		}
	}
	return nil
}

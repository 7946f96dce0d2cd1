package seccomp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/seccomp/wire"

	"golang.org/x/sys/unix"
)

const small = `{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdirat","nosuchcall"],"action":"SCMP_ACT_ERRNO"}]}`

// cached compiles small with the cache in dir.
func cached(t *testing.T, dir string) *Filter {
	t.Helper()
	f, err := Compile([]byte(small), Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.BPF) == 0 || len(f.Config) == 0 {
		t.Fatalf("no filter: %+v", f)
	}
	return f
}

// newDir returns the path of a cache directory that is still to be made.
func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "parent", "berth") }

func entryPath(dir string) string {
	k := cacheKey([]byte(small), kernelFlags())
	return filepath.Join(dir, fmt.Sprintf("%x", k[:]))
}

func TestHitNeedsNoHelper(t *testing.T) {
	dir := newDir(t)
	first := cached(t, dir)
	if first.Cached || first.Warnings != nil {
		t.Fatalf("first: %+v", first)
	}
	image := helperImage
	helperImage = "" // not a program: executing it would fail
	defer func() { helperImage = image }()
	second := cached(t, dir)
	if !second.Cached || second.Warnings != nil || !reflect.DeepEqual(first.Filter, second.Filter) {
		t.Errorf("%+v, first %+v", second, first)
	}
	if _, err := Compile([]byte(small), Options{CacheDir: dir, NoCache: true}); err == nil {
		t.Error("NoCache used the cache")
	}
	for path, want := range map[string]os.FileMode{dir: os.ModeDir | 0o700, entryPath(dir): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode() != want {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
}

func TestKeyCoversWhatTheResultDependsOn(t *testing.T) {
	keys := map[key]string{}
	add := func(what string, k key) {
		if other, ok := keys[k]; ok {
			t.Errorf("%s and %s have one key", what, other)
		}
		keys[k] = what
	}
	add("the profile", cacheKey([]byte(small), knownFlags))
	add("another profile", cacheKey([]byte(small+" "), knownFlags))
	add("another kernel", cacheKey([]byte(small), knownFlags&^flagWaitKillableRecv))
	id := helperID
	defer func() { helperID = id }()
	helperID = "0" + id[1:]
	if helperID == id {
		helperID = "1" + id[1:]
	}
	add("another helper", cacheKey([]byte(small), knownFlags))
	helperID = strings.TrimSpace(id) + "1\n"
	add("another libseccomp", cacheKey([]byte(small), knownFlags))
}

// Whatever another user could have written is not used, and nothing is stored there.
func TestUntrustedDirectory(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"group may write": func(dir string) error { return os.Chmod(dir, 0o770) },
		"all may read":    func(dir string) error { return os.Chmod(dir, 0o755) },
		"owned by uid":    func(dir string) error { return os.Chown(dir, 1234, 0) },
		"symbolic link": func(dir string) error {
			if err := os.Rename(dir, dir+".real"); err != nil {
				return err
			}
			return os.Symlink(dir+".real", dir)
		},
		"a file": func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			cached(t, dir)
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			f := cached(t, dir)
			if f.Cached || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "seccomp cache: "+dir) {
				t.Errorf("cached %v, warnings %q", f.Cached, f.Warnings)
			}
			os.Remove(entryPath(dir))
			cached(t, dir)
			if _, err := os.Stat(entryPath(dir)); err == nil {
				t.Error("stored an entry in it")
			}
		})
	}
}

// A bad entry is reported, compiled anew and replaced.
func TestUntrustedEntry(t *testing.T) {
	rewrite := func(change func([]byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(b), 0o600)
		}
	}
	flip := func(i int) func(string) error {
		return rewrite(func(b []byte) []byte { b[(i+len(b))%len(b)] ^= 1; return b })
	}
	for name, spoil := range map[string]func(path string) error{
		"mode":      func(path string) error { return os.Chmod(path, 0o640) },
		"owner":     func(path string) error { return os.Chown(path, 1234, 0) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"header":    func(path string) error { return os.Truncate(path, int64(headerSize)) },
		"cut":       rewrite(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":    rewrite(func(b []byte) []byte { return append(b, 0) }),
		"magic":     flip(0),
		"key":       flip(len(magic)),
		"checksum":  flip(headerSize - 1),
		"first bit": flip(headerSize),
		"last bit":  flip(-1),
		"huge":      func(path string) error { return os.Truncate(path, 1<<40) },
		"directory": func(path string) error { os.Remove(path); return os.Mkdir(path, 0o700) },
		"fifo":      func(path string) error { os.Remove(path); return unix.Mkfifo(path, 0o600) },
		"symlink": func(path string) error {
			if err := os.Rename(path, path+".real"); err != nil {
				return err
			}
			return os.Symlink(path+".real", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			good := cached(t, dir)
			if err := spoil(entryPath(dir)); err != nil {
				t.Fatal(err)
			}
			f := cached(t, dir)
			if f.Cached || len(f.Warnings) == 0 || !strings.Contains(f.Warnings[0], "seccomp cache: "+entryPath(dir)) {
				t.Errorf("cached %v, warnings %q", f.Cached, f.Warnings)
			}
			if !bytes.Equal(f.BPF, good.BPF) {
				t.Error("another program")
			}
			if again := cached(t, dir); !again.Cached && name != "directory" {
				t.Errorf("not replaced: %q", again.Warnings)
			}
		})
	}
}

// An entry of another profile is not taken for ours under our name.
func TestEntryUnderAnotherName(t *testing.T) {
	dir := newDir(t)
	cached(t, dir)
	k := cacheKey([]byte(`{}`), kernelFlags())
	if err := os.Rename(entryPath(dir), filepath.Join(dir, fmt.Sprintf("%x", k[:]))); err != nil {
		t.Fatal(err)
	}
	f, err := Compile([]byte(`{}`), Options{CacheDir: dir})
	if err != nil || f.Cached || len(f.BPF) != 0 || len(f.Warnings) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestEviction(t *testing.T) {
	dir := newDir(t)
	c, err := openCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	now := time.Now()
	put := func(i int, config []byte) string {
		k := key{byte(i), byte(i >> 8), 1}
		if err := c.store(k, &wire.Filter{BPF: make([]byte, 8), Config: config}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("%x", k[:]))
		when := now.Add(time.Duration(i-10000) * time.Second)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var paths []string
	for i := range maxEntries + 10 {
		paths = append(paths, put(i, nil))
	}
	wantEntries(t, paths, 10)
	big := make([]byte, maxEntry-1000)
	for i := range maxBytes / maxEntry {
		paths = append(paths, put(1000+i, big))
	}
	// The big ones fill the cache: what is small and old has gone.
	if _, err := os.Stat(paths[len(paths)-1]); err != nil {
		t.Error(err)
	}
	var total int64
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		st, _ := f.Info()
		total += st.Size()
	}
	if total > maxBytes || len(files) == 0 {
		t.Errorf("%d files with %d bytes", len(files), total)
	}
	// What is too large to be read is not stored.
	if err := c.store(key{9}, &wire.Filter{Config: make([]byte, maxEntry)}); err != nil {
		t.Error(err)
	}
	if f, err := c.lookup(key{9}); f != nil || err != nil {
		t.Error(f, err)
	}
}

func wantEntries(t *testing.T, paths []string, gone int) {
	t.Helper()
	for i, path := range paths {
		if _, err := os.Stat(path); (err == nil) != (i >= gone) {
			t.Fatalf("entry %d of %d: %v, want the first %d gone", i, len(paths), err, gone)
		}
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	dir := newDir(t)
	cached(t, dir)
	old, fresh, foreign := filepath.Join(dir, tempPrefix+"1"), filepath.Join(dir, tempPrefix+"2"), filepath.Join(dir, "README")
	for _, path := range []string{old, fresh, foreign} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	when := time.Now().Add(-time.Hour)
	os.Chtimes(old, when, when)
	os.Chtimes(foreign, when, when)
	os.Remove(entryPath(dir))
	cached(t, dir)
	for path, want := range map[string]bool{old: false, fresh: true, foreign: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Many creates at once on a cold cache: each gets the whole filter, and one entry stays.
func TestConcurrentStores(t *testing.T) {
	dir := newDir(t)
	want := mustCompile(t, small)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 4 {
				f, err := Compile([]byte(small), Options{CacheDir: dir})
				if err != nil || !bytes.Equal(f.BPF, want.BPF) || !bytes.Equal(f.Config, want.Config) {
					t.Errorf("%+v, %v", f, err)
				}
				os.Remove(entryPath(dir))
			}
		})
	}
	all.Wait()
	cached(t, dir)
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

// Where nothing can be stored, the filter is made all the same.
func TestNoPlaceForACache(t *testing.T) {
	for _, dir := range []string{"/dev/null/berth", "/proc/berth"} {
		if f := cached(t, dir); f.Cached || len(f.Warnings) != 1 {
			t.Errorf("%s: %+v", dir, f)
		}
	}
}

func TestUmask(t *testing.T) {
	dir := newDir(t)
	if err := os.Mkdir(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	defer unix.Umask(unix.Umask(0o777))
	cached(t, dir)
	unix.Umask(0o022)
	if f := cached(t, dir); !f.Cached {
		t.Errorf("%q", f.Warnings)
	}
}

func TestDefaultCacheDir(t *testing.T) {
	if dir, err := DefaultCacheDir(); err != nil || dir != "/var/cache/berth" {
		t.Errorf("root: %s, %v", dir, err)
	}
}

func BenchmarkHit(b *testing.B) {
	profile, err := os.ReadFile("testdata/docker.json")
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(b.TempDir(), "berth")
	for b.Loop() {
		if _, err := Compile(profile, Options{CacheDir: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMiss(b *testing.B) {
	profile, err := os.ReadFile("testdata/docker.json")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Compile(profile, Options{NoCache: true}); err != nil {
			b.Fatal(err)
		}
	}
}

package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A world is one test's own place: a runtime root, bundles, ids that no other test has. When
// the test ends, what is left of its containers is deleted by force, and anything that
// survives that (process, cgroup, mount, state) fails the test.
type world struct {
	testing.TB
	dir  string // <base>/w<number>
	root string // the runtime's --root
	mark string // in each id, and in the environment of each process that the test starts
	bin  string // the runtime's name
	n    int
	ids  []string
}

const (
	runTimeout  = 30 * time.Second // one call of the runtime; far above what any needs
	waitTimeout = 20 * time.Second // a condition that is polled
)

var worlds atomic.Int32

// newWorld makes the test parallel.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newSerialWorld(t)
}

func newSerialWorld(t *testing.T) *world {
	t.Helper()
	mark := fmt.Sprintf("bt%d-%d", os.Getpid(), worlds.Add(1))
	w := &world{TB: t, dir: filepath.Join(base, mark), mark: mark, bin: berth}
	w.root = filepath.Join(w.dir, "root")
	w.must(os.Mkdir(w.dir, 0o755))
	w.must(os.Mkdir(w.dir+"/log", 0o777))
	w.must(os.Chmod(w.dir+"/log", 0o777))
	t.Cleanup(w.close)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// id makes a name that nothing else on this machine has.
func (w *world) id() string {
	w.n++
	id := fmt.Sprintf("%s.%d", w.mark, w.n)
	w.ids = append(w.ids, id)
	return id
}

// A call is one run of the runtime (or of prefix, which is to end up running it).
type call struct {
	w       *world
	prefix  []string // a launcher, put before the runtime's path
	global  []string
	args    []string
	env     []string
	files   []*os.File // become descriptors 3, 4, ...
	stdin   *os.File
	stdout  *os.File
	dir     string
	argv0   string
	attr    *syscall.SysProcAttr
	cmd     *exec.Cmd
	outFile string
	errFile string
}

// rt is a call of the runtime in this world's root: w.rt("state", id).
func (w *world) rt(args ...string) *call {
	return &call{w: w, global: []string{"--root", w.root}, args: args}
}

// A result is how a call ended. Output goes to files, not pipes, because containers keep it open.
type result struct {
	w    *world
	what string
	code int
	out  string
	err  string
}

func (c *call) start() *call {
	c.w.Helper()
	c.w.n++
	c.outFile = filepath.Join(c.w.dir, fmt.Sprintf("out%d", c.w.n))
	c.errFile = filepath.Join(c.w.dir, fmt.Sprintf("err%d", c.w.n))
	argv := append(append(append([]string{}, c.prefix...), c.w.bin), append(c.global, c.args...)...)
	c.cmd = exec.Command(argv[0], argv[1:]...)
	if c.argv0 != "" {
		c.cmd.Args[0] = c.argv0
	}
	c.cmd.Env = append(append(os.Environ(), "BERTH_TEST_MARK="+c.w.mark), c.env...)
	c.cmd.ExtraFiles, c.cmd.Dir, c.cmd.SysProcAttr = c.files, c.dir, c.attr
	if c.stdin != nil {
		c.cmd.Stdin = c.stdin
	}
	out, err := os.OpenFile(c.outFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	c.w.must(err)
	defer out.Close()
	errf, err := os.OpenFile(c.errFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	c.w.must(err)
	defer errf.Close()
	c.cmd.Stdout, c.cmd.Stderr = out, errf
	if c.stdout != nil {
		c.cmd.Stdout = c.stdout
	}
	c.w.must(c.cmd.Start())
	return c
}

func (c *call) wait() result {
	c.w.Helper()
	timer := time.AfterFunc(runTimeout, func() { c.cmd.Process.Kill() })
	err := c.cmd.Wait()
	what := strings.Join(c.args, " ")
	if !timer.Stop() {
		c.w.Errorf("%s: still running after %v, killed; stderr: %s", what, runTimeout, c.w.read(c.errFile))
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.w.Fatalf("%s: %v", what, err)
	}
	r := result{w: c.w, what: what, code: c.cmd.ProcessState.ExitCode(), out: c.w.read(c.outFile), err: c.w.read(c.errFile)}
	if ws, is := c.cmd.ProcessState.Sys().(syscall.WaitStatus); is && ws.Signaled() {
		r.code = -int(ws.Signal())
	}
	return r
}

func (c *call) run() result { c.w.Helper(); return c.start().wait() }
func (c *call) ok() result  { c.w.Helper(); return c.run().ok() }

func (r result) String() string {
	return fmt.Sprintf("%s: exit status %d\nstdout: %s\nstderr: %s", r.what, r.code, r.out, r.err)
}

func (r result) ok() result {
	r.w.Helper()
	if r.code != 0 {
		r.w.Fatal(r)
	}
	return r
}

// fails asserts an error, whose text holds each of words.
func (r result) fails(words ...string) result {
	r.w.Helper()
	if r.code <= 0 {
		r.w.Fatalf("expected an error: %v", r)
	}
	if strings.TrimSpace(r.err) == "" {
		r.w.Errorf("an error without a message: %v", r)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			r.w.Errorf("the error lacks %q: %v", word, r)
		}
	}
	return r
}

// lacks asserts that the error's text does not hold any of words.
func (r result) lacks(words ...string) result {
	r.w.Helper()
	for _, word := range words {
		if strings.Contains(strings.ToLower(r.err), strings.ToLower(word)) {
			r.w.Errorf("the error wrongly holds %q: %v", word, r)
		}
	}
	return r
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	w.must(err)
	return string(data)
}

// until polls a condition.
func (w *world) until(what string, cond func() bool) {
	w.Helper()
	if !eventually(waitTimeout, cond) {
		w.Fatalf("still not so after %v: %s", waitTimeout, what)
	}
}

func eventually(limit time.Duration, cond func() bool) bool {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if cond() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
}

// decode reads JSON that must be all of the text.
func (w *world) decode(text string, into any) {
	w.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.Fatalf("%v in %q", err, text)
	}
}

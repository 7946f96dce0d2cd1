package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func size(rows, cols uint) mod {
	return func(s *specs.Spec) { s.Process.ConsoleSize = &specs.Box{Height: rows, Width: cols} }
}

func TestConsoleSocket(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	c := w.create(w.bundle(terminal, size(33, 101), sh(`tty; stty size; ls -l /dev/console; test -t 0 && test -t 1 && test -t 2 && echo all three
		readlink /proc/self/fd/0; stat -c 'ctty %t,%T %a' /dev/console; read line; echo "<$line>"; echo x >/dev/tty; exit 5`)), "--console-socket", s.path)
	p := s.terminal()
	c.start()
	for _, text := range []string{"/dev/pts/0\r\n", "33 101\r\n", "all three\r\n", "ctty 88,0 6"} {
		p.shows(text)
	}
	p.types("typed line\n")
	p.shows("<typed line>")
	p.shows("x\r\n")
	c.becomes("stopped")
	c.delete()
}

func TestConsoleSignals(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	c := w.create(w.bundle(terminal, forever), "--console-socket", s.path)
	p := s.terminal()
	c.start()
	p.shows("ready")
	p.types("\x03")
	p.shows("got 2\r\n")
	p.types("\x1c")
	p.shows("got 3\r\n")
	p.resize(10, 20)
	p.shows("winsize 10 20")
	c.kill("TERM")
	p.shows("got 15")
	c.becomes("stopped")
}

func TestConsoleUser(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	c := w.create(w.bundle(terminal, user(1000, 1000), sh("stat -L -c '%u %a' /proc/self/fd/0; echo mine >/dev/tty; cat /proc/self/mountinfo")), "--console-socket", s.path)
	p := s.terminal()
	c.start()
	p.shows("1000 6")
	p.shows("mine")
	p.shows(" /dev/console ")
	c.becomes("stopped")
}

// The master's received name is the terminal's path, as runc sends it.
func TestConsoleMessage(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	w.create(w.bundle(terminal, forever), "--console-socket", s.path)
	name, f := s.receive()
	defer f.Close()
	if !strings.Contains(name, "ptmx") && !strings.Contains(name, "pts") && name != "terminal" {
		t.Errorf("message with the master: %q", name)
	}
	var st unix.Stat_t
	w.must(unix.Fstat(int(f.Fd()), &st))
	expect(w, "it is a pty master", st.Mode&unix.S_IFMT, unix.S_IFCHR)
}

func TestConsoleErrors(t *testing.T) {
	w := newWorld(t)
	b := w.bundle(terminal)
	_, r := w.tryCreate(b)
	r.fails("console")
	_, r = w.tryCreate(b, "--console-socket", w.dir+"/nosuch")
	r.fails(w.dir + "/nosuch")
	w.runs(b, "--detach").fails("console")
	_, r = w.tryCreate(w.bundle(), "--console-socket", listenConsole(w).path)
	r.fails("console")
	if left := w.leaks(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Foreground run in a terminal: no socket, raw mode, size, keys, exit status.
func TestForegroundTerminal(t *testing.T) {
	w := newWorld(t)
	p := openPTY(w)
	p.resize(41, 83)
	before, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	w.must(err)
	c := p.run(w.rt("run", "--bundle", w.bundle(terminal, args("/bin/sh", "-c", "trap 'echo interrupted' INT; stty size; echo ready; read a; echo \"<$a>\"; while :; do read b; test \"$b\" = end && exit 9; stty size; done")).dir, w.id()))
	p.shows("41 83\r\n")
	p.shows("ready")
	raw, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	w.must(err)
	if raw.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Errorf("the caller's terminal is not raw: lflag %o", raw.Lflag)
	}
	p.types("hello\r")
	p.shows("<hello>")
	p.resize(12, 34)
	w.must(c.cmd.Process.Signal(syscall.SIGWINCH))
	w.until("the new size inside", func() bool {
		p.types("size\r")
		return eventually(waitTimeout/40, func() bool { return strings.Contains(p.text(), "12 34") })
	})
	p.types("\x03")
	p.shows("interrupted")
	p.types("end\r")
	r := c.wait()
	expect(w, "exit status", r.code, 9)
	after, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	w.must(err)
	expect(w, "terminal mode afterwards", after.Lflag, before.Lflag)
	if strings.Contains(p.text(), "\n\n") {
		t.Errorf("garbled: %q", p.text())
	}
}

// Much output through the terminal arrives whole and in order, also right before the end.
func TestForegroundTerminalOutput(t *testing.T) {
	w := newWorld(t)
	p := openPTY(w)
	c := p.run(w.rt("run", "--bundle", w.bundle(terminal, sh("seq 1 20000; echo last")).dir, w.id()))
	expect(w, "exit status", c.wait().code, 0)
	p.shows("last\r\n")
	text := p.text()
	for i := 1; i <= 20000; i += 997 {
		holds(w, "output", text[:0]+lineOf(text, i), strconv.Itoa(i))
	}
}

func lineOf(text string, n int) string {
	l := strings.Split(text, "\r\n")
	if n > len(l) {
		return fmt.Sprintf("only %d lines", len(l))
	}
	return l[n-1]
}

// Without a terminal of the caller's, a container's terminal is still relayed.
func TestForegroundTerminalWithPipes(t *testing.T) {
	w := newWorld(t)
	r := w.runs(w.bundle(terminal, sh("test -t 1 && echo a terminal; exit 4")))
	if r.code != 4 {
		r.fails() // a clear refusal is right too
		return
	}
	holds(w, "output", r.out, "a terminal")
}

// run's status is the app's: its exit status, or 128 and the signal.
func TestRunStatus(t *testing.T) {
	w := newWorld(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 1": 1, "exit 42": 42, "exit 255": 255} {
		expect(w, script, w.runs(w.bundle(sh(script))).code, want)
	}
	for _, sig := range []int{9, 15, 6} {
		path := cgroupsPath("/" + w.mark + "-status")
		r := w.runs(w.bundle(sh(fmt.Sprintf("kill -%d $$; sleep 5", sig)), without(specs.PIDNamespace), path))
		expect(w, fmt.Sprint("killed by ", sig), r.code, 128+sig)
	}
	expect(w, "killed in a pid namespace", w.kill9(), 137)
}

func (w *world) kill9() int {
	w.Helper()
	c := w.rt("run", "--bundle", w.bundle(forever).dir, w.id()).start()
	id := w.ids[len(w.ids)-1]
	w.until("ready", func() bool { return strings.Contains(w.read(c.outFile), "ready") })
	w.rt("kill", id, "KILL").ok()
	return c.wait().code
}

func TestRunForwardsSignals(t *testing.T) {
	w := newWorld(t)
	c := w.rt("run", "--bundle", w.bundle(forever).dir, w.id()).start()
	w.until("ready", func() bool { return strings.Contains(w.read(c.outFile), "ready") })
	for _, sig := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGHUP, syscall.SIGINT, syscall.SIGUSR2, syscall.SIGTERM} {
		w.must(c.cmd.Process.Signal(sig))
		w.until(sig.String(), func() bool { return strings.Contains(w.read(c.outFile), fmt.Sprintf("got %d\n", sig)) })
	}
	expect(w, "status", c.wait().code, 42)
	if entries, _ := os.ReadDir(w.root); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestRunPipes(t *testing.T) {
	w := newWorld(t)
	inR, inW, err := os.Pipe()
	w.must(err)
	c := w.rt("run", "--bundle", w.bundle(sh("tr a-z A-Z; echo err >&2")).dir, w.id())
	c.stdin = inR
	c.start()
	inR.Close()
	data := strings.Repeat("abcdefg\n", 30000)
	go func() { inW.WriteString(data); inW.Close() }()
	r := c.wait().ok()
	expect(w, "what went through", r.out == strings.ToUpper(data), true)
	expect(w, "stderr", r.err, "err\n")
}

func TestRunDetached(t *testing.T) {
	w := newWorld(t)
	for _, flag := range []string{"--detach", "-d"} {
		id, pidFile := w.id(), w.dir+"/pid"+flag
		call := w.rt("run", flag, "--pid-file", pidFile, "--bundle", w.bundle(forever).dir, id)
		call.ok()
		c := &container{w, id, nil, call}
		c.hasStatus("running")
		c.prints("ready")
		expect(w, "pid file", w.read(pidFile), strconv.Itoa(c.state().Pid))
		c.kill("TERM")
		c.becomes("stopped")
		c.delete()
	}
}

func TestRunKeep(t *testing.T) {
	w := newWorld(t)
	id := w.id()
	w.rt("run", "--keep", "--bundle", w.bundle(sh("exit 3")).dir, id).run()
	c := &container{w: w, id: id}
	c.hasStatus("stopped")
	c.delete()
	w.runs(w.bundle(sh("exit 0")), "--no-subreaper").ok()
	if entries, _ := os.ReadDir(w.root); len(entries) > 0 {
		t.Errorf("run left: %v", entries)
	}
}

// Processes that the app leaves behind end with it, and are no zombies afterwards.
func TestRunReapsOrphans(t *testing.T) {
	w := newWorld(t)
	r := w.runs(w.bundle(args("/bin/probe", "spawn", "5", "exit")))
	expect(w, "status", r.code, 0)
	if left := w.leaks(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestPidFile(t *testing.T) {
	w := newWorld(t)
	c := w.create(w.bundle(forever), "--pid-file", w.dir+"/pid")
	expect(w, "pid file", w.read(w.dir+"/pid"), strconv.Itoa(c.state().Pid))
	_, r := w.tryCreate(w.bundle(forever), "--pid-file", w.dir+"/none/pid")
	r.fails(w.dir + "/none")
	_, r = w.tryCreate(w.bundle(args("/nosuch")), "--pid-file", w.dir+"/failed")
	r.fails()
	if _, err := os.Stat(w.dir + "/failed"); err == nil {
		t.Error("a failed create left its pid file")
	}
	w.output(w.bundle(), "--pid-file", w.dir+"/run")
	// The file's directory is the caller's, not the bundle's.
	call := w.rt("create", "--bundle", w.bundle(forever).dir, "--pid-file", "relative.pid", w.id())
	call.dir = w.dir
	call.ok()
	w.read(w.dir + "/relative.pid")
}

func TestPidfdSocket(t *testing.T) {
	w := newWorld(t)
	s := listenConsole(w)
	c := w.create(w.bundle(forever), "--pidfd-socket", s.path)
	_, f := s.receive()
	defer f.Close()
	info := w.read(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	expect(w, "Pid of the pidfd", field(info, "Pid"), strconv.Itoa(c.state().Pid))
	w.must(unix.PidfdSendSignal(int(f.Fd()), syscall.SIGKILL, nil, 0))
	c.becomes("stopped")
}

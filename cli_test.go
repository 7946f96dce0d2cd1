package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"
)

var testFlags = []cli.Flag{
	&cli.StringFlag{Name: "bundle", Aliases: []string{"b"}},
	&cli.BoolFlag{Name: "force", Aliases: []string{"f"}},
	&cli.IntFlag{Name: "preserve-fds"},
}

func TestFlagsFirst(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"id", "id"},
		{"id --force", "--force id"},
		{"id -f", "-f id"},
		{"id -force", "-force id"},
		{"--force id", "--force id"},
		{"id --bundle dir", "--bundle dir id"},
		{"id -b dir more", "-b dir id more"},
		{"id --bundle=dir more", "--bundle=dir id more"},
		{"id --bundle", "--bundle id"},
		{"id --preserve-fds 3", "--preserve-fds 3 id"},
		{"id -- --force", "id -- --force"},
		{"id --other --force", "--force id --other"},
		{"id -9", "id -9"},
		{"id -", "id -"},
		{"id ---force", "id ---force"},
	} {
		got := strings.Join(flagsFirst(testFlags, strings.Fields(c.in)), " ")
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestVerbIndex(t *testing.T) {
	flags := globalFlags("/r")
	for line, want := range map[string]int{
		"berth":                             1,
		"berth state":                       1,
		"berth --root /x state":             3,
		"berth --root=/x state":             2,
		"berth -root /x state":              3,
		"berth --debug state":               2,
		"berth --debug --log state state x": 4,
		"berth --root":                      2, // past the end: there is no verb
		"berth --unknown state":             2,
	} {
		if got := verbIndex(flags, strings.Fields(line)); got != want {
			t.Errorf("%q: got %d, want %d", line, got, want)
		}
	}
}

// The flags that the quick application sets are those that cli's own would.
func TestQuickFlagsMeanTheSame(t *testing.T) {
	for _, line := range []string{
		"v", "v --bundle /x id", "v -b /x id", "v -b=/x -f id", "v --force=false id", "v --preserve-fds 0x10 id",
		"v --preserve-fds no id", "v --bundle", "v --bundle /x -b /y id", "v --nosuch", "v -- --force",
	} {
		slow, slowErr := runFlags(testFlags, line)
		quick, quickErr := runFlags(quickFlags(testFlags), line)
		if !reflect.DeepEqual(slow, quick) || (slowErr == nil) != (quickErr == nil) {
			t.Errorf("%q: quick %v, %v; slow %v, %v", line, quick, quickErr, slow, slowErr)
		}
		if slowErr != nil && slowErr.Error() != quickErr.Error() {
			t.Errorf("%q: quick %v; slow %v", line, quickErr, slowErr)
		}
	}
}

func runFlags(flags []cli.Flag, line string) (got []any, err error) {
	app := &cli.App{
		Name: "berth", Writer: io.Discard, HideHelp: true,
		OnUsageError: wrongUsage,
		Commands: []*cli.Command{{Name: "v", Flags: flags, HideHelp: true, OnUsageError: wrongUsage, Action: func(c *cli.Context) error {
			for _, n := range []string{"bundle", "b", "force", "f", "preserve-fds"} {
				got = append(got, c.IsSet(n), c.String(n), c.Bool(n), c.Int(n))
			}
			got = append(got, c.Args().Slice())
			return nil
		}}},
	}
	err = app.Run(append([]string{"berth"}, strings.Fields(line)...))
	return got, err
}

// "help" and "h" are ids like others.
func TestAnIDCanBeAnyWord(t *testing.T) {
	for _, id := range []string{"help", "h", "state", "version", "force", "root"} {
		var got []string
		app := &cli.App{Name: "berth", Writer: io.Discard, Commands: []*cli.Command{command(verb{"v", func() *cli.Command {
			return &cli.Command{Name: "v", Flags: testFlags, Action: func(c *cli.Context) error {
				got = c.Args().Slice()
				return nil
			}}
		}})}}
		if err := app.Run([]string{"berth", "v", id}); err != nil || !reflect.DeepEqual(got, []string{id}) {
			t.Errorf("%s: got %q, %v", id, got, err)
		}
	}
}

// berthRuns runs one command line in this process and returns what it wrote.
func berthRuns(t *testing.T, line string) (status int, stderr string) {
	t.Helper()
	stderr = captureStderr(t, func() { status = berth(append([]string{"berth"}, strings.Fields(line)...)) })
	return status, stderr
}

// captureStderr returns what f writes to standard error, which is a pipe meanwhile.
func captureStderr(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	// The testing package may have replaced os.Stderr.
	saved := os.Stderr
	os.Stderr = w
	f()
	os.Stderr = saved
	if err := syscall.Dup3(fd, 2, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(fd)
	w.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestUsageErrors(t *testing.T) {
	for line, want := range map[string]string{
		"nosuch":                         `unknown command "nosuch"`,
		"help nosuch":                    `unknown command "nosuch"`,
		"--nosuch":                       "flag provided but not defined: -nosuch",
		"spec --nosuch":                  "spec: flag provided but not defined: -nosuch",
		"spec --bundle":                  "spec: flag needs an argument: -bundle",
		"spec one":                       `spec: unexpected argument "one"`,
		"--root / spec":                  "--root can't be /",
		"--log-format xml spec":          `--log-format: unknown format "xml": want text or json`,
		"--log-level loud spec":          `--log-level: unknown level "loud": want error, warning, info or debug`,
		"--rootless maybe spec":          `--rootless: unknown value "maybe": want true, false or auto`,
		"--cgroup-manager cgmanage spec": `--cgroup-manager: unknown manager "cgmanage": want cgroupfs, systemd or disabled`,
		"--log /nonexistent/log spec":    "--log: open /nonexistent/log: no such file or directory",
	} {
		status, stderr := berthRuns(t, line)
		if status != 1 || stderr != want+"\n" {
			t.Errorf("%q: status %d, %q; want %q", line, status, stderr, want)
		}
	}
}

// The log holds one object with the error, and nothing more.
func TestLogHoldsTheError(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, where := range []string{log, "file:" + log} {
		status, stderr := berthRuns(t, "--log "+where+" --log-format json spec --bundle /nonexistent")
		const want = "open /nonexistent/config.json: no such file or directory"
		if status != 1 || stderr != want+"\n" {
			t.Errorf("status %d, standard error %q", status, stderr)
		}
		var got struct{ Level, Msg, Time string }
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil || got.Level != "error" || got.Msg != want || got.Time == "" {
			t.Errorf("%v: %s", err, data)
		}
		os.Remove(log)
	}
	berthRuns(t, "--log "+log+" spec --bundle /nonexistent")
	data, err := os.ReadFile(log)
	if err != nil || !bytes.Contains(data, []byte(` level=error msg="open /nonexistent/config.json: no such file or directory"`)) {
		t.Errorf("%v: %s", err, data)
	}
	if _, stderr := berthRuns(t, "--log-format json spec --bundle /nonexistent"); !strings.HasPrefix(stderr, `{"level":"error","msg":"open /none`) {
		t.Errorf("without --log: %q", stderr)
	}
	if bytes.Count(data, []byte("\n")) != 1 {
		t.Errorf("more than a line: %s", data)
	}
}

func TestSuccessLogsNothing(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	if status, stderr := berthRuns(t, "--log "+log+" spec --bundle "+dir); status != 0 || stderr != "" {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if fi, err := os.Stat(log); err != nil || fi.Size() != 0 || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", fi, err)
	}
	// A second one does not overwrite the first.
	if status, stderr := berthRuns(t, "spec --bundle "+dir); status != 1 || stderr != dir+"/config.json exists: remove it first\n" {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestDebug(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for _, flag := range []string{"--debug", "--log-level debug"} {
		os.Remove(filepath.Join(dir, "config.json"))
		if status, stderr := berthRuns(t, flag+" --log "+log+" spec --bundle "+dir); status != 0 || stderr != "" {
			t.Fatalf("status %d: %s", status, stderr)
		}
		data, err := os.ReadFile(log)
		if err != nil || bytes.Count(data, []byte("level=debug")) < 2 {
			t.Errorf("%s: %v: %s", flag, err, data)
		}
		os.Remove(log)
	}
}

func TestLevels(t *testing.T) {
	for max, want := range map[level]string{levelError: "", levelWarning: "w", levelInfo: "w", levelDebug: "dw"} {
		var got string
		l := logger{max: max, out: func(_ level, _, msg string) error { got += msg; return nil }}
		l.debugf("d")
		l.warnf("%s", "w")
		if got != want {
			t.Errorf("level %d: got %q, want %q", max, got, want)
		}
	}
}

// A warning shows once the verb has succeeded; one that fails says its error alone.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		err  error
		json bool
		want string
	}{
		{nil, false, "warning: a; b\n"},
		{exitStatus(3), false, "warning: a; b\n"},
		{nil, true, `{"level":"warning","msg":"a\nb","time":`},
		{errors.New("e"), false, "e\n"},
	} {
		got := captureStderr(t, func() {
			g := newGlobals("berth")
			g.Log.json = c.json
			g.Log.warnf("a\nb")
			g.report(c.err)
		})
		if c.json && !strings.HasPrefix(got, c.want) || !c.json && got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

func TestSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, c := range []struct {
		format func(level, string) string
		want   []string
	}{
		{journalMessage("me"), []string{"PRIORITY=3\nSYSLOG_IDENTIFIER=me\nSYSLOG_PID=", "\nMESSAGE=one; two\n"}},
		{syslogMessage(""), []string{"<11>", " berth[", "]: one; two"}},
	} {
		out, err := openSocket(path, c.format)
		if err != nil {
			t.Fatal(err)
		}
		if err := out(levelError, "", "one\ntwo"); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1024)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range c.want {
			if !strings.Contains(string(buf[:n]), part) {
				t.Errorf("%q lacks %q", buf[:n], part)
			}
		}
	}
	if _, err := openSocket(path+"x", syslogMessage("")); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("no socket: %v", err)
	}
}

func TestMessage(t *testing.T) {
	err := usageError{"create: a container id is required", "create"}
	if got, want := message(err, false), "create: a container id is required\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := message(err, true), "error: create: a container id is required\nhint: see berth create --help\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := message(errors.New("a\nb"), false), "a; b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExitStatus(t *testing.T) {
	g := newGlobals("berth")
	if got := g.report(exitStatus(137)); got != 137 {
		t.Errorf("got %d", got)
	}
}

func TestCompat(t *testing.T) {
	t.Setenv("BERTH_COMPAT", "")
	for argv0, want := range map[string]bool{"berth": false, "/usr/sbin/runc": true, "runc": true, "crun": false} {
		if got := newGlobals(argv0).Compat; got != want {
			t.Errorf("%s: %v", argv0, got)
		}
	}
	t.Setenv("BERTH_COMPAT", "runc")
	if !newGlobals("berth").Compat {
		t.Error("BERTH_COMPAT=runc is not seen")
	}
}

// What a later version will do is refused where it would matter, and only there.
func TestNotSupportedYet(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "",
		"--rootless=false":                  "",
		"--rootless auto":                   "",
		"--cgroup-manager disabled":         "",
		"--systemd-cgroup":                  "not supported yet: --systemd-cgroup",
		"--cgroup-manager systemd":          "not supported yet: --cgroup-manager systemd",
		"--rootless=true":                   "not supported yet: --rootless=true",
		"--cgroup-manager cgroupfs --debug": "",
	} {
		g := newGlobals("berth")
		app := &cli.App{Flags: globalFlags("/r"), Before: g.fill, Action: func(*cli.Context) error { return nil }}
		if err := app.Run(append([]string{"berth"}, strings.Fields(line)...)); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		got := ""
		if err := g.makesContainers(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

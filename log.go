package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// level orders what is logged. The numbers are syslog's, which journald takes as well.
type level int

const (
	levelError   level = 3
	levelWarning level = 4
	levelInfo    level = 6
	levelDebug   level = 7
)

var levelNames = map[level]string{
	levelError: "error", levelWarning: "warning", levelInfo: "info", levelDebug: "debug",
}

// logger is the program's log. containerd, podman and CRI-O read the file after a failure: it
// holds the error and nothing else, unless more was asked for.
type logger struct {
	max     level // the least important that is written
	json    bool
	out     sink // nil: standard error
	pending []string
}

// sink writes one message. line is the message in the log's format.
type sink func(lv level, line, msg string) error

func newLogger() logger { return logger{max: levelError} }

// open makes the log that the flags ask for. The format comes first, so that later errors
// have it.
func (l *logger) open(c *cli.Context) error {
	if err := l.setLevel(c.String("log-level"), c.Bool("debug")); err != nil {
		return err
	}
	switch f := c.String("log-format"); f {
	case "", "text":
	case "json":
		l.json = true
	default:
		return usageError{fmt.Sprintf("--log-format: unknown format %q: want text or json", f), ""}
	}
	if where := c.String("log"); where != "" {
		out, err := openSink(where)
		if err != nil {
			return fmt.Errorf("--log: %w", err)
		}
		l.out = out
	}
	return nil
}

func (l *logger) setLevel(name string, debug bool) error {
	if debug {
		l.max = levelDebug
		return nil
	}
	for lv, n := range levelNames {
		if n == name {
			l.max = lv
			return nil
		}
	}
	return usageError{fmt.Sprintf("--log-level: unknown level %q: want error, warning, info or debug", name), ""}
}

// openSink takes crun's spellings: file:PATH, journald:NAME, syslog:NAME, and a plain path.
func openSink(where string) (sink, error) {
	kind, name, _ := strings.Cut(where, ":")
	switch kind {
	case "journald":
		return openSocket("/run/systemd/journal/socket", journalMessage(name))
	case "syslog":
		return openSocket("/dev/log", syslogMessage(name))
	case "file":
		return openFile(name)
	}
	return openFile(where)
}

// openFile has runc's mode and flags: managers read the file as another process, at once.
func openFile(path string) (sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_SYNC, 0o644)
	if err != nil {
		return nil, err
	}
	return func(_ level, line, _ string) error {
		_, err := f.WriteString(line)
		return err
	}, nil
}

// openSocket sends each message as one datagram.
func openSocket(path string, format func(lv level, msg string) string) (sink, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "socket", Path: path, Err: err}
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "connect", Path: path, Err: err}
	}
	return func(lv level, _, msg string) error {
		return unix.Sendto(fd, []byte(format(lv, msg)), unix.MSG_NOSIGNAL, nil)
	}, nil
}

// journalMessage is the journal's native protocol: NAME=value lines. A value with a newline
// would need the protocol's other form; messages are one line here.
func journalMessage(name string) func(level, string) string {
	name = identifier(name)
	return func(lv level, msg string) string {
		return fmt.Sprintf("PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nSYSLOG_PID=%d\nMESSAGE=%s\n",
			lv, name, os.Getpid(), oneLine(msg))
	}
}

// syslogMessage is what syslog(3) sends, facility user.
func syslogMessage(name string) func(level, string) string {
	name = identifier(name)
	return func(lv level, msg string) string {
		const facilityUser = 1 << 3
		return fmt.Sprintf("<%d>%s %s[%d]: %s", facilityUser|int(lv),
			time.Now().Format(time.Stamp), name, os.Getpid(), oneLine(msg))
	}
}

func identifier(name string) string {
	if name == "" {
		return "berth"
	}
	return oneLine(name)
}

// print writes one message in the log's format.
func (l *logger) print(lv level, msg string) error {
	if lv > l.max {
		return nil
	}
	line := l.line(lv, msg)
	if l.out == nil {
		_, err := os.Stderr.WriteString(line)
		return err
	}
	return l.out(lv, line, msg)
}

// line has the shape of logrus, which runc uses: managers look for "msg".
func (l *logger) line(lv level, msg string) string {
	at := time.Now().Format(time.RFC3339)
	if !l.json {
		return "time=" + strconv.Quote(at) + " level=" + levelNames[lv] + " msg=" + strconv.Quote(msg) + "\n"
	}
	b, err := json.Marshal(struct {
		Level string `json:"level"`
		Msg   string `json:"msg"`
		Time  string `json:"time"`
	}{levelNames[lv], msg, at})
	if err != nil {
		return "" // strings always marshal
	}
	return string(b) + "\n"
}

// debugf is shown with --debug. A failure to log changes nothing of what a verb does.
func (l *logger) debugf(format string, a ...any) {
	if l.max >= levelDebug {
		_ = l.print(levelDebug, fmt.Sprintf(format, a...))
	}
}

// warnf is logged with --log-level warning, info or debug. Without a log, it is for whoever reads
// standard error: a person at once, a program when the verb has succeeded, since of one that
// failed it gets the error alone.
func (l *logger) warnf(format string, a ...any) {
	msg := fmt.Sprintf(format, a...)
	switch {
	case l.max >= levelWarning:
		_ = l.print(levelWarning, msg)
	case l.out != nil:
	case isTerminal(2):
		os.Stderr.WriteString("warning: " + msg + "\n")
	default:
		l.pending = append(l.pending, msg)
	}
}

// flush shows the warnings of a verb that has succeeded.
func (l *logger) flush() {
	for _, msg := range l.pending {
		line := "warning: " + oneLine(msg) + "\n"
		if l.json {
			line = l.line(levelWarning, msg)
		}
		os.Stderr.WriteString(line)
	}
}

// exitStatus, as a verb's error, is the status to end with: the container's own, of which
// nothing is to be said.
type exitStatus int

func (s exitStatus) Error() string { return "exit status " + strconv.Itoa(int(s)) }

// report tells err to whoever asked, and returns the exit status. It is the only place where
// errors are shown: on standard error, and in the log where there is one.
func (g *globals) report(err error) int {
	var status exitStatus
	if err == nil || errors.As(err, &status) {
		g.Log.flush()
		g.Log.debugf("done, exit status %d", int(status))
		return int(status)
	}
	if g.Log.out != nil || g.Log.json {
		if lerr := g.Log.print(levelError, err.Error()); lerr != nil {
			fmt.Fprintln(os.Stderr, "berth: the log:", lerr)
		}
	}
	if g.Log.out != nil || !g.Log.json {
		os.Stderr.WriteString(message(err, isTerminal(2)))
	}
	return 1
}

// message is what a person sees, or the one line that a program gets: managers search it for
// phrases, so that it never holds more than the error.
func message(err error, person bool) string {
	if !person {
		return oneLine(err.Error()) + "\n"
	}
	s := "error: " + err.Error() + "\n"
	if h := hint(err); h != "" {
		s += "hint: " + h + "\n"
	}
	return s
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

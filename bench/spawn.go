package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// commandEnv is all of a measured command's environment.
var commandEnv = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}

// A command is one that ended: how long it took from just before the fork until wait4
// returned it, and how.
type command struct {
	start, end time.Time
	status     syscall.WaitStatus
	rusage     syscall.Rusage
}

func (c command) took() time.Duration { return c.end.Sub(c.start) }

// A spawner starts commands with standard output and error in a file, so that nothing is
// read while the clock runs, and what a failing command said can be shown.
type spawner struct {
	null   *os.File
	output *os.File
}

func newSpawner(dir string) (*spawner, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	output, err := os.CreateTemp(dir, "output")
	return &spawner{null, output}, err
}

// run runs argv to its end. An exit status other than 0 is an error with its output.
// ForkExec is vfork and exec, its cost does not depend on this process's size, and it
// gives the child the limits that this process started with.
func (s *spawner) run(argv []string) (command, error) {
	var c command
	if err := s.reset(); err != nil {
		return c, err
	}
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   commandEnv,
		Files: []uintptr{s.null.Fd(), s.output.Fd(), s.output.Fd()},
	}
	c.start = time.Now()
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return c, fmt.Errorf("%s: %w", argv[0], err)
	}
	c.status, err = reap(pid, &c.rusage)
	c.end = time.Now()
	if err != nil {
		return c, err
	}
	if c.status != 0 {
		return c, fmt.Errorf("%s: %s: %s", strings.Join(argv, " "), describe(c.status), s.said())
	}
	return c, nil
}

func (s *spawner) reset() error {
	if err := s.output.Truncate(0); err != nil {
		return err
	}
	_, err := s.output.Seek(0, io.SeekStart)
	return err
}

// said is what the last command wrote.
func (s *spawner) said() string {
	data, err := os.ReadFile(s.output.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(data))
}

func reap(pid int, ru *syscall.Rusage) (syscall.WaitStatus, error) {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, ru)
		if err != syscall.EINTR {
			return ws, err
		}
	}
}

func describe(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "killed by " + ws.Signal().String()
	}
	return fmt.Sprintf("exit status %d", ws.ExitStatus())
}

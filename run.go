package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"berth/container"
	"berth/tty"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "create a container, start it and wait for its end",
		UsageText: "berth run [--bundle DIR] [options] ID",
		Description: `The same as create and start and, when the program has ended, delete. Returns the program's status,
128 and the number if a signal ended it. Signals go to the program. With process.terminal the
caller's terminal becomes the program's. With --detach, run returns when the program runs.`,
		Flags: append(bundleFlags(),
			&cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "return as soon as the program runs"},
			&cli.BoolFlag{Name: "keep", Usage: "do not delete the container when it has ended"},
			&cli.BoolFlag{Name: "no-subreaper", Usage: "do not become the parent of what the container's init leaves behind"},
		),
		Action: runRun,
	}
}

func runRun(c *cli.Context) error {
	if err := usageArgs(c, 1, 1); err != nil {
		return err
	}
	g := globalsOf(c)
	req, err := request(c, g)
	if err != nil {
		return err
	}
	detach := c.Bool("detach")
	req.KeepTerminal = !detach && req.ConsoleSocket == ""
	fg := &foreground{keep: c.Bool("keep"), warn: g.warn}
	if !detach {
		if err := fg.begin(!c.Bool("no-subreaper")); err != nil {
			return err
		}
		req.Launched, req.Ready = fg.catch, func() { <-fg.caught }
	}
	created, err := container.Store{Root: g.Root}.Create(req)
	if err != nil {
		return err
	}
	if !detach {
		return fg.run(created)
	}
	defer created.Close()
	if err := created.Start(g.warn); err != nil {
		return discard(created, g.warn, err)
	}
	return nil
}

// discard removes a container that run could not start, unless its start has done so.
func discard(created *container.Created, warn func(string), cause error) error {
	if err := created.Destroy(warn); err != nil && !errors.Is(err, container.ErrNotExist) {
		warn(err.Error())
	}
	return cause
}

// foreground is a run that stays until the program has ended.
type foreground struct {
	keep    bool
	warn    func(string)
	signals chan os.Signal
	caught  chan struct{} // closed when the signals of forwarded are caught
	proxy   *tty.Proxy
}

// begin becomes the parent of what the container's init leaves behind.
func (f *foreground) begin(subreaper bool) error {
	f.signals, f.caught = make(chan os.Signal, 64), make(chan struct{})
	if !subreaper {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return errors.New("become a subreaper: " + err.Error())
	}
	return nil
}

// catch begins to catch signals, beside stage1's work. Until it is done, one that ends this
// process ends the create with it; the container does not get as far as created before.
func (f *foreground) catch() {
	go func() {
		signal.Notify(f.signals, forwarded...)
		close(f.caught)
	}()
}

// forwarded are the signals that people and managers send. To catch a signal costs the Go
// runtime two thread switches, so these are caught beside stage1's work, and the others (see
// catchRest) when the program has run for a while.
var forwarded = []os.Signal{
	unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH,
	unix.SIGCONT, unix.SIGTSTP,
}

// catchRest forwards every other signal that can be caught and is not about this process.
func (f *foreground) catchRest() {
	for n := 1; n <= sigRTMax; n++ {
		switch s := unix.Signal(n); s {
		case unix.SIGCHLD, unix.SIGURG, unix.SIGPIPE, unix.SIGKILL, unix.SIGSTOP, unix.SIGPROF:
		case 32, 33: // the C library's own
		default:
			signal.Notify(f.signals, s)
		}
	}
}

// restAfter is when catchRest runs: a program that ends sooner gets no such signal.
const restAfter = 30 * time.Millisecond

func (f *foreground) run(created *container.Created) error {
	if created.Master >= 0 {
		var err error
		if f.proxy, err = tty.Start(created.Master); err != nil {
			return discard(created, f.warn, err)
		}
	}
	if err := created.Start(f.warn); err != nil {
		if f.proxy != nil {
			f.proxy.Restore()
		}
		return discard(created, f.warn, err)
	}
	created.Unlock()
	go f.forward(created.Pidfd)
	rest := time.AfterFunc(restAfter, f.catchRest)
	defer rest.Stop()
	status := wait(created.Process.Pid)
	if f.proxy != nil {
		f.proxy.Finish()
	}
	if !f.keep {
		if err := created.Destroy(f.warn); err != nil && !errors.Is(err, container.ErrNotExist) {
			return err
		}
	}
	if status != 0 {
		return exitStatus(status)
	}
	return nil
}

// forward passes signals on until the program has ended.
func (f *foreground) forward(pidfd int) {
	for s := range f.signals {
		if s == unix.SIGWINCH && f.proxy != nil {
			f.proxy.Resize()
			continue
		}
		unix.PidfdSendSignal(pidfd, s.(syscall.Signal), nil, 0)
	}
}

// wait reaps whatever ends until it is the container's init, and returns its status.
func wait(init int) int {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 255
		case pid != init:
		case ws.Signaled():
			return 128 + int(ws.Signal())
		default:
			return ws.ExitStatus()
		}
	}
}

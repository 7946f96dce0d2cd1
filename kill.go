package main

import (
	"strconv"
	"strings"

	"berth/container"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

func killCommand() *cli.Command {
	return &cli.Command{
		Name:      "kill",
		Usage:     "send a signal to a container",
		UsageText: "berth kill [--all] ID [SIGNAL]",
		Description: `Sends SIGNAL (a name with or without SIG, or a number; default TERM) to the container's init. A
container without a pid namespace of its own gets KILL in every process of its cgroup, also when
its init is gone.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "send the signal to all processes of the container"},
		},
		Action: runKill,
	}
}

func runKill(c *cli.Context) error {
	if err := usageArgs(c, 1, 2); err != nil {
		return err
	}
	sig, err := parseSignal(c.Args().Get(1))
	if err != nil {
		return err
	}
	ct, err := container.Store{Root: globalsOf(c).Root}.Open(c.Args().First())
	if err != nil {
		return err
	}
	defer ct.Close()
	return ct.Kill(sig, c.Bool("all"))
}

const (
	sigRTMin = 34 // as the C library has it
	sigRTMax = 64
)

// parseSignal takes a number or a name, with or without SIG; "" is SIGTERM.
func parseSignal(s string) (unix.Signal, error) {
	if s == "" {
		return unix.SIGTERM, nil
	}
	if n, err := strconv.Atoi(s); err == nil {
		if n < 0 || n > sigRTMax {
			return 0, usageError{"kill: unknown signal " + strconv.Quote(s), "kill"}
		}
		return unix.Signal(n), nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if sig := unix.SignalNum("SIG" + name); sig != 0 {
		return sig, nil
	}
	for _, rt := range []struct {
		name string
		base int
	}{{"RTMIN", sigRTMin}, {"RTMAX", sigRTMax}} {
		rest, ok := strings.CutPrefix(name, rt.name)
		if n, err := strconv.Atoi("0" + strings.TrimLeft(rest, "+-")); ok && err == nil {
			if strings.HasPrefix(rest, "-") {
				n = -n
			}
			if sig := rt.base + n; sig >= sigRTMin && sig <= sigRTMax {
				return unix.Signal(sig), nil
			}
		}
	}
	return 0, usageError{"kill: unknown signal " + strconv.Quote(s), "kill"}
}

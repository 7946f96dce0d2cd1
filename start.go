package main

import (
	"berth/container"

	"github.com/urfave/cli/v2"
)

func startCommand() *cli.Command {
	return &cli.Command{
		Name:      "start",
		Usage:     "run the program of a created container",
		UsageText: "berth start ID",
		Description: `Runs process.args of a container that "berth create" has made, then its poststart hooks. If the
program can't be run, the error says why and the container is stopped.`,
		Action: runStart,
	}
}

func runStart(c *cli.Context) error {
	if err := usageArgs(c, 1, 1); err != nil {
		return err
	}
	g := globalsOf(c)
	ct, err := container.Store{Root: g.Root}.Open(c.Args().First())
	if err != nil {
		return err
	}
	defer ct.Close()
	return ct.Start(g.warn)
}

// warn is what package container tells of things that went wrong without being an error.
func (g *globals) warn(msg string) { g.Log.warnf("%s", msg) }

// debug is nil unless somebody asked for it.
func (g *globals) debug() func(string, ...any) {
	if g.Log.max < levelDebug {
		return nil
	}
	return g.Log.debugf
}

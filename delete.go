package main

import (
	"errors"

	"berth/container"

	"github.com/urfave/cli/v2"
)

func deleteCommand() *cli.Command {
	return &cli.Command{
		Name:      "delete",
		Usage:     "remove what is left of a stopped container",
		UsageText: "berth delete [--force] ID",
		Description: `Removes the cgroups and the state of a stopped container, then runs its poststop hooks. What was
there before "berth create", and the bundle, stay.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "kill the container first, whatever its status; one that is not there is no error"},
		},
		Action: runDelete,
	}
}

func runDelete(c *cli.Context) error {
	if err := usageArgs(c, 1, 1); err != nil {
		return err
	}
	g := globalsOf(c)
	force := c.Bool("force")
	err := container.Store{Root: g.Root}.Delete(c.Args().First(),
		container.DeleteOptions{Force: force, Compat: g.Compat, Warn: g.warn})
	if force && errors.Is(err, container.ErrNotExist) {
		return nil
	}
	return err
}

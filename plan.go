package main

import (
	"os"

	"berth/container"

	"github.com/urfave/cli/v2"
)

func planCommand() *cli.Command {
	return &cli.Command{
		Name:      "plan",
		Usage:     "print what create would do",
		UsageText: "berth plan [--bundle DIR]",
		Description: `Prints the operations that "berth create" would carry out for the bundle, one a line, with the field
of config.json that each comes from (docs/plan-format.md). It does nothing and needs no privileges.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "bundle", Aliases: []string{"b"}, Usage: "the bundle is `DIR` (default: the current directory)"},
			&cli.BoolFlag{Name: "no-pivot", Usage: "as create's"},
			&cli.BoolFlag{Name: "no-new-keyring", Usage: "as create's"},
		},
		Action: runPlan,
	}
}

func runPlan(c *cli.Context) error {
	if err := usageArgs(c, 0, 0); err != nil {
		return err
	}
	g := globalsOf(c)
	bundle := c.String("bundle")
	if bundle == "" {
		bundle = "."
	}
	text, warnings, err := container.Plan(bundle, container.Options{
		NoPivot: c.Bool("no-pivot"), NoNewKeyring: c.Bool("no-new-keyring"), NoCgroup: g.CgroupManager == managerDisabled})
	if err != nil {
		return err
	}
	for _, w := range warnings {
		g.warn(w)
	}
	_, err = os.Stdout.WriteString(text)
	return err
}

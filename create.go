package main

import (
	"os"
	"strconv"

	"berth/container"

	"github.com/urfave/cli/v2"
)

// bundleFlags are the flags that create and run share.
func bundleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "bundle", Aliases: []string{"b"}, Usage: "the bundle is `DIR` (default: the current directory)"},
		&cli.StringFlag{Name: "console-socket", Usage: "send the master of the container's terminal to the unix socket `PATH`"},
		&cli.StringFlag{Name: "pidfd-socket", Usage: "send a pidfd of the container's init to the unix socket `PATH`"},
		&cli.StringFlag{Name: "pid-file", Usage: "write the pid of the container's init to `FILE`"},
		&cli.BoolFlag{Name: "no-pivot", Usage: "do not use pivot_root (for an initramfs root); less safe"},
		&cli.BoolFlag{Name: "no-new-keyring", Usage: "keep the caller's session keyring"},
		&cli.IntFlag{Name: "preserve-fds", Usage: "pass `N` more descriptors, from 3 on, to the container"},
	}
}

func createCommand() *cli.Command {
	return &cli.Command{
		Name:      "create",
		Usage:     "create a container",
		UsageText: "berth create [--bundle DIR] [options] ID",
		Description: `Makes the container that DIR/config.json describes, as far as "created": its namespaces, mounts,
cgroups and limits are there, and its program waits for "berth start". On an error nothing is left.`,
		Flags:  bundleFlags(),
		Action: runCreate,
	}
}

func runCreate(c *cli.Context) error {
	if err := usageArgs(c, 1, 1); err != nil {
		return err
	}
	g := globalsOf(c)
	req, err := request(c, g)
	if err != nil {
		return err
	}
	created, err := container.Store{Root: g.Root}.Create(req)
	if err != nil {
		return err
	}
	created.Close()
	return nil
}

// request turns the flags of create and run into what package container is asked for.
func request(c *cli.Context, g *globals) (*container.Request, error) {
	if err := g.makesContainers(); err != nil {
		return nil, err
	}
	listen, err := listenFDs()
	if err != nil {
		return nil, err
	}
	if n := c.Int("preserve-fds"); n < 0 || n > 1<<16 {
		return nil, usageError{"--preserve-fds: " + strconv.Itoa(n) + " is not a number of descriptors", c.Command.Name}
	}
	bundle := c.String("bundle")
	if bundle == "" {
		bundle = "."
	}
	return &container.Request{
		ID: c.Args().First(), Bundle: bundle,
		ConsoleSocket: c.String("console-socket"), PidfdSocket: c.String("pidfd-socket"), PidFile: c.String("pid-file"),
		Options: container.Options{
			NoPivot: c.Bool("no-pivot"), NoNewKeyring: c.Bool("no-new-keyring"),
			PreserveFDs: c.Int("preserve-fds"), ListenFDs: listen, NoCgroup: g.CgroupManager == managerDisabled,
		},
		Warn: g.warn, Debug: g.debug(),
	}, nil
}

// listenFDs is the number of sockets of sd_listen_fds(3) that are for this process.
func listenFDs() (int, error) {
	value := os.Getenv("LISTEN_FDS")
	if value == "" {
		return 0, nil
	}
	if pid := os.Getenv("LISTEN_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 1<<16 {
		return 0, usageError{"LISTEN_FDS=" + value + " is not a number of descriptors", ""}
	}
	return n, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"text/tabwriter"
	"time"

	"berth/container"

	"github.com/urfave/cli/v2"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the containers",
		UsageText: "berth list [--format table|json] [--quiet]",
		Description: `Lists the containers whose state lies in --root. One whose state can't be read is listed with the
status "unknown", and a warning says why.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Value: "table", Usage: "`FORMAT` is table or json"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print the ids only"},
		},
		Action: runList,
	}
}

// unknown is the status of a container whose state can't be read.
const unknown container.Status = "unknown"

func runList(c *cli.Context) error {
	if err := usageArgs(c, 0, 0); err != nil {
		return err
	}
	format := c.String("format")
	if format != "table" && format != "json" {
		return usageError{fmt.Sprintf("--format: unknown format %q: want table or json", format), "list"}
	}
	g := globalsOf(c)
	store := container.Store{Root: g.Root}
	ids, err := store.IDs()
	if err != nil {
		return err
	}
	if c.Bool("quiet") {
		for _, id := range ids {
			fmt.Println(id)
		}
		return nil
	}
	var list []*container.Container
	for _, id := range ids {
		ct, err := store.Open(id)
		switch {
		case errors.Is(err, container.ErrNotExist): // deleted meanwhile
			continue
		case err != nil:
			fmt.Fprintln(os.Stderr, "warning: "+err.Error())
			ct = &container.Container{ID: id, Status: unknown}
		default:
			ct.Close()
		}
		list = append(list, ct)
	}
	if format == "json" {
		return listJSON(list)
	}
	return listTable(list)
}

func listJSON(list []*container.Container) error {
	out := []byte{'['}
	for i, ct := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendState(out, ct, owner(ct))
	}
	_, err := os.Stdout.Write(append(out, "]\n"...))
	return err
}

func listTable(list []*container.Container) error {
	w := tabwriter.NewWriter(os.Stdout, 12, 1, 3, ' ', 0)
	fmt.Fprint(w, "ID\tPID\tSTATUS\tBUNDLE\tCREATED\tOWNER\n")
	for _, ct := range list {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", ct.ID, ct.Process.Pid, ct.Status, ct.Bundle(),
			ct.CreatedAt().Format(time.RFC3339Nano), owner(ct))
	}
	return w.Flush()
}

func owner(ct *container.Container) string {
	uid := strconv.Itoa(ct.OwnerUID())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "#" + uid
}

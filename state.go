package main

import (
	"bytes"
	"encoding/json"
	"os"
	"time"

	"berth/container"
	"berth/specjson/scan"

	"github.com/urfave/cli/v2"
)

func stateCommand() *cli.Command {
	return &cli.Command{
		Name:        "state",
		Usage:       "print the state of a container",
		UsageText:   "berth state ID",
		Description: `Prints the state of the container as JSON (runtime-spec, "State"; the keys are runc's).`,
		Action:      runState,
	}
}

func runState(c *cli.Context) error {
	if err := usageArgs(c, 1, 1); err != nil {
		return err
	}
	ct, err := container.Store{Root: globalsOf(c).Root}.Open(c.Args().First())
	if err != nil {
		return err
	}
	defer ct.Close()
	var out bytes.Buffer
	if err := json.Indent(&out, appendState(nil, ct, ""), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = os.Stdout.Write(out.Bytes())
	return err
}

// appendState writes a container as runc's state and list have it.
func appendState(dst []byte, ct *container.Container, owner string) []byte {
	s := ct.OCIState()
	rootfs, status := ct.Rootfs(), string(s.Status)
	dst = append(dst, `{"ociVersion":`...)
	dst = scan.AppendString(dst, &s.Version)
	dst = append(dst, `,"id":`...)
	dst = scan.AppendString(dst, &s.ID)
	dst = append(dst, `,"pid":`...)
	dst = scan.AppendInt(dst, &s.Pid)
	dst = append(dst, `,"status":`...)
	dst = scan.AppendString(dst, &status)
	dst = append(dst, `,"bundle":`...)
	dst = scan.AppendString(dst, &s.Bundle)
	dst = append(dst, `,"rootfs":`...)
	dst = scan.AppendString(dst, &rootfs)
	dst = append(dst, `,"created":"`...)
	dst = append(ct.CreatedAt().AppendFormat(dst, time.RFC3339Nano), '"')
	if len(s.Annotations) > 0 {
		dst = append(dst, `,"annotations":`...)
		dst = scan.AppendMap(dst, s.Annotations, scan.AppendString)
	}
	dst = append(dst, `,"owner":`...)
	return append(scan.AppendString(dst, &owner), '}')
}

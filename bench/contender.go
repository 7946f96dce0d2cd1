package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A contender is a program that runs the workloads. All of them take runc's command line,
// but for the floors, which only know how to run one container.
type contender struct {
	name  string
	path  string
	title string   // as the report calls it
	floor bool     // bench/native/floor.c
	flags []string // of the floor
}

// The names in the order of the report. The ratios are berth's over the peers'.
const (
	berth       = "berth"
	crun        = "crun"
	crunStatic  = "crun-static"
	runc        = "runc"
	floor       = "floor"
	floorCgroup = "floor-cgroups"
)

func allContenders(berthPath string, t tools) []contender {
	return []contender{
		{name: berth, path: berthPath, title: "berth"},
		{name: crun, path: "/usr/bin/crun", title: "crun (Debian)"},
		{name: crunStatic, path: t.crunStatic, title: "crun (static build of Debian's source)"},
		{name: runc, path: "/usr/sbin/runc", title: "runc (Debian)"},
		{name: floor, path: t.floor, title: "floor: namespaces and mounts", floor: true},
		{name: floorCgroup, path: t.floor, title: "floor with cgroups", floor: true, flags: []string{"-c"}},
	}
}

// pick returns the contenders whose names are in list (comma-separated; empty: all).
// A contender that is asked for must be there.
func pick(all []contender, list string) ([]contender, error) {
	var out []contender
	for _, c := range all {
		if list != "" && !contains(strings.Split(list, ","), c.name) {
			continue
		}
		if _, err := os.Stat(c.path); err != nil {
			return nil, fmt.Errorf("contender %s: %w", c.name, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no contender is called %q", list)
	}
	return out, nil
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// verb is the command line of one of runc's verbs.
func (c contender) verb(e *env, args ...string) []string {
	return append([]string{c.path, "--root", e.root(c)}, args...)
}

// run is the command line that runs one container to its end.
func (c contender) run(e *env, bundle, id string) []string {
	if !c.floor {
		return c.verb(e, "run", "--bundle", bundle, id)
	}
	args := []string{c.path}
	for _, f := range c.flags {
		args = append(args, f, id)
	}
	args = append(args, filepath.Join(e.dir, "rootfs"))
	return append(args, e.hierarchies...)
}

// version is what the program says of itself, on one line, and a digest of its file.
func (c contender) version() (string, string, error) {
	data, err := os.ReadFile(c.path)
	if err != nil {
		return "", "", err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	if c.floor {
		return "bench/native/floor.c", sum, nil
	}
	out, err := exec.Command(c.path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w", c.path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[:min(2, len(lines))], ", "), sum, nil
}

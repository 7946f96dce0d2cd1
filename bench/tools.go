package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// tools are the programs that the benchmark builds for itself, in bench/.cache.
type tools struct {
	floor, launch, crunStatic string
}

// buildTools builds what is missing or older than its source. dir is bench/.
func buildTools(dir string) (tools, error) {
	cache := filepath.Join(dir, ".cache")
	t := tools{
		floor:      filepath.Join(cache, "floor"),
		launch:     filepath.Join(cache, "launch"),
		crunStatic: filepath.Join(cache, "crun-static"),
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return t, err
	}
	for _, out := range []string{t.floor, t.launch} {
		src := filepath.Join(dir, "native", filepath.Base(out)+".c")
		if err := build(out, src, compiler(), "-static", "-Os", "-Wall", "-Wextra", "-Werror", "-o", out, src); err != nil {
			return t, err
		}
	}
	script := filepath.Join(dir, "native", "crun-static.sh")
	return t, build(t.crunStatic, script, "sh", script, t.crunStatic)
}

// build runs a command that makes out, unless out is newer than src.
func build(out, src string, command ...string) error {
	from, err := os.Stat(src)
	if err != nil {
		return err
	}
	if to, err := os.Stat(out); err == nil && to.ModTime().After(from.ModTime()) {
		return nil
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", out, err)
	}
	return nil
}

// compiler is musl's where there is one: its static programs start with fewer page faults.
func compiler() string {
	if path, err := exec.LookPath("musl-gcc"); err == nil {
		return path
	}
	return "cc"
}

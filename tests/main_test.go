// Package tests drives the built berth binary as its users and managers do: by its command
// line, its files, its exit status. It needs root. It never links berth's own packages, so
// BERTH=/usr/sbin/runc runs the same suite against another runtime, to check the suite.
package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What TestMain found and made; read-only for the tests.
var (
	berth   string // the binary under test
	base    string // everything the tests write is below it
	tools   string // probe, tiny, hook: static programs, on the host and in each rootfs
	rootfs  string // the template that bundles link from
	applets = strings.Fields(`sh cat ls mount umount id hostname env sleep true false echo test touch
		mkdir rm stat ps kill grep wc head readlink mknod dd od tty stty sysctl ulimit pwd ln chmod sort
		df printf dmesg unshare setsid nc ip seq tr`)
)

func TestMain(m *testing.M) {
	code, err := setup(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		code = 1
	}
	os.Exit(code)
}

func setup(m *testing.M) (code int, err error) {
	if os.Geteuid() != 0 {
		return 1, fmt.Errorf("need root: containers are made")
	}
	berth = os.Getenv("BERTH")
	if berth == "" {
		berth = "../berth"
	}
	if berth, err = filepath.Abs(berth); err != nil {
		return 1, err
	}
	if _, err = os.Stat(berth); err != nil {
		return 1, fmt.Errorf("no binary to test (run make, or set BERTH): %w", err)
	}
	if base, err = os.MkdirTemp("", "berth-tests-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(base)
	// An unprivileged `berth plan` reads bundles in here.
	if err = os.Chmod(base, 0o755); err != nil {
		return 1, err
	}
	if err = buildTools(); err != nil {
		return 1, err
	}
	if err = buildRootfs(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func buildTools() error {
	tools = filepath.Join(base, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", tools + "/probe", "cmd/probe/probe.c"},
		{"gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-nostdlib", "-fno-stack-protector",
			"-fno-pie", "-no-pie", "-o", tools + "/tiny", "cmd/tiny/tiny.c"},
		{"go", "build", "-o", tools + "/hook", "./cmd/hook"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// buildRootfs makes the template: busybox, the tools, and every mount point of the default
// config, so that no runtime has a reason to write into a rootfs.
func buildRootfs() error {
	rootfs = filepath.Join(base, "template")
	for _, dir := range []string{"bin", "sbin", "usr/bin", "proc", "sys", "dev", "etc", "tmp", "root", "out", "log", "home/app"} {
		if err := os.MkdirAll(filepath.Join(rootfs, dir), 0o755); err != nil {
			return err
		}
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("busybox-static is not installed: %w", err)
	}
	for from, to := range map[string]string{
		busybox: "busybox", tools + "/probe": "probe", tools + "/tiny": "tiny", tools + "/hook": "hook",
	} {
		if err := copyFile(from, filepath.Join(rootfs, "bin", to), 0o755); err != nil {
			return err
		}
	}
	for _, name := range applets {
		if err := os.Symlink("busybox", filepath.Join(rootfs, "bin", name)); err != nil {
			return err
		}
	}
	passwd := "root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n"
	group := "root:x:0:\napp:x:1000:\n"
	if err := os.WriteFile(filepath.Join(rootfs, "etc/passwd"), []byte(passwd), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(rootfs, "etc/group"), []byte(group), 0o644)
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}

// linkTree makes to a copy of from: its own directories, hard links to the files.
func linkTree(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		if e.IsDir() {
			err = linkTree(src, dst)
		} else {
			err = os.Link(src, dst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

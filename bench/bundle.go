package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// configJSON is what `runc spec` of Debian's runc writes, without a terminal, for
// /bin/true, and as version 1.0.2: Debian's crun takes 1.0.x only.
//
//go:embed config.json
var configJSON []byte

// seccompJSON has the size of Docker's default profile.
//
//go:embed seccomp.json
var seccompJSON []byte

// applets are the busybox applets that the workloads and checks execute.
var applets = []string{"true", "sh", "grep", "wc", "cat"}

// makeRootfs makes dir/rootfs, with a static busybox.
func makeRootfs(dir string) error {
	root := filepath.Join(dir, "rootfs")
	for _, d := range []string{"bin", "dev", "etc", "proc", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("busybox-static: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "bin/busybox"), data, 0o755); err != nil {
		return err
	}
	for _, a := range applets {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", a)); err != nil {
			return err
		}
	}
	return nil
}

// A bundleOptions says how a bundle differs from runc's default config.
type bundleOptions struct {
	seccomp     bool
	args        []string // empty: /bin/true
	cgroupsPath string   // empty: the runtime's choice
}

// makeBundle writes dir/name/config.json over dir/rootfs and returns the bundle's path.
func makeBundle(dir, name string, o bundleOptions) (string, error) {
	var c map[string]any
	if err := json.Unmarshal(configJSON, &c); err != nil {
		return "", fmt.Errorf("config.json: %w", err)
	}
	linux := c["linux"].(map[string]any)
	c["root"].(map[string]any)["path"] = filepath.Join(dir, "rootfs")
	if len(o.args) > 0 {
		c["process"].(map[string]any)["args"] = o.args
	}
	if o.cgroupsPath != "" {
		linux["cgroupsPath"] = o.cgroupsPath
	}
	if o.seccomp {
		profile, err := seccompProfile()
		if err != nil {
			return "", err
		}
		linux["seccomp"] = profile
	}
	data, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return "", err
	}
	bundle := filepath.Join(dir, name)
	if err := os.MkdirAll(bundle, 0o755); err != nil {
		return "", err
	}
	return bundle, os.WriteFile(filepath.Join(bundle, "config.json"), data, 0o644)
}

// seccompProfile is seccomp.json with the architectures that Docker would name here.
func seccompProfile() (map[string]any, error) {
	arches := map[string][]string{
		"amd64": {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"},
		"arm64": {"SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"},
	}[runtime.GOARCH]
	if arches == nil {
		return nil, fmt.Errorf("seccomp.json: no architectures known for %s", runtime.GOARCH)
	}
	var profile map[string]any
	if err := json.Unmarshal(seccompJSON, &profile); err != nil {
		return nil, fmt.Errorf("seccomp.json: %w", err)
	}
	profile["architectures"] = arches
	return profile, nil
}

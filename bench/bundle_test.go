package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMakeBundle(t *testing.T) {
	dir := t.TempDir()
	bundle, err := makeBundle(dir, "b", bundleOptions{seccomp: true, args: []string{"/bin/sh"}, cgroupsPath: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Process struct{ Args []string }
		Root    struct{ Path string }
		Linux   struct {
			CgroupsPath string
			Seccomp     struct {
				Architectures []string
				Syscalls      []struct {
					Names []string
					Args  []any
				}
			}
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	if strings.Join(c.Process.Args, " ") != "/bin/sh" || c.Linux.CgroupsPath != "/x" || c.Root.Path != filepath.Join(dir, "rootfs") {
		t.Errorf("the options are not in %s", data)
	}
	names, rules := 0, 0
	for _, s := range c.Linux.Seccomp.Syscalls {
		names += len(s.Names)
		if len(s.Args) > 0 {
			rules++
		}
	}
	if names < 350 || rules < 5 || len(c.Linux.Seccomp.Architectures) < 2 {
		t.Errorf("%d names, %d rules on arguments, architectures %v: not the size of Docker's profile", names, rules, c.Linux.Seccomp.Architectures)
	}
}

// The default bundle is what runc makes, but for what the comment on configJSON names.
func TestDefaultBundle(t *testing.T) {
	var c map[string]any
	if err := json.Unmarshal(configJSON, &c); err != nil {
		t.Fatal(err)
	}
	if c["ociVersion"] != "1.0.2" || c["process"].(map[string]any)["terminal"] != false {
		t.Errorf("version %v, process %v", c["ociVersion"], c["process"])
	}
	if n := len(c["mounts"].([]any)); n != 7 {
		t.Errorf("%d mounts", n)
	}
}

func TestPick(t *testing.T) {
	all := []contender{{name: "a", path: "/"}, {name: "b", path: "/nowhere"}}
	if got, err := pick(all, "a"); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, list := range []string{"", "b", "c"} {
		if _, err := pick(all, list); err == nil {
			t.Errorf("%q: a contender that is not there was accepted", list)
		}
	}
	if ws, err := pickWorkloads("run-default,cycle-default"); err != nil || len(ws) != 2 {
		t.Errorf("%v, %v", ws, err)
	}
	if _, err := pickWorkloads("run"); err == nil {
		t.Error("a workload that is not there was accepted")
	}
}

package runcstate_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"berth/runcstate"
	"berth/specjson"
)

// TestRuncVerbs makes a container with runc, replaces its state.json by one of ours, and
// expects that every verb of runc does and prints what it did before.
func TestRuncVerbs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes containers")
	}
	built := filepath.Join(t.TempDir(), "runc")
	build := exec.Command("go", "build", "-tags", "seccomp", "-o", built, "github.com/opencontainers/runc")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build runc from the module cache: %v\n%s", err, out)
	}
	rootfs := makeRootfs(t)
	runcs := map[string]string{"debian's": "runc", "the module's": built}
	for creator, create := range runcs {
		for _, config := range []string{"podman", "runc-default"} {
			for user, verbs := range runcs {
				t.Run(config+" by "+creator+", verbs of "+user, func(t *testing.T) {
					c := &container{t: t, root: t.TempDir(), bundle: t.TempDir(), create: create, verbs: verbs}
					c.writeConfig(config, rootfs)
					c.testVerbs()
				})
			}
		}
	}
}

// makeRootfs is a root file system with busybox.
func makeRootfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	busybox, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal("busybox-static is not installed: ", err)
	}
	for _, d := range []string{"bin", "proc", "sys", "dev", "etc", "run", "scratch", "mnt"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bin/busybox"), busybox, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "sleep", "cat"} {
		if err := os.Symlink("busybox", filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const id = "berth-runcstate"

type container struct {
	t             *testing.T
	root, bundle  string
	create, verbs string // runc's binaries
	seccomp       bool
}

// writeConfig writes a bundle of a config of the corpus that runs here: what it binds from
// the host is left out.
func (c *container) writeConfig(name, rootfs string) {
	data, err := os.ReadFile("../specjson/testdata/" + name + ".json")
	if err != nil {
		c.t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		c.t.Fatal(err)
	}
	doc["root"] = map[string]any{"path": rootfs, "readonly": true}
	process := doc["process"].(map[string]any)
	process["args"] = []string{"sleep", "100"}
	process["terminal"] = false
	process["noNewPrivileges"] = true
	process["oomScoreAdj"] = 77
	delete(process, "rlimits")
	var mounts []any
	for _, m := range doc["mounts"].([]any) {
		if m.(map[string]any)["type"] != "bind" {
			mounts = append(mounts, m)
		}
	}
	doc["mounts"] = mounts
	linux := doc["linux"].(map[string]any)
	linux["cgroupsPath"] = "/" + id
	c.seccomp = linux["seccomp"] != nil
	out, err := json.Marshal(doc)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.bundle, "config.json"), out, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// runc runs a verb; with the error it gives where it fails.
func (c *container) runc(binary string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command(binary, append([]string{"--root", c.root}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("runc %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (c *container) stateFile() string { return filepath.Join(c.root, id, "state.json") }

func (c *container) testVerbs() {
	create := exec.Command(c.create, "--root", c.root, "create", "--bundle", c.bundle, id)
	if err := create.Run(); err != nil {
		c.t.Fatalf("runc create: %v", err)
	}
	defer func() { _ = exec.Command(c.create, "--root", c.root, "delete", "--force", id).Run() }()
	c.replace() // while created
	if out := c.runc(c.verbs, "state", id); !strings.Contains(out, `"created"`) {
		c.t.Errorf("created: %s", out)
	}
	c.runc(c.verbs, "start", id)

	original, err := os.ReadFile(c.stateFile())
	if err != nil {
		c.t.Fatal(err)
	}
	before := c.look()
	c.replace()
	for what, now := range c.look() {
		if now != before[what] {
			c.t.Errorf("%s: %s\nwith runc's own state.json: %s", what, now, before[what])
		}
	}
	if c.seccomp && !strings.Contains(before["exec"], "Seccomp:\t2") {
		c.t.Errorf("exec without seccomp: %s", before["exec"])
	}
	c.update()
	if _, err := runcstate.Parse(original); err != nil {
		c.t.Error(err)
	}
	c.end()
}

// look collects what verbs print that change nothing, without what differs from run to run.
func (c *container) look() map[string]string {
	c.t.Helper()
	status := c.runc(c.verbs, "exec", id, "cat", "/proc/self/status", "/proc/self/cgroup", "/proc/self/oom_score_adj")
	var kept []string
	for line := range strings.SplitSeq(status, "\n") {
		if regexp.MustCompile(`^(Uid|Gid|Groups|Seccomp|Cap...|NoNewPrivs|NSpid|Sig(Blk|Ign)|\d+:|\d+$)`).MatchString(line) {
			kept = append(kept, regexp.MustCompile(`NSpid:.*`).ReplaceAllString(line, ""))
		}
	}
	if out := c.runc(c.verbs, "events", "--stats", id); !strings.Contains(out, `"pids":{"current":`) {
		c.t.Errorf("events: %s", out)
	}
	return map[string]string{
		"state": c.runc(c.verbs, "state", id),
		"exec":  strings.Join(kept, "\n"),
		"list":  c.runc(c.verbs, "list", "--format", "json"),
		"ps":    c.runc(c.verbs, "ps", "--format", "json", id),
	}
}

// update changes limits and freezes; runc writes the state.json anew, from what it read of ours.
func (c *container) update() {
	c.t.Helper()
	c.runc(c.verbs, "update", "--pids-limit", "55", "--memory", "67108864", id)
	paths := c.parse().CgroupPaths
	if data, err := os.ReadFile(filepath.Join(paths["pids"], "pids.max")); err != nil || strings.TrimSpace(string(data)) != "55" {
		c.t.Errorf("pids.max after update: %q, %v", data, err)
	}
	c.runc(c.verbs, "pause", id)
	if out := c.runc(c.verbs, "state", id); !strings.Contains(out, `"paused"`) {
		c.t.Errorf("after pause: %s", out)
	}
	c.runc(c.verbs, "resume", id)
	if out := c.runc(c.verbs, "state", id); !strings.Contains(out, `"running"`) {
		c.t.Errorf("after resume: %s", out)
	}
}

// end kills and deletes, and sees that nothing is left.
func (c *container) end() {
	c.t.Helper()
	paths := c.parse().CgroupPaths
	c.runc(c.verbs, "kill", id, "KILL")
	for range 100 {
		if strings.Contains(c.runc(c.verbs, "state", id), `"stopped"`) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.runc(c.verbs, "delete", id)
	if _, err := os.Stat(filepath.Join(c.root, id)); !os.IsNotExist(err) {
		c.t.Error("the state directory is left")
	}
	for _, dir := range paths {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			c.t.Error("left: ", dir)
		}
	}
}

func (c *container) parse() *runcstate.State {
	c.t.Helper()
	data, err := os.ReadFile(c.stateFile())
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := runcstate.Parse(data)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// replace writes our state.json in place of runc's, from the config and the facts that runc's
// has: pid, paths and the seccomp profile in libcontainer's form.
func (c *container) replace() {
	c.t.Helper()
	data, err := os.ReadFile(c.stateFile())
	if err != nil {
		c.t.Fatal(err)
	}
	var facts struct {
		ExternalDescriptors []string                          `json:"external_descriptors"`
		Config              struct{ Seccomp json.RawMessage } `json:"config"`
	}
	if err := json.Unmarshal(data, &facts); err != nil {
		c.t.Fatal(err)
	}
	old := c.parse()
	config, err := os.ReadFile(filepath.Join(c.bundle, "config.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	spec, raw, err := specjson.Decode(config)
	if err != nil {
		c.t.Fatal(err)
	}
	if string(facts.Config.Seccomp) == "null" {
		facts.Config.Seccomp = nil
	}
	if (raw.Seccomp == nil) != (facts.Config.Seccomp == nil) {
		c.t.Fatal("seccomp is in one of config.json and state.json only")
	}
	ours := runcstate.Append(nil, &runcstate.Input{
		Spec: spec, ID: id, Bundle: c.bundle, Rootfs: spec.Root.Path, SeccompConfig: facts.Config.Seccomp,
		Pid: old.InitProcessPid, StartTime: old.InitProcessStartTime, Created: old.Created,
		ExternalDescriptors: facts.ExternalDescriptors, CgroupPaths: old.CgroupPaths,
	})
	if err := os.WriteFile(c.stateFile(), ours, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

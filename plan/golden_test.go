package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth/specjson"
	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write testdata/*.plan")

// allCaps is what an unconfined root can grant.
var allCaps = uint64(1)<<len(CapabilityNames) - 1

// usualFacts are those of root on a host with cgroup v1.
func usualFacts() *Facts {
	return &Facts{
		ID: "c1", Bundle: "/bundle", Rootfs: "/bundle/rootfs", Home: "/root", Privileged: true,
		NofileHard: 4096, Caps: allCaps, Kinds: map[int]Kind{}, Cgroup: cgroup1(true),
	}
}

func cgroup1(join bool) CgroupFacts {
	f := CgroupFacts{
		Version: 1,
		Mounts: []CgroupMount{
			{Name: "memory", Source: "/sys/fs/cgroup/memory/c1", Type: "cgroup", Options: "memory"},
			{Name: "cpu,cpuacct", Source: "/sys/fs/cgroup/cpu,cpuacct/c1", Type: "cgroup", Options: "cpu,cpuacct"},
			{Name: "systemd", Source: "/sys/fs/cgroup/systemd/c1", Type: "cgroup", Options: "none,name=systemd"},
		},
		Links: [][2]string{{"cpu", "cpu,cpuacct"}, {"cpuacct", "cpu,cpuacct"}},
	}
	if join {
		f.Join = []string{"/sys/fs/cgroup/memory/c1/tasks", "/sys/fs/cgroup/cpu,cpuacct/c1/tasks"}
	}
	return f
}

func cgroup2(f *Facts) {
	f.Cgroup = CgroupFacts{Version: 2, Mounts: []CgroupMount{{Source: "/sys/fs/cgroup/c1", Type: "cgroup2"}}}
	f.IntoCgroup = true
}

// goldenFacts are the facts of testdata/NAME.json where the usual ones don't do.
var goldenFacts = map[string]func(*Facts){
	"runc-default": func(f *Facts) { f.Early = newNet | newIPC | newUTS | newNS },
	"docker": func(f *Facts) {
		cgroup2(f)
		f.Rootfs = "/var/lib/docker/overlay2/8a6b/merged"
		f.Kinds = map[int]Kind{7: KindFile, 8: KindFile}
	},
	"kubernetes": func(f *Facts) { cgroup2(f); f.Kinds = map[int]Kind{6: KindFile, 7: KindFile} },
	"podman":     func(f *Facts) { f.Kinds = map[int]Kind{6: KindFile} },
	"userns":     func(f *Facts) { f.Cgroup = cgroup1(false); f.Kinds = map[int]Kind{7: KindFile} },
	"joined-user": func(f *Facts) {
		f.Cgroup = cgroup1(false)
		f.OwnedByUser = map[string]bool{"network": true, "ipc": true}
	},
	"userns-joined-network": func(f *Facts) { f.Cgroup = cgroup1(false) },
	"userns-no-pivot":       func(f *Facts) { f.Cgroup, f.NoPivot = cgroup1(false), true },
	"cgroup-v2-namespace":   cgroup2,
	"cgroup-v2-host":        cgroup2,
	"no-pivot":              func(f *Facts) { f.NoPivot, f.NoNewKeyring = true, true },
	"propagation-shared":    func(f *Facts) { f.RootfsParent = "/bundle" },
	"devices":               func(f *Facts) { f.Kinds = map[int]Kind{2: KindFile} },
	"mounts":                func(f *Facts) { f.Kinds = map[int]Kind{7: KindFile} },
	"process":               func(f *Facts) { f.PreserveFDs, f.ListenFDs = 4, 2 },
	"privileged":            func(f *Facts) { f.Home = ""; cgroup2(f) },
}

func decodeSpec(t testing.TB, data []byte) (*specs.Spec, *specjson.Raw) {
	t.Helper()
	spec, raw, err := specjson.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return spec, raw
}

// goldenPlan is the plan of testdata/NAME.json.
func goldenPlan(t testing.TB, name string) *Plan {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	spec, raw := decodeSpec(t, data)
	f := usualFacts()
	f.Seccomp = raw.Seccomp != nil
	if change := goldenFacts[name]; change != nil {
		change(f)
	}
	p, err := Build(spec, f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func goldenNames(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d documents in testdata, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return names
}

// TestGolden compares the plans of testdata/*.json with *.plan; -update writes these.
func TestGolden(t *testing.T) {
	names := goldenNames(t)
	for _, name := range names {
		p := goldenPlan(t, name)
		got := p.String()
		for _, w := range p.Warnings {
			got += "warning: " + w + "\n"
		}
		file := filepath.Join("testdata", name+".plan")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (go test ./plan -update writes it)", err)
		}
		if got != string(want) {
			t.Errorf("%s: %s (go test ./plan -update writes the new plan)", file, firstDifference(got, string(want)))
		}
	}
	plans, _ := filepath.Glob("testdata/*.plan")
	if len(plans) != len(names) {
		t.Errorf("%d plans of %d documents in testdata", len(plans), len(names))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			was := "the end"
			if i < len(w) {
				was = w[i]
			}
			return "line " + g[i] + "\nwas  " + was
		}
	}
	return "is shorter than it was"
}

// TestDocs: docs/plan-format.md explains a line that a plan really has, and every meeting point.
func TestDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/plan-format.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(doc)
	_, line, _ := strings.Cut(text, "One line is one operation:\n\n")
	line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
	_, what, ok := strings.Cut(line, " ") // its index may change
	if !ok || !strings.Contains(goldenPlan(t, "runc-default").String(), " "+what+"\n") {
		t.Errorf("no plan has the line %q of the page", line)
	}
	for id := SyncMaps; id <= SyncStartState; id++ {
		if !strings.Contains(text, fmt.Sprintf("(%d)", id)) {
			t.Errorf("meeting point %d is not on the page", id)
		}
	}
}

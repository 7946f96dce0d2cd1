package runcstate_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"berth/runcstate"
	"berth/specjson"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// document is like one that runc 1.1 wrote, with what is no part of State left in.
const document = `{"id":"c1","init_process_pid":17,"init_process_start":42,"created":"2026-01-02T03:04:05.6Z",
"config":{"no_pivot_root":false,"rootfs":"/b/rootfs","umask":null,"mounts":[{"source":"proc","flags":14}],
"namespaces":[{"type":"NEWPID","path":""},{"type":"NEWNET","path":"/run/netns/a"}],
"cgroups":{"path":"/x/c1","scope_prefix":"","Paths":null,"Systemd":false,"devices":[{"type":97}]},
"Hooks":{"createRuntime":null,"poststop":[{"path":"/bin/h","args":["h"],"env":null,"dir":"","timeout":1500000000}]},
"version":"1.0.2-dev","labels":["a=b=c","bundle=/b"],"seccomp":{"default_action":2}},
"rootless":false,"cgroup_paths":{"pids":"/sys/fs/cgroup/pids/x/c1"},
"namespace_paths":{"NEWPID":"/proc/17/ns/pid"},"external_descriptors":["/dev/null"],"intel_rdt_path":""}`

func TestParse(t *testing.T) {
	s, err := runcstate.Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	timeout := 1500 * time.Millisecond
	want := &runcstate.State{
		ID: "c1", InitProcessPid: 17, InitProcessStartTime: 42,
		Created:        time.Date(2026, 1, 2, 3, 4, 5, 600000000, time.UTC),
		CgroupPaths:    map[string]string{"pids": "/sys/fs/cgroup/pids/x/c1"},
		NamespacePaths: map[string]string{"NEWPID": "/proc/17/ns/pid"},
		Config: runcstate.Config{
			Rootfs: "/b/rootfs", Labels: []string{"a=b=c", "bundle=/b"}, Version: "1.0.2-dev",
			Namespaces: []runcstate.Namespace{{Type: "NEWPID"}, {Type: "NEWNET", Path: "/run/netns/a"}},
			Hooks:      runcstate.Hooks{Poststop: []runcstate.Hook{{Path: "/bin/h", Args: []string{"h"}, Timeout: &timeout}}},
			Cgroups:    &runcstate.Cgroups{Path: "/x/c1"},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v\nwant %+v", s, want)
	}
	if s.Bundle() != "/b" || !s.OwnPIDNamespace() || !reflect.DeepEqual(s.Annotations(), map[string]string{"a": "b=c"}) {
		t.Error(s.Bundle(), s.OwnPIDNamespace(), s.Annotations())
	}
	two := 2
	hooks := &specs.Hooks{Poststop: []specs.Hook{{Path: "/bin/h", Args: []string{"h"}, Timeout: &two}}}
	if !reflect.DeepEqual(s.SpecHooks(), hooks) {
		t.Errorf("%+v", s.SpecHooks())
	}
}

// TestBundleAnnotation: an annotation can't say where the bundle is.
func TestBundleAnnotation(t *testing.T) {
	spec := &specs.Spec{Annotations: map[string]string{"bundle": "/elsewhere", "z": "1"}}
	s, err := runcstate.Parse(runcstate.Append(nil, &runcstate.Input{Spec: spec, Bundle: "/b"}))
	if err != nil || s.Bundle() != "/b" {
		t.Error(s.Bundle(), err)
	}
}

// TestParseBroken: a file that was cut or spoilt is an error that says where.
func TestParseBroken(t *testing.T) {
	for i := range len(document) - 1 {
		if _, err := runcstate.Parse([]byte(document[:i])); err == nil {
			t.Fatalf("no error for the first %d bytes", i)
		}
	}
	_, err := runcstate.Parse([]byte(strings.Replace(document, `"/b/rootfs"`, "5", 1)))
	if err == nil || err.Error() != "config.rootfs: cannot use number as string (line 2)" {
		t.Error(err)
	}
}

// TestHostileSpec: nothing in a specification makes the writer panic or write what is no JSON.
func TestHostileSpec(t *testing.T) {
	for _, doc := range []string{
		`{}`, `{"linux":{}}`, `{"root":{},"process":{},"hooks":{},"linux":{"resources":{}}}`,
		`{"linux":{"cgroupsPath":"::::"}}`, `{"linux":{"cgroupsPath":"\u0000/../"}}`,
		`{"linux":{"namespaces":[{"type":"x"},{}]}}`, `{"mounts":[{},{"options":["","r","bind"]}]}`,
		`{"linux":{"devices":[{"type":""},{"type":"x"}],"resources":{"devices":[{"type":"\u00e4"},{}]}}}`,
		`{"process":{"execCPUAffinity":{"initial":"9-1","final":"0-99999999999"}}}`,
		`{"linux":{"memoryPolicy":{"mode":"x","nodes":"-","flags":["x"]},"personality":{"domain":"x"}}}`,
		`{"annotations":{"":"","\ud800":"\u0000"},"hostname":"\""}`,
		`{"linux":{"resources":{"memory":{},"cpu":{},"pids":{},"blockIO":{"weightDevice":[{}]},"network":{},"rdma":{"\"":{}}}}}`,
	} {
		spec, _, err := specjson.Decode([]byte(doc))
		if err != nil {
			t.Fatal(doc, err)
		}
		for _, systemd := range []bool{false, true} {
			out := runcstate.Append(nil, &runcstate.Input{Spec: spec, Systemd: systemd})
			if _, err := runcstate.Parse(out); err != nil {
				t.Errorf("%s: %v\n%s", doc, err, out)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	data, err := os.ReadFile("../specjson/testdata/docker.json")
	if err != nil {
		b.Fatal(err)
	}
	spec, raw, err := specjson.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	in := &runcstate.Input{Spec: spec, ID: "c1", Bundle: "/b", Rootfs: "/b/rootfs", SeccompConfig: raw.Seccomp, Pid: 5}
	dst := make([]byte, 0, 32<<10)
	b.ReportAllocs()
	for b.Loop() {
		runcstate.Append(dst, in)
	}
}

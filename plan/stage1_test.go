package plan_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"berth/nsenter"
	"berth/plan"
	"berth/specjson"
	"golang.org/x/sys/unix"
)

// goldenPlans are encoded so that operation 0 fails: stage1 checks all of a plan first.
func goldenPlans(t *testing.T) map[string]*plan.Plan {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents in testdata: %v", err)
	}
	plans := map[string]*plan.Plan{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spec, raw, err := specjson.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Build(spec, &plan.Facts{
			ID: "c1", Bundle: "/bundle", Rootfs: "/bundle/rootfs", Seccomp: raw.Seccomp != nil, Privileged: true, Caps: ^uint64(0),
			PreserveFDs: 2, Cgroup: plan.CgroupFacts{Version: 2, Mounts: []plan.CgroupMount{{Source: "/c1", Type: "cgroup2"}}},
		})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		plans[strings.TrimSuffix(filepath.Base(file), ".json")] = p
	}
	return plans
}

// launchPlan gives the only message of stage1 that runs an encoded plan.
func launchPlan(t *testing.T, encoded []byte, slots int) *nsenter.Message {
	t.Helper()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(null)
	l := &nsenter.Launch{Plan: encoded, Files: []int{null, null, null}, CgroupFD: -1}
	for range slots {
		l.Slots = append(l.Slots, null)
	}
	s, err := nsenter.Start(l)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Next()
	if _, e := unix.Wait4(s.Pid, nil, 0, nil); e != nil {
		t.Errorf("wait: %v", e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStage1AcceptsPlans: the real validator finds nothing wrong with what Encode writes.
func TestStage1AcceptsPlans(t *testing.T) {
	for name, p := range goldenPlans(t) {
		b, err := p.Encode(plan.Layout{FDBase: 4, SyncFD: 3, FaultOp: 0, FaultErrno: int(syscall.EXFULL)})
		if err != nil {
			t.Fatal(err)
		}
		m := launchPlan(t, b, len(p.Pass))
		if m.Kind != nsenter.KindFail || m.Op != 0 || m.Code != uint32(p.Ops[0].Code) || m.Errno != syscall.EXFULL {
			t.Errorf("%s: stage1 says %+v", name, *m)
		}
	}
}

// TestStage1RefusesPlan: the test above could fail.
func TestStage1RefusesPlan(t *testing.T) {
	p := goldenPlans(t)["docker"]
	b, err := p.Encode(plan.Layout{FDBase: 4, SyncFD: 3, FaultOp: 0, FaultErrno: int(syscall.EXFULL)})
	if err != nil {
		t.Fatal(err)
	}
	last := 48 + 72*(len(p.Ops)-1) // what only a check of all operations finds
	binary.LittleEndian.PutUint16(b[last:], 9999)
	if m := launchPlan(t, b, len(p.Pass)); m.Kind != nsenter.KindFail || m.Code != 0 || int(m.Op) != len(p.Ops)-1 {
		t.Errorf("stage1 says %+v", *m)
	}
}

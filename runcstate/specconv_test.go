//go:build cgo

// Specconv, which this is compared with, does not build without cgo: "make test" runs this
// with CGO_ENABLED=1.

package runcstate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"berth/runcstate"
	"berth/specjson"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// accepted are the differences from runc's own document that are meant: where, and why.
var accepted = map[string]string{}

// ownUserNS is a user namespace to join, by a path that runc reads the maps of without a process.
var ownUserNS = fmt.Sprintf("/proc/%d/ns/user", os.Getpid())

// known are real configs; the others there are for other systems than Linux.
var known = []string{"docker", "kubernetes", "podman", "runc-default", "runc-rootless", "schema-example", "spec-full"}

// readCorpus reads the known configs, before the tests change directory.
func readCorpus(t *testing.T) func(name string) *specs.Spec {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range known {
		data, err := os.ReadFile(filepath.Join("../specjson/testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	return func(name string) *specs.Spec {
		spec, _, err := specjson.Decode(files[name])
		if err != nil {
			t.Fatal(name, err)
		}
		return spec
	}
}

func TestAsSpecconv(t *testing.T) {
	spec := readCorpus(t)
	used := map[string]bool{}
	for _, name := range known {
		for _, systemd := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,systemd=%v", name, systemd), func(t *testing.T) {
				spec := spec(name)
				if systemd && strings.Count(spec.Linux.CgroupsPath, ":") != 2 {
					spec.Linux.CgroupsPath = ""
				}
				// These paths are not there.
				for i := range spec.Linux.Namespaces {
					if ns := &spec.Linux.Namespaces[i]; ns.Type == specs.UserNamespace && ns.Path != "" {
						ns.Path = ownUserNS
					}
				}
				compare(t, spec, &runcstate.Input{Systemd: systemd}, used)
			})
		}
	}
	for name, vary := range variations {
		t.Run(name, func(t *testing.T) {
			for _, base := range []string{"runc-default", "runc-rootless"} {
				s, in := spec(base), &runcstate.Input{}
				vary(s, in)
				compare(t, s, in, used)
			}
		})
	}
	t.Run("combinations", func(t *testing.T) {
		names := slices.Sorted(func(yield func(string) bool) {
			for n := range variations {
				if !yield(n) {
					return
				}
			}
		})
		rng := rand.New(rand.NewPCG(3, 4))
		for range 300 {
			s, in := spec(known[rng.IntN(len(known))]), &runcstate.Input{}
			var chosen []string
			for range 1 + rng.IntN(12) {
				n := names[rng.IntN(len(names))]
				chosen = append(chosen, n)
				variations[n](s, in)
			}
			if !compare(t, s, in, used) {
				t.Fatalf("with %v", chosen)
			}
		}
	})
	if refused > 60 {
		t.Errorf("runc refused %d of the configs", refused)
	}
	for path := range accepted {
		if !used[path] {
			t.Errorf("%s is no difference any more", path)
		}
	}
}

// refused counts the configs that runc refuses: nothing to compare.
var refused int

// compare makes the document both ways and compares what runc reads from them.
func compare(t *testing.T, spec *specs.Spec, in *runcstate.Input, used map[string]bool) bool {
	t.Helper()
	bundle := t.TempDir()
	t.Chdir(bundle)
	complete(spec, in, bundle)
	want, err := ofRunc(spec, in)
	if err != nil {
		refused++
		return true
	}
	data := runcstate.Append(nil, in)
	if !json.Valid(data) {
		t.Errorf("no JSON: %s", data)
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var got libcontainer.State
	if err := dec.Decode(&got); err != nil {
		t.Errorf("runc does not read it: %v", err)
		return false
	}
	same := true
	for path, diff := range differences(members(t, &got), members(t, want)) {
		if accepted[path] != "" {
			used[path] = true
			continue
		}
		same = false
		t.Errorf("%s: %s", path, diff)
	}
	runcs, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := parsed(t, data), parsed(t, runcs); !reflect.DeepEqual(a, b) {
		t.Errorf("parsed: %+v\nof runc's: %+v", a, b)
		return false
	}
	return same
}

// parsed is what Parse makes of a document, with sorted labels.
func parsed(t *testing.T, data []byte) *runcstate.State {
	t.Helper()
	s, err := runcstate.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.Config.Labels)
	return s
}

// complete fills in what does not come from the specification.
func complete(spec *specs.Spec, in *runcstate.Input, bundle string) {
	in.Spec, in.ID, in.Bundle = spec, "c1", bundle
	in.Rootfs = filepath.Join(bundle, spec.Root.Path)
	if filepath.IsAbs(spec.Root.Path) {
		in.Rootfs = spec.Root.Path
	}
	in.Pid, in.StartTime = 4711, 123456789
	in.Created = time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)
	in.ExternalDescriptors = []string{"/dev/null", "pipe:[5]", "/dev/pts/0"}
	in.CgroupPaths = map[string]string{"memory": "/sys/fs/cgroup/memory/c1", "": "/sys/fs/cgroup/c1"}
	// That is the map of the namespace that the tests join: their own.
	whole := []specs.LinuxIDMapping{{Size: 1<<32 - 1}}
	in.UIDMappings, in.GIDMappings = whole, whole
}

// ofRunc is the document as runc makes it.
func ofRunc(spec *specs.Spec, in *runcstate.Input) (*libcontainer.State, error) {
	config, err := specconv.CreateLibcontainerConfig(&specconv.CreateOpts{
		CgroupName: in.ID, UseSystemdCgroup: in.Systemd, NoPivotRoot: in.NoPivot, NoNewKeyring: in.NoNewKeyring,
		Spec: spec, RootlessEUID: in.RootlessEUID, RootlessCgroups: in.RootlessCgroups,
	})
	defer func() {
		// Specconv gives these to the user namespace's root, in its own table.
		for _, d := range specconv.AllowedDevices {
			d.Uid, d.Gid = 0, 0
		}
	}()
	if err != nil {
		return nil, err
	}
	s := &libcontainer.State{
		BaseState: libcontainer.BaseState{
			ID: in.ID, InitProcessPid: in.Pid, InitProcessStartTime: in.StartTime, Created: in.Created, Config: *config,
		},
		Rootless:            in.RootlessEUID && in.RootlessCgroups,
		CgroupPaths:         in.CgroupPaths,
		ExternalDescriptors: in.ExternalDescriptors,
		NamespacePaths:      map[configs.NamespaceType]string{},
	}
	for _, t := range configs.NamespaceTypes() {
		if ns := (configs.Namespace{Type: t}); configs.IsNamespaceSupported(t) {
			s.NamespacePaths[t] = ns.GetPath(in.Pid)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	read := &libcontainer.State{}
	return read, json.Unmarshal(data, read)
}

// members is a state as JSON has it. Specconv leaves the labels in any order.
func members(t *testing.T, s *libcontainer.State) map[string]any {
	t.Helper()
	slices.Sort(s.Config.Labels)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// differences lists the members that differ by their path, without indexes.
func differences(got, want any) map[string]string {
	out := map[string]string{}
	var walk func(path string, got, want any)
	walk = func(path string, got, want any) {
		if reflect.DeepEqual(got, want) {
			return
		}
		g, ok1 := got.(map[string]any)
		w, ok2 := want.(map[string]any)
		if ok1 && ok2 {
			keys := map[string]bool{}
			for k := range g {
				keys[k] = true
			}
			for k := range w {
				keys[k] = true
			}
			for k := range keys {
				walk(strings.TrimPrefix(path+"."+k, "."), g[k], w[k])
			}
			return
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		out[path] = fmt.Sprintf("%s, runc has %s", a, b)
	}
	walk("", got, want)
	return out
}

//go:build cgo

package main

import (
	"encoding/json"
	"testing"

	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// The example is runc's but for the host name. specconv needs cgo, which berth does without.
func TestSpecIsThatOfRunc(t *testing.T) {
	ours, theirs := exampleSpec(onCgroup2()), specconv.Example()
	same := func() {
		t.Helper()
		theirs.Hostname = ours.Hostname
		if got, want := asJSON(t, ours), asJSON(t, theirs); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	same()
	makeRootless(ours, 0, 0)
	specconv.ToRootless(theirs)
	same()
}

func asJSON(t *testing.T, spec *specs.Spec) string {
	data, err := json.MarshalIndent(spec, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

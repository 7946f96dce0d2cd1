package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestNotStale fails when a generated file is not what the generator makes of the types.
func TestNotStale(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		got, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, f.content) {
			t.Errorf("%s is stale: run go run ./specjson/gen", f.path)
		}
	}
}

// Command gen writes the zz_*.go files: functions that read and append JSON for the types that
// outputs.go lists. Run it as "go run ./specjson/gen" anywhere in the module, after a change to
// one of those types; a test in this package fails when a file is stale.
//
// It works from type information and not by reflection, so it also runs when the code that
// uses the generated functions does not compile yet.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	files, err := generate()
	if err == nil {
		err = write(files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// file is one generated file; path is relative to the module's root.
type file struct {
	path    string
	content []byte
}

// generate makes every file of outputs.
func generate() ([]file, error) {
	w, err := load(outputs)
	if err != nil {
		return nil, err
	}
	var files []file
	for i := range outputs {
		content, err := emit(w, &outputs[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", outputs[i].path(), err)
		}
		files = append(files, file{outputs[i].path(), content})
	}
	return files, nil
}

func write(files []file) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(root, f.path), f.content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

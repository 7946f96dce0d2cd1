package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// world is the type information of every package that an output names.
type world struct {
	packages map[string]*types.Package
	imported types.Importer
	// shared has the exported functions of earlier outputs, by type name: package and suffix.
	shared map[string]shared
}

type shared struct {
	pkg          string
	read, append bool
}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func load(outputs []output) (*world, error) {
	list, err := goList(outputs)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	w := &world{packages: map[string]*types.Package{}, shared: map[string]shared{}}
	w.imported = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		l, ok := list[path]
		if !ok || l.Export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(l.Export)
	})
	for i := range outputs {
		pkg := outputs[i].pkg()
		if w.packages[pkg] != nil {
			continue
		}
		l, ok := list[pkg]
		if !ok {
			return nil, fmt.Errorf("package %s not found", pkg)
		}
		if w.packages[pkg], err = check(fset, w.imported, l); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// goList asks the go command for the export data of the outputs' packages and of all they import.
func goList(outputs []output) (map[string]listed, error) {
	args := []string{"list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", scanPkg}
	for i := range outputs {
		args = append(args, outputs[i].pkg())
		for _, name := range append(outputs[i].read, outputs[i].append...) {
			if pkg, _ := splitType(name); pkg != "" {
				args = append(args, pkg)
			}
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	list := map[string]listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list[l.ImportPath] = l
	}
}

// check type-checks a package from source without its generated files. Errors are expected:
// the generated functions are missing.
func check(fset *token.FileSet, imp types.Importer, l listed) (*types.Package, error) {
	var files []*ast.File
	for _, name := range l.GoFiles {
		if strings.HasPrefix(name, "zz_") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: imp, IgnoreFuncBodies: true, Error: func(error) {}}
	pkg, _ := conf.Check(l.ImportPath, fset, files, nil)
	return pkg, nil
}

// lookup finds a listed type.
func (w *world) lookup(own, name string) (*types.Named, error) {
	path, base := splitType(name)
	pkg := w.packages[own]
	if path != "" && path != own {
		var err error
		if pkg, err = w.imported.Import(path); err != nil {
			return nil, err
		}
	}
	obj := pkg.Scope().Lookup(base)
	if obj == nil {
		return nil, fmt.Errorf("no type %s", name)
	}
	named, ok := types.Unalias(obj.Type()).(*types.Named)
	if !ok {
		return nil, fmt.Errorf("%s is not a defined type", name)
	}
	return named, nil
}

// splitType splits "import/path.Name".
func splitType(name string) (pkg, base string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

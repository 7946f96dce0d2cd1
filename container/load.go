package container

import (
	"os"
	"path/filepath"

	"berth/plan"
	"berth/specjson"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// bundle is a config.json as it was read, once.
type bundle struct {
	path   string // absolute
	rootfs string // absolute
	spec   *specs.Spec
	raw    *specjson.Raw
}

// loadBundle reads dir/config.json.
func loadBundle(dir string) (*bundle, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, wrap("find bundle", dir, unwrapPath(err))
	}
	name := filepath.Join(abs, "config.json")
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, wrap("open", name, err)
	}
	data, err := readAll(fd, specjson.MaxSize)
	unix.Close(fd)
	if err != nil {
		return nil, wrap("read", name, err)
	}
	spec, raw, err := specjson.Decode(data)
	if err != nil {
		return nil, &plan.SpecError{Msg: err.Error()}
	}
	b := &bundle{path: abs, spec: spec, raw: raw}
	if spec.Root != nil {
		b.rootfs = spec.Root.Path
		if !filepath.IsAbs(b.rootfs) {
			b.rootfs = filepath.Join(abs, b.rootfs)
		}
		b.rootfs = filepath.Clean(b.rootfs)
		if real, err := filepath.EvalSymlinks(b.rootfs); err == nil {
			b.rootfs = real // as mountinfo and hooks know it
		}
	}
	return b, nil
}

// unwrapPath takes the kernel's reason out of an os.PathError, whose text would name the
// call and the object a second time.
func unwrapPath(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

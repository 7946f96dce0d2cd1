package cgroup

import (
	"errors"
	"strings"
	"syscall"
)

// Apply writes what is not marked Early, in order. The first value that the kernel refuses
// ends it: SetError, with the field, the file and the reason.
func (g *Group) Apply(writes []Write) error {
	if len(g.dirs) == 0 {
		return nil
	}
	for i := range g.dirs {
		if err := g.applyTo(&g.dirs[i], writes, false); err != nil {
			return err
		}
	}
	for i := range writes {
		if d := g.dir(writes[i].Controller); d == nil || (d.lost != nil && !g.forgiven(&writes[i])) {
			return &SetError{Field: writes[i].Field, Err: g.absent(d, writes[i].Controller)}
		}
	}
	return nil
}

// Update is Apply for a running container: what is marked Early too.
func (g *Group) Update(writes []Write) error {
	for i := range g.dirs {
		if err := g.applyTo(&g.dirs[i], writes, true); err != nil {
			return err
		}
	}
	return g.Apply(writes)
}

// forgiven: without privilege there are no device rules, and none are needed.
func (g *Group) forgiven(w *Write) bool { return g.rootless && w.Controller == "devices" }

func (g *Group) absent(d *dir, controller string) error {
	if d != nil && d.lost != nil {
		return d.lost
	}
	if d == nil && controller != "" {
		return &ControllerError{controller}
	}
	return ErrNoCgroup
}

// applyTo writes the values for one directory. Consecutive values for one file share its
// descriptor: the device rules are a dozen.
func (g *Group) applyTo(d *dir, writes []Write, early bool) error {
	if d.lost != nil {
		return nil
	}
	a := applier{g: g, d: d, fd: -1}
	defer a.close()
	var later []*Write
	for i := range writes {
		w := &writes[i]
		if w.Early != early || !(g.v2 || contains(d.controllers, w.Controller)) {
			continue
		}
		err := a.write(w)
		if w.Later && errors.Is(err, syscall.EINVAL) {
			later = append(later, w)
			continue
		}
		if err != nil {
			return a.explain(w, err)
		}
	}
	for _, w := range later {
		if err := a.write(w); err != nil {
			return a.explain(w, err)
		}
	}
	return nil
}

// applier writes files of one directory.
type applier struct {
	g    *Group
	d    *dir
	file string // open as fd
	fd   int
}

func (a *applier) close() {
	if a.fd >= 0 {
		syscall.Close(a.fd)
	}
	a.fd = -1
}

func (a *applier) write(w *Write) error {
	dirfd, err := a.d.open()
	if err != nil {
		return err
	}
	if w.Program != nil {
		err := attachProgram(dirfd, w.Program, a.d.fresh)
		if err != nil && a.g.forgiven(w) {
			return nil
		}
		return err
	}
	if w.Limit != 0 {
		return a.check(dirfd, w)
	}
	if w.File != a.file || a.fd < 0 {
		a.close()
		if a.fd, err = openat(dirfd, w.File, syscall.O_WRONLY); err != nil {
			a.fd = -1
			if err == syscall.ENOENT && w.Else != nil {
				return a.write(w.Else)
			}
			if err == syscall.ENOENT && w.Optional {
				return nil
			}
			return err
		}
		a.file = w.File
	}
	err = writeLines(a.fd, w.Value)
	if err != nil && a.g.forgiven(w) {
		return nil
	}
	return err
}

// writeLines writes each line by itself: the kernel takes one a write. A value of one line
// goes as it is.
func writeLines(fd int, v string) error {
	for {
		i := strings.IndexByte(v, '\n')
		if i < 0 || i == len(v)-1 {
			return writeFD(fd, v)
		}
		if err := writeFD(fd, v[:i+1]); err != nil {
			return err
		}
		v = v[i+1:]
	}
}

// tooLowError: the new limit is below what is used already.
type tooLowError struct{ usage uint64 }

func (e *tooLowError) Error() string {
	return "the current usage is " + unsigned(e.usage) + ", not below the new limit"
}
func (e *tooLowError) Unwrap() error { return syscall.EBUSY }

func (a *applier) check(dirfd int, w *Write) error {
	text, err := readAt(dirfd, w.File, a.d.path+"/"+w.File)
	if err != nil {
		return nil // nothing to compare with
	}
	if n := firstNumber(text); n >= w.Limit {
		return &tooLowError{n}
	}
	return nil
}

func firstNumber(text []byte) (n uint64) {
	for _, b := range text {
		if b < '0' || b > '9' {
			break
		}
		n = n*10 + uint64(b-'0')
	}
	return n
}

// explain names the field and the file, and says what the kernel's errno leaves out.
func (a *applier) explain(w *Write, err error) error {
	path := a.d.path + "/" + w.File
	var already *OpError
	var low *tooLowError
	switch {
	case errors.As(err, &already):
		return &SetError{Field: w.Field, Err: err}
	case errors.As(err, &low):
		return &SetError{Field: w.Field, Err: opError("use", a.d.path, err)}
	case err == syscall.EBUSY && w.File == "memory.limit_in_bytes":
		err = a.usage(err)
	case err == syscall.ENOENT && a.g.v2 && !a.enabled(w.Controller):
		err = &explained{syscall.ENOENT, "the controller " + w.Controller +
			" is not enabled here: see cgroup.subtree_control of the parent, which must not hold processes"}
	case err == syscall.ENOENT:
		err = &explained{syscall.ENOENT, "this kernel has no such setting"}
	case err == syscall.EPERM && w.Controller == "devices" && w.File == "devices.allow":
		err = &explained{syscall.EPERM, "the parent cgroup does not allow it"}
	}
	return &SetError{Field: w.Field, Value: w.Value, Path: path, Err: err}
}

// usage: the kernel gave up to reclaim what is over the new limit.
func (a *applier) usage(err error) error {
	now, err1 := readFile(a.d.path + "/memory.usage_in_bytes")
	peak, err2 := readFile(a.d.path + "/memory.max_usage_in_bytes")
	if err1 != nil || err2 != nil {
		return err
	}
	return &explained{syscall.EBUSY, "current usage: " + unsigned(firstNumber(now)) +
		", peak usage: " + unsigned(firstNumber(peak))}
}

func (a *applier) enabled(controller string) bool {
	text, err := readFile(a.d.path + "/cgroup.controllers")
	return err != nil || controller == "" || contains(strings.Fields(string(text)), controller)
}

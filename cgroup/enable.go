package cgroup

import (
	"strings"
	"syscall"
)

// domainControllers can't be used in threaded cgroups (cgroups(7), "Thread mode").
var domainControllers = [...]string{"memory", "io", "hugetlb", "rdma", "misc"}

// enable makes the controllers of the root available in a cgroup of v2: all of them, as runc
// does, since tools read the counters also of those without a limit. A parent that refuses
// (it holds processes, or is not ours) is skipped: only a limit that is asked for turns
// that into an error, when its file is not there.
func (d *dir) enable(writes []Write) error {
	if len(d.path) == len(d.mount) {
		return nil // the root has no parent
	}
	if err := d.checkType(writes); err != nil {
		return err
	}
	have, err := readFile(d.path + "/cgroup.controllers")
	if err != nil {
		return err
	}
	all, err := readFile(d.mount + "/cgroup.controllers")
	if err != nil {
		return err
	}
	if missing(string(all), string(have)) == "" {
		return nil
	}
	for i := len(d.mount); i < len(d.path); i++ {
		if i == len(d.mount) || d.path[i] == '/' {
			enableIn(d.path[:i], string(all))
		}
	}
	return nil
}

// missing is the words of all that have lacks, as "+cpu +memory".
func missing(all, have string) string {
	got := strings.Fields(have)
	var out []byte
	for _, c := range strings.Fields(all) {
		if contains(got, c) {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(append(out, '+'), c...)
	}
	return string(out)
}

// enableIn asks for all at once and, as the kernel takes all or none, then one by one.
func enableIn(dir, all string) {
	const file = "/cgroup.subtree_control"
	on, err := readFile(dir + file)
	if err != nil {
		return
	}
	want := missing(all, string(on))
	if want == "" || writeAt(atFDCWD, dir+file, want) == nil {
		return
	}
	for _, c := range strings.Fields(want) {
		_ = writeAt(atFDCWD, dir+file, c)
	}
}

// checkType looks at cgroup.type. A child of a threaded cgroup is "domain invalid" and takes
// no process. Made threaded, it does, but without the domain controllers.
func (d *dir) checkType(writes []Write) error {
	text, err := readFile(d.path + "/cgroup.type")
	if err != nil {
		if gone(err) {
			return nil // the root of a hierarchy, or of a cgroup namespace
		}
		return err
	}
	kind := strings.TrimSpace(string(text))
	if kind == "domain" {
		return nil
	}
	for i := range writes {
		w := &writes[i]
		for _, c := range domainControllers {
			if w.Controller == c {
				return &SetError{Field: w.Field, Err: opError("use", d.path, typeError(kind))}
			}
		}
	}
	if kind != "domain invalid" {
		return nil
	}
	if err := writeAt(atFDCWD, d.path+"/cgroup.type", "threaded"); err != nil {
		return opError("write threaded to", d.path+"/cgroup.type", err)
	}
	return nil
}

type typeError string

func (e typeError) Error() string {
	return "cgroup of type \"" + string(e) + "\": this controller does not work in threaded cgroups"
}
func (e typeError) Unwrap() error { return syscall.EOPNOTSUPP }

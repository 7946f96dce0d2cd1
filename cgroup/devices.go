package cgroup

import (
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// Access bits, as the kernel has them (BPF_DEVCG_ACC_*).
const (
	accessMknod = 1 << iota
	accessRead
	accessWrite
	accessAll = accessMknod | accessRead | accessWrite
)

const anyNumber = -1

// devRule is an exception to the default of a device cgroup: which nodes, which access.
type devRule struct {
	kind         byte // 'b' or 'c'
	major, minor int64
	access       uint8
	field        string
}

func (r *devRule) same(o *devRule) bool {
	return r.kind == o.kind && r.major == o.major && r.minor == o.minor
}

// covers tells whether r stands for more nodes than o, o's among them.
func (r *devRule) covers(o *devRule) bool {
	return !r.same(o) && r.kind == o.kind &&
		(r.major == anyNumber || r.major == o.major) && (r.minor == anyNumber || r.minor == o.minor)
}

// String is the rule as devices.allow and devices.list have it: "c 1:3 rwm".
func (r *devRule) String() string {
	return string(rune(r.kind)) + " " + number(r.major) + ":" + number(r.minor) + " " + accessString(r.access)
}

func number(n int64) string {
	if n == anyNumber {
		return "*"
	}
	return signed(n)
}

func accessString(a uint8) string {
	var s []byte
	for _, x := range [...]struct {
		bit  uint8
		name byte
	}{{accessRead, 'r'}, {accessWrite, 'w'}, {accessMknod, 'm'}} {
		if a&x.bit != 0 {
			s = append(s, x.name)
		}
	}
	return string(s)
}

// devPolicy is what a list of rules comes to: a default and exceptions from it, as the v1 kernel
// has it. Rules are applied one by one; a later one wins.
type devPolicy struct {
	allow      bool // the default
	exceptions []devRule
}

// all is a rule of type "a": it sets the default and forgets what was before.
func (p *devPolicy) all(allow bool) { *p = devPolicy{allow: allow, exceptions: p.exceptions[:0]} }

func (p *devPolicy) apply(r devRule, allow bool) error {
	if allow == p.allow {
		return p.remove(r)
	}
	for i := range p.exceptions {
		if p.exceptions[i].same(&r) {
			p.exceptions[i].access |= r.access
			return nil
		}
	}
	p.exceptions = append(p.exceptions, r)
	return nil
}

// remove takes access out of an exception. One that stands for more nodes can't lose some of
// them: the v1 kernel ignores such a rule, which must not pass for a denial.
func (p *devPolicy) remove(r devRule) error {
	kept := p.exceptions[:0]
	for _, e := range p.exceptions {
		if e.covers(&r) && e.access&r.access != 0 {
			return fieldError(r.field, `"`+r.String()+`" can't be taken out of the wider "`+e.String()+`"`)
		}
		if e.same(&r) {
			e.access &^= r.access
		}
		if e.access != 0 {
			kept = append(kept, e)
		}
	}
	p.exceptions = kept
	return nil
}

// defaultDevices are allowed in every container, after the config's rules: runc's list, which the
// managers count on. path: a device of linux.devices with this path takes its place.
var defaultDevices = [...]struct {
	devRule
	path string
}{
	{devRule{kind: 'c', major: anyNumber, minor: anyNumber, access: accessMknod}, ""},
	{devRule{kind: 'b', major: anyNumber, minor: anyNumber, access: accessMknod}, ""},
	{devRule{kind: 'c', major: 1, minor: 3, access: accessAll}, "/dev/null"},
	{devRule{kind: 'c', major: 1, minor: 8, access: accessAll}, "/dev/random"},
	{devRule{kind: 'c', major: 1, minor: 7, access: accessAll}, "/dev/full"},
	{devRule{kind: 'c', major: 5, minor: 0, access: accessAll}, "/dev/tty"},
	{devRule{kind: 'c', major: 1, minor: 5, access: accessAll}, "/dev/zero"},
	{devRule{kind: 'c', major: 1, minor: 9, access: accessAll}, "/dev/urandom"},
	{devRule{kind: 'c', major: 136, minor: anyNumber, access: accessAll}, ""}, // /dev/pts/*
	{devRule{kind: 'c', major: 5, minor: 2, access: accessAll}, ""},           // /dev/ptmx
	{devRule{kind: 'c', major: 10, minor: 200, access: accessAll}, ""},        // /dev/net/tun
}

const fDefault = "the default devices"

// devices adds the device rules: everything is denied but for what the config's rules, in
// order, and then the default ones allow.
func (t *table) devices(linux *specs.Linux) {
	if t.err != nil || t.f.UserNS {
		return
	}
	p, err := policy(linux)
	if err != nil {
		t.err = err
		return
	}
	if t.f.V2 {
		t.add(Write{Controller: "devices", Value: p.String(), Field: fDevices, Program: p.program()})
		return
	}
	t.devicesV1(p)
}

func policy(linux *specs.Linux) (*devPolicy, error) {
	p := &devPolicy{exceptions: make([]devRule, 0, 16)}
	if linux != nil && linux.Resources != nil {
		for i := range linux.Resources.Devices {
			if err := p.rule(&linux.Resources.Devices[i], index(fDevices, i)); err != nil {
				return nil, err
			}
		}
	}
	for i := range defaultDevices {
		d := &defaultDevices[i]
		if linux != nil && replaced(linux.Devices, d.path) {
			continue
		}
		r := d.devRule
		r.field = fDefault
		if err := p.apply(r, true); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func replaced(devices []specs.LinuxDevice, path string) bool {
	if path == "" {
		return false
	}
	for i := range devices {
		if devices[i].Path == path {
			return true
		}
	}
	return false
}

// rule applies a rule of the config. Type "a", or none, is every node and every access, whatever
// else it says.
func (p *devPolicy) rule(d *specs.LinuxDeviceCgroup, field string) error {
	r := devRule{major: anyNumber, minor: anyNumber, field: field}
	if d.Access == "" {
		return fieldError(field+".access", "empty")
	}
	for _, c := range d.Access {
		i := strings.IndexRune("mrw", c)
		if i < 0 {
			return fieldError(field+".access", `"`+d.Access+`" is not made of r, w and m`)
		}
		r.access |= 1 << i
	}
	switch d.Type {
	case "", "a":
		p.all(d.Allow)
		return nil
	case "b", "c":
		r.kind = d.Type[0]
	default:
		return fieldError(field+".type", `"`+d.Type+`" is none of a, b and c`)
	}
	for _, n := range [...]struct {
		from *int64
		to   *int64
		name string
	}{{d.Major, &r.major, ".major"}, {d.Minor, &r.minor, ".minor"}} {
		if n.from == nil {
			continue
		}
		if *n.from < anyNumber || *n.from > 1<<32-2 {
			return fieldError(field+n.name, signed(*n.from)+" is not a device number")
		}
		*n.to = *n.from
	}
	return p.apply(r, d.Allow)
}

// devicesV1: one write for the default, one for each exception, in order. (The kernel takes one
// rule a write.)
func (t *table) devicesV1(p *devPolicy) {
	file, other := "devices.deny", "devices.allow"
	if p.allow {
		file, other = other, file
	}
	t.add(Write{Controller: "devices", File: file, Value: "a", Field: fDevices})
	for i := range p.exceptions {
		e := &p.exceptions[i]
		t.add(Write{Controller: "devices", File: other, Value: e.String(), Field: e.field})
	}
}

// String is one line: "deny all; allow c 1:3 rwm, c *:* m".
func (p *devPolicy) String() string {
	s, other := "deny all", "allow "
	if p.allow {
		s, other = "allow all", "deny "
	}
	for i := range p.exceptions {
		if i == 0 {
			s += "; " + other
		} else {
			s += ", "
		}
		s += p.exceptions[i].String()
	}
	return s
}

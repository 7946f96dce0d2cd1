package cgroup

import (
	"encoding/binary"
	"math/rand"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

func rule(text string) specs.LinuxDeviceCgroup {
	var r specs.LinuxDeviceCgroup
	f := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ':' })
	r.Allow = f[0] == "allow"
	number := func(s string) *int64 {
		if s == "*" {
			return nil
		}
		n := int64(0)
		for _, c := range s {
			n = n*10 + int64(c-'0')
		}
		return &n
	}
	r.Type, r.Major, r.Minor, r.Access = f[1], number(f[2]), number(f[3]), f[4]
	return r
}

func rules(texts ...string) *specs.Linux {
	l := &specs.Linux{Resources: &specs.LinuxResources{}}
	for _, t := range texts {
		l.Resources.Devices = append(l.Resources.Devices, rule(t))
	}
	return l
}

const defaults = "c *:* m, b *:* m, c 1:3 rwm, c 1:8 rwm, c 1:7 rwm, c 5:0 rwm, c 1:5 rwm, c 1:9 rwm, c 136:* rwm, c 5:2 rwm, c 10:200 rwm"

func TestPolicy(t *testing.T) {
	null := rules()
	null.Devices = []specs.LinuxDevice{{Path: "/dev/null"}, {Path: "/dev/fuse"}}
	for _, c := range []struct {
		name  string
		linux *specs.Linux
		want  string
	}{
		{"no config", nil, "deny all; allow " + defaults},
		{"runc's", rules("deny a *:* rwm"), "deny all; allow " + defaults},
		{"config's first, in order", rules("deny a *:* rwm", "allow c 10:229 rw", "allow b 8:0 r"), "deny all; allow c 10:229 rw, b 8:0 r, " + defaults},
		{"one that is a default too", rules("allow c 1:3 r", "allow c 10:229 rwm"), "deny all; allow c 1:3 rwm, c 10:229 rwm, c *:* m, b *:* m, " + strings.SplitN(defaults, "c 1:3 rwm, ", 2)[1]},
		{"taken back", rules("allow c 9:9 rw", "deny c 9:9 w", "allow c 8:8 r", "deny c 8:8 rwm"), "deny all; allow c 9:9 r, " + defaults},
		{"privileged", rules("allow a *:* rwm"), "allow all"},
		{"all but", rules("allow a *:* rwm", "deny c 4:4 w"), "allow all; deny c 4:4 w"},
		{"all but mknod: the defaults give it back", rules("allow a *:* rwm", "deny c *:* m"), "allow all"},
		{"a wildcard forgets", rules("allow c 9:9 rw", "deny a 1:2 r"), "deny all; allow " + defaults},
		{"a device in the place of a default", null, "deny all; allow " + strings.Replace(defaults, "c 1:3 rwm, ", "", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := policy(c.linux)
			if err != nil {
				t.Fatal(err)
			}
			if p.String() != c.want {
				t.Errorf("got  %s\nwant %s", p, c.want)
			}
		})
	}
}

func TestPolicyErrors(t *testing.T) {
	bad := func(change func(*specs.LinuxDeviceCgroup)) *specs.Linux {
		l := rules("allow c 1:2 rw")
		change(&l.Resources.Devices[0])
		return l
	}
	for want, l := range map[string]*specs.Linux{
		`linux.resources.devices[1]: "c 1:3 r" can't be taken out of the wider "c *:* rw"`: rules("allow c *:* rw", "deny c 1:3 r"),
		`linux.resources.devices[0].access: empty`:                                         bad(func(d *specs.LinuxDeviceCgroup) { d.Access = "" }),
		`linux.resources.devices[0].access: "rx" is not made of r, w and m`:                bad(func(d *specs.LinuxDeviceCgroup) { d.Access = "rx" }),
		`linux.resources.devices[0].type: "p" is none of a, b and c`:                       bad(func(d *specs.LinuxDeviceCgroup) { d.Type = "p" }),
		`linux.resources.devices[0].major: -2 is not a device number`:                      bad(func(d *specs.LinuxDeviceCgroup) { d.Major = ptr(int64(-2)) }),
		`linux.resources.devices[0].minor: 4294967296 is not a device number`:              bad(func(d *specs.LinuxDeviceCgroup) { d.Minor = ptr(int64(1 << 32)) }),
	} {
		if _, err := policy(l); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func TestDevicesV1(t *testing.T) {
	list, err := Writes(rules("deny a *:* rwm", "allow c 10:229 rw"), everything(false))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for i := range list {
		got = append(got, list[i].String()+" ("+list[i].Field+")")
	}
	if got[0] != "devices.deny = a (linux.resources.devices)" || got[1] != "devices.allow = c 10:229 rw (linux.resources.devices[1])" ||
		got[2] != "devices.allow = c *:* m (the default devices)" || len(got) != 13 {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	f := everything(false)
	f.UserNS = true
	if list, err := Writes(rules(), f); err != nil || len(list) != 0 {
		t.Errorf("in a user namespace: %v %v", list, err)
	}
}

// The golden text of the smallest program with every kind of block.
func TestProgram(t *testing.T) {
	p := &devPolicy{exceptions: []devRule{
		{kind: 'c', major: 1, minor: 3, access: accessAll}, {kind: 'b', major: 8, minor: anyNumber, access: accessRead}}}
	want := `
r2 = ctx[0]
r2 &= 65535
r3 = ctx[0]
r3 >>= 16
r4 = ctx[4]
r5 = ctx[8]
if r2 != 2 skip 4
if r4 != 1 skip 3
if r5 != 3 skip 2
r0 = 1
exit
if r2 != 1 skip 6
r1 = r3
r1 &= 2
if r1 != r3 skip 3
if r4 != 8 skip 2
r0 = 1
exit
r0 = 0
exit
`
	if got := disassemble(p.program()); got != want {
		t.Errorf("got %s", got)
	}
}

func decode(code []byte) (out []instruction) {
	for ; len(code) > 0; code = code[insSize:] {
		out = append(out, instruction{code[0], code[1] & 15, code[1] >> 4, int16(binary.LittleEndian.Uint16(code[2:])), int32(binary.LittleEndian.Uint32(code[4:]))})
	}
	return out
}

func disassemble(code []byte) string {
	s := "\n"
	r := func(n uint8) string { return "r" + itoa(int(n)) }
	for _, i := range decode(code) {
		imm, skip := itoa(int(uint32(i.imm))), " skip "+itoa(int(i.off))
		switch i.op {
		case opLoad:
			s += r(i.dst) + " = ctx[" + itoa(int(i.off)) + "]"
		case opAndK:
			s += r(i.dst) + " &= " + imm
		case opRshK:
			s += r(i.dst) + " >>= " + imm
		case opMovX:
			s += r(i.dst) + " = " + r(i.src)
		case opMovK:
			s += r(i.dst) + " = " + imm
		case opJneK:
			s += "if " + r(i.dst) + " != " + imm + skip
		case opJneX:
			s += "if " + r(i.dst) + " != " + r(i.src) + skip
		case opJeqK:
			s += "if " + r(i.dst) + " == " + imm + skip
		case opExit:
			s += "exit"
		default:
			s += "?"
		}
		s += "\n"
	}
	return s
}

// run interprets a program as the kernel does.
func run(code []byte, kind, access, major, minor uint32) bool {
	var r [11]uint32
	prog := decode(code)
	for pc := 0; ; pc++ {
		i := prog[pc]
		jump := false
		switch i.op {
		case opLoad:
			r[i.dst] = map[int16]uint32{0: access<<16 | kind, 4: major, 8: minor}[i.off]
		case opAndK:
			r[i.dst] &= uint32(i.imm)
		case opRshK:
			r[i.dst] >>= uint32(i.imm)
		case opMovX:
			r[i.dst] = r[i.src]
		case opMovK:
			r[i.dst] = uint32(i.imm)
		case opJneK:
			jump = r[i.dst] != uint32(i.imm)
		case opJneX:
			jump = r[i.dst] != r[i.src]
		case opJeqK:
			jump = r[i.dst] == uint32(i.imm)
		case opExit:
			return r[0] == 1
		default:
			panic("unknown instruction")
		}
		if jump {
			pc += int(i.off)
		}
	}
}

// permits is the v1 kernel's rule (security/device_cgroup.c): allowed by default, an access is
// denied by any exception that has part of it; denied by default, it has to be in one exception
// as a whole.
func (p *devPolicy) permits(kind byte, access uint8, major, minor int64) bool {
	for i := range p.exceptions {
		e := &p.exceptions[i]
		if e.kind != kind || (e.major != anyNumber && e.major != major) || (e.minor != anyNumber && e.minor != minor) {
			continue
		}
		if p.allow && access&e.access != 0 {
			return false
		}
		if !p.allow && access&^e.access == 0 {
			return true
		}
	}
	return p.allow
}

func randomRules(r *rand.Rand) *specs.Linux {
	l := rules()
	for range r.Intn(8) {
		text := []string{"allow ", "deny "}[r.Intn(2)] + []string{"c ", "c ", "b ", "a "}[r.Intn(4)] +
			[]string{"1", "4", "*"}[r.Intn(3)] + ":" + []string{"3", "7", "*"}[r.Intn(3)] +
			[]string{" r", " w", " m", " rw", " rwm", " wm"}[r.Intn(6)]
		l.Resources.Devices = append(l.Resources.Devices, rule(text))
	}
	return l
}

func TestProgramDoesAsPolicy(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	kinds := map[byte]uint32{'b': unix.BPF_DEVCG_DEV_BLOCK, 'c': unix.BPF_DEVCG_DEV_CHAR}
	tried := 0
	for range 2000 {
		p, err := policy(randomRules(r))
		if err != nil {
			continue
		}
		tried++
		code := p.program()
		for kind, k := range kinds {
			for _, major := range []int64{1, 4, 5, 136, 1<<32 - 2} {
				for _, minor := range []int64{0, 3, 7} {
					for access := uint8(1); access <= accessAll; access++ {
						want := p.permits(kind, access, major, minor)
						if got := run(code, k, uint32(access), uint32(major), uint32(minor)); got != want {
							t.Fatalf("%s: %c %d:%d %s: %v, want %v", p, kind, major, minor, accessString(access), got, want)
						}
					}
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d policies", tried)
	}
}

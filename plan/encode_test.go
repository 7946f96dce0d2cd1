package plan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// wire reads what Encode wrote, independently of it: by the layout that ops.h describes.
type wire struct {
	data []byte // the data area
	err  error
}

type wireOp struct {
	code, flags uint16
	alt, on     uint32
	slot        [2]int32
	str         [3]uint32
	num         [4]uint64
}

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *wire) text(off uint64) string {
	if off == 0 || off > uint64(len(w.data)) {
		w.fail("string at %d of %d bytes", off, len(w.data))
		return ""
	}
	n := bytes.IndexByte(w.data[off-1:], 0)
	if n < 0 {
		w.fail("string at %d has no end", off)
		return ""
	}
	return string(w.data[off-1:][:n])
}

func (w *wire) u64(at uint64) uint64 {
	if at+8 > uint64(len(w.data)) {
		w.fail("word at %d of %d bytes", at, len(w.data))
		return 0
	}
	return binary.LittleEndian.Uint64(w.data[at:])
}

// arg reads an operand of the kind that the operation's signature has.
func (w *wire) arg(kind byte, off uint32) (a Arg) {
	if off == 0 {
		if kind == 's' || kind == 'b' || kind == 'v' {
			w.fail("missing operand %c", kind)
		}
		return a
	}
	at := uint64(off - 1)
	switch kind {
	case 's', 'S':
		return str(w.text(uint64(off)))
	case 'b', 'B':
		if at%4 != 0 || at+4 > uint64(len(w.data)) {
			w.fail("blob at %d", at)
			return a
		}
		end := at + 4 + uint64(binary.LittleEndian.Uint32(w.data[at:]))
		if end > uint64(len(w.data)) {
			w.fail("blob at %d ends at %d", at, end)
			return a
		}
		return blob(string(w.data[at+4 : end]))
	case 'v', 'p':
		return w.list(kind, at)
	}
	w.fail("operand where there is none")
	return a
}

func (w *wire) list(kind byte, at uint64) (a Arg) {
	n := w.u64(at)
	if at%8 != 0 || n > uint64(len(w.data))/8 || w.u64(at+8+8*n) != 0 || kind == 'p' && n%2 != 0 {
		w.fail("%c of %d at %d", kind, n, at)
		return a
	}
	a.Kind = kind
	for i := range n {
		off := w.u64(at + 8 + 8*i)
		null := off == 0 && kind == 'p' && i%2 == 1
		if null {
			a.List = append(a.List, "")
		} else {
			a.List = append(a.List, w.text(off))
		}
		if kind == 'p' {
			a.Null = append(a.Null, null)
		}
	}
	return a
}

// decodePlan reads a whole plan: all of its operations, alternatives after them.
func decodePlan(b []byte) (ops []wireOp, nops int, w *wire) {
	le := binary.LittleEndian
	w = &wire{}
	h := make([]uint32, 12)
	for i := range h {
		h[i] = le.Uint32(b[4*i:])
	}
	n, off := int(h[3]+h[4]), int(h[9])
	if h[0] != magic || h[1] != version || int(h[2]) != len(b) || off%8 != 0 || off < headerSize+n*opSize || off > len(b) {
		w.fail("header %v of %d bytes", h, len(b))
		return nil, 0, w
	}
	w.data = b[off:]
	for i := range n {
		r := b[headerSize+i*opSize:]
		o := wireOp{code: le.Uint16(r), flags: le.Uint16(r[2:]), alt: le.Uint32(r[4:]), on: le.Uint32(r[8:])}
		for k := range o.slot {
			if o.slot[k] = int32(le.Uint32(r[12+4*k:])); o.slot[k] < -1 || o.slot[k] >= int32(h[5]) {
				w.fail("operation %d: slot %d of %d", i, o.slot[k], h[5])
			}
		}
		for k := range o.str {
			o.str[k] = le.Uint32(r[24+4*k:])
		}
		for k := range o.num {
			o.num[k] = le.Uint64(r[40+8*k:])
		}
		if le.Uint32(r[20:]) != 0 || le.Uint32(r[36:]) != 0 {
			w.fail("operation %d: padding", i)
		}
		ops = append(ops, o)
	}
	return ops, int(h[3]), w
}

// sameOp says in what the operation on the wire differs from the plan's.
func (w *wire) sameOp(p *Plan, op *Op, o wireOp) error {
	info := codes[op.Code]
	flags := uint16(0)
	if op.IfSkipped {
		flags = 1
	}
	if o.code != uint16(op.Code) || o.flags != flags || o.on != uint32(op.AltOn) || o.num != op.Num {
		return fmt.Errorf("%+v is not %+v", o, *op)
	}
	for k, s := range op.Slot {
		if s >= firstLocal {
			s = s - firstLocal + Slot(len(p.Pass))
		}
		if o.slot[k] != int32(s) || info.slots[k] == '-' && o.slot[k] != -1 || (info.slots[k] == 'i' || info.slots[k] == 'o') && o.slot[k] < 0 {
			return fmt.Errorf("%v: slots %v, want %v", op.Code, o.slot, op.Slot)
		}
	}
	for k := range op.Str {
		got := w.arg(info.strs[k], o.str[k])
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", op.Str[k]) {
			return fmt.Errorf("%v: operand %d: %+v, want %+v", op.Code, k, got, op.Str[k])
		}
	}
	return w.err
}

// checkEncoded decodes what Encode wrote and compares it with the plan.
func checkEncoded(p *Plan, b []byte) error {
	ops, nops, w := decodePlan(b)
	if w.err != nil || nops != len(p.Ops) {
		return fmt.Errorf("%d operations of %d: %v", nops, len(p.Ops), w.err)
	}
	alts := nops
	for i := range p.Ops {
		op := &p.Ops[i]
		if err := w.sameOp(p, op, ops[i]); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		switch want := ops[i].alt; {
		case op.Skip && want == altSkip, op.Alt == nil && !op.Skip && want == 0:
		case op.Alt != nil && !op.Skip && want == uint32(alts) && alts < len(ops):
			if err := w.sameOp(p, op.Alt, ops[alts]); err != nil || ops[alts].alt != 0 {
				return fmt.Errorf("alternative of %d: %v, its own is %d", i, err, ops[alts].alt)
			}
			alts++
		default:
			return fmt.Errorf("operation %d: alternative %#x", i, want)
		}
		if op.IfSkipped && (op.Num[3] >= uint64(i) || p.Ops[op.Num[3]].AltOn == 0) {
			return fmt.Errorf("operation %d depends on %d", i, op.Num[3])
		}
	}
	if alts != len(ops) {
		return fmt.Errorf("%d of %d alternatives used", alts-nops, len(ops)-nops)
	}
	return nil
}

func TestEncodeGolden(t *testing.T) {
	for _, name := range goldenNames(t) {
		p := goldenPlan(t, name)
		b, err := p.Encode(Layout{FDBase: 4, SyncFD: 3, FaultOp: -1})
		if err == nil {
			err = checkEncoded(p, b)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		filled := map[Slot]bool{}
		for i := range p.Pass {
			filled[Slot(i)] = true
		}
		for i := range p.Ops {
			op := &p.Ops[i]
			for k, kind := range codes[op.Code].slots {
				if kind == 'i' && !filled[op.Slot[k]] {
					t.Errorf("%s: operation %d, %v: slot %d is read before it is filled", name, i, op.Code, op.Slot[k])
				}
				if kind == 'o' {
					filled[op.Slot[k]] = true
				}
			}
		}
	}
}

func TestEncodeHeader(t *testing.T) {
	p := goldenPlan(t, "userns")
	b, err := p.Encode(Layout{FDBase: 7, SyncFD: 6, FaultOp: 5, FaultErrno: 12})
	if err != nil {
		t.Fatal(err)
	}
	alts := 0
	for i := range p.Ops {
		if p.Ops[i].Alt != nil {
			alts++
		}
	}
	for i, want := range map[int]int{3: len(p.Ops), 4: alts, 5: len(p.Pass) + p.Slots, 6: len(p.Pass), 7: 7, 8: 6, 10: 6, 11: 12} {
		if got := int(binary.LittleEndian.Uint32(b[4*i:])); got != want {
			t.Errorf("word %d of the header is %d, want %d", i, got, want)
		}
	}
}

var randomCodes = func() (list []Code) {
	for c := range codes {
		list = append(list, c)
	}
	return list
}()

func randomText(r *rand.Rand) string {
	b := make([]byte, r.Intn(20))
	for i := range b {
		b[i] = byte(1 + r.Intn(255))
	}
	return string(b)
}

func randomArg(r *rand.Rand, kind byte) (a Arg) {
	switch kind {
	case 'S', 'B', 'p':
		if r.Intn(3) == 0 {
			return a
		}
	}
	switch kind {
	case 's', 'S':
		return str(randomText(r))
	case 'b', 'B':
		return blob(randomText(r) + "\x00" + randomText(r))
	case 'v':
		a.Kind = 'v'
		for range r.Intn(5) {
			a.List = append(a.List, randomText(r))
		}
	case 'p':
		a.Kind = 'p'
		for range r.Intn(5) {
			null := r.Intn(2) == 0
			value := ""
			if !null {
				value = randomText(r)
			}
			a.List, a.Null = append(a.List, randomText(r), value), append(a.Null, false, null)
		}
	}
	return a
}

func randomOp(r *rand.Rand, p *Plan) (op Op) {
	op.Code = randomCodes[r.Intn(len(randomCodes))]
	info := codes[op.Code]
	for k := range op.Slot {
		switch {
		case info.slots[k] == '-' || info.slots[k] == '?' && r.Intn(2) == 0:
			op.Slot[k] = NoSlot
		case r.Intn(2) == 0:
			op.Slot[k] = Slot(r.Intn(len(p.Pass)))
		default:
			op.Slot[k] = firstLocal + Slot(r.Intn(p.Slots))
		}
	}
	for k := range op.Str {
		op.Str[k] = randomArg(r, info.strs[k])
	}
	for k := range op.Num {
		op.Num[k] = r.Uint64() >> r.Intn(64)
	}
	return op
}

// TestEncodeRandom: whatever operations there are, the same ones are on the wire.
func TestEncodeRandom(t *testing.T) {
	for seed := range int64(300) {
		r := rand.New(rand.NewSource(seed))
		p := &Plan{Pass: make([]Pass, 1+r.Intn(4)), Slots: 1 + r.Intn(9)}
		for range r.Intn(60) {
			op := randomOp(r, p)
			switch r.Intn(4) {
			case 0:
				op.Skip, op.AltOn = true, Errnos(1+r.Intn(0xfff))
			case 1:
				alt := randomOp(r, p)
				op.Alt, op.AltOn = &alt, Errnos(1+r.Intn(0xfff))
			}
			p.Ops = append(p.Ops, op)
		}
		b, err := p.Encode(Layout{FDBase: 4, SyncFD: 3, FaultOp: -1})
		if err == nil {
			err = checkEncoded(p, b)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestEncodeNUL: the kernel would see the string end there.
func TestEncodeNUL(t *testing.T) {
	for field, change := range map[string]func(*specs.Spec){
		"hostname":                   func(s *specs.Spec) { s.Hostname = "a\x00b" },
		"domainname":                 func(s *specs.Spec) { s.Domainname = "a\x00b" },
		"process.cwd":                func(s *specs.Spec) { s.Process.Cwd = "/a\x00b" },
		"mounts[0]":                  func(s *specs.Spec) { s.Mounts[0].Destination = "/a\x00b" },
		"mounts[1]":                  func(s *specs.Spec) { s.Mounts[1].Options = []string{"size=1\x00"} },
		"mounts[2].source":           func(s *specs.Spec) { s.Mounts[2].Source = "/a\x00b" },
		"linux.maskedPaths[0]":       func(s *specs.Spec) { s.Linux.MaskedPaths = []string{"/a\x00b"} },
		"linux.readonlyPaths[0]":     func(s *specs.Spec) { s.Linux.ReadonlyPaths = []string{"/a\x00b"} },
		"linux.devices[0]":           func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/a\x00b", Type: "p"}} },
		`linux.sysctl["net.a\x00b"]`: func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"net.a\x00b": "1"} },
	} {
		s := smallSpec()
		s.Mounts = []specs.Mount{
			{Destination: "/proc", Type: "proc"}, {Destination: "/tmp", Type: "tmpfs"}, {Destination: "/b", Type: "bind", Source: "/b"},
		}
		change(s)
		p, err := Build(s, usualFacts())
		if err != nil {
			t.Errorf("%s: Build: %v", field, err)
			continue
		}
		_, err = p.Encode(Layout{FaultOp: -1})
		var se *SpecError
		if !errors.As(err, &se) || se.Path != field || !strings.Contains(err.Error(), "contains a NUL byte") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestEncodeBounds: what is too large is refused with a reason before stage1 sees it.
func TestEncodeBounds(t *testing.T) {
	for what, change := range map[string]func(*specs.Spec){
		"operations": func(s *specs.Spec) { s.Linux.MaskedPaths = make([]string, maxOps/2+1) },
		"bytes":      func(s *specs.Spec) { s.Process.Args = []string{strings.Repeat("x", maxSize)} },
	} {
		s := smallSpec()
		change(s)
		for i := range s.Linux.MaskedPaths {
			s.Linux.MaskedPaths[i] = "/x"
		}
		p, err := Build(s, usualFacts())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Encode(Layout{FaultOp: -1}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("too many %s: %v", what, err)
		}
	}
}

// TestManyMountsFewDescriptors: the caller's RLIMIT_NOFILE may be the usual 1024.
func TestManyMountsFewDescriptors(t *testing.T) {
	s := smallSpec()
	for i := range 3000 {
		s.Mounts = append(s.Mounts, specs.Mount{Destination: fmt.Sprintf("/m%d", i), Type: "bind", Source: "/src"})
	}
	p, err := Build(s, usualFacts())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.Pass) + p.Slots; n > 20 {
		t.Errorf("%d descriptors for 3000 mounts", n)
	}
}

// smallSpec is a valid config with namespaces for everything.
func smallSpec() *specs.Spec {
	return &specs.Spec{
		Version: "1.3.0",
		Root:    &specs.Root{Path: "rootfs"},
		Process: &specs.Process{Args: []string{"app"}, Cwd: "/"},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
			{Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
		}},
	}
}

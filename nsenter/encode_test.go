package nsenter

import (
	"bytes"
	"encoding/binary"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// op is one operation of a hand-written plan. Strings: string, blob, vector or pairs; nil: none.
type op struct {
	name   string
	alt    uint32 // 0: none, skip, or alternative(i)
	on     uint32
	when   int // 1 + index for OPF_IF_SKIPPED
	slot   [2]int
	str    [3]any
	num    [4]uint64
	noSlot bool // slot is as it is, zeroes too
}

type (
	blob   []byte
	vector []string
	pairs  []any // key, value or nil, ...
)

const skip = 0xffffffff

// The errnos of alternatives.
const (
	onENOSYS = 1 << iota
	onEPERM
	onEACCES
	onEINVAL
	onENOENT
	onENOTDIR
	onENODEV
	onEOPNOTSUPP
)

// signatures is ops.h's table: the one definition is read, not copied.
type signature struct {
	code           uint16
	slots, strings string
}

var signatures = func() map[string]signature {
	text, err := os.ReadFile("ops.h")
	if err != nil {
		panic(err)
	}
	m := map[string]signature{}
	re := regexp.MustCompile(`OP\((\w+), (\d+), "(..)", "(...)"\)`)
	for _, f := range re.FindAllSubmatch(text, -1) {
		code, _ := strconv.Atoi(string(f[2]))
		m[string(f[1])] = signature{uint16(code), string(f[3]), string(f[4])}
	}
	return m
}()

// program is a plan before it is encoded.
type program struct {
	ops, alts  []op
	nslots     int
	files      int // descriptors below the socket; 3 unless set
	passed     int // slots that stage0 fills
	faultOp    int // 1 + index
	faultErrno uint32
}

// encode follows the layout of ops.h.
func (p *program) encode(t testing.TB) []byte {
	t.Helper()
	all := append(append([]op{}, p.ops...), p.alts...)
	off := (headerSize + 72*len(all) + 7) &^ 7
	out := make([]byte, off)
	e := encoder{}
	for i := range all {
		e.op(t, out[headerSize+72*i:], &all[i])
	}
	out = append(out, e.data...)
	files := p.files
	if files == 0 {
		files = 3
	}
	nslots := p.nslots
	if nslots == 0 {
		nslots = 16
	}
	for i, v := range []int{0x31545242, 1, len(out), len(p.ops), len(p.alts), nslots, p.passed,
		files + 1, files, off, p.faultOp, int(p.faultErrno)} {
		binary.LittleEndian.PutUint32(out[4*i:], uint32(v))
	}
	return out
}

type encoder struct{ data []byte }

func (e *encoder) op(t testing.TB, out []byte, o *op) {
	t.Helper()
	sig, ok := signatures[o.name]
	if !ok {
		t.Fatalf("no operation %q in ops.h", o.name)
	}
	le := binary.LittleEndian
	le.PutUint16(out, sig.code)
	num := o.num
	if o.when != 0 {
		le.PutUint16(out[2:], 1)
		num[3] = uint64(o.when - 1)
	}
	le.PutUint32(out[4:], o.alt)
	le.PutUint32(out[8:], o.on)
	for i, s := range o.slot {
		if sig.slots[i] == '-' && !o.noSlot {
			s = -1
		}
		le.PutUint32(out[12+4*i:], uint32(int32(s)))
	}
	for i, s := range o.str {
		le.PutUint32(out[24+4*i:], uint32(e.operand(s)))
	}
	for i, n := range num {
		le.PutUint64(out[40+8*i:], n)
	}
}

func (e *encoder) align(n int) {
	for len(e.data)%n != 0 {
		e.data = append(e.data, 0)
	}
}

func (e *encoder) operand(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		at := len(e.data)
		e.data = append(append(e.data, v...), 0)
		return at + 1
	case blob:
		e.align(4)
		at := len(e.data)
		e.data = binary.LittleEndian.AppendUint32(e.data, uint32(len(v)))
		e.data = append(e.data, v...)
		return at + 1
	case vector:
		var list pairs
		for _, s := range v {
			list = append(list, s)
		}
		return e.operand(list)
	case pairs:
		offs := make([]int, len(v))
		for i, s := range v {
			offs[i] = e.operand(s)
		}
		e.align(8)
		at := len(e.data)
		e.data = binary.LittleEndian.AppendUint64(e.data, uint64(len(v)))
		for _, o := range append(offs, 0) {
			e.data = binary.LittleEndian.AppendUint64(e.data, uint64(o))
		}
		return at + 1
	}
	panic("operand of a wrong type")
}

// alternative is op.alt of p.alts[i].
func (p *program) alternative(i int) uint32 { return uint32(len(p.ops) + i) }

func TestOpsTable(t *testing.T) {
	if len(signatures) < 50 {
		t.Fatalf("%d operations found in ops.h", len(signatures))
	}
	text, err := os.ReadFile("ops.h")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\tOP(")); n != len(signatures) {
		t.Errorf("%d operations declared, %d understood", n, len(signatures))
	}
	codes := map[uint16]string{}
	for name, s := range signatures {
		if other, ok := codes[s.code]; ok {
			t.Errorf("%s and %s have code %d", name, other, s.code)
		}
		codes[s.code] = name
	}
}

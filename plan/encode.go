package plan

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Sizes and magic of the wire format (nsenter/ops.h).
const (
	magic      = 0x31545242
	version    = 1
	headerSize = 48
	opSize     = 72
	maxSize    = 16 << 20
	maxOps     = 16384
	maxSlots   = 4096
	altSkip    = 0xffffffff
)

// Layout says where stage0 puts descriptors in stage1, and (for tests) which operation fails.
type Layout struct {
	FDBase, SyncFD int
	FaultOp        int // index of the operation that fails; -1: none
	FaultErrno     int
}

type encoder struct {
	data []byte
	seen map[string]uint32
	npas int
	err  error
}

// Encode writes the plan in the form that stage1 reads. The error says that the plan is
// larger than the format allows, or names a field with a NUL byte.
func (p *Plan) Encode(l Layout) ([]byte, error) {
	e := &encoder{data: make([]byte, 0, 8192), seen: make(map[string]uint32, 128), npas: len(p.Pass)}
	alts := make([]*Op, 0, 8)
	for i := range p.Ops {
		if p.Ops[i].Alt != nil {
			alts = append(alts, p.Ops[i].Alt)
		}
	}
	n := len(p.Ops) + len(alts)
	if slots := len(p.Pass) + p.Slots; n > maxOps || slots > maxSlots {
		return nil, fmt.Errorf("plan of %d operations and %d descriptors is larger than %d and %d: config.json has too many entries",
			n, slots, maxOps, maxSlots)
	}
	dataOff := (headerSize + n*opSize + 7) &^ 7
	out := make([]byte, dataOff, dataOff+16384)
	pos, alt := headerSize, len(p.Ops)
	for i := range p.Ops {
		op := &p.Ops[i]
		ref := uint32(0)
		if op.Skip {
			ref = altSkip
		} else if op.Alt != nil {
			ref = uint32(alt)
			alt++
		}
		e.op(out[pos:pos+opSize], op, ref)
		pos += opSize
	}
	for _, op := range alts {
		e.op(out[pos:pos+opSize], op, 0)
		pos += opSize
	}
	out = append(out, e.data...)
	if e.err != nil {
		return nil, e.err
	}
	if len(out) > maxSize {
		return nil, fmt.Errorf("plan of %d bytes is larger than %d: process.args and process.env are too long", len(out), maxSize)
	}
	header(out, p, l, len(alts), dataOff)
	return out, nil
}

func header(out []byte, p *Plan, l Layout, nalts, dataOff int) {
	put := func(i int, v uint32) { binary.LittleEndian.PutUint32(out[i*4:], v) }
	put(0, magic)
	put(1, version)
	put(2, uint32(len(out)))
	put(3, uint32(len(p.Ops)))
	put(4, uint32(nalts))
	put(5, uint32(len(p.Pass)+p.Slots))
	put(6, uint32(len(p.Pass)))
	put(7, uint32(l.FDBase))
	put(8, uint32(l.SyncFD))
	put(9, uint32(dataOff))
	if l.FaultOp >= 0 && l.FaultErrno != 0 {
		put(10, uint32(l.FaultOp+1))
		put(11, uint32(l.FaultErrno))
	}
}

func (e *encoder) op(out []byte, op *Op, alt uint32) {
	le := binary.LittleEndian
	le.PutUint16(out[0:], uint16(op.Code))
	if op.IfSkipped {
		le.PutUint16(out[2:], 1)
	}
	le.PutUint32(out[4:], alt)
	le.PutUint32(out[8:], uint32(op.AltOn))
	for i, s := range op.Slot {
		le.PutUint32(out[12+4*i:], uint32(e.slot(s)))
	}
	for i := range op.Str {
		if op.Str[i].hasNul() && e.err == nil {
			e.err = &SpecError{op.Field, "contains a NUL byte"}
		}
		le.PutUint32(out[24+4*i:], e.arg(&op.Str[i]))
	}
	for i, n := range op.Num {
		le.PutUint64(out[40+8*i:], n)
	}
}

// slot gives the number on the wire: passed descriptors first, then stage1's own.
func (e *encoder) slot(s Slot) int32 {
	if s >= firstLocal {
		return int32(s-firstLocal) + int32(e.npas)
	}
	return int32(s)
}

// arg puts an operand into the data area and returns its offset plus 1, or 0 for none.
func (e *encoder) arg(a *Arg) uint32 {
	switch a.Kind {
	case 's':
		return e.text(a.Text)
	case 'b':
		e.align(4)
		at := uint32(len(e.data))
		e.data = binary.LittleEndian.AppendUint32(e.data, uint32(len(a.Text)))
		e.data = append(e.data, a.Text...)
		return at + 1
	case 'v', 'p':
		return e.list(a)
	}
	return 0
}

func (e *encoder) list(a *Arg) uint32 {
	offs := make([]uint64, len(a.List))
	for i, s := range a.List {
		if a.Null == nil || !a.Null[i] {
			offs[i] = uint64(e.text(s))
		}
	}
	e.align(8)
	at := uint32(len(e.data))
	le := binary.LittleEndian
	e.data = le.AppendUint64(e.data, uint64(len(offs)))
	for _, o := range offs {
		e.data = le.AppendUint64(e.data, o)
	}
	e.data = le.AppendUint64(e.data, 0)
	return at + 1
}

// hasNul: the kernel would take the string only up to the NUL byte.
func (a *Arg) hasNul() bool {
	if a.Kind == 's' {
		return strings.IndexByte(a.Text, 0) >= 0
	}
	for _, s := range a.List {
		if strings.IndexByte(s, 0) >= 0 {
			return true
		}
	}
	return false
}

func (e *encoder) text(s string) uint32 {
	if at, ok := e.seen[s]; ok {
		return at
	}
	at := uint32(len(e.data)) + 1
	e.data = append(append(e.data, s...), 0)
	e.seen[s] = at
	return at
}

func (e *encoder) align(n int) {
	for len(e.data)%n != 0 {
		e.data = append(e.data, 0)
	}
}

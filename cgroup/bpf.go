package cgroup

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The device program of v2, in the few eBPF instructions it takes. The kernel runs it on every
// open and mknod of a device with struct bpf_cgroup_dev_ctx { u32 access_type, major, minor },
// access_type being access << 16 | type; 0 as its result is EPERM.

const (
	opLoad  = unix.BPF_LDX | unix.BPF_MEM | unix.BPF_W   // dst = *(u32 *)(src + off)
	opAndK  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K   // dst &= imm
	opRshK  = unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K   // dst >>= imm
	opMovX  = unix.BPF_ALU | unix.BPF_MOV | unix.BPF_X   // dst = src
	opMovK  = unix.BPF_ALU | unix.BPF_MOV | unix.BPF_K   // dst = imm
	opJneK  = unix.BPF_JMP32 | unix.BPF_JNE | unix.BPF_K // if dst != imm, skip off
	opJneX  = unix.BPF_JMP32 | unix.BPF_JNE | unix.BPF_X // if dst != src, skip off
	opJeqK  = unix.BPF_JMP32 | unix.BPF_JEQ | unix.BPF_K // if dst == imm, skip off
	opExit  = unix.BPF_JMP | unix.BPF_EXIT
	insSize = 8
)

// Registers: r1 is the context on entry, and scratch after it.
const (
	regResult = iota
	regScratch
	regType
	regAccess
	regMajor
	regMinor
)

type instruction struct {
	op       uint8
	dst, src uint8
	off      int16
	imm      int32
}

// program assembles the policy: the context's fields into registers, a block for each exception
// that ends the program if it matches, then the default.
func (p *devPolicy) program() []byte {
	ins := []instruction{
		{op: opLoad, dst: regType, src: regScratch, off: 0},
		{op: opAndK, dst: regType, imm: 0xffff},
		{op: opLoad, dst: regAccess, src: regScratch, off: 0},
		{op: opRshK, dst: regAccess, imm: 16},
		{op: opLoad, dst: regMajor, src: regScratch, off: 4},
		{op: opLoad, dst: regMinor, src: regScratch, off: 8},
	}
	for i := range p.exceptions {
		ins = append(ins, p.block(&p.exceptions[i])...)
	}
	return encode(append(ins, verdict(p.allow)...))
}

func verdict(allow bool) []instruction {
	var v int32
	if allow {
		v = 1
	}
	return []instruction{{op: opMovK, dst: regResult, imm: v}, {op: opExit}}
}

// block is one exception. To be allowed by it, all of the access has to be in it; to be denied,
// any: an open for reading and writing is denied where writing is (the v1 kernel does the same).
func (p *devPolicy) block(r *devRule) []instruction {
	kind := int32(unix.BPF_DEVCG_DEV_CHAR)
	if r.kind == 'b' {
		kind = unix.BPF_DEVCG_DEV_BLOCK
	}
	b := []instruction{{op: opJneK, dst: regType, imm: kind}}
	if r.access != accessAll {
		b = append(b, instruction{op: opMovX, dst: regScratch, src: regAccess},
			instruction{op: opAndK, dst: regScratch, imm: int32(r.access)})
		if p.allow {
			b = append(b, instruction{op: opJeqK, dst: regScratch, imm: 0})
		} else {
			b = append(b, instruction{op: opJneX, dst: regScratch, src: regAccess})
		}
	}
	if r.major != anyNumber {
		b = append(b, instruction{op: opJneK, dst: regMajor, imm: int32(uint32(r.major))})
	}
	if r.minor != anyNumber {
		b = append(b, instruction{op: opJneK, dst: regMinor, imm: int32(uint32(r.minor))})
	}
	b = append(b, verdict(!p.allow)...)
	for i := range b {
		if b[i].op == opJneK || b[i].op == opJneX || b[i].op == opJeqK {
			b[i].off = int16(len(b) - i - 1) // no match: behind the block
		}
	}
	return b
}

// encode writes struct bpf_insn, little-endian (amd64, arm64).
func encode(ins []instruction) []byte {
	out := make([]byte, 0, len(ins)*insSize)
	for _, i := range ins {
		out = append(out, i.op, i.dst|i.src<<4)
		out = binary.LittleEndian.AppendUint16(out, uint16(i.off))
		out = binary.LittleEndian.AppendUint32(out, uint32(i.imm))
	}
	return out
}

// loadAttr, attachAttr, idAttr and queryAttr are the parts of union bpf_attr (bpf(2)).
type loadAttr struct {
	kind, count    uint32
	ins, license   uint64
	logLevel       uint32
	logSize        uint32
	log            uint64
	kernVersion    uint32
	flags          uint32
	name           [16]byte
	ifindex        uint32
	expectedAttach uint32
}

type attachAttr struct {
	target, program, kind, flags, replace uint32
}

type queryAttr struct {
	target, kind, flags, attachFlags uint32
	ids                              uint64
	count, pad                       uint32
	progFlags, linkIDs, linkFlags    uint64
	revision                         uint64 // Linux 6.17 writes it whatever size it was given
}

func bpf(cmd uintptr, attr unsafe.Pointer, size uintptr) (int, error) {
	for tries := 0; ; tries++ {
		fd, _, errno := syscall.Syscall(unix.SYS_BPF, cmd, uintptr(attr), size)
		switch {
		case errno == 0:
			return int(fd), nil
		case (errno == syscall.EAGAIN || errno == syscall.EINTR) && tries < 30:
			// A signal interrupted the verifier; Go's scheduler sends them.
		default:
			return -1, errno
		}
	}
}

// loadProgram gives the program to the kernel. Before Linux 5.11 it counts against
// RLIMIT_MEMLOCK, and EPERM may only mean that: tried again with the limit raised meanwhile.
func loadProgram(code []byte) (int, error) {
	fd, err := tryLoad(code)
	if err != syscall.EPERM {
		return fd, err
	}
	var old syscall.Rlimit
	if syscall.Getrlimit(unix.RLIMIT_MEMLOCK, &old) != nil {
		return fd, err
	}
	raised := syscall.Rlimit{Cur: 1<<64 - 1, Max: 1<<64 - 1}
	if syscall.Setrlimit(unix.RLIMIT_MEMLOCK, &raised) != nil {
		return fd, err
	}
	fd, err = tryLoad(code)
	_ = syscall.Setrlimit(unix.RLIMIT_MEMLOCK, &old) // the container inherits it
	return fd, err
}

func tryLoad(code []byte) (int, error) {
	license := []byte("Apache-2.0\x00") // only GPL ones may call GPL helpers; it calls none
	attr := loadAttr{
		kind:    unix.BPF_PROG_TYPE_CGROUP_DEVICE,
		count:   uint32(len(code) / insSize),
		ins:     uint64(uintptr(unsafe.Pointer(&code[0]))),
		license: uint64(uintptr(unsafe.Pointer(&license[0]))),
	}
	copy(attr.name[:], "berth_devices")
	var pin runtime.Pinner
	pin.Pin(&code[0])
	pin.Pin(&license[0])
	defer pin.Unpin()
	return bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
}

// attachProgram attaches the program to the cgroup, in the place of the ones that are there. A
// fresh cgroup has none. Programs of the parents stay in force (BPF_F_ALLOW_MULTI).
func attachProgram(dirfd int, code []byte, fresh bool) error {
	prog, err := loadProgram(code)
	if err != nil {
		return opError("bpf", "BPF_PROG_LOAD", err)
	}
	defer syscall.Close(prog)
	var old []int
	if !fresh {
		if old, err = attached(dirfd); err != nil {
			return opError("bpf", "BPF_PROG_QUERY", err)
		}
	}
	defer func() {
		for _, fd := range old {
			syscall.Close(fd)
		}
	}()
	attr := attachAttr{target: uint32(dirfd), program: uint32(prog), kind: unix.BPF_CGROUP_DEVICE, flags: unix.BPF_F_ALLOW_MULTI}
	if len(old) == 1 {
		attr.flags |= unix.BPF_F_REPLACE // at no instant without rules, or with both
		attr.replace = uint32(old[0])
	}
	if _, err := bpf(unix.BPF_PROG_ATTACH, unsafe.Pointer(&attr), unsafe.Sizeof(attr)); err != nil {
		return opError("bpf", "BPF_PROG_ATTACH", err)
	}
	if len(old) > 1 {
		for _, fd := range old {
			detach := attachAttr{target: uint32(dirfd), program: uint32(fd), kind: unix.BPF_CGROUP_DEVICE}
			if _, err := bpf(unix.BPF_PROG_DETACH, unsafe.Pointer(&detach), unsafe.Sizeof(detach)); err != nil {
				return opError("bpf", "BPF_PROG_DETACH", err)
			}
		}
	}
	return nil
}

// maxPrograms is the kernel's limit for one cgroup (BPF_CGROUP_MAX_PROGS).
const maxPrograms = 64

// attached opens the device programs of the cgroup itself. One that a security module keeps
// from us stays: more programs only forbid more.
func attached(dirfd int) ([]int, error) {
	ids := make([]uint32, maxPrograms)
	var pin runtime.Pinner
	pin.Pin(&ids[0])
	defer pin.Unpin()
	q := queryAttr{target: uint32(dirfd), kind: unix.BPF_CGROUP_DEVICE, count: maxPrograms,
		ids: uint64(uintptr(unsafe.Pointer(&ids[0])))}
	if _, err := bpf(unix.BPF_PROG_QUERY, unsafe.Pointer(&q), unsafe.Sizeof(q)); err != nil {
		return nil, err
	}
	var fds []int
	for _, id := range ids[:q.count] {
		attr := [4]uint32{id}
		fd, err := bpf(unix.BPF_PROG_GET_FD_BY_ID, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		if err == nil {
			fds = append(fds, fd)
		} else if !permission(err) && err != syscall.ENOENT {
			return fds, err
		}
	}
	return fds, nil
}

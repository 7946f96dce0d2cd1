//go:build cgo && seccomp

package main

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"berth/seccomp/wire"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// getFilter reads the newest filter of a stopped tracee.
func getFilter(tid int, insns []unix.SockFilter) (int, error) {
	const getFilter = 0x420c // PTRACE_SECCOMP_GET_FILTER
	n, _, errno := unix.Syscall6(unix.SYS_PTRACE, getFilter, uintptr(tid), 0, uintptr(unsafe.Pointer(&insns[0])), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// compareAnswers runs both programs for every syscall number that matters on every architecture:
// the order of the stub's architectures must make no difference.
func compareAnswers(t *testing.T, ours, theirs []byte) {
	t.Helper()
	a, b := newVM(t, ours), newVM(t, theirs)
	archs := []uint32{
		unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_RISCV64,
	}
	for _, arch := range archs {
		for n := uint32(0); n < 700; n++ {
			for _, nr := range []uint32{n, n | x32Bit, 1<<31 - n, -n} {
				x, y := answer(t, a, arch, nr), answer(t, b, arch, nr)
				if x != y {
					t.Fatalf("arch %#x syscall %d: %#x, runc %#x", arch, nr, x, y)
				}
			}
		}
	}
}

func newVM(t *testing.T, program []byte) *bpf.VM {
	t.Helper()
	var raw []bpf.RawInstruction
	for i := 0; i < len(program); i += wire.InsnSize {
		raw = append(raw, bpf.RawInstruction{
			Op: binary.NativeEndian.Uint16(program[i:]), Jt: program[i+2], Jf: program[i+3],
			K: binary.NativeEndian.Uint32(program[i+4:]),
		})
	}
	insns, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("not all instructions are known")
	}
	vm, err := bpf.NewVM(insns)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// answer runs the program on a struct seccomp_data without arguments; the VM reads big-endian.
func answer(t *testing.T, vm *bpf.VM, arch, nr uint32) uint32 {
	t.Helper()
	var data [64]byte
	binary.BigEndian.PutUint32(data[dataNr:], nr)
	binary.BigEndian.PutUint32(data[dataArch:], arch)
	result, err := vm.Run(data[:])
	if err != nil {
		t.Fatal(err)
	}
	return uint32(result)
}

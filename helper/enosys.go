//go:build cgo && seccomp

package main

import (
	"errors"
	"fmt"

	"github.com/opencontainers/runc/libcontainer/configs"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// Programs probe for a new syscall and fall back on ENOSYS; a default action of EPERM or KILL
// breaks them (opencontainers/runc#2151). So a stub before libseccomp's program answers ENOSYS
// for syscalls newer than the newest that the profile names, for each of its architectures:
//
//	     ld arch
//	     jeq ARCH, section        one for each architecture
//	     ja filter
//	section:
//	     ld nr
//	     jgt HIGHEST, enosys      with a test of the x32 bit around it on x86_64
//	     ja filter
//	     ja filter
//	enosys:
//	     ret ERRNO|ENOSYS
//	filter:
//
// It is the program that runc makes, up to the order of the architectures.

// x32Bit marks a syscall number of the x32 ABI, which shares AUDIT_ARCH_X86_64.
const x32Bit = 1 << 30

const retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

// Offsets in struct seccomp_data.
const (
	dataNr   = 0
	dataArch = 4
)

// section holds the highest syscall numbers that the profile names for one AUDIT_ARCH_*; nil if
// it names none. x32 is for AUDIT_ARCH_X86_64 alone.
type section struct {
	audit      uint32
	plain, x32 *uint32
}

func (s *section) size() int {
	switch {
	case s.plain == nil && s.x32 == nil:
		return 0
	case s.audit != unix.AUDIT_ARCH_X86_64:
		return 3
	case s.plain == nil || s.x32 == nil:
		return 4
	}
	return 5
}

// needsStub: an action that lets unknown syscalls through lets the kernel say ENOSYS itself, and
// a tracer is expected to do so.
func needsStub(config *configs.Seccomp) bool {
	switch config.DefaultAction {
	case configs.Allow, configs.Log, configs.Trace:
		return false
	}
	return true
}

// auditArch maps libseccomp's architectures to AUDIT_ARCH_*. Big-endian ones are absent: no
// machine that berth runs on can have them in a filter.
var auditArch = map[libseccomp.ScmpArch]uint32{
	libseccomp.ArchX86:         unix.AUDIT_ARCH_I386,
	libseccomp.ArchAMD64:       unix.AUDIT_ARCH_X86_64,
	libseccomp.ArchX32:         unix.AUDIT_ARCH_X86_64,
	libseccomp.ArchARM:         unix.AUDIT_ARCH_ARM,
	libseccomp.ArchARM64:       unix.AUDIT_ARCH_AARCH64,
	libseccomp.ArchMIPSEL:      unix.AUDIT_ARCH_MIPSEL,
	libseccomp.ArchMIPSEL64:    unix.AUDIT_ARCH_MIPSEL64,
	libseccomp.ArchMIPSEL64N32: unix.AUDIT_ARCH_MIPSEL64N32,
	libseccomp.ArchPPC64LE:     unix.AUDIT_ARCH_PPC64LE,
	libseccomp.ArchRISCV64:     unix.AUDIT_ARCH_RISCV64,
	libseccomp.ArchLOONGARCH64: unix.AUDIT_ARCH_LOONGARCH64,
}

// stubSections finds the highest numbers: the native architecture first, whether the profile
// lists it or not (libseccomp's filter always has it), then the profile's in their order.
func stubSections(config *configs.Seccomp) ([]section, error) {
	native, err := libseccomp.GetNativeArch()
	if err != nil {
		return nil, fmt.Errorf("libseccomp: native architecture: %w", err)
	}
	archs := []libseccomp.ScmpArch{native}
	for _, name := range config.Architectures {
		arch, err := libseccomp.GetArchFromString(name)
		if err != nil {
			return nil, fmt.Errorf("libseccomp: %w", err)
		}
		archs = append(archs, arch)
	}
	var sections []section
	for _, arch := range archs {
		audit, ok := auditArch[arch]
		if !ok {
			return nil, fmt.Errorf("no AUDIT_ARCH for architecture %s", arch)
		}
		s := sectionOf(&sections, audit)
		if arch == libseccomp.ArchX32 {
			s.x32 = highest(config.Syscalls, arch)
		} else {
			s.plain = highest(config.Syscalls, arch)
		}
	}
	return sections, nil
}

func sectionOf(sections *[]section, audit uint32) *section {
	for i := range *sections {
		if (*sections)[i].audit == audit {
			return &(*sections)[i]
		}
	}
	*sections = append(*sections, section{audit: audit})
	return &(*sections)[len(*sections)-1]
}

// highest is the largest number that the rules' names have on arch. 0 counts as none, as in
// runc: a profile that names nothing else says nothing about how new it is. libseccomp's
// negative pseudo numbers stand for calls that arch does not have.
func highest(calls []*configs.Syscall, arch libseccomp.ScmpArch) *uint32 {
	var top libseccomp.ScmpSyscall
	for _, call := range calls {
		number, err := libseccomp.GetSyscallFromNameByArch(call.Name, arch)
		if err == nil && number > top {
			top = number
		}
	}
	if top == 0 {
		return nil
	}
	n := uint32(top)
	return &n
}

// assembler appends instructions; jump targets are indices in the whole program.
type assembler []unix.SockFilter

func (a *assembler) load(offset uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (a *assembler) ret(value uint32) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value})
}

func (a *assembler) jump(to int) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(to - len(*a) - 1)})
}

func (a *assembler) branch(test uint16, value uint32, yes, no int) {
	next := len(*a) + 1
	*a = append(*a, unix.SockFilter{
		Code: unix.BPF_JMP | unix.BPF_K | test, K: value, Jt: uint8(yes - next), Jf: uint8(no - next),
	})
}

var errTooManyArchs = errors.New("too many architectures for the ENOSYS stub")

// stub assembles the program above. jumps gives the order in which the architectures are tested,
// as indices into sections.
func stub(sections []section, jumps []int) ([]unix.SockFilter, error) {
	starts := make([]int, len(sections))
	at := 1 + len(sections) + 1
	for i := range sections {
		starts[i] = at
		at += sections[i].size()
	}
	enosys, filter := at+1, at+2
	if filter > 255 {
		return nil, errTooManyArchs // a conditional jump reaches no further
	}
	var a assembler
	a.load(dataArch)
	for _, i := range jumps {
		to := starts[i]
		if sections[i].size() == 0 {
			to = filter
		}
		a.branch(unix.BPF_JEQ, sections[i].audit, to, len(a)+1)
	}
	a.jump(filter)
	for i := range sections {
		a.section(&sections[i], enosys, filter)
	}
	a.jump(filter)
	a.ret(retENOSYS)
	return a, nil
}

func (a *assembler) section(s *section, enosys, filter int) {
	size := s.size()
	if size == 0 {
		return
	}
	a.load(dataNr)
	here := len(*a)
	last := here + size - 2 // the section's own "ja filter"
	switch {
	case s.audit != unix.AUDIT_ARCH_X86_64:
		a.branch(unix.BPF_JGT, *s.plain, enosys, last)
	case s.x32 == nil:
		a.branch(unix.BPF_JSET, x32Bit, last, here+1)
		a.branch(unix.BPF_JGT, *s.plain, enosys, last)
	case s.plain == nil:
		a.branch(unix.BPF_JSET, x32Bit, here+1, last)
		a.branch(unix.BPF_JGT, *s.x32, enosys, last)
	default:
		a.branch(unix.BPF_JSET, x32Bit, here+2, here+1)
		a.branch(unix.BPF_JGT, *s.plain, enosys, last)
		a.branch(unix.BPF_JGT, *s.x32, enosys, last)
	}
	a.jump(filter)
}

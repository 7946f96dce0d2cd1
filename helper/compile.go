//go:build cgo && seccomp

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"berth/seccomp/wire"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"github.com/opencontainers/runtime-spec/specs-go"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// maxProfile and cpuSeconds bound what a hostile profile can cost: ten rules with conditions on
// six arguments keep libseccomp busy for minutes. The usual profile takes 0.02 s.
const (
	maxProfile = 8 << 20
	cpuSeconds = 10
)

// compileVerb reads linux.seccomp from in and writes a wire.Filter. Its argument is the mask of
// SECCOMP_FILTER_FLAG_* that stage0 found the kernel to have.
func compileVerb(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("helper seccomp: one argument: the kernel's filter flags")
	}
	kernel, err := strconv.ParseUint(args[0], 0, 64)
	if err != nil {
		return fmt.Errorf("helper seccomp: filter flags: %w", err)
	}
	limit := unix.Rlimit{Cur: cpuSeconds, Max: cpuSeconds}
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &limit); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("helper seccomp: setrlimit RLIMIT_CPU: %w", err)
	}
	profile, err := io.ReadAll(io.LimitReader(in, maxProfile+1))
	if err != nil {
		return fmt.Errorf("helper seccomp: read the profile: %w", err)
	}
	if len(profile) > maxProfile {
		return at(root, "larger than %d bytes", maxProfile)
	}
	filter, err := compile(profile, kernel)
	if err != nil {
		return err
	}
	_, err = out.Write(filter.Append(nil))
	return err
}

// compile turns the profile's bytes into what seccomp(2) needs on a kernel with these filter flags.
func compile(profile []byte, kernel uint64) (*wire.Filter, error) {
	p, err := parse(profile)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return &wire.Filter{}, nil
	}
	config, err := libcontainerForm(p, kernel)
	if err != nil {
		return nil, err
	}
	f := &wire.Filter{ListenerPath: p.ListenerPath, ListenerMetadata: p.ListenerMetadata}
	if err := setFlags(f, config, kernel); err != nil {
		return nil, err
	}
	native, skipped, err := buildFilter(config, sources(p))
	if err != nil {
		return nil, err
	}
	defer native.Release()
	f.Skipped = skipped
	if f.BPF, err = assemble(config, native); err != nil {
		return nil, err
	}
	f.Config, err = json.Marshal(config)
	return f, err
}

// libcontainerForm is the profile as runc keeps it in state.json.
func libcontainerForm(p *specs.LinuxSeccomp, kernel uint64) (*configs.Seccomp, error) {
	// libcontainer refuses flags that its libseccomp can't set (WAIT_KILLABLE_RECV before 2.6).
	// But no flag is part of the program, and what counts is the kernel that will get it.
	flagless := *p
	flagless.Flags = []specs.LinuxSeccompFlag{}
	config, err := specconv.SetupSeccomp(&flagless)
	if err != nil {
		return nil, at(root, "%s", err)
	}
	if len(p.Flags) > 0 {
		config.Flags = p.Flags
	}
	// A profile that is silent on flags gets runc's default, where the kernel has it.
	if p.Flags == nil && kernel&unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW != 0 {
		config.Flags = []specs.LinuxSeccompFlag{specs.LinuxSeccompFlagSpecAllow}
	}
	return config, nil
}

func sources(p *specs.LinuxSeccomp) []source {
	var from []source
	for i := range p.Syscalls {
		for j := range p.Syscalls[i].Names {
			from = append(from, source{i, j})
		}
	}
	return from
}

// filterFlags are the flags of a profile with their value for seccomp(2). TSYNC has none: the
// filter is loaded by a program of one thread.
var filterFlags = map[specs.LinuxSeccompFlag]uint64{
	"SECCOMP_FILTER_FLAG_TSYNC":            0,
	specs.LinuxSeccompFlagLog:              unix.SECCOMP_FILTER_FLAG_LOG,
	specs.LinuxSeccompFlagSpecAllow:        unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
	specs.LinuxSeccompFlagWaitKillableRecv: 1 << 5,
}

// setFlags fills in Flags and what belongs to a listener. A flag the kernel lacks is refused: it
// would refuse the whole filter.
func setFlags(f *wire.Filter, config *configs.Seccomp, kernel uint64) error {
	for _, call := range config.Syscalls {
		if call.Action == configs.Notify {
			f.Notify = true
			f.NotifySyscalls = append(f.NotifySyscalls, call.Name)
		}
	}
	if f.Notify {
		f.Flags |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
		if kernel&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0 {
			return at(root+".syscalls", "SCMP_ACT_NOTIFY is not known to this kernel")
		}
	}
	for i, flag := range config.Flags {
		bit := filterFlags[flag]
		if bit&^kernel != 0 {
			return at(flagPath(i), "%s is not known to this kernel", flag)
		}
		if flag == specs.LinuxSeccompFlagWaitKillableRecv && !f.Notify {
			return at(flagPath(i), "%s needs a rule with SCMP_ACT_NOTIFY", flag)
		}
		f.Flags |= bit
	}
	return nil
}

// assemble is the whole program: the ENOSYS stub, then libseccomp's.
func assemble(config *configs.Seccomp, native *libseccomp.ScmpFilter) ([]byte, error) {
	var program []byte
	if needsStub(config) {
		sections, err := stubSections(config)
		if err != nil {
			return nil, err
		}
		jumps := make([]int, len(sections))
		for i := range jumps {
			jumps[i] = i
		}
		insns, err := stub(sections, jumps)
		if err != nil {
			return nil, at(root+".architectures", "%s", err)
		}
		program = encode(insns)
	}
	body, err := export(native)
	if err != nil {
		return nil, err
	}
	program = append(program, body...)
	if n := len(program) / wire.InsnSize; n > wire.MaxInsns {
		return nil, at(root, "compiles to %d instructions; the kernel takes %d", n, wire.MaxInsns)
	}
	return program, nil
}

func encode(insns []unix.SockFilter) []byte {
	var b []byte
	for _, i := range insns {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// export reads libseccomp's program through a memfd: a pipe could fill up.
func export(native *libseccomp.ScmpFilter) ([]byte, error) {
	fd, err := unix.MemfdCreate("bpf", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "bpf")
	defer file.Close()
	if err := native.ExportBPF(file); err != nil {
		return nil, fmt.Errorf("libseccomp: export the program: %w", err)
	}
	return os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
}

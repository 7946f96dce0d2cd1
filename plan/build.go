package plan

import (
	"fmt"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// CLONE_NEW* of clone(2).
const (
	newTime   = 0x00000080
	newNS     = 0x00020000
	newCgroup = 0x02000000
	newUTS    = 0x04000000
	newIPC    = 0x08000000
	newUser   = 0x10000000
	newPID    = 0x20000000
	newNet    = 0x40000000

	cloneParent = 0x00008000
)

var namespaceFlags = map[specs.LinuxNamespaceType]uint64{
	specs.PIDNamespace: newPID, specs.NetworkNamespace: newNet, specs.MountNamespace: newNS,
	specs.IPCNamespace: newIPC, specs.UTSNamespace: newUTS, specs.UserNamespace: newUser,
	specs.CgroupNamespace: newCgroup, specs.TimeNamespace: newTime,
}

type builder struct {
	spec *specs.Spec
	f    *Facts
	p    *Plan
	err  error

	fresh  uint64           // CLONE_NEW* of namespaces to make
	joined map[uint64]Slot  // namespaces by path
	paths  map[uint64]nsRef // the same, as the config has them

	root, proc, fifo Slot
	// Taken again for each mount and its target, so that a config with many needs few descriptors.
	mountSlot, targetSlot Slot
	later                 []laterReadonly
	cgroupWaited          bool
	nofile                *SetRlimit // set after the wait for start
}

type nsRef struct{ path, field string }

// laterReadonly is a mount that things are still made in before it turns read-only.
type laterReadonly struct {
	slot        Slot
	dest, field string
}

// Build compiles the plan of one container. It fails with a SpecError (the config is wrong),
// an UnsupportedError (it asks for what this version does not do).
func Build(spec *specs.Spec, f *Facts) (*Plan, error) {
	b := &builder{spec: spec, f: f, p: &Plan{Ops: make([]Op, 0, 128)}}
	b.targetSlot, b.mountSlot = b.local(), b.local()
	steps := []func(){
		b.validate, b.namespaces, b.begin, b.enter, b.session, b.rootfs, b.mounts, b.devices,
		b.workingDirectory, b.cgroup, b.hooksBeforePivot, b.pivot, b.console, b.readonlyRoot, b.kernelNames, b.hidePaths,
		b.final, b.credentials, b.start,
	}
	for _, step := range steps {
		if step(); b.err != nil {
			return nil, b.err
		}
	}
	return b.p, nil
}

// fail records the first error; building stops after the current step.
func (b *builder) fail(path, format string, args ...any) {
	if b.err == nil {
		b.err = &SpecError{path, fmt.Sprintf(format, args...)}
	}
}

func (b *builder) unsupported(path string) {
	if b.err == nil {
		b.err = &UnsupportedError{path}
	}
}

func (b *builder) warn(format string, args ...any) {
	b.p.Warnings = append(b.p.Warnings, fmt.Sprintf(format, args...))
}

// add appends an operation and returns its index. Slots that the caller leaves zero in
// operands the operation does not take are set to NoSlot.
func (b *builder) add(op Op) int {
	clearSlots(&op)
	if op.Alt != nil {
		clearSlots(op.Alt)
	}
	b.p.Ops = append(b.p.Ops, op)
	return len(b.p.Ops) - 1
}

func clearSlots(op *Op) {
	for i, s := range codes[op.Code].slots {
		if s == '-' {
			op.Slot[i] = NoSlot
		}
	}
}

// local returns a new slot that stage1 fills.
func (b *builder) local() Slot {
	b.p.Slots++
	return firstLocal + Slot(b.p.Slots-1)
}

// pass returns the slot of a descriptor that stage0 opens.
func (b *builder) pass(p Pass) Slot {
	b.p.Pass = append(b.p.Pass, p)
	return Slot(len(b.p.Pass) - 1)
}

func (b *builder) userns() bool {
	_, by := b.joined[newUser]
	return by || b.fresh&newUser != 0
}

func (b *builder) has(flag uint64) bool {
	_, by := b.joined[flag]
	return by || b.fresh&flag != 0
}

func (b *builder) linux() *specs.Linux {
	if b.spec.Linux == nil {
		return &specs.Linux{}
	}
	return b.spec.Linux
}

// mapsRoot: stage1 is root of the user namespace until it becomes process.user.
func (b *builder) mapsRoot(field string, maps []specs.LinuxIDMapping) {
	for _, m := range maps {
		if m.ContainerID == 0 && m.Size > 0 {
			return
		}
	}
	b.fail(field, "do not map the container's id 0")
}

// namespaces sorts linux.namespaces into new ones and joined ones.
func (b *builder) namespaces() {
	b.joined, b.paths = map[uint64]Slot{}, map[uint64]nsRef{}
	b.fifo = b.pass(Pass{Kind: PassFifo, Path: "exec.fifo"})
	seen := uint64(0)
	for i, ns := range b.linux().Namespaces {
		field := fmt.Sprintf("linux.namespaces[%d]", i)
		flag, ok := namespaceFlags[ns.Type]
		switch {
		case !ok:
			b.fail(field+".type", "unknown namespace type %q", ns.Type)
			return
		case seen&flag != 0:
			b.fail(field+".type", "namespace %q is listed twice", ns.Type)
			return
		case flag == newTime:
			b.unsupported(field + ".type time")
			return
		}
		seen |= flag
		if ns.Path == "" {
			b.fresh |= flag
			continue
		}
		if !strings.HasPrefix(ns.Path, "/") {
			b.fail(field+".path", "%q is not an absolute path", ns.Path)
			return
		}
		b.paths[flag] = nsRef{ns.Path, field + ".path"}
		b.joined[flag] = b.pass(Pass{Kind: PassNamespace, Path: ns.Path, NSType: flag, Field: field + ".path"})
	}
	b.p.NewPID, b.p.MountNS = b.fresh&newPID != 0, b.has(newNS)
	maps := len(b.linux().UIDMappings) + len(b.linux().GIDMappings)
	if maps > 0 && b.fresh&newUser == 0 && b.joined[newUser] == 0 {
		b.fail("linux.uidMappings", "maps need a user namespace in linux.namespaces")
	}
	if b.fresh&newUser != 0 && (len(b.linux().UIDMappings) == 0 || len(b.linux().GIDMappings) == 0) {
		b.fail("linux.uidMappings", "a new user namespace needs uidMappings and gidMappings")
	}
	if b.fresh&newUser != 0 {
		b.mapsRoot("linux.uidMappings", b.linux().UIDMappings)
		b.mapsRoot("linux.gidMappings", b.linux().GIDMappings)
	}
}

// early are the namespaces that one thread of several may unshare(2) for the child it clones.
const early = newNet | newIPC | newUTS | newNS

// EarlyNamespaces are the new namespaces (CLONE_NEW*) of a specification that are worth making
// beside all that comes before the clone: with a network namespace, which takes the kernel
// longest, those that can go with it. None if a user namespace has to come first and own the
// others, or an intermediate process is between.
func EarlyNamespaces(spec *specs.Spec) (flags uint64) {
	if spec.Linux == nil {
		return 0
	}
	for _, ns := range spec.Linux.Namespaces {
		if ns.Type == specs.UserNamespace || ns.Path != "" {
			return 0
		}
		flags |= namespaceFlags[ns.Type] & early
	}
	if flags&newNet == 0 {
		return 0
	}
	return flags
}

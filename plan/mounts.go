package plan

import (
	"fmt"
	"path"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

var rootPropagations = map[string]struct {
	flag      uint64
	recursive bool
}{
	"shared": {msShared, false}, "rshared": {msShared, true},
	"slave": {msSlave, false}, "rslave": {msSlave, true},
	"private": {msPrivate, false}, "rprivate": {msPrivate, true},
	"unbindable": {msUnbindable, false}, "runbindable": {msUnbindable, true},
}

func (b *builder) mountNS() bool { return b.has(newNS) }

// sharedRoot: mounts of the container are to propagate to the host.
func (b *builder) sharedRoot() bool {
	return rootPropagations[b.linux().RootfsPropagation].flag == msShared
}

// rootfs makes the container's root a mount of its own, at its own path, where hooks of the
// host look for it. The root of a user namespace may not be able to search the way there;
// then it covers "/": absolute paths of the host still resolve, since a lookup does not cross
// into what covers the root it starts from.
func (b *builder) rootfs() {
	what := "mount rootfs " + b.f.Rootfs
	if !b.mountNS() {
		b.root = b.local()
		b.add(Op{Code: OpenPath, Slot: [2]Slot{NoSlot, b.root}, Str: [3]Arg{str(b.f.Rootfs)},
			What: "open rootfs " + b.f.Rootfs, Field: "root.path"})
		return
	}
	if b.sharedRoot() && b.f.NoPivot {
		// The move over "/" would show on the host, and what is unmounted be unmounted there.
		b.fail("linux.rootfsPropagation", "%q can't go with --no-pivot", b.linux().RootfsPropagation)
		return
	}
	prop := attrChange{propagation: msSlave, recursive: true}
	if b.sharedRoot() {
		prop = attrChange{propagation: msShared}
	}
	b.setattrPath("/", prop, "set the propagation of /")
	if b.sharedRoot() && b.f.RootfsParent != "" {
		b.setattrPath(b.f.RootfsParent, attrChange{propagation: msPrivate}, "make the mount that holds rootfs private")
	}
	b.root = b.openTree(b.local(), b.f.Rootfs, true, what, "root.path")
	target, at := b.local(), b.f.Rootfs
	if b.coversRoot() {
		at = "/"
	}
	b.add(Op{Code: OpenPath, Slot: [2]Slot{NoSlot, target}, Str: [3]Arg{str(at)}, What: what, Field: "root.path",
		Alt:   &Op{Code: OpenPath, Slot: [2]Slot{NoSlot, target}, Str: [3]Arg{str("/")}, What: what, Field: "root.path"},
		AltOn: OnEACCES})
	if !b.sharedRoot() && !b.f.NoPivot {
		// To close a mount that was never attached, or still is, makes the kernel wait for RCU;
		// below the old root it goes away with that, and the descriptor stays good.
		b.add(Op{Code: MoveMount, Slot: [2]Slot{b.proc, target}, What: "park the private procfs below rootfs"})
	}
	b.add(Op{Code: MoveMount, Slot: [2]Slot{b.root, target}, What: what, Field: "root.path"})
}

// coversRoot: without pivot_root the rootfs ends over "/". From its own path it is moved there;
// where that may not be searched it is put there, and can't be moved onto itself.
func (b *builder) coversRoot() bool { return b.f.NoPivot && b.userns() }

func (b *builder) setattrPath(p string, c attrChange, what string) {
	op := setattrOp(NoSlot, c, what, "linux.rootfsPropagation")
	op.Str[0] = str(p)
	b.add(op)
}

func setattrOp(slot Slot, c attrChange, what, field string) Op {
	op := Op{Code: Setattr, Slot: [2]Slot{slot, NoSlot}, Num: [4]uint64{c.set, c.clear, c.propagation}, What: what, Field: field}
	if c.recursive {
		op.Num[3] = 1
	}
	return op
}

// openTree gives a slot with a detached clone of a host path: opened by stage0 where the
// mapped root of a user namespace could not search the way to it, else by stage1. What
// stage0 has cloned is a peer of the host's mount, if that is shared (stage1's own clones
// are slaves by then): mounts on it would appear on the host, and pivot_root refuse it.
// Returns the slot: into, or a passed one.
func (b *builder) openTree(into Slot, p string, recursive bool, what, field string) Slot {
	if b.userns() && b.f.Privileged {
		slot := b.pass(Pass{Kind: PassTree, Path: p, Recursive: recursive, Field: field})
		b.add(setattrOp(slot, attrChange{propagation: msSlave, recursive: true}, what, field))
		return slot
	}
	op := Op{Code: OpenTree, Slot: [2]Slot{into, NoSlot}, Str: [3]Arg{str(p)}, What: what, Field: field}
	if recursive {
		op.Num[0] = 1
	}
	b.add(op)
	return into
}

func (b *builder) mounts() {
	for i := range b.spec.Mounts {
		b.mount(i, &b.spec.Mounts[i])
		if b.err != nil {
			return
		}
	}
}

func (b *builder) mount(i int, m *specs.Mount) {
	field := fmt.Sprintf("mounts[%d]", i)
	dest := path.Clean("/" + m.Destination)
	if m.Destination == "" || dest == "/" {
		b.fail(field+".destination", "%q: a mount needs a destination below /", m.Destination)
		return
	}
	if strings.HasPrefix(dest, "/proc/") && !lxcfs[dest] {
		b.fail(field+".destination", "%q is inside /proc: only files of lxcfs may be mounted there", dest)
		return
	}
	if len(m.UIDMappings)+len(m.GIDMappings) > 0 {
		b.unsupported(field + ".uidMappings")
		return
	}
	o := parseMountOptions(m.Type, m.Options)
	switch {
	case o.unsupported != "":
		b.unsupported(fmt.Sprintf("%s.options[%d] %q", field, o.unsupportedAt, o.unsupported))
	case o.bind:
		b.bind(i, m, dest, &o, field)
	case m.Type == "cgroup" || m.Type == "cgroup2":
		b.cgroupMount(dest, &o, field)
	case dest == "/proc" && m.Type != "proc":
		b.fail(field+".type", "%q can't be mounted on /proc: only proc can", m.Type)
	case m.Type == "":
		b.fail(field+".type", "missing: a mount without the option bind or rbind needs a file system type")
	default:
		b.filesystem(m, dest, &o, field)
	}
}

// lxcfs lists the files below /proc that lxcfs replaces (runc's and crun's list).
var lxcfs = map[string]bool{
	"/proc/cpuinfo": true, "/proc/diskstats": true, "/proc/meminfo": true, "/proc/stat": true,
	"/proc/swaps": true, "/proc/uptime": true, "/proc/loadavg": true, "/proc/slabinfo": true,
	"/proc/sys/kernel/ns_last_pid": true, "/proc/sys/crypto/fips_enabled": true,
	"/proc/net/dev": true,
}

func (b *builder) bind(i int, m *specs.Mount, dest string, o *mountOptions, field string) {
	if m.Source == "" {
		b.fail(field+".source", "missing: a bind mount needs one")
		return
	}
	source := m.Source
	if !path.IsAbs(source) {
		source = path.Join(b.f.Bundle, source)
	}
	if len(o.data) > 0 {
		b.fail(fmt.Sprintf("%s.options[%d]", field, o.dataAt), "%q is not an option of a bind mount", o.data[0])
		return
	}
	what := "bind " + source + " on " + dest
	slot := b.openTree(b.mountSlot, source, o.recursive, what, field+".source")
	kind := uint64(TargetDir)
	if b.f.Kinds[i] == KindFile {
		kind = TargetFile
	}
	b.attributes(slot, o, what, field)
	if dest == "/proc" {
		b.checkProc(source, what, field+".source")
	}
	b.attach(slot, dest, kind|strict(dest), what, field)
	b.propagate(slot, o, what, field)
}

// checkProc: what programs in the container take for /proc has to be one (CVE-2019-16884). A
// clone without what is mounted below it is EINVAL where that may not be uncovered, as on
// the host's /proc seen from a user namespace.
func (b *builder) checkProc(source, what, field string) {
	b.add(Op{Code: CloneProc, Slot: [2]Slot{b.targetSlot}, Str: [3]Arg{str(source)}, Skip: true, AltOn: OnEINVAL,
		What: what + ": it must be a procfs", Field: field})
}

// strict: what covers /proc and /sys must not be led elsewhere by a symlink in the image;
// nothing else may be led into /proc.
func strict(dest string) uint64 {
	switch {
	case dest == "/proc":
		return TargetStrict | TargetNotRoot
	case dest == "/sys":
		return TargetStrict | TargetNotRoot | TargetNotProc
	case lxcfs[dest]:
		return TargetNotRoot
	}
	return TargetNotRoot | TargetNotProc
}

// virtual file systems ignore or refuse "ro" as an option of the superblock; what the
// container sees is the mount's attribute.
var virtualTypes = map[string]bool{
	"proc": true, "sysfs": true, "tmpfs": true, "devpts": true, "mqueue": true,
	"cgroup": true, "cgroup2": true, "overlay": true, "ramfs": true, "devtmpfs": true,
	"securityfs": true, "debugfs": true, "tracefs": true, "bpf": true, "hugetlbfs": true,
}

func (b *builder) filesystem(m *specs.Mount, dest string, o *mountOptions, field string) {
	what := "mount " + m.Type + " on " + dest
	source := m.Source
	if source == "" {
		source = m.Type
	}
	slot, attrs := b.mountSlot, o.attr.set
	if attrs&attrRdonly != 0 && (dest == "/dev" || m.Type == "tmpfs") {
		attrs &^= attrRdonly // nodes and mount points are made in it first
		slot = b.local()
		b.later = append(b.later, laterReadonly{slot, dest, field})
	}
	data := append(o.super, o.data...)
	if attrs&attrRdonly != 0 && !virtualTypes[m.Type] {
		data = append(data, "ro")
	}
	mnt := Op{Code: Fsmount, Slot: [2]Slot{slot}, Str: [3]Arg{str(m.Type), str(source)},
		Num: [4]uint64{attrs}, What: what, Field: field}
	opts, ok := pairs(data)
	if ok && len(source) < fsconfigMax && o.superFlags&msIVersion == 0 {
		mnt.Str[2] = opts
		b.newMount(mnt, dest, o)
	} else {
		b.oldMount(mnt, dest, o)
	}
	b.propagate(slot, o, what, field)
}

// newMount makes the mount that op describes, detached, and attaches it.
func (b *builder) newMount(op Op, dest string, o *mountOptions) {
	slot, attrs, what, field := op.Slot[0], op.Num[0], op.What, op.Field
	if op.Str[0].Text == "sysfs" && b.userns() {
		// Without a network namespace of the same user namespace, sysfs can't be mounted.
		op.Alt, op.AltOn = &Op{Code: OpenTree, Slot: [2]Slot{slot, NoSlot}, Str: [3]Arg{str("/sys")},
			Num: [4]uint64{1}, What: "bind /sys on " + dest, Field: field}, OnEPERM
	}
	i := b.add(op)
	if op.Alt != nil && attrs != 0 {
		again := setattrOp(slot, attrChange{set: attrs}, what, field)
		again.IfSkipped, again.Num[2], again.Num[3] = true, 0, uint64(i)
		b.add(again)
	}
	if !o.rattr.empty() {
		b.add(setattrOp(slot, o.rattr, what, field))
	}
	b.attach(slot, dest, TargetDir|strict(dest), what, field)
}

// MS_* flags of mount(2) for the attributes, which the old call takes in one word.
var oldFlags = []struct{ attr, ms uint64 }{
	{attrRdonly, 1}, {attrNosuid, 2}, {attrNodev, 4}, {attrNoexec, 8}, {attrNodiratime, 2048},
	{attrNoatime, 1024}, {attrStrictatime, 1 << 24}, {attrNosymfollow, 256},
}

// oldMount is for what fsconfig(2) does not take: a long or quoted option, iversion.
func (b *builder) oldMount(op Op, dest string, o *mountOptions) {
	slot, attrs, what, field := op.Slot[0], op.Num[0], op.What, op.Field
	flags := o.superFlags
	for _, l := range oldFlags {
		if attrs&l.attr != 0 {
			flags |= l.ms
		}
	}
	data := strings.Join(o.data, ",")
	op.Code, op.Slot, op.Num = Mount, [2]Slot{b.proc, b.target(dest, TargetDir|strict(dest), field)}, [4]uint64{flags}
	op.Str = [3]Arg{op.Str[1], op.Str[0], str(data)}
	b.add(op)
	b.openTarget(slot, dest, TargetExisting|strict(dest), field)
	if !o.rattr.empty() {
		b.add(setattrOp(slot, o.rattr, what, field))
	}
}

// attributes applies the options that are attributes to a mount that is still detached.
func (b *builder) attributes(slot Slot, o *mountOptions, what, field string) {
	for _, c := range []attrChange{o.attr, o.rattr} {
		if !c.empty() {
			b.add(setattrOp(slot, c, what, field+".options"))
		}
	}
}

// propagate comes after the mount is attached: attaching below a shared mount would
// otherwise change it.
func (b *builder) propagate(slot Slot, o *mountOptions, what, field string) {
	for _, c := range o.propagation {
		b.add(setattrOp(slot, c, what+": propagation", field+".options"))
	}
}

func (b *builder) target(dest string, flags uint64, field string) Slot {
	b.openTarget(b.targetSlot, dest, flags, field)
	return b.targetSlot
}

func (b *builder) openTarget(slot Slot, dest string, flags uint64, field string) {
	mode := uint64(0o755)
	if flags&TargetFile != 0 {
		mode = 0o644
	}
	b.add(Op{Code: Target, Slot: [2]Slot{b.root, slot}, Str: [3]Arg{str(dest)}, Num: [4]uint64{flags, mode},
		What: "open mount target " + dest + " in rootfs", Field: field})
}

func (b *builder) attach(slot Slot, dest string, flags uint64, what, field string) {
	target := b.target(dest, flags, field)
	b.add(Op{Code: MoveMount, Slot: [2]Slot{slot, target}, What: what, Field: field})
}

package plan

import "path"

// waitCgroup: from here on the process is in its cgroup.
func (b *builder) waitCgroup() {
	if b.cgroupWaited {
		return
	}
	b.cgroupWaited = true
	b.add(Op{Code: SyncWait, Num: [4]uint64{SyncCgroup}, What: "wait for the cgroup"})
	for _, file := range b.f.Cgroup.Join {
		b.add(Op{Code: CgroupJoin, Str: [3]Arg{str(file)}, What: "enter cgroup " + path.Dir(file), Field: "linux.cgroupsPath"})
	}
	if slot, ok := b.joined[newCgroup]; ok {
		b.setns(newCgroup, slot)
	}
	if b.fresh&newCgroup != 0 && b.p.Cloneflags&newCgroup == 0 {
		b.add(Op{Code: Unshare, Num: [4]uint64{newCgroup}, What: "make a cgroup namespace", Field: "linux.namespaces"})
	}
}

// cgroup enters the cgroup and its namespace, if no mount has needed it before: while the
// host's hierarchies can still be seen.
func (b *builder) cgroup() {
	if b.has(newCgroup) || len(b.f.Cgroup.Join) > 0 {
		b.waitCgroup()
	}
}

func (b *builder) cgroupMount(dest string, o *mountOptions, field string) {
	b.waitCgroup()
	what := "mount cgroup on " + dest
	switch b.f.Cgroup.Version {
	case 2:
		b.cgroup2Mount(dest, o, what, field)
	case 1:
		b.cgroup1Mount(dest, o, what, field)
	default:
		b.fail(field, "no cgroup hierarchy is mounted on this host")
	}
}

func (b *builder) cgroup2Mount(dest string, o *mountOptions, what, field string) {
	slot := b.mountSlot
	source := b.f.Cgroup.Mounts[0].Source
	i := b.add(Op{Code: Fsmount, Slot: [2]Slot{slot}, Str: [3]Arg{str("cgroup2"), str("cgroup2")},
		Num: [4]uint64{o.attr.set}, What: what, Field: field,
		Alt: &Op{Code: OpenTree, Slot: [2]Slot{slot, NoSlot}, Str: [3]Arg{str(source)},
			What: "bind " + source + " on " + dest, Field: field}, AltOn: OnEPERM | OnEBUSY})
	if o.attr.set != 0 {
		again := setattrOp(slot, attrChange{set: o.attr.set}, what, field)
		again.IfSkipped, again.Num[3] = true, uint64(i)
		b.add(again)
	}
	b.attach(slot, dest, TargetDir|strict(dest), what, field)
	b.propagate(slot, o, what, field)
}

// cgroup1Mount shows the container's own cgroup of every hierarchy below a tmpfs.
func (b *builder) cgroup1Mount(dest string, o *mountOptions, what, field string) {
	top := b.local()
	opts, _ := pairs([]string{"mode=755"})
	b.add(Op{Code: Fsmount, Slot: [2]Slot{top}, Str: [3]Arg{str("tmpfs"), str("tmpfs"), opts},
		Num: [4]uint64{o.attr.set &^ attrRdonly}, What: what, Field: field})
	b.attach(top, dest, TargetDir|strict(dest), what, field)
	for _, m := range b.f.Cgroup.Mounts {
		b.hierarchy(&m, dest, o, field)
	}
	for _, l := range b.f.Cgroup.Links {
		at := path.Join(dest, l[0])
		b.add(Op{Code: Symlink, Slot: [2]Slot{b.root}, Str: [3]Arg{str(l[1]), str(at)}, What: "symlink " + at, Field: field})
	}
	b.propagate(top, o, what, field)
	if o.attr.set&attrRdonly != 0 {
		b.add(setattrOp(top, attrChange{set: attrRdonly}, what, field))
	}
}

func (b *builder) hierarchy(m *CgroupMount, dest string, o *mountOptions, field string) {
	at := path.Join(dest, m.Name)
	what := "bind " + m.Source + " on " + at
	slot := b.mountSlot
	bind := Op{Code: OpenTree, Slot: [2]Slot{slot, NoSlot}, Str: [3]Arg{str(m.Source)}, What: what, Field: field}
	if b.has(newCgroup) {
		opts, _ := pairs(splitOption(m.Options))
		what = "mount " + m.Type + " on " + at
		b.add(Op{Code: Fsmount, Slot: [2]Slot{slot}, Str: [3]Arg{str(m.Type), str("cgroup"), opts},
			Num: [4]uint64{o.attr.set}, What: what, Field: field})
	} else {
		b.add(bind)
		if o.attr.set != 0 {
			b.add(setattrOp(slot, attrChange{set: o.attr.set}, what, field))
		}
	}
	b.attach(slot, at, TargetDir|strict(at), what, field)
}

package plan

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// hooksBeforePivot: the namespaces and mounts are there, the host's root still is.
func (b *builder) hooksBeforePivot() {
	h := b.spec.Hooks
	if h == nil {
		return
	}
	//nolint:staticcheck // prestart is deprecated, and still has to run.
	if len(h.Prestart)+len(h.CreateRuntime) > 0 {
		b.p.HasRuntimeHooks = true
		b.add(Op{Code: SyncSend, Slot: [2]Slot{NoSlot}, Num: [4]uint64{SyncRuntime}, What: "ask for the createRuntime hooks"})
		b.add(Op{Code: SyncWait, Num: [4]uint64{SyncRuntime}, What: "wait for the createRuntime hooks"})
	}
	if len(h.CreateContainer) > 0 {
		b.p.HasStateSync = true
		b.add(Op{Code: SyncWait, Num: [4]uint64{SyncState}, What: "wait for the state of the createContainer hooks"})
		b.add(Op{Code: Umask, Num: [4]uint64{0o022}, What: "set the umask of the createContainer hooks"})
		b.hooks("createContainer", h.CreateContainer, SyncState)
	}
}

// maxTimeout of a hook, in seconds: more than anybody waits, and no overflow in ms.
const maxTimeout = 1 << 31

// HookTimeout is a hook's timeout, given in seconds.
func HookTimeout(seconds int) time.Duration {
	return time.Duration(min(seconds, maxTimeout)) * time.Second
}

func (b *builder) hooks(kind string, list []specs.Hook, state uint64) {
	for i := range list {
		h := &list[i]
		timeout := uint64(0)
		if h.Timeout != nil {
			timeout = uint64(HookTimeout(*h.Timeout).Milliseconds())
		}
		args := h.Args
		if len(args) == 0 {
			args = []string{h.Path}
		}
		b.add(Op{Code: RunHook, Str: [3]Arg{str(h.Path), vector(args), vector(h.Env)}, Num: [4]uint64{timeout, state},
			What: fmt.Sprintf("run %s hook #%d %s", kind, i, h.Path), Field: fmt.Sprintf("hooks.%s[%d]", kind, i)})
	}
}

func (b *builder) pivot() {
	switch {
	case !b.mountNS():
		b.add(Op{Code: Chroot, Slot: [2]Slot{b.root}, What: "chroot to rootfs"})
		return
	case b.f.NoPivot:
		if b.fresh&newNS != 0 {
			b.leaveHostProc()
		}
		if b.coversRoot() {
			b.add(Op{Code: Chroot, Slot: [2]Slot{b.root}, What: "chroot to rootfs"})
		} else {
			b.add(Op{Code: MoveRoot, Slot: [2]Slot{b.root}, What: "move rootfs over /"})
		}
	default:
		b.add(Op{Code: Pivot, Slot: [2]Slot{b.root}, What: "pivot_root to rootfs"})
	}
	if p := b.linux().RootfsPropagation; p != "" {
		r := rootPropagations[p]
		b.setattrPath("/", attrChange{propagation: r.flag, recursive: r.recursive}, "set the propagation of rootfs")
	}
}

// mntDetach of umount2(2).
const mntDetach = 2

// leaveHostProc: without pivot_root the host's mounts stay in the mount namespace. A whole
// procfs or sysfs among them would let a user namespace inside the container mount one that
// has nothing masked. What a user namespace may not unmount is covered.
func (b *builder) leaveHostProc() {
	for _, p := range []string{"/proc", "/sys"} {
		what := "detach " + p + " of the host"
		i := b.add(Op{Code: Umount, Str: [3]Arg{str(p)}, Num: [4]uint64{mntDetach}, What: what,
			Skip: true, AltOn: OnEINVAL | OnEPERM})
		for _, op := range []Op{
			{Code: Fsmount, Slot: [2]Slot{b.mountSlot}, Str: [3]Arg{str("tmpfs"), str("tmpfs")}, Num: [4]uint64{attrRdonly}},
			{Code: OpenPath, Slot: [2]Slot{NoSlot, b.targetSlot}, Str: [3]Arg{str(p)}},
			{Code: MoveMount, Slot: [2]Slot{b.mountSlot, b.targetSlot}},
		} {
			op.IfSkipped, op.Num[3], op.What = true, uint64(i), "cover "+p+" of the host"
			b.add(op)
		}
	}
}

func (b *builder) readonlyRoot() {
	for _, l := range b.later {
		b.add(setattrOp(l.slot, attrChange{set: attrRdonly}, "make "+l.dest+" read-only", l.field))
	}
	if b.spec.Root != nil && b.spec.Root.Readonly {
		if !b.mountNS() {
			b.fail("root.readonly", "needs a mount namespace in linux.namespaces")
			return
		}
		b.add(setattrOp(b.root, attrChange{set: attrRdonly}, "make rootfs read-only", "root.readonly"))
	}
}

// kernelNames sets what the new namespaces hold besides files.
func (b *builder) kernelNames() {
	if h := b.spec.Hostname; h != "" {
		b.needs(newUTS, "hostname", "a uts namespace")
		b.add(Op{Code: Hostname, Str: [3]Arg{str(h)}, What: "set hostname " + h, Field: "hostname"})
	}
	if d := b.spec.Domainname; d != "" {
		b.needs(newUTS, "domainname", "a uts namespace")
		b.add(Op{Code: Domainname, Str: [3]Arg{str(d)}, What: "set domainname " + d, Field: "domainname"})
	}
	keys := make([]string, 0, len(b.linux().Sysctl))
	for k := range b.linux().Sysctl {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		b.sysctl(k, b.linux().Sysctl[k])
	}
}

func (b *builder) needs(flag uint64, field, what string) {
	if !b.has(flag) {
		b.fail(field, "needs %s in linux.namespaces", what)
	}
}

var ipcSysctls = map[string]bool{
	"kernel.msgmax": true, "kernel.msgmnb": true, "kernel.msgmni": true, "kernel.sem": true,
	"kernel.shmall": true, "kernel.shmmax": true, "kernel.shmmni": true, "kernel.shm_rmid_forced": true,
}

func (b *builder) sysctl(key, value string) {
	field := fmt.Sprintf("linux.sysctl[%q]", key)
	name := sysctlPath(key)
	dotted := strings.ReplaceAll(name, "/", ".")
	switch {
	case strings.Contains("/"+name+"/", "/../") || strings.Contains("/"+name+"/", "/./") || name == "":
		b.fail(field, "is not the name of a sysctl")
	case ipcSysctls[dotted] || strings.HasPrefix(dotted, "fs.mqueue."):
		b.needs(newIPC, field, "an ipc namespace")
	case strings.HasPrefix(dotted, "net."):
		b.needs(newNet, field, "a network namespace")
	case dotted == "kernel.domainname" || dotted == "kernel.hostname":
		b.needs(newUTS, field, "a uts namespace")
		if dotted == "kernel.hostname" && b.spec.Hostname != "" {
			b.fail(field, "hostname is set as well")
		}
	case strings.HasPrefix(dotted, "user."):
		b.needs(newUser, field, "a user namespace")
	default:
		b.fail(field, "is not in a separate kernel namespace: it would change the host")
	}
	b.add(Op{Code: ProcWrite, Slot: [2]Slot{b.proc}, Str: [3]Arg{str("sys/" + name), blob(value)},
		What: "set sysctl " + key + " to " + value, Field: field})
}

// sysctlPath follows sysctl(8): whichever of "." and "/" comes first separates; the other
// is then part of a name.
func sysctlPath(key string) string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		return key
	}
	swap := strings.NewReplacer(".", "/", "/", ".")
	return swap.Replace(key)
}

// hidePaths covers linux.maskedPaths and makes linux.readonlyPaths read-only.
func (b *builder) hidePaths() {
	masked, ro := b.linux().MaskedPaths, b.linux().ReadonlyPaths
	if !b.mountNS() && len(masked) > 0 {
		b.fail("linux.maskedPaths", "needs a mount namespace in linux.namespaces")
	}
	if !b.mountNS() && len(ro) > 0 {
		b.fail("linux.readonlyPaths", "needs a mount namespace in linux.namespaces")
	}
	for i, p := range ro {
		if b.absolute(p, "linux.readonlyPaths", i) {
			b.add(Op{Code: ReadonlyPath, Slot: [2]Slot{b.root}, Str: [3]Arg{str(path.Clean(p))},
				What: "make " + p + " read-only", Field: fmt.Sprintf("linux.readonlyPaths[%d]", i)})
		}
	}
	if len(masked) == 0 {
		return
	}
	empty, null := b.local(), b.local()
	opts, _ := pairs([]string{"mode=755", "nr_inodes=2"})
	b.add(Op{Code: Fsmount, Slot: [2]Slot{empty}, Str: [3]Arg{str("tmpfs"), str("tmpfs"), opts},
		Num: [4]uint64{attrRdonly | attrNosuid | attrNodev | attrNoexec}, What: "mount the empty directory of linux.maskedPaths"})
	b.add(Op{Code: OpenDev, Slot: [2]Slot{b.root, null}, Str: [3]Arg{str("/dev/null")}, Num: [4]uint64{0, makedev(1, 3)},
		What: "open /dev/null in rootfs for linux.maskedPaths"})
	for i, p := range masked {
		if !b.absolute(p, "linux.maskedPaths", i) {
			return
		}
		field, what := fmt.Sprintf("linux.maskedPaths[%d]", i), "mask "+p
		p = path.Clean(p)
		b.add(Op{Code: MaskDir, Slot: [2]Slot{b.root, empty}, Str: [3]Arg{str(p)}, What: what, Field: field,
			Alt:   &Op{Code: MaskFile, Slot: [2]Slot{b.root, null}, Str: [3]Arg{str(p)}, What: what, Field: field},
			AltOn: OnENOTDIR})
	}
}

func (b *builder) absolute(p, field string, i int) bool {
	if !path.IsAbs(p) {
		b.fail(fmt.Sprintf("%s[%d]", field, i), "%q is not an absolute path", p)
		return false
	}
	return true
}

package plan

import (
	"fmt"
	"os"
	"path"

	"github.com/opencontainers/runtime-spec/specs-go"
)

const (
	sIFIFO = 0o010000
	sIFCHR = 0o020000
	sIFBLK = 0o060000
)

// device is one node to make.
type device struct {
	path         string
	mode         uint64 // with the type
	major, minor uint64
	uid, gid     uint64
	field        string
}

// The nodes that every container has (config-linux.md, "Default Devices"); /dev/console and
// /dev/ptmx are made where the terminal is.
var defaultDevices = []device{
	{path: "/dev/null", mode: sIFCHR | 0o666, major: 1, minor: 3},
	{path: "/dev/zero", mode: sIFCHR | 0o666, major: 1, minor: 5},
	{path: "/dev/full", mode: sIFCHR | 0o666, major: 1, minor: 7},
	{path: "/dev/random", mode: sIFCHR | 0o666, major: 1, minor: 8},
	{path: "/dev/urandom", mode: sIFCHR | 0o666, major: 1, minor: 9},
	{path: "/dev/tty", mode: sIFCHR | 0o666, major: 5, minor: 0},
}

var devLinks = [][2]string{
	{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"},
	{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	{"/proc/kcore", "/dev/core"},
}

// IsBind tells whether a mount is a bind mount.
func IsBind(m *specs.Mount) bool {
	o := parseMountOptions(m.Type, m.Options)
	return o.bind
}

// boundDev: the caller brings its own /dev, which is left as it is.
func (b *builder) boundDev() bool {
	for i := range b.spec.Mounts {
		m := &b.spec.Mounts[i]
		if path.Clean("/"+m.Destination) == "/dev" {
			o := parseMountOptions(m.Type, m.Options)
			if o.bind {
				return true
			}
		}
	}
	return false
}

func (b *builder) devices() {
	if b.boundDev() {
		return
	}
	list := b.specDevices()
	for _, d := range defaultDevices {
		if !listed(list, d.path) && !b.mountedOn(d.path) {
			list = append(list, d)
		}
	}
	for i := range list {
		if list[i].path != "/dev/ptmx" { // a symlink, below
			b.device(&list[i])
		}
	}
	for _, l := range devLinks {
		if l[1] == "/dev/core" && b.f.NoKcore {
			continue
		}
		b.add(Op{Code: Symlink, Slot: [2]Slot{b.root}, Str: [3]Arg{str(l[0]), str(l[1])}, What: "symlink " + l[1]})
	}
	b.add(Op{Code: Symlink, Slot: [2]Slot{b.root}, Str: [3]Arg{str("pts/ptmx"), str("/dev/ptmx")}, Num: [4]uint64{1},
		What: "symlink /dev/ptmx"})
}

// mountedOn: the config brings its own, for instance the host's /dev/urandom as /dev/random.
func (b *builder) mountedOn(p string) bool {
	for i := range b.spec.Mounts {
		if path.Clean("/"+b.spec.Mounts[i].Destination) == p {
			return true
		}
	}
	return false
}

func listed(list []device, p string) bool {
	for i := range list {
		if list[i].path == p {
			return true
		}
	}
	return false
}

var deviceTypes = map[string]uint64{"c": sIFCHR, "u": sIFCHR, "b": sIFBLK, "p": sIFIFO}

func (b *builder) specDevices() []device {
	in := b.linux().Devices
	out := make([]device, 0, len(in)+len(defaultDevices))
	for i := range in {
		d := &in[i]
		field := fmt.Sprintf("linux.devices[%d]", i)
		typ, ok := deviceTypes[d.Type]
		p := path.Clean(d.Path)
		switch {
		case !ok:
			b.fail(field+".type", "%q is none of c, b, u, p", d.Type)
		case !path.IsAbs(d.Path) || p == "/":
			b.fail(field+".path", "%q is not an absolute path", d.Path)
		case listed(out, p):
			b.fail(field+".path", "%q is listed twice", d.Path)
		case d.Major < 0 || d.Minor < 0 || d.Major >= 1<<32 || d.Minor >= 1<<32:
			b.fail(field+".major", "device number %d:%d is out of range", d.Major, d.Minor)
		}
		out = append(out, device{p, typ | deviceMode(d), uint64(d.Major), uint64(d.Minor), id(d.UID), id(d.GID), field})
	}
	return out
}

func deviceMode(d *specs.LinuxDevice) uint64 {
	if d.FileMode == nil {
		return 0o666
	}
	return uint64(*d.FileMode & (os.ModePerm | 0o7000))
}

func id(p *uint32) uint64 {
	if p == nil {
		return 0
	}
	return uint64(*p)
}

// makedev is the kernel's number for mknod(2) as glibc packs it.
func makedev(major, minor uint64) uint64 {
	return (major&0xfffff000)<<32 | (major&0xfff)<<8 | (minor&0xffffff00)<<12 | minor&0xff
}

func (b *builder) device(d *device) {
	what := "make device " + d.path
	if b.userns() && d.mode&0o170000 != sIFIFO {
		// Nodes can't be made in a user namespace; the host's own is bound instead.
		slot := b.mountSlot
		b.add(Op{Code: OpenTree, Slot: [2]Slot{slot, NoSlot}, Str: [3]Arg{str(d.path)}, What: "bind device " + d.path, Field: d.field})
		b.attach(slot, d.path, TargetFile|strict(d.path), "bind device "+d.path, d.field)
		return
	}
	b.add(Op{Code: Mknod, Slot: [2]Slot{b.root}, Str: [3]Arg{str(d.path)},
		Num: [4]uint64{d.mode, makedev(d.major, d.minor), d.uid, d.gid}, What: what, Field: d.field})
}

// console opens the container's terminal and makes it stdio and /dev/console.
func (b *builder) console() {
	p := b.spec.Process
	if p == nil || !p.Terminal {
		return
	}
	b.p.HasConsole = true
	master, peer := b.local(), b.local()
	size := uint64(0)
	if p.ConsoleSize != nil {
		size = uint64(p.ConsoleSize.Height&0xffff)<<16 | uint64(p.ConsoleSize.Width&0xffff)
	}
	const field = "process.terminal"
	b.add(Op{Code: OpenPtmx, Slot: [2]Slot{b.root, master}, Str: [3]Arg{str("/dev/pts/ptmx")}, Num: [4]uint64{size},
		What: "open a terminal in /dev/pts", Field: field})
	b.add(Op{Code: PtyPeer, Slot: [2]Slot{master, peer}, What: "open the terminal's peer", Field: field})
	if b.mountNS() {
		mnt := b.mountSlot
		b.add(Op{Code: OpenTree, Slot: [2]Slot{mnt, peer}, What: "bind the terminal on /dev/console", Field: field})
		b.attach(mnt, "/dev/console", TargetFile|strict("/dev/console"), "bind the terminal on /dev/console", field)
	}
	for fd := uint64(0); fd < 3; fd++ {
		b.add(Op{Code: Dup2, Slot: [2]Slot{peer}, Num: [4]uint64{fd}, What: "make the terminal stdio", Field: field})
	}
	b.add(Op{Code: SetCtty, What: "set the controlling terminal", Field: field})
	b.add(Op{Code: SyncSend, Slot: [2]Slot{master}, Num: [4]uint64{SyncConsole}, What: "hand the terminal over", Field: field})
	b.add(Op{Code: Close, Slot: [2]Slot{master}, What: "close the terminal's master"})
	b.add(Op{Code: Close, Slot: [2]Slot{peer}, What: "close the terminal's peer"})
}

// workingDirectory makes process.cwd if the image does not have it, as runc does. Where it
// can't be made, changing to it will say so.
func (b *builder) workingDirectory() {
	p := b.spec.Process
	if p == nil || path.Clean(p.Cwd) == "/" {
		return
	}
	b.add(Op{Code: Target, Slot: [2]Slot{b.root, b.targetSlot}, Str: [3]Arg{str(path.Clean(p.Cwd))}, Num: [4]uint64{TargetDir, 0o755},
		Skip: true, AltOn: OnEROFS | OnEACCES | OnEPERM | OnENOTDIR | OnEEXIST | OnENOENT,
		What: "make directory " + p.Cwd + " in rootfs", Field: "process.cwd"})
}

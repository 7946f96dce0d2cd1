package runcstate

import (
	"os"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// defaultDevice is a device that every container may use, and has a node for if it has a path.
type defaultDevice struct {
	path         string
	kind         byte // 'c' or 'b'
	major, minor int64
	access       string
}

// defaultDevices are what runc allows every container (runtime-spec, "Default Devices", and
// mknod of any device, terminals and net/tun).
var defaultDevices = []defaultDevice{
	{"", 'c', -1, -1, "m"},
	{"", 'b', -1, -1, "m"},
	{"/dev/null", 'c', 1, 3, "rwm"},
	{"/dev/random", 'c', 1, 8, "rwm"},
	{"/dev/full", 'c', 1, 7, "rwm"},
	{"/dev/tty", 'c', 5, 0, "rwm"},
	{"/dev/zero", 'c', 1, 5, "rwm"},
	{"/dev/urandom", 'c', 1, 9, "rwm"},
	{"", 'c', 136, -1, "rwm"},
	{"", 'c', 5, 2, "rwm"},
	{"", 'c', 10, 200, "rwm"},
}

// isReplaced tells whether the specification has a device of its own at a default one's path.
func (d *defaultDevice) isReplaced(linux *specs.Linux) bool {
	if d.path == "" || linux == nil {
		return false
	}
	for i := range linux.Devices {
		if linux.Devices[i].Path == d.path {
			return true
		}
	}
	return false
}

// devices writes the nodes in the container's /dev.
func (w *writer) devices(in *Input) {
	linux := in.Spec.Linux
	owner := in.deviceOwner()
	w.key("devices")
	w.b = append(w.b, '[')
	for i := range defaultDevices {
		if d := &defaultDevices[i]; d.path != "" && !d.isReplaced(linux) {
			w.open()
			w.rule(d.kind, d.major, d.minor, d.access, true)
			w.node(d.path, 0o666, owner, 0, 0)
		}
	}
	if linux != nil {
		for i := range linux.Devices {
			w.device(&linux.Devices[i], owner)
		}
	}
	w.closeList()
}

func (w *writer) device(d *specs.LinuxDevice, owner *ids) {
	mode := os.FileMode(0o666)
	if d.FileMode != nil {
		mode = *d.FileMode &^ unix.S_IFMT
	}
	kind := byte(0)
	switch d.Type {
	case "c", "u":
		kind = 'c'
	case "b", "p":
		kind = d.Type[0]
	}
	w.open()
	w.rule(kind, d.Major, d.Minor, "", false)
	w.node(d.Path, mode, owner, value(d.UID), value(d.GID))
}

// ids own the devices of a container with a user namespace: its root.
type ids struct{ uid, gid uint32 }

func (in *Input) deviceOwner() *ids {
	if in.Spec.Linux == nil {
		return nil
	}
	if _, ok := namespace(in.Spec.Linux.Namespaces, specs.UserNamespace); !ok {
		return nil
	}
	uidMap, gidMap := in.mappings()
	uid, _ := hostID(true, uidMap, 0)
	gid, _ := hostID(true, gidMap, 0)
	return &ids{uint32(uid), uint32(gid)}
}

// rule writes the members of devices.Rule into an object that is open.
func (w *writer) rule(kind byte, major, minor int64, access string, allow bool) {
	w.int("type", int64(kind))
	w.int("major", major)
	w.int("minor", minor)
	w.string("permissions", access)
	w.bool("allow", allow)
}

// node writes the other members of devices.Device and closes the object.
func (w *writer) node(path string, mode os.FileMode, owner *ids, uid, gid uint32) {
	if owner != nil {
		uid, gid = owner.uid, owner.gid
	}
	w.string("path", path)
	w.uint("file_mode", uint64(mode))
	w.optUint("uid", uint64(uid))
	w.optUint("gid", uint64(gid))
	w.close()
}

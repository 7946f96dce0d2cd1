package runcstate

import (
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// extensionCopyUp is libcontainer's number of the option tmpcopyup.
const extensionCopyUp = 1

// flagOptions are the options that are flags of mount(2). clear: the option takes the flag away.
var flagOptions = []struct {
	name  string
	flag  int
	clear bool
}{
	{"async", unix.MS_SYNCHRONOUS, true}, {"sync", unix.MS_SYNCHRONOUS, false},
	{"atime", unix.MS_NOATIME, true}, {"noatime", unix.MS_NOATIME, false},
	{"bind", unix.MS_BIND, false}, {"rbind", unix.MS_BIND | unix.MS_REC, false},
	{"dev", unix.MS_NODEV, true}, {"nodev", unix.MS_NODEV, false},
	{"diratime", unix.MS_NODIRATIME, true}, {"nodiratime", unix.MS_NODIRATIME, false},
	{"dirsync", unix.MS_DIRSYNC, false},
	{"exec", unix.MS_NOEXEC, true}, {"noexec", unix.MS_NOEXEC, false},
	{"iversion", unix.MS_I_VERSION, false}, {"noiversion", unix.MS_I_VERSION, true},
	{"lazytime", unix.MS_LAZYTIME, false}, {"nolazytime", unix.MS_LAZYTIME, true},
	{"loud", unix.MS_SILENT, true}, {"silent", unix.MS_SILENT, false},
	{"mand", unix.MS_MANDLOCK, false}, {"nomand", unix.MS_MANDLOCK, true},
	{"relatime", unix.MS_RELATIME, false}, {"norelatime", unix.MS_RELATIME, true},
	{"remount", unix.MS_REMOUNT, false},
	{"ro", unix.MS_RDONLY, false}, {"rw", unix.MS_RDONLY, true},
	{"strictatime", unix.MS_STRICTATIME, false}, {"nostrictatime", unix.MS_STRICTATIME, true},
	{"suid", unix.MS_NOSUID, true}, {"nosuid", unix.MS_NOSUID, false},
	{"symfollow", unix.MS_NOSYMFOLLOW, true}, {"nosymfollow", unix.MS_NOSYMFOLLOW, false},
}

// recursiveOptions are the attributes of mount_setattr(2) that are set or cleared for a tree.
var recursiveOptions = []struct {
	name  string
	flag  uint64
	clear bool
}{
	{"rro", unix.MOUNT_ATTR_RDONLY, false}, {"rrw", unix.MOUNT_ATTR_RDONLY, true},
	{"rnosuid", unix.MOUNT_ATTR_NOSUID, false}, {"rsuid", unix.MOUNT_ATTR_NOSUID, true},
	{"rnodev", unix.MOUNT_ATTR_NODEV, false}, {"rdev", unix.MOUNT_ATTR_NODEV, true},
	{"rnoexec", unix.MOUNT_ATTR_NOEXEC, false}, {"rexec", unix.MOUNT_ATTR_NOEXEC, true},
	{"rnodiratime", unix.MOUNT_ATTR_NODIRATIME, false}, {"rdiratime", unix.MOUNT_ATTR_NODIRATIME, true},
	{"rrelatime", unix.MOUNT_ATTR_RELATIME, false}, {"rnorelatime", unix.MOUNT_ATTR_RELATIME, true},
	{"rnoatime", unix.MOUNT_ATTR_NOATIME, false}, {"ratime", unix.MOUNT_ATTR_NOATIME, true},
	{"rstrictatime", unix.MOUNT_ATTR_STRICTATIME, false}, {"rnostrictatime", unix.MOUNT_ATTR_STRICTATIME, true},
	{"rnosymfollow", unix.MOUNT_ATTR_NOSYMFOLLOW, false}, {"rsymfollow", unix.MOUNT_ATTR_NOSYMFOLLOW, true},
}

// propagationFlags are the flags of a propagation's name; 0: it is none.
func propagationFlags(name string) int {
	kind, recursive := strings.CutPrefix(name, "r")
	flags := 0
	switch kind {
	case "private":
		flags = unix.MS_PRIVATE
	case "slave":
		flags = unix.MS_SLAVE
	case "shared":
		flags = unix.MS_SHARED
	case "unbindable":
		flags = unix.MS_UNBINDABLE
	default:
		return 0
	}
	if recursive {
		flags |= unix.MS_REC
	}
	return flags
}

// options is a mount's option list as libcontainer sorts it.
type options struct {
	flags, cleared            int
	propagation               []int
	recursiveSet, recursiveNo uint64
	copyUp                    bool
	idmap, ridmap             bool
	data                      []string
}

func parseOptions(list []string) options {
	var o options
	for _, name := range list {
		if !o.flagOption(name) && !o.recursiveOption(name) && !o.otherOption(name) {
			o.data = append(o.data, name)
		}
	}
	return o
}

func (o *options) flagOption(name string) bool {
	for i := range flagOptions {
		f := &flagOptions[i]
		if f.name != name {
			continue
		}
		if f.clear {
			o.flags &^= f.flag
			o.cleared |= f.flag
		} else {
			o.flags |= f.flag
			o.cleared &^= f.flag
		}
		return true
	}
	return false
}

func (o *options) recursiveOption(name string) bool {
	if name == "" || name[0] != 'r' {
		return false
	}
	for i := range recursiveOptions {
		f := &recursiveOptions[i]
		if f.name != name {
			continue
		}
		if f.clear {
			o.recursiveNo |= f.flag
			o.recursiveSet &^= f.flag
		} else {
			o.recursiveSet |= f.flag
			o.recursiveNo &^= f.flag
		}
		if f.flag&unix.MOUNT_ATTR__ATIME == f.flag {
			// mount_setattr(2): setting an access time takes clearing the whole field too.
			o.recursiveNo |= unix.MOUNT_ATTR__ATIME
		}
		return true
	}
	return false
}

func (o *options) otherOption(name string) bool {
	if p := propagationFlags(name); p != 0 {
		o.propagation = append(o.propagation, p)
		return true
	}
	switch name {
	case "tmpcopyup":
		o.copyUp = true
	case "idmap":
		o.idmap, o.ridmap = true, false
	case "ridmap":
		o.idmap, o.ridmap = true, true
	default:
		return false
	}
	return true
}

func (w *writer) mounts(in *Input) {
	if len(in.Spec.Mounts) == 0 {
		w.raw("mounts", []byte("null"))
		return
	}
	w.key("mounts")
	w.b = append(w.b, '[')
	for i := range in.Spec.Mounts {
		w.mount(in, &in.Spec.Mounts[i])
	}
	w.closeList()
}

func (w *writer) mount(in *Input, m *specs.Mount) {
	o := parseOptions(m.Options)
	source, device := m.Source, m.Type
	if o.flags&unix.MS_BIND != 0 {
		device = "bind" // whatever the type says
		if !filepath.IsAbs(source) {
			source = filepath.Join(in.Bundle, source)
		}
	}
	w.open()
	w.string("source", source)
	w.string("destination", m.Destination)
	w.string("device", device)
	w.optInt("flags", int64(o.flags))
	w.optInt("cleared_flags", int64(o.cleared))
	if len(o.propagation) > 0 {
		w.key("propagation_flags")
		w.b = append(w.b, '[')
		for _, p := range o.propagation {
			w.number(int64(p))
		}
		w.closeList()
	}
	w.optString("data", strings.Join(o.data, ","))
	if o.recursiveSet|o.recursiveNo != 0 {
		w.key("rec_attr") // struct mount_attr
		w.open()
		w.uint("Attr_set", o.recursiveSet)
		w.uint("Attr_clr", o.recursiveNo)
		w.uint("Propagation", 0)
		w.uint("Userns_fd", 0)
		w.close()
	}
	if o.copyUp {
		w.int("extensions", extensionCopyUp)
	}
	w.idMapping(in, m, o)
	w.close()
}

// idMapping writes how a mount maps ids: as it says itself, else, with one of the options
// idmap and ridmap, as the container's user namespace does.
func (w *writer) idMapping(in *Input, m *specs.Mount, o options) {
	uid, gid := m.UIDMappings, m.GIDMappings
	if !o.idmap && uid == nil && gid == nil {
		return
	}
	path := ""
	if uid == nil && gid == nil && in.Spec.Linux != nil {
		if ns, ok := namespace(in.Spec.Linux.Namespaces, specs.UserNamespace); ok {
			path = ns.Path
			if path == "" {
				uid, gid = in.mappings()
			}
		}
	}
	w.key("id_mapping")
	w.open()
	w.optBool("recursive", o.ridmap)
	w.optString("userns_path", path)
	w.mappings("uid_mappings", uid)
	w.mappings("gid_mappings", gid)
	w.close()
}

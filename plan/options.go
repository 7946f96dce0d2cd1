package plan

import "strings"

// MOUNT_ATTR_* of mount_setattr(2).
const (
	attrRdonly      = 0x1
	attrNosuid      = 0x2
	attrNodev       = 0x4
	attrNoexec      = 0x8
	attrAtime       = 0x70 // mask
	attrNoatime     = 0x10
	attrStrictatime = 0x20
	attrNodiratime  = 0x80
	attrNosymfollow = 0x200000
)

// MS_* propagation types of mount(2).
const (
	msUnbindable = 1 << 17
	msPrivate    = 1 << 18
	msSlave      = 1 << 19
	msShared     = 1 << 20
)

// attrOptions are the mount options that are attributes of one mount. With the prefix "r"
// they apply to the whole tree (config.md, "Linux mount options").
var attrOptions = map[string]struct{ set, clear uint64 }{
	"ro":            {attrRdonly, 0},
	"rw":            {0, attrRdonly},
	"nosuid":        {attrNosuid, 0},
	"suid":          {0, attrNosuid},
	"nodev":         {attrNodev, 0},
	"dev":           {0, attrNodev},
	"noexec":        {attrNoexec, 0},
	"exec":          {0, attrNoexec},
	"relatime":      {0, attrAtime},
	"norelatime":    {0, 0},
	"noatime":       {attrNoatime, attrAtime},
	"atime":         {0, attrAtime},
	"strictatime":   {attrStrictatime, attrAtime},
	"nostrictatime": {0, attrAtime},
	"nodiratime":    {attrNodiratime, 0},
	"diratime":      {0, attrNodiratime},
	"nosymfollow":   {attrNosymfollow, 0},
	"symfollow":     {0, attrNosymfollow},
}

var propagationOptions = map[string]struct {
	flag      uint64
	recursive bool
}{
	"private": {msPrivate, false}, "rprivate": {msPrivate, true},
	"shared": {msShared, false}, "rshared": {msShared, true},
	"slave": {msSlave, false}, "rslave": {msSlave, true},
	"unbindable": {msUnbindable, false}, "runbindable": {msUnbindable, true},
}

// MS_* flags of mount(2) that belong to the file system itself.
const (
	msSynchronous = 1 << 4
	msMandlock    = 1 << 6
	msDirsync     = 1 << 7
	msIVersion    = 1 << 23
	msLazytime    = 1 << 25
)

// superOptions are flags of the file system itself: what fsconfig(2) takes, empty for what
// it has no word for, and what mount(2) takes. silent and loud (of the kernel's log) have no
// effect.
var superOptions = map[string]struct {
	key        string
	set, clear uint64
}{
	"sync": {"sync", msSynchronous, 0}, "async": {"async", 0, msSynchronous},
	"dirsync":  {"dirsync", msDirsync, 0},
	"lazytime": {"lazytime", msLazytime, 0}, "nolazytime": {"nolazytime", 0, msLazytime},
	"mand": {"mand", msMandlock, 0}, "nomand": {"nomand", 0, msMandlock},
	"iversion": {"", msIVersion, 0}, "noiversion": {"", 0, msIVersion},
	"silent": {}, "loud": {}, "defaults": {},
}

// attrChange is one mount_setattr call.
type attrChange struct {
	set, clear, propagation uint64
	recursive               bool
}

func (c *attrChange) empty() bool { return c.set|c.clear|c.propagation == 0 }

// mountOptions is the option list of one mount, sorted by what the kernel wants where.
type mountOptions struct {
	bind, recursive bool
	attr, rattr     attrChange
	propagation     []attrChange
	super           []string // flags of the file system, as fsconfig(2) takes them
	superFlags      uint64   // the same for mount(2)
	data            []string // "key" or "key=value" for the file system
	dataAt          int      // index of the first of them
	unsupported     string   // the first option that berth does not do yet
	unsupportedAt   int
}

func parseMountOptions(typ string, options []string) mountOptions {
	o := mountOptions{bind: typ == "bind"}
	for i, opt := range options {
		switch opt {
		case "bind":
			o.bind = true
			continue
		case "rbind":
			o.bind, o.recursive = true, true
			continue
		case "tmpcopyup", "idmap", "ridmap", "remount":
			o.unsupported, o.unsupportedAt = opt, i
			continue
		}
		if p, ok := propagationOptions[opt]; ok {
			o.propagation = append(o.propagation, attrChange{propagation: p.flag, recursive: p.recursive})
		} else if a, ok := attrOptions[opt]; ok {
			o.attr.set, o.attr.clear = o.attr.set&^a.clear|a.set, (o.attr.clear|a.clear)&^(a.set&^attrAtime)
		} else if a, ok := attrOptions[strings.TrimPrefix(opt, "r")]; ok && opt[0] == 'r' {
			o.rattr.set, o.rattr.clear = o.rattr.set&^a.clear|a.set, (o.rattr.clear|a.clear)&^(a.set&^attrAtime)
			o.rattr.recursive = true
		} else if s, ok := superOptions[opt]; ok {
			o.superFlags = o.superFlags&^s.clear | s.set
			if s.key != "" {
				o.super = append(o.super, s.key)
			}
		} else {
			if len(o.data) == 0 {
				o.dataAt = i
			}
			o.data = append(o.data, splitOption(opt)...)
		}
	}
	return o
}

// splitOption splits at commas outside double quotes, as the kernel does for SELinux
// contexts ("context=\"a:b:c0,c1\"").
func splitOption(s string) []string {
	var out []string
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			if i > start {
				out = append(out, s[start:i])
			}
			start = i + 1
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// fsconfigMax is the longest string that one fsconfig(2) call takes, with its NUL.
const fsconfigMax = 256

// pairs turns options into fsconfig arguments; ok is false if one is too long for fsconfig,
// or quoted: it is mount(2) that takes quotes off.
func pairs(data []string) (a Arg, ok bool) {
	if len(data) == 0 {
		return Arg{}, true
	}
	a.Kind = 'p'
	for _, d := range data {
		key, value, has := strings.Cut(d, "=")
		if len(value) >= fsconfigMax || len(key) >= fsconfigMax || strings.Contains(value, `"`) {
			return Arg{}, false
		}
		a.List = append(a.List, key, value)
		a.Null = append(a.Null, false, !has)
	}
	return a, true
}

package plan

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

func words(s string) []string { return strings.Fields(s) }

func TestAttrOptions(t *testing.T) {
	for options, want := range map[string]attrChange{
		"":                      {},
		"ro":                    {set: attrRdonly},
		"rw":                    {clear: attrRdonly},
		"ro rw":                 {clear: attrRdonly},
		"rw ro":                 {set: attrRdonly},
		"nosuid nodev noexec":   {set: attrNosuid | attrNodev | attrNoexec},
		"nosuid suid":           {clear: attrNosuid},
		"exec dev suid":         {clear: attrNosuid | attrNodev | attrNoexec},
		"noexec exec noexec":    {set: attrNoexec},
		"nosymfollow":           {set: attrNosymfollow},
		"nosymfollow symfollow": {clear: attrNosymfollow},
		"nodiratime":            {set: attrNodiratime},
		"nodiratime diratime":   {clear: attrNodiratime},
		// MOUNT_ATTR__ATIME is one value of several bits: to set it is to clear all of it.
		"noatime":             {set: attrNoatime, clear: attrAtime},
		"strictatime":         {set: attrStrictatime, clear: attrAtime},
		"relatime":            {clear: attrAtime},
		"atime":               {clear: attrAtime},
		"norelatime":          {},
		"noatime strictatime": {set: attrStrictatime, clear: attrAtime},
		"strictatime noatime": {set: attrNoatime, clear: attrAtime},
		"noatime relatime":    {clear: attrAtime},
		"noatime ro rw":       {set: attrNoatime, clear: attrAtime | attrRdonly},
	} {
		o := parseMountOptions("tmpfs", words(options))
		if o.attr != want || !o.rattr.empty() || len(o.data)+len(o.super)+len(o.propagation) != 0 || o.bind {
			t.Errorf("%q: %+v, want %+v", options, o, want)
		}
		var recursive []string
		for _, w := range words(options) {
			recursive = append(recursive, "r"+w)
		}
		want.recursive = len(recursive) > 0
		o = parseMountOptions("tmpfs", recursive)
		if o.rattr != want || !o.attr.empty() || len(o.data) != 0 {
			t.Errorf("%q: %+v, want %+v", recursive, o, want)
		}
	}
}

// TestAttrChangesAreValid: mount_setattr(2) refuses a set bit that is cleared as well, and a
// part of the atime mode.
func TestAttrChangesAreValid(t *testing.T) {
	var all []string
	for o := range attrOptions {
		all = append(all, o)
	}
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				ch := parseMountOptions("", []string{a, b, c}).attr
				atime := ch.clear & attrAtime
				if ch.set&ch.clear&^attrAtime != 0 || ch.set&attrAtime != 0 && atime != attrAtime || atime != 0 && atime != attrAtime ||
					ch.set&attrAtime == attrNoatime|attrStrictatime {
					t.Fatalf("%s, %s, %s: %+v", a, b, c, ch)
				}
			}
		}
	}
}

func TestPropagationOptions(t *testing.T) {
	o := parseMountOptions("none", words("rbind rprivate shared rslave unbindable runbindable private slave rshared"))
	want := []attrChange{
		{propagation: msPrivate, recursive: true}, {propagation: msShared}, {propagation: msSlave, recursive: true},
		{propagation: msUnbindable}, {propagation: msUnbindable, recursive: true}, {propagation: msPrivate},
		{propagation: msSlave}, {propagation: msShared, recursive: true},
	}
	if !reflect.DeepEqual(o.propagation, want) || !o.bind || !o.recursive {
		t.Errorf("%+v", o)
	}
}

func TestSuperOptions(t *testing.T) {
	for options, want := range map[string]struct {
		keys  string
		flags uint64
	}{
		"defaults silent loud":        {"", 0},
		"sync dirsync mand lazytime":  {"sync dirsync mand lazytime", msSynchronous | msDirsync | msMandlock | msLazytime},
		"sync async":                  {"sync async", 0},
		"async sync":                  {"async sync", msSynchronous},
		"lazytime nolazytime nomand":  {"lazytime nolazytime nomand", 0},
		"iversion":                    {"", msIVersion},
		"iversion noiversion":         {"", 0},
		"noiversion iversion dirsync": {"dirsync", msIVersion | msDirsync},
	} {
		o := parseMountOptions("ext4", words(options))
		if strings.Join(o.super, " ") != want.keys || o.superFlags != want.flags || len(o.data) != 0 || !o.attr.empty() {
			t.Errorf("%q: %+v", options, o)
		}
	}
}

func TestOtherOptions(t *testing.T) {
	o := parseMountOptions("tmpfs", []string{"ro", "size=1m,mode=700", "", `context="a:b:c0,c1"`, "rubbish", "r"})
	if want := []string{"size=1m", "mode=700", `context="a:b:c0,c1"`, "rubbish", "r"}; !reflect.DeepEqual(o.data, want) || o.dataAt != 1 {
		t.Errorf("%q at %d, want %q", o.data, o.dataAt, want)
	}
	for _, later := range []string{"tmpcopyup", "idmap", "ridmap", "remount"} {
		if o := parseMountOptions("tmpfs", []string{"ro", later}); o.unsupported != later || o.unsupportedAt != 1 {
			t.Errorf("%s: %+v", later, o)
		}
	}
	for _, o := range []mountOptions{parseMountOptions("bind", nil), parseMountOptions("none", []string{"bind"})} {
		if !o.bind || o.recursive {
			t.Errorf("%+v", o)
		}
	}
}

// TestEverySpecOption: each option of the specification's table is one that berth knows.
func TestEverySpecOption(t *testing.T) {
	for _, name := range specOptions(t) {
		o := parseMountOptions("", []string{name})
		if len(o.data) != 0 {
			t.Errorf("%s is taken for one of the file system", name)
		}
	}
}

// specOptions is the table "Linux mount options" of config.md 1.3.
func specOptions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := words(string(data))
	if len(list) != 61 {
		t.Fatalf("%d options", len(list))
	}
	return list
}

func TestSplitOption(t *testing.T) {
	for in, want := range map[string][]string{
		"":                     nil,
		",":                    nil,
		"a":                    {"a"},
		"a,b":                  {"a", "b"},
		",a,,b,":               {"a", "b"},
		`x="a,b",c`:            {`x="a,b"`, "c"},
		`x="a,b`:               {`x="a,b`},
		`x="a","b,c",d=",,",e`: {`x="a"`, `"b,c"`, `d=",,"`, "e"},
	} {
		if got := splitOption(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	a, ok := pairs([]string{"size=1m", "noload", "x=", "a=b=c"})
	if !ok || !reflect.DeepEqual(a.List, []string{"size", "1m", "noload", "", "x", "", "a", "b=c"}) ||
		!reflect.DeepEqual(a.Null, []bool{false, false, false, true, false, false, false, false}) {
		t.Errorf("%+v %v", a, ok)
	}
	if a, ok := pairs(nil); !ok || a.Kind != 0 {
		t.Errorf("%+v %v", a, ok)
	}
	for option, want := range map[string]bool{
		"k=" + strings.Repeat("v", 255): true, "k=" + strings.Repeat("v", 256): false,
		strings.Repeat("k", 255): true, strings.Repeat("k", 256): false, `context="a"`: false,
	} {
		if _, ok := pairs([]string{option}); ok != want {
			t.Errorf("%d bytes, %.20s: %v", len(option), option, ok)
		}
	}
}

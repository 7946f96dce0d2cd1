package plan

import (
	"sort"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// MountOptions are the mount options that a plan acts on, sorted; others go to the file system.
func MountOptions() []string {
	list := []string{"bind", "rbind"}
	for o := range attrOptions {
		list = append(list, o, "r"+o)
	}
	for o := range propagationOptions {
		list = append(list, o)
	}
	for o := range superOptions {
		list = append(list, o)
	}
	sort.Strings(list)
	return list
}

// Namespaces are the types of linux.namespaces that a plan can make or join, sorted.
func Namespaces() []string {
	var list []string
	for t := range namespaceFlags {
		if t != specs.TimeNamespace {
			list = append(list, string(t))
		}
	}
	sort.Strings(list)
	return list
}

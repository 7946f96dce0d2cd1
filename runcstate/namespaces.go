package runcstate

import (
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// namespaceTypes are all types, with runc's names and those in /proc/PID/ns.
var namespaceTypes = []struct {
	spec       specs.LinuxNamespaceType
	runc, file string
}{
	{specs.CgroupNamespace, "NEWCGROUP", "cgroup"},
	{specs.IPCNamespace, "NEWIPC", "ipc"},
	{specs.NetworkNamespace, "NEWNET", "net"},
	{specs.MountNamespace, "NEWNS", "mnt"},
	{specs.PIDNamespace, "NEWPID", "pid"},
	{specs.TimeNamespace, "NEWTIME", "time"},
	{specs.UserNamespace, "NEWUSER", "user"},
	{specs.UTSNamespace, "NEWUTS", "uts"},
}

// namespace finds the namespace of a type.
func namespace(list []specs.LinuxNamespace, t specs.LinuxNamespaceType) (ns specs.LinuxNamespace, ok bool) {
	for _, ns := range list {
		if ns.Type == t {
			return ns, true
		}
	}
	return ns, false
}

// isPrivate tells whether the container gets a new namespace of a type.
func isPrivate(list []specs.LinuxNamespace, t specs.LinuxNamespaceType) bool {
	ns, ok := namespace(list, t)
	return ok && ns.Path == ""
}

func (w *writer) namespaces(list []specs.LinuxNamespace) {
	if len(list) == 0 {
		w.raw("namespaces", []byte("null"))
		return
	}
	w.key("namespaces")
	w.b = append(w.b, '[')
	for _, ns := range list {
		for _, t := range namespaceTypes {
			if t.spec == ns.Type {
				w.open()
				w.string("type", t.runc)
				w.optString("path", ns.Path)
				w.close()
			}
		}
	}
	w.closeList()
}

// mappings are those of the container's user namespace.
func (in *Input) mappings() (uid, gid []specs.LinuxIDMapping) {
	linux := in.Spec.Linux
	if linux == nil {
		return nil, nil
	}
	if ns, ok := namespace(linux.Namespaces, specs.UserNamespace); ok && ns.Path != "" {
		return in.UIDMappings, in.GIDMappings
	}
	return linux.UIDMappings, linux.GIDMappings
}

// hostID maps an id of the container to the host; false if it is not mapped.
func hostID(hasUserNS bool, mappings []specs.LinuxIDMapping, id uint32) (int64, bool) {
	if !hasUserNS {
		return int64(id), true
	}
	for _, m := range mappings {
		if offset := int64(id) - int64(m.ContainerID); offset >= 0 && offset < int64(m.Size) {
			return int64(m.HostID) + offset, true
		}
	}
	return 0, false
}

func (w *writer) mappings(name string, list []specs.LinuxIDMapping) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for _, m := range list {
		w.open()
		w.uint("container_id", uint64(m.ContainerID))
		w.uint("host_id", uint64(m.HostID))
		w.uint("size", uint64(m.Size))
		w.close()
	}
	w.closeList()
}

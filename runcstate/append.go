// Package runcstate owns runc's state.json: it writes the whole document for a container
// that berth made, so that runc's verbs work on it, and reads of one that berth or runc made
// what the lifecycle needs. docs/state.md says which field comes from where and which verb
// of runc needs it.
//
// The document is written straight from the specification, in the form that
// libcontainer.State of runc 1.5 has (older ones read it too), without libcontainer's types:
// their packages and reflection over them are not wanted on the way to a container. A test
// compares with what runc's own code makes of the same config.json.
//
// It never checks the specification (what is wrong in it is left out), reads no host state
// and touches no files.
package runcstate

import (
	"maps"
	"slices"
	"strconv"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Input is all that a state.json is made of.
type Input struct {
	Spec   *specs.Spec
	ID     string
	Bundle string // absolute
	Rootfs string // absolute

	// SeccompConfig is linux.seccomp in libcontainer's form (configs.Seccomp as JSON), as it is.
	SeccompConfig []byte

	Pid                 int
	StartTime           uint64 // field 22 of /proc/PID/stat
	Created             time.Time
	ExternalDescriptors []string // what descriptors 0, 1 and 2 were, as readlink of /proc/PID/fd says

	// CgroupPaths are the container's cgroups as absolute directories: by controller on v1
	// ("name=systemd" included), of "" on v2.
	CgroupPaths map[string]string
	// Systemd: linux.cgroupsPath is slice:prefix:name, and absent is :runc:ID.
	Systemd bool

	NoPivot, NoNewKeyring         bool
	RootlessEUID, RootlessCgroups bool

	// UIDMappings and GIDMappings are those of the user namespace that linux.namespaces joins
	// by path. Of a new one, the specification's are taken.
	UIDMappings, GIDMappings []specs.LinuxIDMapping
	// MissingNamespaces are the types that the running kernel does not have.
	MissingNamespaces []specs.LinuxNamespaceType

	IntelRdtPath, IntelRdtMonPath string // in resctrl; "": none
}

// Append appends the document to dst.
func Append(dst []byte, in *Input) []byte {
	w := &writer{dst}
	w.open()
	w.string("id", in.ID)
	w.int("init_process_pid", int64(in.Pid))
	w.uint("init_process_start", in.StartTime)
	w.time("created", in.Created)
	w.key("config")
	w.config(in)
	if in.RootlessEUID && in.RootlessCgroups {
		w.bool("rootless", true)
	}
	w.optStrings("cgroup_paths", in.CgroupPaths)
	w.namespacePaths(in)
	w.optList("external_descriptors", in.ExternalDescriptors)
	w.optString("intel_rdt_path", in.IntelRdtPath)
	w.optString("intel_rdt_mon_path", in.IntelRdtMonPath)
	w.close()
	return w.b[:len(w.b)-1] // without the last separator
}

// config writes configs.Config.
func (w *writer) config(in *Input) {
	spec := in.Spec
	linux := spec.Linux
	if linux == nil {
		linux = &specs.Linux{}
	}
	w.open()
	w.optBool("no_pivot_root", in.NoPivot)
	w.string("rootfs", in.Rootfs)
	if spec.Root != nil {
		w.optBool("readonlyfs", spec.Root.Readonly)
	}
	w.optInt("rootPropagation", int64(propagationFlags(linux.RootfsPropagation)))
	w.mounts(in)
	w.devices(in)
	w.netDevices(linux.NetDevices)
	w.optString("mount_label", linux.MountLabel)
	w.optString("hostname", spec.Hostname)
	w.optString("domainname", spec.Domainname)
	w.namespaces(linux.Namespaces)
	if isPrivate(linux.Namespaces, specs.NetworkNamespace) {
		w.raw("networks", []byte(`[{"type":"loopback"}]`))
	}
	w.cgroups(in)
	if _, ok := namespace(linux.Namespaces, specs.UserNamespace); ok {
		uid, gid := in.mappings()
		w.mappings("uid_mappings", uid)
		w.mappings("gid_mappings", gid)
	}
	w.optList("mask_paths", linux.MaskedPaths)
	w.optList("readonly_paths", linux.ReadonlyPaths)
	w.optStrings("sysctl", linux.Sysctl)
	if len(in.SeccompConfig) > 0 {
		w.raw("seccomp", in.SeccompConfig)
	}
	w.hooks(spec.Hooks)
	w.string("version", specs.Version)
	w.labels(in)
	w.optBool("no_new_keyring", in.NoNewKeyring)
	w.intelRdt(linux.IntelRdt)
	w.memoryPolicy(linux.MemoryPolicy)
	w.optBool("rootless_euid", in.RootlessEUID)
	w.optBool("rootless_cgroups", in.RootlessCgroups)
	w.timeOffsets(linux.TimeOffsets)
	w.personality(linux.Personality)
	w.process(spec.Process)
	w.close()
}

// labels are the annotations, and the bundle: where runc finds process and annotations.
func (w *writer) labels(in *Input) {
	w.key("labels")
	w.b = append(w.b, '[')
	for _, k := range slices.Sorted(maps.Keys(in.Spec.Annotations)) {
		w.element(k + "=" + in.Spec.Annotations[k])
	}
	w.element("bundle=" + in.Bundle)
	w.closeList()
}

// namespacePaths are those of every type that the kernel has, also where the container
// shares the host's.
func (w *writer) namespacePaths(in *Input) {
	w.key("namespace_paths")
	w.open()
	for _, t := range namespaceTypes {
		if in.Pid > 0 && !slices.Contains(in.MissingNamespaces, t.spec) {
			w.string(t.runc, "/proc/"+strconv.Itoa(in.Pid)+"/ns/"+t.file)
		}
	}
	w.close()
}

package container

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"

	"berth/cgroup"
	"berth/plan"
	"berth/runcstate"
	"berth/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// stateInput is what runc's state.json is written from.
func (c *creation) stateInput(seccompConfig []byte) *runcstate.Input {
	return &runcstate.Input{
		Spec: c.bundle.spec, SeccompConfig: seccompConfig, ID: c.req.ID, Bundle: c.rec.Bundle, Rootfs: c.rec.Rootfs,
		CgroupPaths: c.rec.CgroupPaths,
		Pid:         c.init.Pid, StartTime: c.init.Start, Created: c.rec.Created,
		ExternalDescriptors: descriptors(), NoPivot: c.req.NoPivot, NoNewKeyring: c.req.NoNewKeyring,
	}
}

// descriptors names what stdio is, as checkpoint and restore need it.
func descriptors() []string {
	names := make([]string, 3)
	for fd := range names {
		names[fd], _ = os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	}
	return names
}

// seccompData is what stage1's seccomp operation is granted: the flags, then the filter.
func seccompData(f *seccomp.Filter) []byte {
	data := make([]byte, 8, 8+len(f.BPF))
	binary.LittleEndian.PutUint64(data, f.Flags)
	return append(data, f.BPF...)
}

// cgroupFacts words the container's cgroups for the plan. Outside a user namespace, whose
// root may not write there, stage1 enters those of v1 itself.
func cgroupFacts(h *cgroup.Host, g *cgroup.Group, ns, userns bool) plan.CgroupFacts {
	f := plan.CgroupFacts{Version: 1}
	if h.V2 {
		f.Version = 2
	} else if !userns {
		f.Join = g.TaskFiles()
	}
	for _, m := range h.ContainerMounts(g, ns) {
		if m.Type == "cgroup2" && !h.V2 {
			continue // the mixed layout's tree, which runc and crun don't show either
		}
		if m.Target != "" {
			f.Links = append(f.Links, [2]string{m.Name, m.Target})
			continue
		}
		f.Mounts = append(f.Mounts, plan.CgroupMount{Name: m.Name, Source: m.Source, Type: m.Type, Options: m.Options})
	}
	return f
}

func idMaps(l *specs.Linux) (uid, gid []syscall.SysProcIDMap) {
	convert := func(in []specs.LinuxIDMapping) (out []syscall.SysProcIDMap) {
		for _, m := range in {
			out = append(out, syscall.SysProcIDMap{ContainerID: int(m.ContainerID), HostID: int(m.HostID), Size: int(m.Size)})
		}
		return out
	}
	return convert(l.UIDMappings), convert(l.GIDMappings)
}

// writeMaps writes the id maps of a process that has unshared its user namespace
// (user_namespaces(7)): each in one write.
func writeMaps(pid int, l *specs.Linux) error {
	for _, m := range []struct {
		file, field string
		maps        []specs.LinuxIDMapping
	}{
		{"uid_map", "linux.uidMappings", l.UIDMappings}, {"gid_map", "linux.gidMappings", l.GIDMappings},
	} {
		var text []byte
		for _, e := range m.maps {
			for _, n := range []uint32{e.ContainerID, e.HostID, e.Size} {
				text = append(strconv.AppendUint(text, uint64(n), 10), ' ')
			}
			text = append(text, '\n')
		}
		name := "/proc/" + itoa(pid) + "/" + m.file
		fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = writeAll(fd, text)
			unix.Close(fd)
		}
		if err != nil {
			return &plan.OpError{What: "write " + name, Field: m.field, Err: err}
		}
	}
	return nil
}

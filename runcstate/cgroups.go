package runcstate

import (
	"math"
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// cgroups writes cgroups.Cgroup with its Resources.
func (w *writer) cgroups(in *Input) {
	linux := in.Spec.Linux
	if linux == nil {
		linux = &specs.Linux{}
	}
	w.key("cgroups")
	w.open()
	switch {
	case in.Systemd && linux.CgroupsPath == "":
		w.string("name", in.ID)
		w.string("scope_prefix", "runc")
	case in.Systemd:
		slice, rest, _ := strings.Cut(linux.CgroupsPath, ":")
		prefix, name, _ := strings.Cut(rest, ":")
		w.optString("name", name)
		w.optString("parent", slice)
		w.optString("scope_prefix", prefix)
	case linux.CgroupsPath == "":
		w.string("name", in.ID)
	default:
		w.string("path", cleanPath(linux.CgroupsPath))
	}
	w.deviceRules(linux)
	if linux.Resources != nil {
		w.resources(linux.Resources)
	}
	w.optBool("Systemd", in.Systemd)
	w.optBool("Rootless", in.RootlessCgroups)
	if uid, ok := in.cgroupOwner(); ok {
		w.int("owner_uid", uid)
	}
	w.close()
}

// cleanPath cleans a path without letting ".." lead out of where it is relative to.
func cleanPath(path string) string {
	clean := filepath.Clean("/" + path)
	switch {
	case filepath.IsAbs(path):
		return clean
	case clean == "/":
		return "."
	}
	return clean[1:]
}

// cgroupOwner is who gets the cgroup: the process's user, where the container has a cgroup
// namespace and sees its cgroup writable.
func (in *Input) cgroupOwner() (int64, bool) {
	linux := in.Spec.Linux
	if linux == nil || !isPrivate(linux.Namespaces, specs.CgroupNamespace) || !in.writableCgroup() {
		return 0, false
	}
	uid := uint32(0)
	if in.Spec.Process != nil {
		uid = in.Spec.Process.User.UID
	}
	mappings, _ := in.mappings()
	_, hasUserNS := namespace(linux.Namespaces, specs.UserNamespace)
	return hostID(hasUserNS, mappings, uid)
}

func (in *Input) writableCgroup() bool {
	for i := range in.Spec.Mounts {
		m := &in.Spec.Mounts[i]
		if m.Source != "cgroup" || filepath.Clean(m.Destination) != "/sys/fs/cgroup" {
			continue
		}
		if o := parseOptions(m.Options); o.flags&unix.MS_RDONLY == 0 {
			return true
		}
	}
	return false
}

// deviceRules are the specification's rules, then the default ones.
func (w *writer) deviceRules(linux *specs.Linux) {
	w.key("devices")
	w.b = append(w.b, '[')
	if linux.Resources != nil {
		for i := range linux.Resources.Devices {
			r := &linux.Resources.Devices[i]
			kind := byte('a')
			if r.Type != "" {
				kind = r.Type[0]
			}
			major, minor := int64(-1), int64(-1)
			if r.Major != nil {
				major = *r.Major
			}
			if r.Minor != nil {
				minor = *r.Minor
			}
			w.open()
			w.rule(kind, major, minor, r.Access, r.Allow)
			w.close()
		}
	}
	for i := range defaultDevices {
		if d := &defaultDevices[i]; !d.isReplaced(linux) {
			w.open()
			w.rule(d.kind, d.major, d.minor, d.access, true)
			w.close()
		}
	}
	w.closeList()
}

func (w *writer) resources(r *specs.LinuxResources) {
	w.memory(r.Memory)
	w.cpu(r.CPU)
	if r.Pids != nil {
		numberPtr(w, "pids_limit", r.Pids.Limit)
	}
	w.blockIO(r.BlockIO)
	if len(r.HugepageLimits) > 0 {
		w.key("hugetlb_limit")
		w.b = append(w.b, '[')
		for _, l := range r.HugepageLimits {
			w.open()
			w.string("page_size", l.Pagesize)
			w.uint("limit", l.Limit)
			w.close()
		}
		w.closeList()
	}
	w.rdma(r.Rdma)
	w.network(r.Network)
	w.optStrings("unified", r.Unified)
}

func (w *writer) memory(m *specs.LinuxMemory) {
	if m == nil {
		return
	}
	w.optInt("memory", value(m.Limit))
	w.optInt("memory_reservation", value(m.Reservation))
	w.optInt("memory_swap", value(m.Swap))
	numberPtr(w, "memory_swappiness", m.Swappiness)
	w.optBool("oom_kill_disable", value(m.DisableOOMKiller))
	w.optBool("memory_check_before_update", value(m.CheckBeforeUpdate))
}

func (w *writer) cpu(c *specs.LinuxCPU) {
	if c == nil {
		return
	}
	w.optUint("cpu_shares", value(c.Shares))
	w.optUint("cpu_weight", cpuWeight(value(c.Shares)))
	w.optInt("cpu_quota", value(c.Quota))
	numberPtr(w, "cpu_burst", c.Burst)
	w.optUint("cpu_period", value(c.Period))
	w.optInt("cpu_rt_quota", value(c.RealtimeRuntime))
	w.optUint("cpu_rt_period", value(c.RealtimePeriod))
	w.optString("cpuset_cpus", c.Cpus)
	w.optString("cpuset_mems", c.Mems)
	numberPtr(w, "cpu_idle", c.Idle)
}

// cpuWeight is cgroup v2's cpu.weight (1 to 10000, default 100) of v1's cpu.shares (2 to
// 262144, default 1024): 10 to the power of the parabola in log2(shares) through these three
// points, as runc 1.3 and systemd do.
func cpuWeight(shares uint64) uint64 {
	switch {
	case shares == 0:
		return 0 // unset
	case shares <= 2:
		return 1
	case shares >= 262144:
		return 10000
	}
	l := math.Log2(float64(shares))
	return uint64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

func (w *writer) blockIO(b *specs.LinuxBlockIO) {
	if b == nil {
		return
	}
	w.optUint("blkio_weight", uint64(value(b.Weight)))
	w.optUint("blkio_leaf_weight", uint64(value(b.LeafWeight)))
	if len(b.WeightDevice) > 0 {
		w.key("blkio_weight_device")
		w.b = append(w.b, '[')
		for i := range b.WeightDevice {
			d := &b.WeightDevice[i]
			w.open()
			w.int("major", d.Major)
			w.int("minor", d.Minor)
			w.uint("weight", uint64(value(d.Weight)))
			w.uint("leafWeight", uint64(value(d.LeafWeight)))
			w.close()
		}
		w.closeList()
	}
	w.throttle("blkio_throttle_read_bps_device", b.ThrottleReadBpsDevice)
	w.throttle("blkio_throttle_write_bps_device", b.ThrottleWriteBpsDevice)
	w.throttle("blkio_throttle_read_iops_device", b.ThrottleReadIOPSDevice)
	w.throttle("blkio_throttle_write_iops_device", b.ThrottleWriteIOPSDevice)
}

func (w *writer) throttle(name string, list []specs.LinuxThrottleDevice) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for i := range list {
		w.open()
		w.int("major", list[i].Major)
		w.int("minor", list[i].Minor)
		w.uint("rate", list[i].Rate)
		w.close()
	}
	w.closeList()
}

func (w *writer) network(n *specs.LinuxNetwork) {
	if n == nil {
		return
	}
	w.optUint("net_cls_classid_u", uint64(value(n.ClassID)))
	if len(n.Priorities) == 0 {
		return
	}
	w.key("net_prio_ifpriomap")
	w.b = append(w.b, '[')
	for _, p := range n.Priorities {
		w.open()
		w.string("interface", p.Name)
		w.uint("priority", uint64(p.Priority))
		w.close()
	}
	w.closeList()
}

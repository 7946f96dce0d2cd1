package cgroup

import "github.com/opencontainers/runtime-spec/specs-go"

// memoryV1: -1 is unlimited. The kernel keeps limit <= limit+swap at every step, so whichever
// of the two is refused (EINVAL) is tried again after the other. kernel (the limit of
// kernel memory) is ignored: the kernel accepts no value since 5.16 and runtime-spec allows
// it. useHierarchy is ignored: it is always on since 5.11.
func (t *table) memoryV1(m *specs.LinuxMemory) {
	if m == nil {
		return
	}
	limit, swap := value(m.Limit), value(m.Swap)
	if limit != 0 {
		t.add(Write{Controller: "memory", File: "memory.limit_in_bytes", Value: signed(limit), Field: fLimit, Later: true})
	}
	const memsw = "memory.memsw.limit_in_bytes"
	switch {
	case swap != 0:
		t.add(Write{Controller: "memory", File: memsw, Value: signed(swap), Field: fSwap, Later: true})
	case limit == -1:
		// Unlimited memory means the sum too. Without swap accounting there is no such file.
		t.add(Write{Controller: "memory", File: memsw, Value: "-1", Field: fLimit, Optional: true, Later: true})
	}
	if n := value(m.Reservation); n != 0 {
		t.add(Write{Controller: "memory", File: "memory.soft_limit_in_bytes", Value: signed(n), Field: fReservation})
	}
	if n := value(m.KernelTCP); n != 0 {
		t.add(Write{Controller: "memory", File: "memory.kmem.tcp.limit_in_bytes", Value: signed(n), Field: fKernelTCP, Optional: true})
	}
	if value(m.DisableOOMKiller) {
		t.add(Write{Controller: "memory", File: "memory.oom_control", Value: "1", Field: fOOM})
	}
	if t.swappiness(m) {
		t.add(Write{Controller: "memory", File: "memory.swappiness", Value: unsigned(*m.Swappiness), Field: fSwappiness})
	}
}

// swappiness tells whether one is given. All bits set is Docker's and podman's -1: unset.
func (t *table) swappiness(m *specs.LinuxMemory) bool {
	if m.Swappiness == nil || int64(*m.Swappiness) == -1 {
		return false
	}
	if *m.Swappiness > 100 {
		t.fail(fSwappiness, unsigned(*m.Swappiness)+" is not in the range 0 to 100")
	}
	return true
}

// The kernel takes shares out of this range as the nearest one, silently; runc calls that
// an error.
const minShares, maxShares = 2, 1 << 18

// cpuV1: real-time settings are needed before a real-time process can join. A group that
// is idle refuses shares, and needs none.
func (t *table) cpuV1(c *specs.LinuxCPU) {
	if c == nil {
		return
	}
	t.realtime(c)
	idle := c.Idle != nil && *c.Idle == 1
	if c.Idle != nil && !idle {
		t.add(Write{Controller: "cpu", File: "cpu.idle", Value: signed(*c.Idle), Field: fIdle, Optional: *c.Idle == 0})
	}
	if n := value(c.Shares); n != 0 {
		switch {
		case n < minShares:
			t.fail(fShares, "the minimum allowed cpu-shares is "+itoa(minShares))
		case n > maxShares:
			t.fail(fShares, "the maximum allowed cpu-shares is "+itoa(maxShares))
		case !idle:
			t.add(Write{Controller: "cpu", File: "cpu.shares", Value: unsigned(n), Field: fShares})
		}
	}
	if idle {
		t.add(Write{Controller: "cpu", File: "cpu.idle", Value: "1", Field: fIdle})
	}
	if n := value(c.Period); n != 0 {
		t.add(Write{Controller: "cpu", File: "cpu.cfs_period_us", Value: unsigned(n), Field: fPeriod, Later: true})
	}
	if c.Burst != nil {
		t.add(Write{Controller: "cpu", File: "cpu.cfs_burst_us", Value: unsigned(*c.Burst), Field: fBurst, Optional: *c.Burst == 0, Later: true})
	}
	if n := value(c.Quota); n != 0 {
		t.add(Write{Controller: "cpu", File: "cpu.cfs_quota_us", Value: signed(n), Field: fQuota, Later: true})
	}
}

func (t *table) realtime(c *specs.LinuxCPU) {
	if n := value(c.RealtimePeriod); n != 0 {
		t.add(Write{Controller: "cpu", File: "cpu.rt_period_us", Value: unsigned(n), Field: fRtPeriod, Early: true, Later: true})
	}
	if n := value(c.RealtimeRuntime); n != 0 {
		t.add(Write{Controller: "cpu", File: "cpu.rt_runtime_us", Value: signed(n), Field: fRtRuntime, Early: true, Later: true})
	}
}

// cpuset is the same on v1 and v2. On v1 it has to be there before a process is.
func (t *table) cpuset(c *specs.LinuxCPU) {
	if c == nil {
		return
	}
	if c.Cpus != "" {
		t.add(Write{Controller: "cpuset", File: cpusetFiles[0], Value: c.Cpus, Field: fCpus, Early: !t.f.V2})
	}
	if c.Mems != "" {
		t.add(Write{Controller: "cpuset", File: cpusetFiles[1], Value: c.Mems, Field: fMems, Early: !t.f.V2})
	}
}

// pids: a negative limit is none; 0 is written as 1, as by runc, since systemd can't have 0. Both
// allow no fork.
func (t *table) pids(p *specs.LinuxPids) {
	if p == nil || p.Limit == nil {
		return
	}
	v := "max"
	switch n := *p.Limit; {
	case n > 0:
		v = signed(n)
	case n == 0:
		v = "1"
	}
	t.add(Write{Controller: "pids", File: "pids.max", Value: v, Field: fPids})
}

func (t *table) networkV1(n *specs.LinuxNetwork) {
	if n == nil {
		return
	}
	if id := value(n.ClassID); id != 0 {
		t.add(Write{Controller: "net_cls", File: "net_cls.classid", Value: unsigned(uint64(id)), Field: fClass})
	}
	for i, p := range n.Priorities {
		t.add(Write{Controller: "net_prio", File: "net_prio.ifpriomap",
			Value: p.Name + " " + unsigned(uint64(p.Priority)), Field: index(fPrio, i)})
	}
}

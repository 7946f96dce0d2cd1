package cgroup

import (
	"math"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// limitV2 is a limit as the files of v2 have it: -1 is "max".
func limitV2(n int64) string {
	if n == -1 {
		return "max"
	}
	return signed(n)
}

// memoryV2: swap is limit+swap in the config and swap alone in the file. Without swap in the
// kernel there is no such file, and nothing is lost where the value forbids it or does not
// limit it.
func (t *table) memoryV2(m *specs.LinuxMemory) {
	if m == nil {
		return
	}
	limit := value(m.Limit)
	t.checkUsage(m)
	swap, set := t.swapV2(limit, value(m.Swap))
	if set {
		field := fSwap
		if value(m.Swap) == 0 {
			field = fLimit
		}
		t.add(Write{Controller: "memory", File: "memory.swap.max", Value: limitV2(swap), Field: field, Optional: swap <= 0})
	}
	if limit != 0 {
		t.add(Write{Controller: "memory", File: "memory.max", Value: limitV2(limit), Field: fLimit})
	}
	if n := value(m.Reservation); n != 0 {
		t.add(Write{Controller: "memory", File: "memory.low", Value: limitV2(n), Field: fReservation})
	}
	if value(m.KernelTCP) > 0 {
		t.v1Only(fKernelTCP)
	}
	if value(m.DisableOOMKiller) {
		t.v1Only(fOOM)
	}
	if t.swappiness(m) {
		t.v1Only(fSwappiness)
	}
}

// checkUsage: v2 would not refuse a limit below the usage, as v1 does, but start the OOM killer.
func (t *table) checkUsage(m *specs.LinuxMemory) {
	if !value(m.CheckBeforeUpdate) {
		return
	}
	if n := value(m.Swap); n > 0 {
		t.add(Write{Controller: "memory", File: "memory.current", Limit: uint64(n), Field: fSwap, Optional: true})
	}
	if n := value(m.Limit); n > 0 {
		t.add(Write{Controller: "memory", File: "memory.current", Limit: uint64(n), Field: fLimit, Optional: true})
	}
}

// swapV2 is memory.swap.max for limits of memory and memory+swap, and whether to set it.
func (t *table) swapV2(limit, swap int64) (int64, bool) {
	switch {
	case swap == 0 && limit == -1:
		return -1, true // as on v1: unlimited memory means the sum too
	case swap == 0:
		return 0, false
	case swap == -1, limit == -1:
		return swap, true
	case limit == 0:
		t.fail(fSwap, "it is the sum of memory and swap, so it needs "+fLimit)
	case limit < 0:
		t.fail(fLimit, signed(limit)+" is not a size")
	case swap < limit:
		t.fail(fSwap, "the sum of memory and swap is less than "+fLimit)
	}
	return swap - limit, true
}

// CPUWeight is the cpu.weight (1 to 10000, default 100) for shares of v1 (2 to 262144, default
// 1024). The three pairs are on the curve, a quadratic in the logarithm; see
// https://github.com/opencontainers/cgroups/pull/20. 0 is unset.
func CPUWeight(shares uint64) uint64 {
	switch {
	case shares == 0:
		return 0
	case shares <= minShares:
		return 1
	case shares >= maxShares:
		return 10000
	}
	l := math.Log2(float64(shares))
	return uint64(math.Ceil(math.Pow(10, (l*l+125*l)/612-7.0/34)))
}

// IOWeight is the io.weight (1 to 10000) for a blkio weight (10 to 1000). 0 is unset.
func IOWeight(weight uint16) uint64 {
	switch {
	case weight == 0:
		return 0
	case weight < 10:
		return 1
	}
	return 1 + (uint64(weight)-10)*9999/990
}

// defaultPeriod is the kernel's, in microseconds.
const defaultPeriod = 100000

func (t *table) cpuV2(c *specs.LinuxCPU) {
	if c == nil {
		return
	}
	idle := c.Idle != nil && *c.Idle == 1
	if c.Idle != nil {
		t.add(Write{Controller: "cpu", File: "cpu.idle", Value: signed(*c.Idle), Field: fIdle, Optional: *c.Idle == 0})
	}
	// An idle group refuses a weight, and needs none.
	if w := CPUWeight(value(c.Shares)); w != 0 && !idle {
		t.add(Write{Controller: "cpu", File: "cpu.weight", Value: unsigned(w), Field: fShares})
	}
	if c.Burst != nil {
		t.add(Write{Controller: "cpu", File: "cpu.max.burst", Value: unsigned(*c.Burst), Field: fBurst, Optional: *c.Burst == 0, Later: true})
	}
	quota, period := value(c.Quota), value(c.Period)
	if quota != 0 || period != 0 {
		v, field := "max", fQuota
		if quota > 0 {
			v = signed(quota)
		}
		if quota == 0 {
			field = fPeriod
		}
		if period == 0 {
			period = defaultPeriod
		}
		t.add(Write{Controller: "cpu", File: "cpu.max", Value: v + " " + unsigned(period), Field: field, Later: true})
	}
	if value(c.RealtimePeriod) != 0 {
		t.v1Only(fRtPeriod)
	}
	if value(c.RealtimeRuntime) != 0 {
		t.v1Only(fRtRuntime)
	}
}

// networkV2: v2 has neither; firewall rules match on cgroups instead.
func (t *table) networkV2(n *specs.LinuxNetwork) {
	if n == nil {
		return
	}
	if value(n.ClassID) != 0 {
		t.v1Only(fClass)
	}
	if len(n.Priorities) > 0 {
		t.v1Only(fPrio)
	}
}

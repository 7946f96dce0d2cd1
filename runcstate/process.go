package runcstate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"berth/specjson"
	"berth/specjson/scan"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// process writes what the configuration has of process. (What it has not, exec takes from
// the bundle.)
func (w *writer) process(p *specs.Process) {
	if p == nil {
		return
	}
	numberPtr(w, "umask", p.User.Umask)
	numberPtr(w, "oom_score_adj", p.OOMScoreAdj)
	w.optBool("no_new_privileges", p.NoNewPrivileges)
	w.optString("process_label", p.SelinuxLabel)
	w.capabilities(p.Capabilities)
	if p.Scheduler != nil {
		w.key("scheduler")
		w.b = append(specjson.AppendScheduler(w.b, p.Scheduler), ',')
	}
	if p.IOPriority != nil {
		w.key("io_priority")
		w.b = append(specjson.AppendLinuxIOPriority(w.b, p.IOPriority), ',')
	}
	if a := p.ExecCPUAffinity; a != nil && (a.Initial != "" || a.Final != "") {
		w.key("exec_cpu_affinity")
		w.open()
		w.cpuSet("Initial", a.Initial)
		w.cpuSet("Final", a.Final)
		w.close()
	}
}

func (w *writer) capabilities(c *specs.LinuxCapabilities) {
	if c == nil {
		return
	}
	w.key("capabilities")
	w.open()
	w.optList("Bounding", c.Bounding)
	w.optList("Effective", c.Effective)
	w.optList("Inheritable", c.Inheritable)
	w.optList("Permitted", c.Permitted)
	w.optList("Ambient", c.Ambient)
	w.close()
}

// hooks writes the lists that are not empty.
func (w *writer) hooks(h *specs.Hooks) {
	if h == nil {
		return
	}
	before := len(w.b)
	w.key("Hooks")
	w.open()
	first := len(w.b)
	w.hookList("prestart", h.Prestart) //nolint:staticcheck // deprecated, and in use
	w.hookList("createRuntime", h.CreateRuntime)
	w.hookList("createContainer", h.CreateContainer)
	w.hookList("startContainer", h.StartContainer)
	w.hookList("poststart", h.Poststart)
	w.hookList("poststop", h.Poststop)
	if len(w.b) == first {
		w.b = w.b[:before]
		return
	}
	w.close()
}

func (w *writer) hookList(name string, list []specs.Hook) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.b = append(w.b, '[')
	for i := range list {
		h := &list[i]
		w.open()
		w.string("path", h.Path)
		w.list("args", h.Args)
		w.list("env", h.Env)
		w.string("dir", "")
		if h.Timeout != nil {
			w.int("timeout", int64(*h.Timeout)*1e9)
		}
		w.close()
	}
	w.closeList()
}

// number writes an integer into a list.
func (w *writer) number(n int64) { w.b = append(strconv.AppendInt(w.b, n, 10), ',') }

// cpuSet writes a list such as "0-3,7" as the kernel's bit mask of 1024 bits; null if it is
// empty or wrong.
func (w *writer) cpuSet(name, list string) {
	w.key(name)
	set, ok := parseCPUSet(list)
	if !ok {
		w.b = append(w.b, "null,"...)
		return
	}
	w.b = append(scan.AppendSlice(w.b, set[:], scan.AppendUint), ',')
}

func parseCPUSet(list string) (set [16]uint64, ok bool) {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 10)
		if err != nil {
			return set, false
		}
		to, err := strconv.ParseUint(last, 10, 10)
		if err != nil || from > to {
			return set, false
		}
		for ; from <= to; from++ {
			set[from/64] |= 1 << (from % 64)
			ok = true
		}
	}
	return set, ok
}

// memoryModes and memoryFlags are set_mempolicy(2)'s numbers.
var memoryModes = []specs.MemoryPolicyModeType{
	specs.MpolDefault, specs.MpolPreferred, specs.MpolBind, specs.MpolInterleave,
	specs.MpolLocal, specs.MpolPreferredMany, specs.MpolWeightedInterleave,
}

func memoryFlag(f specs.MemoryPolicyFlagType) int64 {
	switch f {
	case specs.MpolFStaticNodes:
		return 1 << 15
	case specs.MpolFRelativeNodes:
		return 1 << 14
	case specs.MpolFNumaBalancing:
		return 1 << 13
	}
	return 0
}

func (w *writer) memoryPolicy(p *specs.LinuxMemoryPolicy) {
	if p == nil {
		return
	}
	w.key("memory_policy")
	w.open()
	w.optInt("mode", int64(max(0, slices.Index(memoryModes, p.Mode))))
	flags := int64(0)
	for _, f := range p.Flags {
		flags |= memoryFlag(f)
	}
	w.optInt("flags", flags)
	if p.Nodes != "" {
		w.cpuSet("nodes", p.Nodes)
	}
	w.close()
}

func (w *writer) personality(p *specs.LinuxPersonality) {
	if p == nil {
		return
	}
	domain := int64(0)
	if p.Domain == specs.PerLinux32 {
		domain = 8 // PER_LINUX32
	}
	w.key("personality")
	w.open()
	w.int("domain", domain)
	w.close()
}

func (w *writer) intelRdt(r *specs.LinuxIntelRdt) {
	if r == nil {
		return
	}
	w.key("intel_rdt")
	w.open()
	w.optString("closID", r.ClosID)
	w.optList("schemata", r.Schemata)
	w.optString("l3_cache_schema", r.L3CacheSchema)
	w.optString("memBwSchema", r.MemBwSchema)
	w.optBool("enableMonitoring", r.EnableMonitoring)
	w.close()
}

func (w *writer) timeOffsets(m map[string]specs.LinuxTimeOffset) {
	if len(m) > 0 {
		w.key("time_offsets")
		w.b = append(scan.AppendMap(w.b, m, specjson.AppendLinuxTimeOffset), ',')
	}
}

func (w *writer) netDevices(m map[string]specs.LinuxNetDevice) {
	if len(m) > 0 {
		w.key("netDevices")
		w.b = append(scan.AppendMap(w.b, m, specjson.AppendLinuxNetDevice), ',')
	}
}

// rdma writes runc's names of the members, which are not the specification's.
func (w *writer) rdma(m map[string]specs.LinuxRdma) {
	if len(m) == 0 {
		return
	}
	w.key("rdma")
	w.open()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		w.b = append(scan.AppendString(w.b, &name), ':')
		w.open()
		numberPtr(w, "hca_handles", m[name].HcaHandles)
		numberPtr(w, "hca_objects", m[name].HcaObjects)
		w.close()
	}
	w.close()
}

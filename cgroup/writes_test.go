package cgroup

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func show(list []Write) []string {
	var out []string
	for i := range list {
		w := &list[i]
		s := w.Field[len("linux.resources."):] + ": " + w.Controller + " " + w.String()
		for _, f := range []struct {
			on   bool
			name string
		}{{w.Optional, " optional"}, {w.Early, " early"}, {w.Later, " later"}} {
			if f.on {
				s += f.name
			}
		}
		if w.Else != nil {
			s += " | " + w.Else.String()
		}
		out = append(out, s)
	}
	return out
}

func TestWrites(t *testing.T) {
	blk := specs.LinuxBlockIODevice{Major: 8, Minor: 16}
	all := &specs.LinuxResources{
		Memory: &specs.LinuxMemory{Limit: ptr(int64(4096)), Swap: ptr(int64(8192)), Reservation: ptr(int64(1024))},
		CPU: &specs.LinuxCPU{Shares: ptr(uint64(1024)), Quota: ptr(int64(1000)), Period: ptr(uint64(2000)),
			Burst: ptr(uint64(500)), Idle: ptr(int64(0)), Cpus: "0-1", Mems: "0"},
		Pids: &specs.LinuxPids{Limit: ptr(int64(0))},
		BlockIO: &specs.LinuxBlockIO{Weight: ptr(uint16(500)),
			WeightDevice:            []specs.LinuxWeightDevice{{LinuxBlockIODevice: blk, Weight: ptr(uint16(10))}},
			ThrottleWriteIOPSDevice: []specs.LinuxThrottleDevice{{LinuxBlockIODevice: blk, Rate: 7}}},
		HugepageLimits: []specs.LinuxHugepageLimit{{Pagesize: "2MB", Limit: 5}},
		Rdma:           map[string]specs.LinuxRdma{"b": {HcaObjects: ptr(uint32(1))}, "a": {HcaHandles: ptr(uint32(2)), HcaObjects: ptr(uint32(3))}},
	}
	for _, c := range []struct {
		name string
		v2   bool
		r    *specs.LinuxResources
		want []string
	}{
		{"v1", false, all, []string{
			"memory.limit: memory memory.limit_in_bytes = 4096 later",
			"memory.swap: memory memory.memsw.limit_in_bytes = 8192 later",
			"memory.reservation: memory memory.soft_limit_in_bytes = 1024",
			"cpu.idle: cpu cpu.idle = 0 optional",
			"cpu.shares: cpu cpu.shares = 1024",
			"cpu.period: cpu cpu.cfs_period_us = 2000 later",
			"cpu.burst: cpu cpu.cfs_burst_us = 500 later",
			"cpu.quota: cpu cpu.cfs_quota_us = 1000 later",
			"blockIO.weight: blkio blkio.weight = 500 | blkio.bfq.weight = 500",
			"blockIO.weightDevice[0]: blkio blkio.weight_device = 8:16 10 | blkio.bfq.weight_device = 8:16 10",
			"blockIO.throttleWriteIOPSDevice[0]: blkio blkio.throttle.write_iops_device = 8:16 7",
			"cpu.cpus: cpuset cpuset.cpus = 0-1 early",
			"cpu.mems: cpuset cpuset.mems = 0 early",
			"pids.limit: pids pids.max = 1",
			"hugepageLimits[0]: hugetlb hugetlb.2MB.limit_in_bytes = 5",
			"hugepageLimits[0]: hugetlb hugetlb.2MB.rsvd.limit_in_bytes = 5 optional",
			`rdma["a"]: rdma rdma.max = a hca_handle=2 hca_object=3`,
			`rdma["b"]: rdma rdma.max = b hca_object=1`,
		}},
		{"v2", true, all, []string{
			"memory.swap: memory memory.swap.max = 4096",
			"memory.limit: memory memory.max = 4096",
			"memory.reservation: memory memory.low = 1024",
			"cpu.idle: cpu cpu.idle = 0 optional",
			"cpu.shares: cpu cpu.weight = 100",
			"cpu.burst: cpu cpu.max.burst = 500 later",
			"cpu.quota: cpu cpu.max = 1000 2000 later",
			"blockIO.weight: io io.bfq.weight = 500 | io.weight = 4950",
			"blockIO.weightDevice[0]: io io.bfq.weight = 8:16 10 | io.weight = 8:16 1",
			"blockIO.throttleWriteIOPSDevice[0]: io io.max = 8:16 wiops=7",
			"cpu.cpus: cpuset cpuset.cpus = 0-1",
			"cpu.mems: cpuset cpuset.mems = 0",
			"pids.limit: pids pids.max = 1",
			"hugepageLimits[0]: hugetlb hugetlb.2MB.max = 5",
			"hugepageLimits[0]: hugetlb hugetlb.2MB.rsvd.max = 5 optional",
			`rdma["a"]: rdma rdma.max = a hca_handle=2 hca_object=3`,
			`rdma["b"]: rdma rdma.max = b hca_object=1`,
		}},
		{"unlimited v1", false, &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: ptr(int64(-1))}, Pids: &specs.LinuxPids{Limit: ptr(int64(-1))}}, []string{
			"memory.limit: memory memory.limit_in_bytes = -1 later",
			"memory.limit: memory memory.memsw.limit_in_bytes = -1 optional later",
			"pids.limit: pids pids.max = max",
		}},
		{"unlimited v2", true, &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: ptr(int64(-1))}, CPU: &specs.LinuxCPU{Quota: ptr(int64(-1))}}, []string{
			"memory.limit: memory memory.swap.max = max optional",
			"memory.limit: memory memory.max = max",
			"cpu.quota: cpu cpu.max = max 100000 later",
		}},
		{"no swap v2", true, &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: ptr(int64(5)), Swap: ptr(int64(5)), CheckBeforeUpdate: ptr(true)}}, []string{
			"memory.swap: memory memory.current < 5 optional",
			"memory.limit: memory memory.current < 5 optional",
			"memory.swap: memory memory.swap.max = 0 optional",
			"memory.limit: memory memory.max = 5",
		}},
		{"idle", true, &specs.LinuxResources{CPU: &specs.LinuxCPU{Idle: ptr(int64(1)), Shares: ptr(uint64(3)), Period: ptr(uint64(9000))}}, []string{
			"cpu.idle: cpu cpu.idle = 1",
			"cpu.period: cpu cpu.max = max 9000 later",
		}},
		{"real time and others of v1", false, &specs.LinuxResources{
			CPU:     &specs.LinuxCPU{RealtimePeriod: ptr(uint64(10)), RealtimeRuntime: ptr(int64(5))},
			Memory:  &specs.LinuxMemory{KernelTCP: ptr(int64(9)), Kernel: ptr(int64(8)), UseHierarchy: ptr(true), Swappiness: ptr(uint64(0)), DisableOOMKiller: ptr(true)},
			BlockIO: &specs.LinuxBlockIO{LeafWeight: ptr(uint16(20)), WeightDevice: []specs.LinuxWeightDevice{{LinuxBlockIODevice: blk, LeafWeight: ptr(uint16(30))}}},
			Network: &specs.LinuxNetwork{ClassID: ptr(uint32(1048577)), Priorities: []specs.LinuxInterfacePriority{{Name: "eth0", Priority: 3}}}}, []string{
			"memory.kernelTCP: memory memory.kmem.tcp.limit_in_bytes = 9 optional",
			"memory.disableOOMKiller: memory memory.oom_control = 1",
			"memory.swappiness: memory memory.swappiness = 0",
			"cpu.realtimePeriod: cpu cpu.rt_period_us = 10 early later",
			"cpu.realtimeRuntime: cpu cpu.rt_runtime_us = 5 early later",
			"blockIO.leafWeight: blkio blkio.leaf_weight = 20",
			"blockIO.weightDevice[0].leafWeight: blkio blkio.leaf_weight_device = 8:16 30",
			"network.classID: net_cls net_cls.classid = 1048577",
			"network.priorities[0]: net_prio net_prio.ifpriomap = eth0 3",
		}},
		{"unified", true, &specs.LinuxResources{Unified: map[string]string{"pids.max": "7", "cgroup.max.depth": "2"}}, []string{
			`unified["cgroup.max.depth"]:  cgroup.max.depth = 2`,
			`unified["pids.max"]: pids pids.max = 7`,
		}},
		{"zeroes are unset", false, &specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: ptr(int64(0)), Swap: ptr(int64(0)), Swappiness: ptr(^uint64(0)), DisableOOMKiller: ptr(false)},
			CPU: &specs.LinuxCPU{Shares: ptr(uint64(0)), Quota: ptr(int64(0))}, Pids: &specs.LinuxPids{}, BlockIO: &specs.LinuxBlockIO{Weight: ptr(uint16(0))}, Unified: map[string]string{}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := UpdateWrites(c.r, everything(c.v2))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(list); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestWritesErrors(t *testing.T) {
	v1, v2 := everything(false), everything(true)
	none := Facts{}
	mem := func(m specs.LinuxMemory) *specs.LinuxResources { return &specs.LinuxResources{Memory: &m} }
	cpu := func(c specs.LinuxCPU) *specs.LinuxResources { return &specs.LinuxResources{CPU: &c} }
	for _, c := range []struct {
		f    Facts
		r    *specs.LinuxResources
		want string
	}{
		{none, mem(specs.LinuxMemory{Limit: ptr(int64(1))}), "linux.resources.memory.limit: the cgroup controller memory is not available"},
		{none, &specs.LinuxResources{Pids: &specs.LinuxPids{Limit: ptr(int64(1))}}, "linux.resources.pids.limit: the cgroup controller pids is not available"},
		{v1, &specs.LinuxResources{Unified: map[string]string{"a.b": "c"}}, "linux.resources.unified: needs cgroup v2, and this machine has v1"},
		{v2, &specs.LinuxResources{Unified: map[string]string{"../memory.max": "c"}}, `linux.resources.unified["../memory.max"]: must be in the form CONTROLLER.PARAMETER`},
		{v2, &specs.LinuxResources{Unified: map[string]string{"max": "c"}}, `linux.resources.unified["max"]: must be in the form CONTROLLER.PARAMETER`},
		{v2, &specs.LinuxResources{Unified: map[string]string{"x.max": "c"}}, `linux.resources.unified["x.max"]: the cgroup controller x is not available`},
		{v1, mem(specs.LinuxMemory{Swappiness: ptr(uint64(101))}), "linux.resources.memory.swappiness: 101 is not in the range 0 to 100"},
		{v2, mem(specs.LinuxMemory{Swappiness: ptr(uint64(60))}), "linux.resources.memory.swappiness: needs cgroup v1, and this machine has v2"},
		{v2, mem(specs.LinuxMemory{DisableOOMKiller: ptr(true)}), "linux.resources.memory.disableOOMKiller: needs cgroup v1, and this machine has v2"},
		{v2, mem(specs.LinuxMemory{Swap: ptr(int64(5))}), "linux.resources.memory.swap: it is the sum of memory and swap, so it needs linux.resources.memory.limit"},
		{v2, mem(specs.LinuxMemory{Swap: ptr(int64(5)), Limit: ptr(int64(6))}), "linux.resources.memory.swap: the sum of memory and swap is less than linux.resources.memory.limit"},
		{v1, cpu(specs.LinuxCPU{Shares: ptr(uint64(1))}), "linux.resources.cpu.shares: the minimum allowed cpu-shares is 2"},
		{v1, cpu(specs.LinuxCPU{Shares: ptr(uint64(262145))}), "linux.resources.cpu.shares: the maximum allowed cpu-shares is 262144"},
		{v2, cpu(specs.LinuxCPU{RealtimeRuntime: ptr(int64(1))}), "linux.resources.cpu.realtimeRuntime: needs cgroup v1, and this machine has v2"},
		{v2, &specs.LinuxResources{Network: &specs.LinuxNetwork{ClassID: ptr(uint32(1))}}, "linux.resources.network.classID: needs cgroup v1, and this machine has v2"},
		{v1, &specs.LinuxResources{HugepageLimits: []specs.LinuxHugepageLimit{{Pagesize: "../2MB"}}}, `linux.resources.hugepageLimits[0].pageSize: "../2MB" is not a page size such as 64KB, 2MB or 1GB`},
		{v1, &specs.LinuxResources{HugepageLimits: []specs.LinuxHugepageLimit{{Pagesize: "MB"}}}, `linux.resources.hugepageLimits[0].pageSize: "MB" is not a page size such as 64KB, 2MB or 1GB`},
		{v1, &specs.LinuxResources{Rdma: map[string]specs.LinuxRdma{"a b": {}}}, `linux.resources.rdma["a b"]: not the name of a device`},
	} {
		_, err := Writes(&specs.Linux{Resources: c.r}, c.f)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
		var field *FieldError
		if err != nil && !errors.As(err, &field) {
			t.Errorf("%v is not a FieldError", err)
		}
	}
}

func everything(v2 bool) Facts {
	return Facts{V2: v2, Controllers: []string{"memory", "cpu", "cpuset", "pids", "io", "blkio", "hugetlb", "rdma",
		"net_cls", "net_prio", "devices", "freezer"}}
}

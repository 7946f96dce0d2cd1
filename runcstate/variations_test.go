//go:build cgo

package runcstate_test

import (
	"os"
	"strings"

	"berth/runcstate"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/runtime-tools/generate"
)

func ptr[T any](v T) *T { return &v }

// with makes a variation of what runtime-tools can do.
func with(change func(g *generate.Generator)) func(*specs.Spec, *runcstate.Input) {
	return func(s *specs.Spec, _ *runcstate.Input) {
		g := generate.NewFromSpec(s)
		change(&g)
	}
}

func mount(m specs.Mount) func(*specs.Spec, *runcstate.Input) {
	return func(s *specs.Spec, _ *runcstate.Input) { s.Mounts = append(s.Mounts, m) }
}

func flags(change func(*runcstate.Input)) func(*specs.Spec, *runcstate.Input) {
	return func(_ *specs.Spec, in *runcstate.Input) { change(in) }
}

var someMap = []specs.LinuxIDMapping{{ContainerID: 0, HostID: 100000, Size: 1000}, {ContainerID: 5000, HostID: 7, Size: 1}}

// variations change a config or the flags, one thing each.
var variations = map[string]func(*specs.Spec, *runcstate.Input){
	"no change":       func(*specs.Spec, *runcstate.Input) {},
	"no pivot":        flags(func(in *runcstate.Input) { in.NoPivot = true }),
	"no keyring":      flags(func(in *runcstate.Input) { in.NoNewKeyring = true }),
	"rootless":        flags(func(in *runcstate.Input) { in.RootlessEUID, in.RootlessCgroups = true, true }),
	"rootless cgroup": flags(func(in *runcstate.Input) { in.RootlessCgroups = true }),
	"systemd": func(s *specs.Spec, in *runcstate.Input) {
		resources(s)
		in.Systemd = true
		if strings.Count(s.Linux.CgroupsPath, ":") != 2 {
			s.Linux.CgroupsPath = ""
		}
	},
	"systemd path": func(s *specs.Spec, in *runcstate.Input) {
		resources(s)
		in.Systemd = true
		s.Linux.CgroupsPath = "system.slice:docker:1234"
	},
	"no linux":       func(s *specs.Spec, _ *runcstate.Input) { s.Linux = nil },
	"no process":     func(s *specs.Spec, _ *runcstate.Input) { s.Process = nil },
	"no mounts":      func(s *specs.Spec, _ *runcstate.Input) { s.Mounts = nil },
	"empty mounts":   func(s *specs.Spec, _ *runcstate.Input) { s.Mounts = []specs.Mount{} },
	"no annotations": with((*generate.Generator).ClearAnnotations),
	"annotations": with(func(g *generate.Generator) {
		g.AddAnnotation("b", "c=d")
		g.AddAnnotation("a.b/c", "<\u00e4\n>")
	}),
	"names": with(func(g *generate.Generator) {
		g.SetHostname("h<1>")
		g.SetDomainName("d")
	}),
	"read-only root": with(func(g *generate.Generator) { g.SetRootReadonly(true) }),
	"absolute root":  with(func(g *generate.Generator) { g.SetRootPath("/some/root") }),
	"unclean root":   with(func(g *generate.Generator) { g.SetRootPath("./a/../rootfs/") }),
	"propagation":    with(func(g *generate.Generator) { _ = g.SetLinuxRootPropagation("rshared") }),
	"private":        with(func(g *generate.Generator) { _ = g.SetLinuxRootPropagation("private") }),
	"mount label":    with(func(g *generate.Generator) { g.SetLinuxMountLabel("system_u:object_r:c:s0") }),
	"no paths": func(s *specs.Spec, _ *runcstate.Input) {
		if s.Linux != nil {
			s.Linux.MaskedPaths, s.Linux.ReadonlyPaths = nil, []string{}
		}
	},
	"sysctl":          with(func(g *generate.Generator) { g.AddLinuxSysctl("net.core.somaxconn", "256") }),
	"cgroup path":     with(func(g *generate.Generator) { g.SetLinuxCgroupsPath("/a/b") }),
	"relative cgroup": with(func(g *generate.Generator) { g.SetLinuxCgroupsPath("../../a/./b/../c") }),
	"cgroup dot dot":  with(func(g *generate.Generator) { g.SetLinuxCgroupsPath("/../../a/") }),
	"cgroup dot":      with(func(g *generate.Generator) { g.SetLinuxCgroupsPath("..") }),
	"capabilities": with(func(g *generate.Generator) {
		_ = g.AddProcessCapabilityAmbient("CAP_CHOWN")
		_ = g.AddProcessCapabilityInheritable("CAP_CHOWN")
	}),
	"no capabilities": func(s *specs.Spec, _ *runcstate.Input) {
		if s.Process != nil {
			s.Process.Capabilities = nil
		}
	},
	"process": with(func(g *generate.Generator) {
		g.SetProcessNoNewPrivileges(false)
		g.SetProcessOOMScoreAdj(-500)
		g.SetProcessSelinuxLabel("system_u:system_r:c:s0")
		g.SetProcessApparmorProfile("profile")
		g.SetProcessUID(5000)
		g.AddProcessRlimits("RLIMIT_CORE", 5, 6)
	}),
	"process 1.3": func(s *specs.Spec, _ *runcstate.Input) {
		if s.Process == nil {
			return
		}
		s.Process.User.Umask = ptr(uint32(0))
		s.Process.Scheduler = &specs.Scheduler{Policy: specs.SchedDeadline, Flags: []specs.LinuxSchedulerFlag{specs.SchedFlagReclaim}, Runtime: 1, Deadline: 2, Period: 3, Nice: -1}
		s.Process.IOPriority = &specs.LinuxIOPriority{Class: specs.IOPRIO_CLASS_BE, Priority: 3}
		s.Process.ExecCPUAffinity = &specs.CPUAffinity{Initial: " 0-3, 7,,64", Final: "1023"}
	},
	"one affinity": func(s *specs.Spec, _ *runcstate.Input) {
		if s.Process != nil {
			s.Process.ExecCPUAffinity = &specs.CPUAffinity{Final: "5"}
		}
	},
	"no affinity": func(s *specs.Spec, _ *runcstate.Input) {
		if s.Process != nil {
			s.Process.ExecCPUAffinity = &specs.CPUAffinity{}
		}
	},
	"hooks": func(s *specs.Spec, _ *runcstate.Input) {
		s.Hooks = &specs.Hooks{
			Prestart:        []specs.Hook{{Path: "/bin/a", Args: []string{"a", "b"}, Env: []string{"A=B"}, Timeout: ptr(5)}}, //nolint:staticcheck // in use
			CreateRuntime:   []specs.Hook{{Path: "/bin/b"}, {Path: "/bin/<b>"}},
			CreateContainer: []specs.Hook{{Path: "/bin/c"}},
			StartContainer:  []specs.Hook{{Path: "/bin/d"}},
			Poststart:       []specs.Hook{{Path: "/bin/e", Args: []string{}}},
			Poststop:        []specs.Hook{{Path: "/bin/f", Timeout: ptr(0)}},
		}
	},
	"empty hooks": func(s *specs.Spec, _ *runcstate.Input) { s.Hooks = &specs.Hooks{Poststop: []specs.Hook{}} },
	"user namespace": func(s *specs.Spec, _ *runcstate.Input) {
		g := generate.NewFromSpec(s)
		_ = g.AddOrReplaceLinuxNamespace("user", "")
		s.Linux.UIDMappings, s.Linux.GIDMappings = someMap, someMap[:1]
	},
	"joined user namespace": func(s *specs.Spec, _ *runcstate.Input) {
		g := generate.NewFromSpec(s)
		_ = g.AddOrReplaceLinuxNamespace("user", ownUserNS)
		s.Linux.UIDMappings, s.Linux.GIDMappings = nil, nil
	},
	"unmapped root": func(s *specs.Spec, _ *runcstate.Input) {
		g := generate.NewFromSpec(s)
		_ = g.AddOrReplaceLinuxNamespace("user", "")
		s.Linux.UIDMappings, s.Linux.GIDMappings = someMap[1:], someMap[1:]
	},
	"joined network": with(func(g *generate.Generator) { _ = g.AddOrReplaceLinuxNamespace("network", "/proc/1/ns/net") }),
	"no namespaces":  with((*generate.Generator).ClearLinuxNamespaces),
	"time namespace": func(s *specs.Spec, _ *runcstate.Input) {
		g := generate.NewFromSpec(s)
		_ = g.AddOrReplaceLinuxNamespace("time", "")
		s.Linux.TimeOffsets = map[string]specs.LinuxTimeOffset{"boottime": {Secs: -5, Nanosecs: 6}, "monotonic": {}}
	},
	"cgroup namespace": with(func(g *generate.Generator) {
		_ = g.AddOrReplaceLinuxNamespace("cgroup", "")
		g.AddMount(specs.Mount{Destination: "/sys/fs/cgroup/", Type: "cgroup", Source: "cgroup", Options: []string{"ro", "rw"}})
	}),
	"devices": with(func(g *generate.Generator) {
		g.AddDevice(specs.LinuxDevice{Path: "/dev/fuse", Type: "c", Major: 10, Minor: 229, FileMode: ptr(os.FileMode(0o20644)), UID: ptr(uint32(4)), GID: ptr(uint32(5))})
		g.AddDevice(specs.LinuxDevice{Path: "/dev/tty", Type: "u", Major: 5})
		g.AddDevice(specs.LinuxDevice{Path: "/dev/sda", Type: "b", Major: 8, Minor: 1})
		g.AddDevice(specs.LinuxDevice{Path: "/dev/pipe", Type: "p"})
	}),
	"device rules": with(func(g *generate.Generator) {
		g.AddLinuxResourcesDevice(true, "c", ptr(int64(10)), ptr(int64(229)), "rw")
		g.AddLinuxResourcesDevice(false, "", nil, nil, "m")
		g.AddLinuxResourcesDevice(true, "b", ptr(int64(8)), nil, "r")
	}),
	"memory": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s).Memory = &specs.LinuxMemory{Limit: ptr(int64(1 << 20)), Reservation: ptr(int64(5)), Swap: ptr(int64(-1)),
			Kernel: ptr(int64(7)), KernelTCP: ptr(int64(8)), Swappiness: ptr(uint64(0)), DisableOOMKiller: ptr(true),
			UseHierarchy: ptr(true), CheckBeforeUpdate: ptr(true)}
	},
	"memory zeros": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s).Memory = &specs.LinuxMemory{Limit: ptr(int64(0)), DisableOOMKiller: ptr(false), CheckBeforeUpdate: ptr(false)}
	},
	"cpu": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(2048)), Quota: ptr(int64(-1)), Burst: ptr(uint64(0)), Period: ptr(uint64(100000)),
			RealtimeRuntime: ptr(int64(3)), RealtimePeriod: ptr(uint64(4)), Cpus: "0-1", Mems: "0", Idle: ptr(int64(0))}
	},
	"shares 2":    func(s *specs.Spec, _ *runcstate.Input) { resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(2))} },
	"shares 100":  func(s *specs.Spec, _ *runcstate.Input) { resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(100))} },
	"shares 0":    func(s *specs.Spec, _ *runcstate.Input) { resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(0))} },
	"shares 1024": func(s *specs.Spec, _ *runcstate.Input) { resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(1024))} },
	"shares 262145": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s).CPU = &specs.LinuxCPU{Shares: ptr(uint64(262145))}
	},
	"pids":         func(s *specs.Spec, _ *runcstate.Input) { resources(s).Pids = &specs.LinuxPids{Limit: ptr(int64(-1))} },
	"pids zero":    func(s *specs.Spec, _ *runcstate.Input) { resources(s).Pids = &specs.LinuxPids{Limit: ptr(int64(0))} },
	"pids none":    func(s *specs.Spec, _ *runcstate.Input) { resources(s).Pids = &specs.LinuxPids{} },
	"other limits": func(s *specs.Spec, _ *runcstate.Input) { otherLimits(resources(s)) },
	"no resources": func(s *specs.Spec, _ *runcstate.Input) { resources(s); s.Linux.Resources = nil },
	"net device": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.NetDevices = map[string]specs.LinuxNetDevice{"e0": {Name: "e1"}, "e2": {}}
	},
	"personality": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.Personality = &specs.LinuxPersonality{Domain: specs.PerLinux32}
	},
	"personality 64": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.Personality = &specs.LinuxPersonality{Domain: specs.PerLinux}
	},
	"rdt": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.IntelRdt = &specs.LinuxIntelRdt{ClosID: "c", Schemata: []string{"L3:0=f"}, L3CacheSchema: "L3:0=1", MemBwSchema: "MB:0=5", EnableMonitoring: true}
	},
	"memory policy": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.MemoryPolicy = &specs.LinuxMemoryPolicy{Mode: specs.MpolBind, Nodes: "0,2-3", Flags: []specs.MemoryPolicyFlagType{specs.MpolFStaticNodes, specs.MpolFNumaBalancing}}
	},
	"memory policy default": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.MemoryPolicy = &specs.LinuxMemoryPolicy{Mode: specs.MpolDefault}
	},
	"memory policy weighted": func(s *specs.Spec, _ *runcstate.Input) {
		resources(s)
		s.Linux.MemoryPolicy = &specs.LinuxMemoryPolicy{Mode: specs.MpolWeightedInterleave, Nodes: "1", Flags: []specs.MemoryPolicyFlagType{specs.MpolFRelativeNodes}}
	},
	"bind":          mount(specs.Mount{Destination: "/mnt", Source: "dir", Type: "none", Options: []string{"rbind", "ro", "rprivate", "nosuid", "suid"}}),
	"absolute bind": mount(specs.Mount{Destination: "relative", Source: "/srv/../x", Options: []string{"bind", "shared", "rslave", "unbindable"}}),
	"tmpfs":         mount(specs.Mount{Destination: "/t", Source: "tmpfs", Type: "tmpfs", Options: []string{"tmpcopyup", "size=1k", "mode=1777", "noatime", "defaults"}}),
	"all options":   mount(specs.Mount{Destination: "/t", Source: "x", Type: "ext4", Options: allOptions()}),
	"reverse":       mount(specs.Mount{Destination: "/t", Source: "x", Type: "ext4", Options: reverse(allOptions())}),
	"data":          mount(specs.Mount{Destination: "/t", Source: "x", Type: "overlay", Options: []string{"lowerdir=/a:/b", "", "r", "rbin", "acl", "x,y"}}),
	"recursive ro":  mount(specs.Mount{Destination: "/t", Source: "/x", Type: "bind", Options: []string{"rbind", "rro", "rnoatime", "rrelatime"}}),
	"idmap":         mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind", "idmap"}}),
	"ridmap":        mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind", "idmap", "ridmap"}}),
	"idmap again":   mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind", "ridmap", "idmap"}}),
	"own map":       mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind", "ridmap"}, UIDMappings: someMap, GIDMappings: someMap}),
	"own uid map":   mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind"}, UIDMappings: someMap}),
	"empty map":     mount(specs.Mount{Destination: "/t", Source: "/x", Options: []string{"bind"}, UIDMappings: []specs.LinuxIDMapping{}}),
}

func resources(s *specs.Spec) *specs.LinuxResources {
	if s.Linux == nil {
		s.Linux = &specs.Linux{}
	}
	if s.Linux.Resources == nil {
		s.Linux.Resources = &specs.LinuxResources{}
	}
	return s.Linux.Resources
}

func otherLimits(r *specs.LinuxResources) {
	dev := specs.LinuxBlockIODevice{Major: 8, Minor: 16}
	throttle := []specs.LinuxThrottleDevice{{LinuxBlockIODevice: dev, Rate: 1 << 40}, {}}
	r.BlockIO = &specs.LinuxBlockIO{Weight: ptr(uint16(10)), LeafWeight: ptr(uint16(20)),
		WeightDevice:          []specs.LinuxWeightDevice{{LinuxBlockIODevice: dev, Weight: ptr(uint16(30))}, {LeafWeight: ptr(uint16(40))}},
		ThrottleReadBpsDevice: throttle, ThrottleWriteBpsDevice: throttle[:1], ThrottleReadIOPSDevice: throttle, ThrottleWriteIOPSDevice: throttle}
	r.HugepageLimits = []specs.LinuxHugepageLimit{{Pagesize: "2MB", Limit: 1 << 63}, {Pagesize: "1GB"}}
	r.Rdma = map[string]specs.LinuxRdma{"mlx5_1": {HcaHandles: ptr(uint32(3)), HcaObjects: ptr(uint32(0))}, "mlx4_0": {}}
	r.Network = &specs.LinuxNetwork{ClassID: ptr(uint32(0x100001)), Priorities: []specs.LinuxInterfacePriority{{Name: "eth0", Priority: 500}}}
	r.Unified = map[string]string{"memory.high": "5", "cpu.weight": "7"}
}

// allOptions are all that runc knows, and some data.
func allOptions() []string {
	known := "async atime bind defaults dev diratime dirsync exec iversion lazytime loud mand noatime nodev " +
		"nodiratime noexec noiversion nolazytime nomand norelatime nostrictatime nosuid nosymfollow rbind relatime " +
		"remount ro rw silent strictatime suid sync symfollow rro rrw rnosuid rsuid rnodev rdev rnoexec rexec " +
		"rnodiratime rdiratime rrelatime rnorelatime rnoatime ratime rstrictatime rnostrictatime rnosymfollow " +
		"rsymfollow private rprivate slave rslave shared rshared unbindable runbindable tmpcopyup data=1"
	return strings.Fields(known)
}

func reverse(list []string) []string {
	out := make([]string, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}

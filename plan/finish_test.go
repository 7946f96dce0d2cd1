package plan

import (
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestSysctlPath(t *testing.T) {
	for key, want := range map[string]string{
		"net.ipv4.ip_forward":              "net/ipv4/ip_forward",
		"net/ipv4/ip_forward":              "net/ipv4/ip_forward",
		"net/ipv4/conf/eno2.100/rp_filter": "net/ipv4/conf/eno2.100/rp_filter",
		"net.ipv4.conf.eno2/100.rp_filter": "net/ipv4/conf/eno2.100/rp_filter",
		"kernel":                           "kernel",
		"":                                 "",
		"net.//.kernel":                    "net/../kernel",
	} {
		if got := sysctlPath(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestSysctls(t *testing.T) {
	all := func(*specs.Spec) {}
	user := namespace(specs.UserNamespace, "/ns")
	for _, c := range []struct {
		key    string
		change func(*specs.Spec)
		err    string // "": allowed
	}{
		{"net.ipv4.ip_forward", all, ""},
		{"net/ipv4/ip_forward", all, ""},
		{"kernel.msgmax", all, ""},
		{"kernel/shm_rmid_forced", all, ""},
		{"fs.mqueue.msg_max", all, ""},
		{"kernel.domainname", all, ""},
		{"kernel.hostname", all, ""},
		{"user.max_user_namespaces", user, ""},
		{"kernel.hostname", func(s *specs.Spec) { s.Hostname = "h" }, "hostname is set as well"},
		{"net.ipv4.ip_forward", without(specs.NetworkNamespace, all), "needs a network namespace"},
		{"kernel.msgmax", without(specs.IPCNamespace, all), "needs an ipc namespace"},
		{"fs.mqueue.msg_max", without(specs.IPCNamespace, all), "needs an ipc namespace"},
		{"kernel.domainname", without(specs.UTSNamespace, all), "needs a uts namespace"},
		{"user.max_user_namespaces", all, "needs a user namespace"},
		{"kernel.core_pattern", all, "would change the host"},
		{"kernel.msgmaxx", all, "would change the host"},
		{"vm.overcommit_memory", all, "would change the host"},
		{"fs.mqueue", all, "would change the host"},
		{"net", all, "would change the host"},
		{"/net/ipv4/ip_forward", all, "would change the host"},
		{"net/../kernel/core_pattern", all, "is not the name of a sysctl"},
		{"net.//.kernel.core_pattern", all, "is not the name of a sysctl"},
		{"net/./x", all, "is not the name of a sysctl"},
		{"", all, "is not the name of a sysctl"},
	} {
		s := smallSpec()
		c.change(s)
		s.Linux.Sysctl = map[string]string{c.key: "1"}
		p, err := Build(s, usualFacts())
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%q: %v", c.key, err)
		case c.err == "":
			if op := p.Ops[p.index(ProcWrite)]; op.Str[0].Text != "sys/"+sysctlPath(c.key) || op.Str[1].Text != "1" {
				t.Errorf("%q: %+v", c.key, op)
			}
		case err == nil || !strings.HasPrefix(err.Error(), "config.json: linux.sysctl[") || !strings.Contains(err.Error(), c.err):
			t.Errorf("%q: %v, want %s", c.key, err, c.err)
		}
	}
}

func TestMakedev(t *testing.T) {
	for _, c := range []struct{ major, minor, want uint64 }{
		{1, 3, 0x103}, {5, 0, 0x500}, {8, 255, 0x8ff}, {8, 256, 0x100800}, {4095, 1048575, 0xffffffff},
		{4096, 0, 0x100000000000}, {1<<32 - 1, 1<<32 - 1, 1<<64 - 1},
	} {
		if got := makedev(c.major, c.minor); got != c.want {
			t.Errorf("%d:%d: %#x, want %#x", c.major, c.minor, got, c.want)
		}
	}
}

// TestOrder: what security depends on, in any plan.
func TestOrder(t *testing.T) {
	for _, name := range goldenNames(t) {
		p := goldenPlan(t, name)
		order := func(codes ...Code) {
			t.Helper()
			last, lastCode := -1, Code(0)
			for _, c := range codes {
				i := p.index(c)
				if i < 0 {
					continue
				}
				if i < last {
					t.Errorf("%s: %v before %v", name, c, lastCode)
				}
				last, lastCode = i, c
			}
		}
		order(ResetSignals, CloseRange, Prctl, Clone, Setsid, OpenProc, Keyring, LoUp, MoveMount)
		order(MoveMount, Mknod, RunHook, Pivot, OpenPtmx, Hostname, ProcWrite, ReadonlyPath, MaskDir, NoNewPrivs,
			Chdir, Capbset, ChownStdio, VerifyCwd, Capset, Ambient, LookupExec, WaitStart, Exec)
		if last := p.Ops[len(p.Ops)-1].Code; last != Exec && last != Exit {
			t.Errorf("%s ends with %v", name, last)
		}
	}
}

func TestHookTimeout(t *testing.T) {
	for seconds, want := range map[int]uint64{1: 1000, 86400: 86400000, 1 << 60: maxTimeout * 1000} {
		p := build(t, usualFacts(), hooks(specs.Hooks{StartContainer: []specs.Hook{{Path: "/h", Timeout: &seconds}}}))
		if got := p.Ops[p.index(RunHook)].Num[0]; got != want {
			t.Errorf("%d s: %d ms", seconds, got)
		}
	}
}

// TestReadonlyTmpfs: mount points in it are made before it turns read-only (runc's order).
func TestReadonlyTmpfs(t *testing.T) {
	p := build(t, usualFacts(), mounts(
		specs.Mount{Destination: "/ro", Type: "tmpfs", Options: words("ro nodev")},
		specs.Mount{Destination: "/dev", Type: "devtmpfs", Options: words("ro")},
		specs.Mount{Destination: "/ro/in", Type: "bind", Source: "/src"}))
	var ro []int
	for i := range p.Ops {
		switch op := &p.Ops[i]; {
		case op.Code == Fsmount && op.Num[0]&attrRdonly != 0:
			t.Errorf("operation %d mounts read-only", i)
		case op.Code == Setattr && op.Num[0] == attrRdonly:
			ro = append(ro, i)
		}
	}
	if len(ro) != 2 || ro[0] < p.index(Pivot) {
		t.Errorf("%v: %s", ro, p)
	}
}

// TestPassedTreesAreSlaves: a clone that stage0 made is a peer of the host's shared mount.
// Mounts made on it showed on the host, and pivot_root refused it.
func TestPassedTreesAreSlaves(t *testing.T) {
	p := goldenPlan(t, "userns")
	for slot, pass := range p.Pass {
		if pass.Kind != PassTree {
			continue
		}
		slaved := -1
		for i := range p.Ops {
			op := &p.Ops[i]
			if op.Code == Setattr && op.Slot[0] == Slot(slot) && op.Num[2] == msSlave && op.Num[3] == 1 {
				slaved = i
			}
			if op.Code == MoveMount && op.Slot[0] == Slot(slot) && slaved < 0 {
				t.Errorf("%s is attached before it is a slave", pass.Path)
			}
		}
		if slaved < 0 {
			t.Errorf("%s stays as it is", pass.Path)
		}
	}
}

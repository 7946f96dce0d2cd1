package plan

import (
	"reflect"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		name string
		env  string
		want string
	}{
		{"/bin/a", "PATH=/x", "/bin/a"},
		{"./a", "PATH=/x", "./a"},
		{"b/a", "", "b/a"},
		{"a", "PATH=/x:/y/", "/x/a /y/a"},
		{"a", "PATH=/x:.:y::/z", "/x/a /z/a"}, // never the working directory
		{"a", "PATH=/x PATH=/y", "/y/a"},
		{"a", "PATH=", ""},
		{"a", "XPATH=/x PATH2=/y", "/usr/local/sbin/a /usr/local/bin/a /usr/sbin/a /usr/bin/a /sbin/a /bin/a"},
		{"", "PATH=/x", ""},
	} {
		p := &specs.Process{Args: []string{c.name}, Env: strings.Fields(c.env)}
		if got := strings.Join(candidates(p), " "); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.name, c.env, got, c.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		env    string
		home   string
		listen int
		want   string
	}{
		{"A=1", "", 0, "A=1"},
		{"A=1", "/root", 0, "A=1 HOME=/root"},
		{"HOME=/x A=1", "/root", 0, "HOME=/x A=1"},
		{"HOMER=1", "/root", 0, "HOMER=1 HOME=/root"},
		{"", "/h", 2, "HOME=/h LISTEN_FDS=2 LISTEN_PID=1"},
		{"A=1", "", 1, "A=1 LISTEN_FDS=1 LISTEN_PID=1"},
	} {
		env := strings.Fields(c.env)
		before := append([]string{}, env...)
		b := &builder{spec: &specs.Spec{Process: &specs.Process{Env: env}}, f: &Facts{Home: c.home, ListenFDs: c.listen}}
		if got := strings.Join(b.environment(), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.env, got, c.want)
		}
		if !reflect.DeepEqual(env, before) {
			t.Errorf("%q was changed", before)
		}
	}
}

// build is Build of a changed small config, which must succeed.
func build(t *testing.T, f *Facts, changes ...func(*specs.Spec)) *Plan {
	t.Helper()
	s := smallSpec()
	for _, c := range changes {
		c(s)
	}
	p, err := Build(s, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// index of the first operation with the code, in order; -1: none.
func (p *Plan) index(c Code) int {
	for i := range p.Ops {
		if p.Ops[i].Code == c {
			return i
		}
	}
	return -1
}

func setCaps(c specs.LinuxCapabilities) func(*specs.Spec) {
	return func(s *specs.Spec) { s.Process.Capabilities = &c }
}

func TestCapabilities(t *testing.T) {
	const kill, chown, setpcap = 1 << 5, 1 << 0, 1 << 8
	all := words("CAP_KILL CAP_CHOWN CAP_SETPCAP")
	for _, c := range []struct {
		caps     specs.LinuxCapabilities
		can      uint64
		bounding uint64
		want     [3]uint64 // effective, permitted, inheritable
		ambient  uint64
		warnings string
	}{
		{specs.LinuxCapabilities{}, allCaps, 0, [3]uint64{}, 0, ""},
		{specs.LinuxCapabilities{Bounding: all, Effective: all, Permitted: all, Inheritable: all, Ambient: all}, allCaps,
			kill | chown | setpcap, [3]uint64{kill | chown | setpcap, kill | chown | setpcap, kill | chown | setpcap}, kill | chown | setpcap, ""},
		{specs.LinuxCapabilities{Bounding: words("CAP_KILL"), Effective: words("CAP_KILL CAP_CHOWN"), Permitted: words("CAP_KILL"), Inheritable: words("CAP_CHOWN")},
			allCaps, kill, [3]uint64{kill, kill, 0}, 0,
			"config.json: process.capabilities.inheritable: CAP_CHOWN can't be granted: not in bounding\n" +
				"config.json: process.capabilities.effective: CAP_CHOWN can't be granted: not in permitted"},
		{specs.LinuxCapabilities{Bounding: words("CAP_KILL cap_chown CAP_NEW"), Permitted: words("CAP_CHOWN CAP_KILL")}, kill, kill, [3]uint64{0, kill, 0}, 0,
			"config.json: process.capabilities.bounding[1]: unknown capability \"cap_chown\" is ignored\n" +
				"config.json: process.capabilities.bounding[2]: unknown capability \"CAP_NEW\" is ignored\n" +
				"config.json: process.capabilities.permitted[0]: CAP_CHOWN can't be granted: the caller does not have it"},
		{specs.LinuxCapabilities{Bounding: all, Permitted: all, Ambient: all}, allCaps, kill | chown | setpcap, [3]uint64{0, kill | chown | setpcap, 0}, 0,
			"config.json: process.capabilities.ambient: CAP_CHOWN, CAP_KILL, CAP_SETPCAP can't be granted: not in inheritable"},
	} {
		f := usualFacts()
		f.Caps = c.can
		p := build(t, f, setCaps(c.caps))
		set := p.Ops[p.index(Capset)].Num
		if b := p.Ops[p.index(Capbset)].Num[0]; b != c.bounding {
			t.Errorf("bounding set %#x, want %#x", b, c.bounding)
		}
		if got := [3]uint64{set[0], set[1], set[2]}; got != c.want {
			t.Errorf("sets %#x, want %#x", got, c.want)
		}
		if a := p.Ops[p.index(Ambient)].Num[0]; a != c.ambient {
			t.Errorf("ambient %#x, want %#x", a, c.ambient)
		}
		if w := strings.Join(p.Warnings, "\n"); w != c.warnings {
			t.Errorf("warnings %s\nwant %s", w, c.warnings)
		}
	}
}

func TestCapabilityNumbers(t *testing.T) {
	for name, want := range map[string]int{"CAP_CHOWN": 0, "CAP_SETPCAP": 8, "CAP_SYS_ADMIN": 21, "CAP_AUDIT_READ": 37,
		"CAP_CHECKPOINT_RESTORE": 40, "chown": -1, "CAP_": -1, "": -1} {
		if got := capNumber(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestRlimits: where stage1 sets them, after the wait that may need memory and before root is
// given up; a very low number of descriptors when nothing is opened any more.
func TestRlimits(t *testing.T) {
	p := build(t, usualFacts(), limits("RLIMIT_NOFILE", 10, 20, "RLIMIT_AS", 1, 2))
	var at []int
	for i := range p.Ops {
		if p.Ops[i].Code == Rlimit {
			at = append(at, i)
		}
	}
	if len(at) != 2 || p.Ops[at[0]].Num != [4]uint64{9, 1, 2} || p.Ops[at[1]].Num != [4]uint64{7, 10, 20} {
		t.Fatalf("%s", p)
	}
	wait := -1
	for i := range p.Ops {
		if p.Ops[i].Code == SyncWait && p.Ops[i].Num[0] == SyncFinal {
			wait = i
		}
	}
	if at[0] < wait || at[0] > p.index(SetIDs) || at[1] < p.index(WaitStart) {
		t.Errorf("order: %s", p)
	}
	if p.AsksFinal || len(p.Rlimits) != 0 {
		t.Errorf("%+v", p.Rlimits)
	}
	// above the caller's hard limit it needs privileges
	if p = build(t, usualFacts(), limits("RLIMIT_NOFILE", 10, 4097)); p.index(Rlimit) > p.index(SetIDs) {
		t.Errorf("%s", p)
	}
	// 64 descriptors are enough
	if p = build(t, usualFacts(), limits("RLIMIT_NOFILE", 64, 64)); p.index(Rlimit) > p.index(SetIDs) {
		t.Errorf("%s", p)
	}
}

// TestRlimitsInUserNamespace: its root can't raise hard limits, so stage0 sets them.
func TestRlimitsInUserNamespace(t *testing.T) {
	user := func(s *specs.Spec) {
		namespace("user", "")(s)
		s.Linux.UIDMappings, s.Linux.GIDMappings = []specs.LinuxIDMapping{{Size: 9}}, []specs.LinuxIDMapping{{Size: 9}}
	}
	p := build(t, usualFacts(), user, limits("RLIMIT_CORE", 1, 2, "RLIMIT_NOFILE", 3, 3))
	if !p.AsksFinal || len(p.Rlimits) != 1 || p.Rlimits[0] != (SetRlimit{4, "RLIMIT_CORE", 1, 2}) {
		t.Errorf("%v %+v", p.AsksFinal, p.Rlimits)
	}
	if p.Ops[p.index(Rlimit)].Num[0] != rlimitNofile || p.index(Rlimit) < p.index(WaitStart) {
		t.Errorf("%s", p)
	}
	if p = build(t, usualFacts(), user); p.AsksFinal || len(p.Rlimits) != 0 {
		t.Errorf("%v %+v", p.AsksFinal, p.Rlimits)
	}
}

// TestSeccompPlace: last of all with no_new_privs; else while there is still CAP_SYS_ADMIN.
func TestSeccompPlace(t *testing.T) {
	f := usualFacts()
	f.Seccomp, f.PreserveFDs = true, 1
	p := build(t, f, func(s *specs.Spec) { s.Process.NoNewPrivileges = true })
	if at := p.index(Seccomp); at != len(p.Ops)-2 || p.index(NoNewPrivs) > at || !p.HasSeccomp {
		t.Errorf("with no_new_privs: %s", p)
	}
	p = build(t, f)
	if at := p.index(Seccomp); at > p.index(Capbset) || at < p.index(MaskDir) || p.index(NoNewPrivs) != -1 {
		t.Errorf("without: %s", p)
	}
	if p = build(t, usualFacts()); p.HasSeccomp || p.index(Seccomp) != -1 {
		t.Errorf("no profile: %s", p)
	}
}

func TestPreservedDescriptors(t *testing.T) {
	f := usualFacts()
	f.PreserveFDs = 3
	p := build(t, f)
	keep, last := p.index(KeepFDs), -1
	for i := range p.Ops {
		if p.Ops[i].Code == CloseRange {
			last = i
		}
	}
	if p.Ops[keep].Num != [4]uint64{3, 3} || p.Ops[last].Num != [4]uint64{6, 0xffffffff, 4} || last < p.index(WaitStart) || keep < last {
		t.Errorf("%s", p)
	}
	if p = build(t, usualFacts()); p.index(KeepFDs) != -1 {
		t.Errorf("%s", p)
	}
}

// TestSetgroupsDenied: a joined user namespace may have it denied for good.
func TestSetgroupsDenied(t *testing.T) {
	become := func(changes ...func(*specs.Spec)) *Op {
		p := build(t, usualFacts(), changes...)
		var last *Op
		for i := range p.Ops {
			if p.Ops[i].Code == SetIDs {
				last = &p.Ops[i]
			}
		}
		return last
	}
	if op := become(namespace("user", "/ns")); op.Alt == nil || op.Alt.Str[0].Kind != 0 || op.AltOn != OnEPERM {
		t.Errorf("%+v", op)
	}
	groups := func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{7} }
	if op := become(namespace("user", "/ns"), groups); op.Alt != nil || op.Str[0].Text != "\x07\x00\x00\x00" {
		t.Errorf("%+v", op)
	}
	if op := become(); op.Alt != nil || op.Str[0].Kind != 'b' || op.Str[0].Text != "" {
		t.Errorf("%+v", op)
	}
}

package nsenter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// refused expects the plan to be refused as such, before its first operation.
func refused(t *testing.T, plan []byte, reason string) {
	t.Helper()
	s := startPlan(t, plan)
	m := s.next()
	if m == nil || m.Kind != KindFail || m.Code != 0 || m.Errno != unix.EINVAL {
		t.Fatalf("%s: message %s", reason, describe(m))
	}
	contains(t, m.Log, reason)
	exitStatus(t, s.wait().ExitStatus(), 1)
}

func TestRefusals(t *testing.T) {
	le := binary.LittleEndian
	good := func() *program {
		return &program{nslots: 4, ops: []op{
			{name: "CHDIR", str: [3]any{"/"}},
			{name: "EXEC", str: [3]any{vector{"a", "b"}, vector{"c"}}},
		}, alts: []op{{name: "CHDIR", str: [3]any{"/"}}}}
	}
	word := func(at int, value uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], value) } }
	ops := headerSize
	for name, c := range map[string]struct {
		change func([]byte)
		reason string
	}{
		"magic":          {word(0, 1), "version"},
		"version":        {word(4, 2), "version"},
		"too large":      {word(8, 16<<20+1), "too large"},
		"no operations":  {word(12, 0), "number of operations"},
		"operations":     {word(12, 0xffffffff), "number of operations"},
		"alternatives":   {word(16, 0xffffffff), "number of operations"},
		"both":           {func(b []byte) { le.PutUint32(b[12:], 1<<31); le.PutUint32(b[16:], 1<<31) }, "number of operations"},
		"slots":          {word(20, 5000), "number of slots"},
		"nfds":           {word(24, 0), ""},
		"data inside":    {word(36, 48), "data area"},
		"data behind":    {word(36, 1<<20), "data area"},
		"data unaligned": {word(36, uint32(ops+3*72+4)), "data area"},
		"fault":          {word(40, 9), "operation that fails"},
		"errno":          {word(44, 5000), "errno"},
		"code":           {word(ops, 9999), "unknown operation"},
		"code 0":         {word(ops, 0), "unknown operation"},
		"flags":          {func(b []byte) { le.PutUint16(b[ops+2:], 2) }, "condition"},
		"on itself":      {func(b []byte) { le.PutUint16(b[ops+2:], 1) }, "condition"},
		"alt index":      {func(b []byte) { le.PutUint32(b[ops+4:], 3); le.PutUint32(b[ops+8:], 1) }, "alternative"},
		"alt main":       {func(b []byte) { le.PutUint32(b[ops+4:], 1); le.PutUint32(b[ops+8:], 1) }, "alternative"},
		"alt on":         {word(ops+8, 1), "alternative"},
		"alt on unknown": {func(b []byte) { le.PutUint32(b[ops+4:], 2); le.PutUint32(b[ops+8:], 1<<12) }, "alternative"},
		"alt of EXEC":    {func(b []byte) { le.PutUint32(b[ops+72+4:], skip); le.PutUint32(b[ops+72+8:], 1) }, "alternative"},
		"alt backwards":  {func(b []byte) { le.PutUint32(b[ops+144+4:], 2); le.PutUint32(b[ops+144+8:], 1) }, "alternative"},
		"slot":           {word(ops+12, 0), "slot"},
		"pad":            {word(ops+20, 1), "padding"},
		"pad2":           {word(ops+36, 1), "padding"},
		"no string":      {word(ops+24, 0), "string"},
		"string far":     {word(ops+24, 1<<20), "string"},
		"string max":     {word(ops+24, 0xffffffff), "string"},
		"extra string":   {word(ops+28, 1), "string"},
		"vector odd":     {func(b []byte) { le.PutUint32(b[ops+72+24:], le.Uint32(b[ops+72+24:])+4) }, "vector"},
		"vectors same":   {func(b []byte) { le.PutUint32(b[ops+72+28:], le.Uint32(b[ops+72+24:])) }, "overlap"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := good().encode(t)
			c.change(plan)
			if c.reason == "" {
				startPlan(t, plan).fails(1, "EXEC", unix.EINVAL) // no LOOKUP_EXEC
				return
			}
			refused(t, plan, c.reason)
		})
	}
	p := good()
	for _, n := range []uint64{1 << 61, 1<<64 - 1, 1<<64 - 2, 1 << 32, 3} {
		plan := p.encode(t)
		off := int(le.Uint32(plan[36:]))
		le.PutUint64(plan[off+int(le.Uint32(plan[ops+72+24:]))-1:], n)
		refused(t, plan, "vector")
	}
	for _, bad := range []*program{
		{ops: []op{{name: "CLONE", num: [4]uint64{unix.CLONE_VM}}}},
		{ops: []op{{name: "CLONE", num: [4]uint64{unix.CLONE_FILES}}}},
		{ops: []op{{name: "SYNC_WAIT", num: [4]uint64{16}}}},
		{ops: []op{hook(0, "x"), {name: "SYNC_SEND", slot: [2]int{-1}, num: [4]uint64{1 << 32}}}},
		{ops: []op{{name: "PIVOT", slot: [2]int{16}}}},
		{ops: []op{{name: "PIVOT", slot: [2]int{-1}}}},
		{ops: []op{{name: "FSMOUNT", str: [3]any{"a", "b", pairs{"key"}}}}},
		{ops: []op{{name: "FSMOUNT", str: [3]any{"a", "b", pairs{nil, "value"}}}}},
		{ops: []op{{name: "CHDIR", str: [3]any{"/"}}, {name: "PRCTL", when: 1}}},
	} {
		refused(t, bad.encode(t), "")
	}
}

// The first packet is not a plan, or more follows than its size says.
func TestRefusedPackets(t *testing.T) {
	good := (&program{ops: []op{{name: "CHDIR", str: [3]any{"/"}}}}).encode(t)
	refused(t, append(append([]byte{}, good...), 0), "more bytes")
	long := append([]byte{}, good...)
	binary.LittleEndian.PutUint32(long[8:], uint32(len(good)+100)) // the rest never comes
	s := startPlan(t, long)
	unix.Shutdown(s.sock, unix.SHUT_WR)
	exitStatus(t, s.wait().ExitStatus(), 1)
}

// everything has each operation once, with operands of the kinds it takes.
func everything(r *rand.Rand) *program {
	p := &program{nslots: 4}
	var names []string
	for name := range signatures {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		o := op{name: name}
		for i, k := range signatures[name].slots {
			o.slot[i] = r.IntN(4)
			if k == '?' && r.IntN(2) == 0 {
				o.slot[i] = -1
			}
		}
		for i, k := range signatures[name].strings {
			switch k {
			case 's', 'S':
				o.str[i] = strings.Repeat("s", r.IntN(20))
			case 'b', 'B':
				o.str[i] = blob(strings.Repeat("b", r.IntN(20)))
			case 'v':
				o.str[i] = vector{"one", "two"}[:r.IntN(3)]
			case 'p':
				o.str[i] = pairs{"key", "value", "flag", nil}
			}
		}
		p.ops = append(p.ops, o)
	}
	p.alts = []op{{name: "CHDIR", str: [3]any{"/"}}, {name: "UMASK"}}
	for i := range p.ops {
		if p.ops[i].name == "CHDIR" || p.ops[i].name == "TARGET" {
			p.ops[i].alt, p.ops[i].on = p.alternative(r.IntN(2)), onENOENT
		}
		if p.ops[i].name == "UMOUNT" {
			p.ops[i].when = 1
		}
	}
	return p
}

// The validator under AddressSanitizer reads nothing outside of the plan, and nor do the operations
// of a plan that it accepts.
func TestValidatorFuzz(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "fuzz")
	out, err := exec.Command("gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
		"-fno-sanitize-recover=all", "-o", bin, "testdata/validate_fuzz.c", "stage1/validate.c").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	args := []string{"15000", fmt.Sprint(seed)}
	for i := range 6 {
		name := filepath.Join(dir, fmt.Sprint("plan", i))
		if err := os.WriteFile(name, everything(r).encode(t), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if out, err = exec.Command(bin, args...).CombinedOutput(); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
	}
	var accepted, tried int
	if n, _ := fmt.Sscanf(string(out), "%d accepted of %d", &accepted, &tried); n != 2 || accepted == 0 || accepted == tried {
		t.Errorf("seed %d: %s", seed, out)
	}
	t.Logf("seed %d: %s", seed, out)
}

// Mutations run by the real stage1, unprivileged and in namespaces of its own: it refuses, fails or
// ends, but never crashes.
func TestStage1Fuzz(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	p := &program{ops: []op{cloexec, private, openProc, openRoot(dir),
		target("/a/b", tgtDir, 0o755), {name: "CHDIR", str: [3]any{"/"}, alt: skip, on: onENOENT},
		fsmount(3, "tmpfs", 0, "mode", "755"), {name: "SYMLINK", slot: [2]int{3}, str: [3]any{"x", "y/z"}},
		{name: "UMASK"}, {name: "VERIFY_CWD"}, send(4),
		{name: "LOOKUP_EXEC", str: [3]any{vector{"/nowhere", "/bin/true"}}},
		{name: "EXEC", str: [3]any{vector{"true"}, vector{"A=b"}}}}}
	good := p.encode(t)
	ids := []syscall.SysProcIDMap{{HostID: 100000, Size: 1000}}
	outcomes := map[string]int{}
	for range 1500 {
		plan := mutation(r, good)
		s := startPlan(t, plan, inNamespaces(unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWIPC|unix.CLONE_NEWNET),
			func(l *Launch) { l.UidMappings, l.GidMappings = ids, ids })
		unix.Shutdown(s.sock, unix.SHUT_WR) // what waits for a grant ends
		m, _ := s.Next()
		ws := s.wait()
		if ws.Signaled() {
			t.Fatalf("seed %d: %v for plan %x", seed, ws.Signal(), plan)
		}
		switch {
		case m == nil:
			outcomes["ended"]++
		case m.Kind == KindFail && m.Code == 0:
			outcomes["refused"]++
		case m.Kind == KindFail:
			outcomes["failed"]++
		default:
			outcomes["ran"]++
		}
		s.end()
	}
	t.Logf("%v", outcomes)
	if outcomes["refused"] == 0 || outcomes["ran"] == 0 {
		t.Error("the mutations are all of one kind")
	}
}

// mutation keeps the three words by which Start knows a plan that is its own.
func mutation(r *rand.Rand, good []byte) []byte {
	plan := append([]byte{}, good...)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(plan))
		if at >= headerNfds && at < headerSync+4 {
			continue
		}
		switch r.IntN(3) {
		case 0:
			plan[at] ^= 1 << r.IntN(8)
		case 1:
			plan[at] = byte(r.Uint32())
		case 2:
			at &^= 3
			binary.LittleEndian.PutUint32(plan[at:], []uint32{0, 1, 2, 3, 8, 0xffffffff, 1 << 31, 1 << 20}[r.IntN(8)])
		}
	}
	copy(plan[headerNfds:headerSync+4], good[headerNfds:headerSync+4])
	return plan
}

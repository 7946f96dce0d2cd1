package plan

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// opsHeader is nsenter/ops.h, the one definition of the format.
type opsHeader struct {
	text    string
	defines map[string]uint64
}

func readHeader(t *testing.T) *opsHeader {
	t.Helper()
	data, err := os.ReadFile("../nsenter/ops.h")
	if err != nil {
		t.Fatal(err)
	}
	h := &opsHeader{string(data), map[string]uint64{}}
	for _, m := range regexp.MustCompile(`(?m)^#define ([A-Z_0-9]+) (.+)$`).FindAllStringSubmatch(h.text, -1) {
		value, _, _ := strings.Cut(m[2], "/*")
		if v, err := evaluate(value); err == nil {
			h.defines[m[1]] = v
		}
	}
	return h
}

// evaluate understands a number, or two with a shift between them.
func evaluate(s string) (uint64, error) {
	s = strings.Trim(strings.TrimSpace(s), "()")
	a, b, shift := strings.Cut(s, "<<")
	v, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(a), "u"), 0, 64)
	if err != nil || !shift {
		return v, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(b), 0, 6)
	return v << n, err
}

func (h *opsHeader) check(t *testing.T, name string, goValue uint64) {
	t.Helper()
	c, ok := h.defines[name]
	if !ok {
		t.Errorf("%s is not defined in ops.h", name)
	} else if c != goValue {
		t.Errorf("%s is %#x in ops.h and %#x in Go", name, c, goValue)
	}
	delete(h.defines, name)
}

func TestOpsTable(t *testing.T) {
	h := readHeader(t)
	rows := regexp.MustCompile(`\bOP\(([A-Z_0-9]+), (\d+), "([^"]*)", "([^"]*)"\)`).FindAllStringSubmatch(h.text, -1)
	if n := strings.Count(h.text, "\tOP("); len(rows) != n || n < 50 {
		t.Fatalf("%d operations understood of %d in ops.h", len(rows), n)
	}
	seen := map[Code]string{}
	for _, m := range rows {
		n, err := strconv.ParseUint(m[2], 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		code := Code(n)
		if other, twice := seen[code]; twice {
			t.Errorf("%s and %s have the same code %d", m[1], other, code)
		}
		seen[code] = m[1]
		name := strings.ToLower(m[1])
		if got, want := codes[code], (codeInfo{name, m[3], m[4]}); got != want {
			t.Errorf("%s, %d: %q in Go, %q in ops.h", m[1], code, got, want)
		}
	}
	for code, info := range codes {
		if _, ok := seen[code]; !ok {
			t.Errorf("%s, %d is not in ops.h", info.name, code)
		}
	}
}

func TestOpsConstants(t *testing.T) {
	h := readHeader(t)
	h.check(t, "PLAN_MAGIC", magic)
	h.check(t, "PLAN_VERSION", version)
	h.check(t, "PLAN_MAX_SIZE", maxSize)
	h.check(t, "PLAN_MAX_OPS", maxOps)
	h.check(t, "PLAN_MAX_SLOTS", maxSlots)
	h.check(t, "ALT_NONE", 0)
	h.check(t, "ALT_SKIP", altSkip)
	h.check(t, "OPF_IF_SKIPPED", 1)
	for name, v := range map[string]uint64{
		"TGT_DIR": TargetDir, "TGT_FILE": TargetFile, "TGT_EXISTING": TargetExisting, "TGT_STRICT": TargetStrict,
		"TGT_NOT_ROOT": TargetNotRoot, "TGT_NOT_PROC": TargetNotProc,
		"SYNC_MAPS": SyncMaps, "SYNC_PID": SyncPID, "SYNC_CGROUP": SyncCgroup, "SYNC_RUNTIME": SyncRuntime,
		"SYNC_STATE": SyncState, "SYNC_CONSOLE": SyncConsole, "SYNC_LISTENER": SyncListener, "SYNC_FINAL": SyncFinal,
		"SYNC_START_STATE": SyncStartState,
	} {
		h.check(t, name, v)
		if ids := h.defines["SYNC_IDS"]; strings.HasPrefix(name, "SYNC_") && v >= ids {
			t.Errorf("%s is %d, not below SYNC_IDS, %d", name, v, ids)
		}
	}
	for _, e := range errnoNames {
		h.check(t, "ON_"+e.name, uint64(e.bit))
	}
	for name := range h.defines {
		for _, prefix := range []string{"TGT_", "ON_", "ALT_", "OPF_", "SYNC_"} {
			if strings.HasPrefix(name, prefix) && name != "SYNC_IDS" {
				t.Errorf("%s of ops.h is unknown in Go", name)
			}
		}
	}
}

var cSizes = map[string]int{"uint16_t": 2, "int16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "int64_t": 8}

// layout computes the natural layout of a struct of ops.h: field → offset, and the size.
func (h *opsHeader) layout(t *testing.T, name string) (map[string]int, int) {
	t.Helper()
	body := regexp.MustCompile(`(?s)struct ` + name + ` \{(.*?)\n\};`).FindStringSubmatch(h.text)
	if body == nil {
		t.Fatalf("struct %s is not in ops.h", name)
	}
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(body[1], "")
	offsets, at, align := map[string]int{}, 0, 1
	for _, decl := range strings.Split(text, ";") {
		decl = strings.TrimSpace(decl)
		if decl == "" {
			continue
		}
		m := regexp.MustCompile(`^(\w+) (\w+)(?:\[(\d+)\])?$`).FindStringSubmatch(decl)
		if m == nil || cSizes[m[1]] == 0 {
			t.Fatalf("struct %s: %q is not understood", name, decl)
		}
		size, count := cSizes[m[1]], 1
		if m[3] != "" {
			count, _ = strconv.Atoi(m[3])
		}
		at = (at + size - 1) / size * size
		offsets[m[2]] = at
		at += size * count
		align = max(align, size)
	}
	return offsets, (at + align - 1) / align * align
}

// TestOpsLayout compares the structs' layouts with the offsets that the encoder writes at.
func TestOpsLayout(t *testing.T) {
	h := readHeader(t)
	fields, size := h.layout(t, "plan_header")
	want := map[string]int{"magic": 0, "version": 4, "size": 8, "nops": 12, "nalts": 16, "nslots": 20, "nfds": 24,
		"fd_base": 28, "sync_fd": 32, "data_off": 36, "fault_op": 40, "fault_errno": 44}
	if size != headerSize || !reflect.DeepEqual(fields, want) {
		t.Errorf("struct plan_header has %d bytes, %v; Go writes %d, %v", size, fields, headerSize, want)
	}
	fields, size = h.layout(t, "op")
	want = map[string]int{"code": 0, "flags": 2, "alt": 4, "alt_on": 8, "slot": 12, "pad": 20, "str": 24, "pad2": 36, "num": 40}
	if size != opSize || !reflect.DeepEqual(fields, want) {
		t.Errorf("struct op has %d bytes, %v; Go writes %d, %v", size, fields, opSize, want)
	}
}

func TestCodeString(t *testing.T) {
	if s := fmt.Sprint(Fsmount, " ", Code(999)); s != "fsmount op?" {
		t.Errorf("%q", s)
	}
}

func TestErrnosString(t *testing.T) {
	if s := (OnENOSYS | OnEDQUOT).String(); s != "ENOSYS|EDQUOT" {
		t.Errorf("%q", s)
	}
}

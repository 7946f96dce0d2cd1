package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"berth/specjson"
)

// FuzzBuild: no config.json makes Build or Encode panic or grow without bounds; what they
// refuse, they refuse with a field's name; what they accept is encoded right.
func FuzzBuild(f *testing.F) {
	for _, pattern := range []string{"testdata/*.json", "../specjson/testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("%s: no seeds, %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			var small bytes.Buffer
			compact(&small, data)
			f.Add(small.Bytes(), uint8(len(file)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, flags uint8) {
		spec, raw, err := specjson.Decode(data)
		if err != nil {
			return
		}
		facts := fuzzFacts(flags)
		facts.Seccomp = raw.Seccomp != nil
		p, err := Build(spec, facts)
		if err != nil {
			var wrong *SpecError
			var later *UnsupportedError
			if !errors.As(err, &wrong) && !errors.As(err, &later) || wrong != nil && wrong.Path == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if n := len(p.Ops); n > 200+8*len(data) {
			t.Fatalf("%d operations of %d bytes", n, len(data))
		}
		_ = p.String()
		b, err := p.Encode(Layout{FDBase: 4, SyncFD: 3, FaultOp: -1})
		if err != nil {
			return
		}
		if err := checkEncoded(p, b); err != nil {
			t.Fatal(err)
		}
		for i := range len(p.Ops) + 3 {
			_ = p.Explain(Failure{Op: i, Errno: 1, Arg: uint32(i)}).Error()
		}
	})
}

func fuzzFacts(flags uint8) *Facts {
	f := usualFacts()
	if flags&1 != 0 {
		cgroup2(f)
	}
	if flags&2 != 0 {
		f.Cgroup = CgroupFacts{}
	}
	f.NoPivot, f.NoNewKeyring, f.Privileged = flags&4 != 0, flags&8 != 0, flags&16 == 0
	if flags&32 != 0 {
		f.PreserveFDs, f.ListenFDs = 3, 1
	}
	if flags&64 != 0 {
		f.OwnedByUser = map[string]bool{"network": true, "mount": true}
	}
	return f
}

// compact drops the indentation of a seed, which would only slow the fuzzer down.
func compact(out *bytes.Buffer, data []byte) {
	for line := range bytes.Lines(data) {
		out.Write(bytes.TrimSpace(line))
	}
}

// TestBuildMutated: documents that are almost right, which the fuzzer seldom finds.
func TestBuildMutated(t *testing.T) {
	var docs []string
	for _, name := range goldenNames(t) {
		data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(data))
	}
	built := 0
	for seed := range int64(3000) {
		r := rand.New(rand.NewSource(seed))
		var doc any
		if err := json.Unmarshal([]byte(docs[r.Intn(len(docs))]), &doc); err != nil {
			t.Fatal(err)
		}
		for range 1 + r.Intn(3) {
			doc = mutate(r, doc, 0)
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		spec, raw, err := specjson.Decode(data)
		if err != nil {
			continue
		}
		f := fuzzFacts(uint8(r.Intn(256)))
		f.Seccomp = raw.Seccomp != nil
		p, err := Build(spec, f)
		if err != nil {
			continue
		}
		built++
		b, err := p.Encode(Layout{FDBase: 4, SyncFD: 3, FaultOp: -1})
		var wrong *SpecError
		if err == nil {
			err = checkEncoded(p, b)
		} else if errors.As(err, &wrong) && wrong.Path != "" {
			err = nil
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, data)
		}
	}
	if built < 300 {
		t.Errorf("only %d of the mutated documents could be built", built)
	}
}

var strangeStrings = []string{"", "/", "..", "/proc", "/proc/self", "/dev", "a\x00b", "user", "ro", "rbind", "bind", "none",
	"cgroup", "proc", "tmpfs", "/../..", ",", `"`, "=", "rshared", "shared", "r", "RLIMIT_CPU", "net.x", "/dev/ptmx", "c"}

// mutate changes one value somewhere in the document.
func mutate(r *rand.Rand, v any, depth int) any {
	if depth > 2 && r.Intn(6) == 0 {
		return strange(r, v)
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		if len(keys) > 0 {
			k := keys[r.Intn(len(keys))]
			if v[k] = mutate(r, v[k], depth+1); r.Intn(20) == 0 {
				delete(v, k)
			}
		}
		return v
	case []any:
		if len(v) == 0 {
			return v
		}
		i := r.Intn(len(v))
		switch r.Intn(8) {
		case 0:
			return append(v, v[i])
		case 1:
			return append(v[:i], v[i+1:]...)
		}
		v[i] = mutate(r, v[i], depth+1)
		return v
	}
	return strange(r, v)
}

func strange(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case string:
		return strangeStrings[r.Intn(len(strangeStrings))]
	case float64:
		return []float64{0, -1, 1, 4294967295, 4294967296, 1e15}[r.Intn(6)]
	case bool:
		return !v
	}
	return nil
}

package specjson_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"berth/specjson"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// corpus is every config in testdata, and one with every field of specs.Spec set.
func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 9 {
		t.Fatalf("testdata: %d files, %v", len(files), err)
	}
	m := map[string][]byte{}
	for _, f := range files {
		if m[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	var all specs.Spec
	fill(reflect.ValueOf(&all).Elem(), new(int))
	if m["all fields"], err = json.Marshal(&all); err != nil {
		t.Fatal(err)
	}
	return m
}

// fill sets everything in v to something that is not its zero value.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"z key", "<a>"} {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(e, n)
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), e)
		}
	case reflect.String:
		v.SetString("s\u00e4\"\\\n\x01 \u2028&" + strings.Repeat("x", *n%7))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"a": []any{1.5, "b", true, nil}}))
	default:
		if v.CanInt() {
			v.SetInt(-int64(*n % 100))
		} else {
			v.SetUint(uint64(*n % 100))
		}
	}
}

// same decodes data both ways and reports how the results differ, "" if they don't.
func same(data []byte) string {
	got, raw, err := specjson.Decode(data)
	var want specs.Spec
	wantErr := json.Unmarshal(data, &want)
	if err != nil && deliberate(err.Error()) {
		return ""
	}
	if err == nil && raw.Seccomp != nil {
		got.Linux.Seccomp = &specs.LinuxSeccomp{}
		err = json.Unmarshal(raw.Seccomp, got.Linux.Seccomp)
	}
	switch {
	case err != nil && wantErr != nil:
		return ""
	case err != nil:
		return "error: " + err.Error() + "; encoding/json has none"
	case wantErr != nil:
		return "no error; encoding/json: " + wantErr.Error()
	case !reflect.DeepEqual(got, &want):
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(&want)
		return "got  " + string(a) + "\nwant " + string(b)
	}
	var process *specs.Process
	if raw.Process != nil {
		if err := json.Unmarshal(raw.Process, &process); err != nil {
			return "raw process: " + err.Error()
		}
	}
	if !reflect.DeepEqual(process, want.Process) {
		return "the raw process is another: " + string(raw.Process)
	}
	return ""
}

// deliberate tells whether an error is one of the differences that the package states.
func deliberate(msg string) bool {
	return strings.Contains(msg, "is in the document twice") || strings.Contains(msg, "nested deeper") ||
		strings.Contains(msg, "more than 262144 elements") || strings.Contains(msg, "larger than 16 MiB")
}

func TestCorpus(t *testing.T) {
	for name, data := range corpus(t) {
		if diff := same(data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, _, err := specjson.Decode(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		// Every prefix is an error for both.
		for i := 0; i < len(data)-1; i += 1 + i/50 {
			if diff := same(data[:i]); diff != "" {
				t.Fatalf("%s[:%d]: %s", name, i, diff)
			}
		}
	}
}

// edgeCases are where decoders like to differ.
var edgeCases = []string{
	`null`, ` {} `, ``, ` `, `{}x`, `[]`, `5`, `"s"`, "\ufeff{}", `{"a":}`, `{"a"}`, `{,}`, `{"a":1,}`, `{a:1}`,
	`{"hostname":null}`, `{"hostname":"a","hostname":null}`, `{"hostname":"a","HOSTNAME":"b"}`,
	`{"HostName":"a"}`, `{"hoſtname":"a"}`, `{"linux":{"cgroupsPath":"a"},"Linux":null}`,
	`{"root":{"path":"a"},"root":{"readonly":true}}`, `{"root":{"path":"a"},"root":null}`,
	`{"mounts":[{"destination":"a","type":"t"},{"source":"s"}],"mounts":[{"source":"x"}]}`,
	`{"mounts":[{"destination":"a"},{"source":"s"}],"mounts":[{}],"mounts":[{},{},{}]}`,
	`{"mounts":[{"destination":"a"}],"mounts":[],"mounts":[{}]}`, `{"mounts":[null,{}]}`, `{"mounts":null}`,
	`{"mounts":{}}`, `{"mounts":[[]]}`, `{"mounts":[{}`, `{"mounts":[{},]}`, `{"mounts":[,]}`, `{"mounts":[{}{}]}`,
	`{"annotations":{"a":"b"},"annotations":{"c":"d"}}`, `{"annotations":{"a":"b","a":null}}`, `{"annotations":{}}`,
	`{"annotations":null}`, `{"annotations":{"a":1}}`, `{"annotations":[]}`, `{"annotations":{"\ud83d\ude00":"\u00e4"}}`,
	`{"linux":{"timeOffsets":{"monotonic":{"secs":1},"monotonic":{"nanosecs":2}}}}`,
	`{"linux":{"timeOffsets":{"monotonic":null}}}`, `{"linux":{"resources":{"rdma":{"m":{"hcaHandles":3}}}}}`,
	`{"process":{"user":{"uid":-1}}}`, `{"process":{"user":{"uid":4294967295}}}`, `{"process":{"user":{"uid":4294967296}}}`,
	`{"process":{"user":{"uid":-0}}}`, `{"process":{"oomScoreAdj":-0}}`, `{"process":{"user":{"uid":1.0}}}`,
	`{"process":{"user":{"uid":1e2}}}`, `{"process":{"user":{"uid":01}}}`, `{"process":{"user":{"uid":"1"}}}`,
	`{"process":{"user":null}}`, `{"process":{"user":[]}}`, `{"process":{"oomScoreAdj":null}}`, `{"process":{"terminal":1}}`,
	`{"process":{"terminal":nul}}`, `{"process":{"terminal":truex}}`, `{"process":{"terminal":true}`, `{"process":{"user":{"uid":-}}}`,
	`{"process":{"user":{"uid":1.}}}`, `{"process":{"user":{"uid":1e}}}`, `{"process":{"user":{"uid":1e+}}}`, `{"process":{"user":{"uid":.1}}}`,
	`{"process":{"rlimits":[{"hard":18446744073709551615}]}}`, `{"process":{"rlimits":[{"hard":18446744073709551616}]}}`,
	`{"linux":{"resources":{"memory":{"limit":-9223372036854775808}}}}`, `{"linux":{"resources":{"memory":{"limit":9223372036854775808}}}}`,
	`{"linux":{"resources":{"blockIO":{"weight":65535}}}}`, `{"linux":{"resources":{"blockIO":{"weight":65536}}}}`,
	`{"linux":{"resources":{"blockIO":{"weightDevice":[{"major":1,"MINOR":2,"weight":3}]}}}}`,
	`{"hostname":"\ud800"}`, `{"hostname":"\udc00\ud800"}`, `{"hostname":"\ud800\u0041"}`, `{"hostname":"\ud83d\ude00"}`,
	`{"hostname":"\ud83d\n"}`, `{"hostname":"\ud83d\ud83d\ude00"}`, `{"hostname":"\u00"}`, `{"hostname":"\u00g0"}`, `{"hostname":"\x"}`,
	`{"hostname":"\b\f\n\r\t\/\\\""}`, `{"hostname":"\u0000"}`, "{\"hostname\":\"a\x00\"}", "{\"hostname\":\"a\nb\"}", "{\"hostname\":\"\x7f\"}",
	"{\"hostname\":\"\xff\xfea\"}", "{\"hostname\":\"\\n\xc3\"}", "{\"hostname\":\"\xed\xa0\x80\"}", "{\"\xff\":1}", `{"hostname":"a`, `{"hostname":"a\`,
	`{"unknown":{"a":[1,{"b":"\u12"}]}}`, `{"unknown":{"a":[1,{"b":tru}]}}`, `{"unknown":{"a" 1}}`, `{"unknown":{"a":1 "b":2}}`, `{"unknown":[1 2]}`,
	`{"unknown":"\q"}`, "{\"unknown\":\"\x01\"}", `{"unknown":-}`, `{"unknown":00}`, `{"unknown":{}`, `{"unknown":[}`, `{"unknown":1e999}`,
	`{"linux":{"seccomp":null}}`, `{"linux":{"seccomp":{"defaultAction":5}}}`, `{"linux":{"seccomp":[]}}`, `{"linux":{"seccomp":{}},"linux":null}`,
	`{"linux":{"seccomp":{"a":}}}`, `{"linux":{"seccomp":{"defaultAction":"A"},"seccomp":null}}`, `{"process":{"cwd":"/"},"process":null}`,
	`{"process":null,"process":{"cwd":"/"}}`, `{"linux":{"SECCOMP": {"defaultAction":"A"} }}`,
	`{"windows":{"credentialSpec":[1,"a",null,true,{"x":-1.5e3,"x":2}]}}`, `{"windows":{"credentialSpec":1e999}}`, `{"windows":{"credentialSpec":{}}}`,
	`{"windows":{"credentialSpec":[]}}`, `{"windows":{"credentialSpec":nope}}`, `{"windows":{"credentialSpec":1,"credentialSpec":null}}`,
}

func TestEdgeCases(t *testing.T) {
	for _, doc := range edgeCases {
		if diff := same([]byte(doc)); diff != "" {
			t.Errorf("%s\n%s", doc, diff)
		}
	}
}

// TestMutations is what fuzzing does, the same way every time.
func TestMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	docs := corpus(t)
	for _, doc := range edgeCases {
		docs[doc] = []byte(doc)
	}
	rounds := 400
	if testing.Short() {
		rounds = 40
	}
	for name, data := range docs {
		for range rounds {
			m := mutate(rng, data)
			if diff := same(m); diff != "" {
				t.Fatalf("%s, mutated: %q\n%s", name, m, diff)
			}
		}
	}
}

var tokens = []string{`null`, `true`, `{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `\u`, `0`, `-`, `1e5`, `""`, `{}`, `[]`, ` `,
	"\xff", "\x00", `"linux":`, `"process":`, `"seccomp":`, `99999999999`, `-1`, `1.5`}

// mutate returns a changed copy of data.
func mutate(rng *rand.Rand, data []byte) []byte {
	m := append([]byte(nil), data...)
	for range 1 + rng.IntN(3) {
		if len(m) == 0 {
			return m
		}
		i := rng.IntN(len(m))
		j := min(len(m), i+rng.IntN(20))
		switch rng.IntN(6) {
		case 0:
			m[i] ^= 1 << rng.IntN(8)
		case 1: // drop some
			m = append(m[:i:i], m[j:]...)
		case 2: // repeat some
			m = append(m[:j:j], m[i:]...)
		case 3: // a token in between
			m = append(append(m[:i:i], tokens[rng.IntN(len(tokens))]...), m[i:]...)
		case 4: // a token instead
			m = append(append(m[:i:i], tokens[rng.IntN(len(tokens))]...), m[j:]...)
		case 5: // another value
			m[i] = `{}[]",:0123456789ntf\ `[rng.IntN(22)]
		}
	}
	return m
}

func FuzzDecode(f *testing.F) {
	for _, data := range corpus(f) {
		f.Add(data)
	}
	for _, doc := range edgeCases {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if diff := same(data); diff != "" {
			t.Error(diff)
		}
	})
}

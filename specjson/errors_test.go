package specjson_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"berth/specjson"
	"berth/specjson/scan"
)

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{"", "line 1: unexpected end of JSON input"},
		{"{\n\"process\": {\n}", "line 3: unexpected end of JSON input"},
		{"{\n\"process\": }", `line 2: invalid character '}' looking for beginning of value`},
		{"{\"a\":1,\n}", `line 2: invalid character '}' looking for beginning of object key string`},
		{"{}\n\n}", `line 3: invalid character '}' after top-level value`},
		{"[]", "line 1: cannot use array as object"},
		{`{"hostname":"\q"}`, `line 1: invalid character 'q' in string escape code`},
		{`{"process":{"terminal":tru}}`, `line 1: invalid character '}' in literal true`},
		{`{"process":{"rlimits":[{},{},` + "\n" + `{"type":"a","soft":"x"}]}}`,
			"process.rlimits[2].soft: cannot use string as uint64 (line 2)"},
		{`{"process":{"user":{"uid":-1}}}`, "process.user.uid: cannot use -1 as uint32 (line 1)"},
		{`{"process":{"user":{"uid":4294967296}}}`, "process.user.uid: cannot use 4294967296 as uint32 (line 1)"},
		{`{"process":{"oomScoreAdj":1.5}}`, "process.oomScoreAdj: cannot use 1.5 as int (line 1)"},
		{`{"process":{"oomScoreAdj":` + strings.Repeat("9", 1000) + `}}`,
			"process.oomScoreAdj: cannot use " + strings.Repeat("9", 40) + "... as int (line 1)"},
		{`{"process":{"args":"sh"}}`, "process.args: cannot use string as array (line 1)"},
		{`{"process":{"args":["a",["b"]]}}`, "process.args[1]: cannot use array as string (line 1)"},
		{`{"process":[]}`, "process: cannot use array as object (line 1)"},
		{`{"annotations":{"a.b/c":true}}`, `annotations["a.b/c"]: cannot use bool as string (line 1)`},
		{`{"annotations":{"a\nb":1}}`, `annotations["a\nb"]: cannot use number as string (line 1)`},
		{`{"a":[1,{"b":[]}],"mounts":[{"options":["x"]},{"options":[null,5]}]}`,
			"mounts[1].options[1]: cannot use number as string (line 1)"},
		{`{"Linux":{"NAMESPACES":[{"type":{}}]}}`, "Linux.NAMESPACES[0].type: cannot use object as string (line 1)"},
		{`{"linux":{"seccomp":{},"seccomp":{}}}`, "linux.seccomp: is in the document twice (line 1)"},
		{`{"process":{},"process":null,"process":{}}`, "process: is in the document twice (line 1)"},
		{`{"linux":{},"linux":{}}`, "linux: is in the document twice (line 1)"},
		{`{"x":` + strings.Repeat("[", 600), "line 1: nested deeper than 512 levels"},
		{`{"windows":{"credentialSpec":` + strings.Repeat(`{"a":`, 600), "line 1: nested deeper than 512 levels"},
		{`{"mounts":[` + strings.Repeat("{},", scan.MaxElements) + "{}]}", "mounts[262144]: more than 262144 elements (line 1)"},
		{`{"process":{"env":[` + strings.Repeat(`"",`, scan.MaxElements) + `""]}}`, "process.env[262144]: more than 262144 elements (line 1)"},
	} {
		_, _, err := specjson.Decode([]byte(tt.doc))
		var e *scan.Error
		if !errors.As(err, &e) {
			t.Errorf("%.60s: %v", tt.doc, err)
		} else if err.Error() != tt.want {
			t.Errorf("%.60s\ngot  %s\nwant %s", tt.doc, err, tt.want)
		}
	}
}

func TestRaw(t *testing.T) {
	for _, tt := range []struct{ doc, seccomp, process string }{
		{`{}`, "", ""},
		{`{"process": {"cwd":"/"} , "linux":{"seccomp":{ "a": [1 ] }}}`, `{ "a": [1 ] }`, `{"cwd":"/"}`},
		{`{"process":null,"linux":{"seccomp":null}}`, "", ""},
		{`{"process":{"cwd":"/"},"process":null}`, "", ""},
		{`{"linux":{"seccomp":{}},"linux":null}`, "", ""},
		{`{"linux":{"Seccomp":5}}`, "5", ""},
	} {
		data := []byte(tt.doc)
		spec, raw, err := specjson.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", tt.doc, err)
			continue
		}
		if string(raw.Seccomp) != tt.seccomp || string(raw.Process) != tt.process {
			t.Errorf("%s: %q, %q", tt.doc, raw.Seccomp, raw.Process)
		}
		if spec.Linux != nil && spec.Linux.Seccomp != nil {
			t.Errorf("%s: seccomp was decoded", tt.doc)
		}
	}
}

// TestHostile: documents that are made to cost much, cost little.
func TestHostile(t *testing.T) {
	big := func(head, item, tail string) []byte {
		n := (specjson.MaxSize - len(head) - len(tail)) / len(item)
		return []byte(head + strings.Repeat(item, n) + tail)
	}
	for name, doc := range map[string][]byte{
		"too large":      make([]byte, specjson.MaxSize+1),
		"number":         big(`{"process":{"oomScoreAdj":`, "9", "}}"),
		"float":          big(`{"windows":{"credentialSpec":`, "9", "}}"),
		"mounts":         big(`{"mounts":[`, "{},", "{}]}"),
		"strings":        big(`{"process":{"args":[`, `"",`, `""]}}`),
		"keys":           big(`{`, `"a":0,`, `"b":0}`),
		"similar keys":   big(`{"mounts":[{`, `"Destinatio":0,`, `"b":0}]}`),
		"long key":       big(`{"`, "K", `":0}`),
		"string":         big(`{"hostname":"`, "\xff", `"}`),
		"escapes":        big(`{"hostname":"`, `\ud800`, `"}`),
		"unclosed":       big(`{"hostname":"`, `\\`, ``),
		"skipped":        big(`{"x":[`, `{"a":[]},`, `0]}`),
		"error at end":   big(`{"x":[`, `"a\n",`, `0],"hostname":1}`),
		"repeated lists": big(`{`, `"mounts":[{},{},{},{}],`, `"b":0}`),
	} {
		start := time.Now()
		_, _, _ = specjson.Decode(doc)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

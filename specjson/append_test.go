package specjson_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"berth/specjson"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// marshal is encoding/json without escaping of <, > and &.
func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// check appends random values of a type and compares with encoding/json.
func check[T any](t *testing.T, appendTo func([]byte, *T) []byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var v T
		random(rng, reflect.ValueOf(&v).Elem())
		if got, want := string(appendTo(nil, &v)), marshal(t, &v); got != want {
			t.Errorf("%T:\ngot  %s\nwant %s", v, got, want)
			return
		}
	}
}

func TestAppend(t *testing.T) {
	check(t, specjson.AppendProcess)
	check(t, specjson.AppendHooks)
	check(t, specjson.AppendState)
	check(t, specjson.AppendContainerProcessState)
	check(t, specjson.AppendLinuxResources)
	check(t, specjson.AppendScheduler)
	check(t, specjson.AppendLinuxIOPriority)
	check(t, specjson.AppendLinuxTimeOffset)
	check(t, specjson.AppendLinuxNetDevice)
	if got := string(specjson.AppendState([]byte("x"), &specs.State{})); got != "x"+marshal(t, specs.State{}) {
		t.Error(got)
	}
}

// random sets some of v.
func random(rng *rand.Rand, v reflect.Value) {
	if rng.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		random(rng, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			random(rng, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		for i := range v.Len() {
			random(rng, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rng.IntN(4) {
			e := reflect.New(v.Type().Elem()).Elem()
			random(rng, e)
			v.SetMapIndex(reflect.ValueOf(randomString(rng)).Convert(v.Type().Key()), e)
		}
	case reflect.String:
		v.SetString(randomString(rng))
	case reflect.Bool:
		v.SetBool(true)
	default:
		n := rng.Uint64() >> rng.IntN(64)
		if v.CanInt() {
			v.SetInt(int64(n) >> (64 - v.Type().Bits()))
		} else {
			v.SetUint(n >> (64 - v.Type().Bits()))
		}
	}
}

func randomString(rng *rand.Rand) string {
	parts := []string{"a", "<&>", "\"", "\\", "\n", "\x00", "\x1f", "\x7f", "\b\f\r\t", "\u00e4", "\u2028\u2029", "\xff", "\xed\xa0\x80", "\ufffd", "\U0001f600", "/"}
	s := ""
	for range rng.IntN(5) {
		s += parts[rng.IntN(len(parts))]
	}
	return s
}

// TestProcessAgain: a process object decodes alone too, from what was appended.
func TestProcessAgain(t *testing.T) {
	spec, _, err := specjson.Decode(corpus(t)["all fields"])
	if err != nil {
		t.Fatal(err)
	}
	p, err := specjson.DecodeProcess(specjson.AppendProcess(nil, spec.Process))
	if err != nil || !reflect.DeepEqual(p, spec.Process) {
		t.Errorf("%+v, %v", p, err)
	}
}

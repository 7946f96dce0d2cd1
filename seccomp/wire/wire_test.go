package wire

import (
	"reflect"
	"testing"
)

var samples = []Filter{
	{},
	{BPF: make([]byte, 16), Config: []byte(`{}`), Flags: 4},
	{
		BPF: make([]byte, MaxInsns*InsnSize), Config: []byte(`{"a":1}`), Flags: 1<<40 | 8, Notify: true,
		NotifySyscalls: []string{"mkdir", "mkdirat"}, ListenerPath: "/run/x", ListenerMetadata: "a\nb",
		Skipped: []string{"nosuch"},
	},
}

func TestRoundTrip(t *testing.T) {
	for _, want := range samples {
		got, err := Decode(want.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if want.BPF == nil {
			want.BPF, want.Config = []byte{}, []byte{}
		}
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v, want %+v", *got, want)
		}
	}
}

func TestDecodeRefusesEveryCut(t *testing.T) {
	whole := samples[2].Append(nil)
	for n := range whole {
		if _, err := Decode(whole[:n]); err == nil {
			t.Fatalf("accepted the first %d of %d bytes", n, len(whole))
		}
	}
	if _, err := Decode(append(whole, 0)); err == nil {
		t.Error("accepted a byte too many")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		f.Add(s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(got.Append(nil))
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("decoded %x, and again as %+v (%v)", b, again, err)
		}
	})
}

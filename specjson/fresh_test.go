package specjson_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth/specjson"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// TestMain doubles as the process that BenchmarkFreshProcess starts: it decodes one document
// once and prints how many nanoseconds that took.
func TestMain(m *testing.M) {
	with := os.Getenv("SPECJSON_FRESH")
	if with == "" {
		os.Exit(m.Run())
	}
	data, err := os.ReadFile("testdata/docker.json")
	if err != nil {
		panic(err)
	}
	start := time.Now()
	switch with {
	case "specjson":
		_, _, err = specjson.Decode(data)
	case "encoding/json":
		err = json.Unmarshal(data, new(specs.Spec))
	}
	took := time.Since(start)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strconv.FormatInt(took.Nanoseconds(), 10))
}

// BenchmarkFreshProcess reports the median of the first decode in a process, which is what a
// runtime pays: page faults and cold caches included.
func BenchmarkFreshProcess(b *testing.B) {
	for _, with := range []string{"specjson", "encoding/json"} {
		b.Run(with, func(b *testing.B) {
			var took []int
			for b.Loop() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "SPECJSON_FRESH="+with)
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				n, err := strconv.Atoi(strings.TrimSpace(string(out)))
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, n)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1000, "µs/decode")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	data, err := os.ReadFile("testdata/docker.json")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := specjson.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

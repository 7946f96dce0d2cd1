package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// sampleResults is small but has every section.
func sampleResults() *results {
	r := &results{
		Commit: "abc123", Date: "2026-01-02T03:04:05Z", Runs: 60, Settle: "0s",
		Machine: machine{CPU: "a processor", Cores: 2, Kernel: "Linux 6.1", Memory: "8 GiB", Load: "0.01", After: "0.9"},
	}
	for name, title := range map[string]string{berth: "berth"} {
		r.Contenders = append(r.Contenders, contenderResult{Name: name, Title: title, Version: "berth version 1", Digest: strings.Repeat("a", 64), Inside: "40 mounts"})
	}
	for _, c := range []contender{{name: crun, title: "crun (Debian)"}, {name: crunStatic, title: "crun (static build of Debian's source)"}, {name: runc, title: "runc (Debian)"}, {name: floor, title: "floor"}} {
		r.Contenders = append(r.Contenders, contenderResult{Name: c.name, Title: c.title, Digest: strings.Repeat("b", 64)})
	}
	run, cycle := newWorkloadResult(workloads[0]), newWorkloadResult(workload{name: "cycle-default", title: "a cycle"})
	for name, mid := range map[string]float64{berth: 4000, crun: 8000, crunStatic: 4500, runc: 20000, floor: 2000} {
		run.Samples[name] = noisy(60, mid, mid/100)
		if name != floor {
			cycle.Samples[name] = noisy(60, mid, mid/100)
			cycle.Parts[name] = []micros{{1000, 200, 30, 4}, {3000, 400, 50, 6}}
		}
	}
	run.Late[runc] = 3
	r.Workloads = []workloadResult{run, cycle}
	r.Memory = []memoryResult{{Name: berth, MaxRSS: micros{5000}, PeakAll: micros{6000}, Created: &createdResult{RSS: 80, Processes: 1}}}
	r.Traces = []traceResult{{Workload: "run-default", Name: berth, Total: 4100, Syscalls: 300,
		Phases:  map[string]float64{phases[0]: 250, phases[4]: 990},
		Slowest: []slowCall{{"child", "pivot_root", 2000, 90}}}}
	return r
}

func TestReport(t *testing.T) {
	got := renderReport(sampleResults())
	for _, want := range []string{
		"Commit `abc123`, 2026-01-02T03:04:05Z, 60 rounds, on a processor, 2 cores",
		"![Medians as bars](performance.svg)",
		"2 of them missed",
		"| run, runc's default config | 0.50 (0.50–0.50) met | 0.89 (0.89–0.89) **missed** | 0.20 (0.20–0.20) met |",
		"| 4.00 (3.96, 4.03) | 8.00 (7.92, 8.06) |",
		"something was left when the command ended in 3 runs",
		"| a cycle | berth | 2.00 | 0.30 | 0.04 | 0.01 |",
		"| berth | 5000 | 6000 |",
		"| berth | 80 | 0 | 0 | 0 | 1.0 | 0.0 | 0.0 | 0.0, 0 bytes |",
		"| mounts, until pivot_root | 0.99 |",
		"| total, traced | 4.10 |",
		"| total, not traced | 4.00 |",
		"| `pivot_root` | child | 2.00 | 0.09 |",
		"| berth | berth version 1 | `aaaaaaaaaaaa` | 40 mounts |",
		"| load average before, after | 0.01, 0.9 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	for _, line := range strings.Split(got, "\n") {
		if strings.HasPrefix(line, "|") && !strings.HasSuffix(line, "|") {
			t.Errorf("a table's row does not end: %q", line)
		}
	}
}

func TestReportWithoutPeers(t *testing.T) {
	r := sampleResults()
	r.Workloads, r.Memory, r.Traces, r.NoTraces = nil, nil, nil, "no such device"
	got := renderReport(r)
	for _, want := range []string{"Not measured", "Not traced: no such device."} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func TestResultsFile(t *testing.T) {
	want := sampleResults()
	want.Workloads[0].Samples[berth] = micros{1, 2, 3}
	for _, s := range []string{crun, crunStatic, runc, floor} {
		want.Workloads[0].Samples[s] = micros{4, 5}
		if s != floor {
			want.Workloads[1].Samples[s] = micros{6}
		}
	}
	want.Workloads[1].Samples[berth] = micros{7}
	path := filepath.Join(t.TempDir(), "results.json")
	if err := want.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := renderReport(got), renderReport(want); a != b {
		t.Error("results that were written and read give another report")
	}
	if !reflect.DeepEqual(got.Workloads[0].Samples, want.Workloads[0].Samples) {
		t.Errorf("samples %v became %v", want.Workloads[0].Samples, got.Workloads[0].Samples)
	}
}

func TestChart(t *testing.T) {
	svg, err := drawChart(sampleResults())
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	for _, want := range []string{">berth<", ">4.0<", ">20.0<", ">runc (Debian)<", ">the kernel&#39;s floor: 2.0<", "#0B65A3"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	again, err := drawChart(sampleResults())
	if err != nil || !bytes.Equal(svg, again) {
		t.Errorf("the same results gave another chart (%v)", err)
	}
}

func TestPrintResults(t *testing.T) {
	var b bytes.Buffer
	if err := printResults(&b, sampleResults()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"run-default", "0.500", "create 2.00", "late 3", "mounts, until pivot_root"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
}

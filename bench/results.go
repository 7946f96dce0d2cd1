package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// results is all that one benchmark found. The report is made from it alone, and it is
// kept beside the report.
type results struct {
	Commit     string            `json:"commit"`
	Date       string            `json:"date"` // UTC, RFC 3339
	Machine    machine           `json:"machine"`
	Runs       int               `json:"runs"`
	Settle     string            `json:"settle"`
	Contenders []contenderResult `json:"contenders"`
	Workloads  []workloadResult  `json:"workloads"`
	Memory     []memoryResult    `json:"memory"`
	Traces     []traceResult     `json:"traces"`
	NoTraces   string            `json:"no_traces,omitempty"` // why there are none
}

type contenderResult struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
	Digest  string `json:"sha256"`
	Inside  string `json:"inside"` // what the container saw: see inside.go
}

// A workloadResult holds raw samples in microseconds, in the order of the rounds: index i
// of each contender's was taken in the same round.
type workloadResult struct {
	Name    string              `json:"name"`
	Title   string              `json:"title"`
	Samples map[string]micros   `json:"samples"`
	Parts   map[string][]micros `json:"parts,omitempty"` // of a cycle: create, start, exit, delete
	Late    map[string]int      `json:"late,omitempty"`  // runs after which something was left for a moment
}

// micros is a list of durations that is written on one line.
type micros []float64

func (m micros) MarshalJSON() ([]byte, error) {
	parts := make([]string, len(m))
	for i, v := range m {
		parts[i] = fmt.Sprintf("%.0f", v)
	}
	return []byte("[" + strings.Join(parts, ",") + "]"), nil
}

func toMicros(ds ...time.Duration) micros {
	out := make(micros, len(ds))
	for i, d := range ds {
		out[i] = float64(d.Microseconds())
	}
	return out
}

func (w *workloadResult) add(c contender, s sample) {
	w.Samples[c.name] = append(w.Samples[c.name], toMicros(s.total)...)
	if s.parts != nil {
		w.Parts[c.name] = append(w.Parts[c.name], toMicros(s.parts...))
	}
	if s.late {
		w.Late[c.name]++
	}
}

func newWorkloadResult(w workload) workloadResult {
	return workloadResult{
		Name: w.name, Title: w.title,
		Samples: map[string]micros{}, Parts: map[string][]micros{}, Late: map[string]int{},
	}
}

func (r *results) workload(name string) *workloadResult {
	for i := range r.Workloads {
		if r.Workloads[i].Name == name {
			return &r.Workloads[i]
		}
	}
	return nil
}

func readResults(path string) (*results, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(results)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *results) write(path string) error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

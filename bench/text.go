package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// printResults shows the results on a terminal: the same numbers as the report's.
func printResults(out io.Writer, r *results) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, c := range r.Contenders {
		if c.Inside != "" {
			fmt.Fprintf(out, "%s: the container sees %s\n", c.Name, c.Inside)
		}
	}
	for _, w := range r.Workloads {
		fmt.Fprintf(t, "\n%s\tmedian ms\tmin\tp90\tberth's ratio\t95%%\t\n", w.Name)
		for _, c := range r.Contenders {
			s := w.Samples[c.Name]
			if len(s) == 0 {
				continue
			}
			fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t", c.Name, median(s)/1000, quantile(s, 0)/1000, quantile(s, 0.9)/1000)
			if q := ratioOfMedians(w.Samples[berth], s); q.value > 0 && c.Name != berth {
				fmt.Fprintf(t, "%.3f\t%.3f-%.3f\t", q.value, q.low, q.high)
			} else {
				fmt.Fprintf(t, "\t\t")
			}
			fmt.Fprintf(t, "%s\t\n", partsOf(w, c.Name))
		}
	}
	printMemory(t, r)
	printTraces(t, r)
	return t.Flush()
}

// partsOf are the medians of a cycle's parts, and the late runs if there were any.
func partsOf(w workloadResult, name string) string {
	s := ""
	for i, m := range partMedians(w.Parts[name]) {
		s += fmt.Sprintf("%s %.2f  ", cycleParts[i], m/1000)
	}
	if n := w.Late[name]; n > 0 {
		s += fmt.Sprintf("late %d", n)
	}
	return s
}

func partMedians(samples []micros) []float64 {
	if len(samples) == 0 {
		return nil
	}
	out := make([]float64, len(samples[0]))
	for i := range out {
		var column []float64
		for _, s := range samples {
			column = append(column, s[i])
		}
		out[i] = median(column)
	}
	return out
}

func printMemory(t io.Writer, r *results) {
	if len(r.Memory) > 0 {
		fmt.Fprintf(t, "\nmemory, kB\tlargest process\tpeak of all\tcreated: RSS\tPSS\tprivate\tcgroup\tprocesses\tmounts\tcgroups\tfiles\tbytes\t\n")
	}
	for _, m := range r.Memory {
		fmt.Fprintf(t, "%s\t%.0f\t%.0f\t", m.Name, median(m.MaxRSS), median(m.PeakAll))
		if c := m.Created; c != nil {
			fmt.Fprintf(t, "%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t", c.RSS, c.PSS, c.Private, c.Usage, c.Processes, c.Mounts, c.Cgroups, c.Files, c.FileBytes)
		}
		fmt.Fprintln(t)
	}
}

func printTraces(t io.Writer, r *results) {
	if r.NoTraces != "" {
		fmt.Fprintf(t, "\nno breakdown: %s\n", r.NoTraces)
	}
	for _, x := range r.Traces {
		fmt.Fprintf(t, "\n%s, %s: where %.2f ms go\tms\t\n", x.Workload, x.Name, x.Total/1000)
		for _, p := range phases {
			fmt.Fprintf(t, "%s\t%.2f\t\n", p, x.Phases[p]/1000)
		}
		fmt.Fprintf(t, "%.0f system calls; the longest:\t\t\n", x.Syscalls)
		for _, s := range x.Slowest {
			fmt.Fprintf(t, "at %.2f  %s  %s\t%.2f\t\n", s.At/1000, s.Who, s.Name, s.Took/1000)
		}
	}
}

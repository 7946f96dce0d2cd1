package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A goal is the largest ratio of berth's median to a peer's that is wanted.
type goal struct {
	peer string
	most float64
}

var goals = []goal{{crun, 0.6}, {crunStatic, 0.8}, {runc, 0.25}}

// noGoal are workloads that are measured for information.
func noGoal(w workloadResult) bool { return w.Name == "run-idle" }

func paths(o options) (samples, report, chart string) {
	docs := filepath.Join(o.dir, "..", "docs")
	return filepath.Join(o.dir, "results", "results.json"), filepath.Join(docs, "performance.md"), filepath.Join(docs, "performance.svg")
}

// writeReport keeps the results and writes the report and its chart from them.
func writeReport(o options, r *results) error {
	samples, _, _ := paths(o)
	if err := os.MkdirAll(filepath.Dir(samples), 0o755); err != nil {
		return err
	}
	if err := r.write(samples); err != nil {
		return err
	}
	return renderAgain(o)
}

// renderAgain writes the report from the results that were kept.
func renderAgain(o options) error {
	samples, report, chart := paths(o)
	r, err := readResults(samples)
	if err != nil {
		return err
	}
	svg, err := drawChart(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(chart, svg, 0o644); err != nil {
		return err
	}
	return os.WriteFile(report, []byte(renderReport(r)), 0o644)
}

// renderReport is docs/performance.md.
func renderReport(r *results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Performance\n\n<!-- Written by `make bench`. Changes made by hand are lost. -->\n\n")
	fmt.Fprintf(&b, "Commit `%s`, %s, %d rounds, on %s, %d cores, %s, %s.\n\n", r.Commit, r.Date, r.Runs,
		r.Machine.CPU, r.Machine.Cores, r.Machine.Memory, r.Machine.Kernel)
	fmt.Fprintf(&b, "![Medians as bars](performance.svg)\n\n")
	for _, section := range []func(*strings.Builder, *results){
		goalSection, speedSection, cycleSection, memorySection, traceSection, methodSection,
	} {
		section(&b, r)
	}
	return b.String()
}

func goalSection(b *strings.Builder, r *results) {
	head := []string{"berth's median over"}
	for _, g := range goals {
		head = append(head, fmt.Sprintf("%s, goal ≤ %g", peerTitle(r, g.peer), g.most))
	}
	var rows [][]string
	missed := 0
	for _, w := range r.Workloads {
		row := []string{w.Title}
		for _, g := range goals {
			q := ratioOfMedians(w.Samples[berth], w.Samples[g.peer])
			cell, miss := goalCell(q, g, noGoal(w))
			row = append(row, cell)
			missed += miss
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(b, "## Goals\n\n")
	switch missed {
	case 0:
		fmt.Fprintf(b, "All are met.")
	default:
		fmt.Fprintf(b, "%d of them missed: [where the time goes](#where-the-time-goes) says why.", missed)
	}
	fmt.Fprintf(b, " In brackets the 95%% interval.\n\n")
	table(b, head, rows)
}

// goalCell is a ratio with its interval and whether it meets the goal; missed is 1 if not.
func goalCell(q ratio, g goal, info bool) (cell string, missed int) {
	if q.value == 0 {
		return "not measured", 0
	}
	cell = fmt.Sprintf("%.2f (%.2f–%.2f)", q.value, q.low, q.high)
	switch {
	case info:
		return cell, 0
	case q.value <= g.most:
		return cell + " met", 0
	default:
		return cell + " **missed**", 1
	}
}

func peerTitle(r *results, name string) string {
	return strings.TrimSuffix(strings.Replace(barTitle(r, name), "(static build of Debian's source)", "(static)", 1), ":")
}

func speedSection(b *strings.Builder, r *results) {
	fmt.Fprintf(b, "## Speed\n\nMilliseconds from the start of the (first) command until nothing of the container is\nleft: median (minimum, 90th percentile).\n\n")
	head := []string{""}
	for _, c := range r.Contenders {
		head = append(head, peerTitle(r, c.Name))
	}
	var rows [][]string
	for _, w := range r.Workloads {
		row := []string{w.Title}
		for _, c := range r.Contenders {
			s := w.Samples[c.Name]
			cell := ""
			if len(s) > 0 {
				cell = fmt.Sprintf("%.2f (%.2f, %.2f)", median(s)/1000, quantile(s, 0)/1000, quantile(s, 0.9)/1000)
			}
			if n := w.Late[c.Name]; n > 0 {
				cell += fmt.Sprintf("; something was left when the command ended in %d runs, gone within the time given", n)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
}

func cycleSection(b *strings.Builder, r *results) {
	var rows [][]string
	for _, w := range r.Workloads {
		for _, c := range r.Contenders {
			if m := partMedians(w.Parts[c.Name]); m != nil {
				row := []string{w.Title, peerTitle(r, c.Name)}
				for _, v := range m {
					row = append(row, fmt.Sprintf("%.2f", v/1000))
				}
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "The parts of create+start+delete, medians in ms. `exit` is from the end of `start` until the\nprogram was reaped.\n\n")
	table(b, append([]string{"", ""}, cycleParts...), rows)
}

// table writes a Markdown table. A column whose first cell begins with a digit is aligned
// to the right.
func table(b *strings.Builder, head []string, rows [][]string) {
	fmt.Fprintf(b, "| %s |\n|", strings.Join(head, " | "))
	for i := range head {
		if len(rows) > 0 && i > 0 && rows[0][i] != "" && strings.Contains("0123456789", rows[0][i][:1]) {
			fmt.Fprint(b, "--:|")
		} else {
			fmt.Fprint(b, "---|")
		}
	}
	fmt.Fprintln(b)
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	fmt.Fprintln(b)
}

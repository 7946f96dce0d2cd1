// Command runner is `make test`: it runs the groups of tests, counts what passed, failed and was
// skipped, and says it in one table. It fails on a failure, on a skip that tests/skips.txt does
// not permit, on a group in which no test ran or that took longer than its budget, and on
// anything that is left on the machine afterwards. It tests nothing itself but the last.
//
// usage: runner [-v] [GROUP...]
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	verbose := flag.Bool("v", false, "show the output of all tests, not only of failed ones")
	flag.Parse()
	ok, err := run(flag.Args(), *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(names []string, verbose bool) (bool, error) {
	chosen, err := choose(names)
	if err != nil {
		return false, err
	}
	skips, err := readSkips("tests/skips.txt")
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll("build/test", 0o755); err != nil {
		return false, err
	}
	// Every process of this run inherits it: what has it at the end was left behind.
	if err := os.Setenv(marker, fmt.Sprint(os.Getpid())); err != nil {
		return false, err
	}
	before := takeInventory()
	var results []*result
	for _, g := range chosen {
		r := g.run(verbose)
		r.judge(g, skips)
		results = append(results, r)
		fmt.Printf("%-9s %s\n", r.verdict(), r.name)
		for _, p := range r.problems {
			fmt.Printf("          %s\n", indent(p))
		}
	}
	left := leftovers(before)
	if len(left.problems) > 0 {
		fmt.Printf("%-9s %s\n          %s\n", left.verdict(), left.name, strings.Join(left.problems, "\n          "))
	}
	results = append(results, left)
	summary(os.Stdout, results, skips, len(names) == 0)
	return !slices.ContainsFunc(results, func(r *result) bool { return !r.ok() }), nil
}

func choose(names []string) ([]group, error) {
	if len(names) == 0 {
		return groups, nil
	}
	var chosen []group
	for _, n := range names {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == n })
		if i < 0 {
			return nil, fmt.Errorf("no group %q", n)
		}
		chosen = append(chosen, groups[i])
	}
	return chosen, nil
}

func indent(s string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n          ")
}

// result is what one group did.
type result struct {
	name           string
	passed, failed int
	skipped        []skip
	problems       []string
	took, budget   time.Duration
}

func (r *result) ok() bool { return len(r.problems) == 0 }

func (r *result) verdict() string {
	if r.ok() {
		return "ok"
	}
	return "FAIL"
}

// judge adds the problems that are not a test's own.
func (r *result) judge(g group, permitted *skipList) {
	r.budget = g.budget
	for _, s := range r.skipped {
		if !permitted.permits(s.test) {
			r.problems = append(r.problems, fmt.Sprintf("skip that tests/skips.txt does not permit: %s: %s", s.test, s.reason))
		}
	}
	if r.passed+r.failed == 0 {
		r.problems = append(r.problems, "no test ran")
	}
	if r.took > g.budget {
		r.problems = append(r.problems, fmt.Sprintf("took %s, its budget is %s", r.took.Round(time.Second), g.budget))
	}
}

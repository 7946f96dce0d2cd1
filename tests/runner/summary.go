package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"text/tabwriter"
	"time"
)

type skip struct{ test, reason string }

// skipList is tests/skips.txt: a test's name (path.Match) and the reason, one a line.
type skipList struct {
	entries []skip
	used    map[string]bool
}

func readSkips(name string) (*skipList, error) {
	l := &skipList{used: map[string]bool{}}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		test, why, ok := strings.Cut(line, " ")
		if _, err := path.Match(test, ""); err != nil || !ok {
			return nil, fmt.Errorf("%s:%d: want a test's name and the reason", name, i+1)
		}
		l.entries = append(l.entries, skip{test, strings.TrimSpace(why)})
	}
	return l, nil
}

func (l *skipList) permits(test string) bool {
	for _, e := range l.entries {
		if ok, _ := path.Match(e.test, test); ok {
			l.used[e.test] = true
			return true
		}
	}
	return false
}

// reason is the list's for a skip that it permits, else what the test said.
func (l *skipList) reason(s skip) string {
	for _, e := range l.entries {
		if ok, _ := path.Match(e.test, s.test); ok {
			return e.reason
		}
	}
	return s.reason
}

// summary prints the table. all: every group ran, so that a permitted skip that did not happen
// is worth saying.
func summary(out io.Writer, results []*result, skips *skipList, all bool) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "group\tpassed\tfailed\tskipped\ttime\tbudget\t  \t")
	var passed, failed, skipped int
	var took time.Duration
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t  %s\t\n", r.name, r.passed, r.failed, len(r.skipped),
			r.took.Round(time.Second/10), r.budget, r.verdict())
		passed, failed, skipped, took = passed+r.passed, failed+r.failed, skipped+len(r.skipped), took+r.took
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%d\t%s\t\t\t\n", passed, failed, skipped, took.Round(time.Second/10))
	w.Flush()
	for _, r := range results {
		for _, s := range r.skipped {
			fmt.Fprintf(out, "skipped in %s: %s: %s\n", r.name, s.test, skips.reason(s))
		}
	}
	for _, e := range skips.entries {
		if all && !skips.used[e.test] {
			fmt.Fprintf(out, "permitted skip that did not happen: %s\n", e.test)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// run runs the group. Its whole output goes to build/test/NAME.log.
func (g group) run(verbose bool) *result {
	r := &result{name: g.name}
	log, err := os.Create(filepath.Join("build/test", g.name+".log"))
	if err != nil {
		r.problems = append(r.problems, err.Error())
		return r
	}
	defer log.Close()
	var out io.Writer = log
	if verbose {
		out = io.MultiWriter(log, os.Stdout)
	}
	start := time.Now()
	if g.command != nil {
		r.command(g.command, out)
	}
	for _, t := range g.gotest {
		r.gotest(t, out)
	}
	r.took = time.Since(start)
	return r
}

// command runs checks that say "ok   NAME" or "FAIL NAME".
func (r *result) command(argv []string, log io.Writer) {
	var all bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout = io.MultiWriter(&all, log)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	lines := strings.Split(all.String(), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "ok   "):
			r.passed++
		case strings.HasPrefix(line, "FAIL "):
			r.failed++
			r.problems = append(r.problems, line+"\n"+details(lines[i+1:]))
		}
	}
	if err != nil && r.failed == 0 {
		r.failed++
		r.problems = append(r.problems, fmt.Sprintf("%s: %v\n%s", strings.Join(argv, " "), err, tail(all.String(), 40)))
	}
	if err == nil && r.passed+r.failed == 0 {
		r.passed++
	}
}

// details are the indented lines that follow a check.
func details(lines []string) string {
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], "     ") {
		n++
	}
	return strings.Join(lines[:n], "\n")
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

func (r *result) gotest(t gotest, log io.Writer) {
	args := []string{"test", "-json", "-count=1"}
	for _, a := range t.args {
		if a == "PACKAGES" {
			pkgs, err := packages(t.env)
			if err != nil {
				r.problems = append(r.problems, err.Error())
				return
			}
			args = append(args, pkgs...)
			continue
		}
		args = append(args, a)
	}
	cmd := exec.Command(goCommand(), args...)
	cmd.Dir, cmd.Env = t.dir, append(os.Environ(), t.env...)
	var stderr bytes.Buffer
	cmd.Stderr = io.MultiWriter(&stderr, log)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.problems = append(r.problems, err.Error())
		return
	}
	fmt.Fprintf(log, "# go %s\n", strings.Join(args, " "))
	problems := len(r.problems)
	r.events(stdout, log)
	if err := cmd.Wait(); err != nil && len(r.problems) == problems {
		r.problems = append(r.problems, fmt.Sprintf("go %s: %v\n%s", strings.Join(args, " "), err, tail(stderr.String(), 40)))
	}
}

// events reads the stream. Only tests that have no subtests count, so that a table of twenty
// rows is twenty tests and not twenty-one.
func (r *result) events(in io.Reader, log io.Writer) {
	output := map[string]*strings.Builder{}
	parents := map[string]bool{}
	text := func(key string) *strings.Builder {
		if output[key] == nil {
			output[key] = &strings.Builder{}
		}
		return output[key]
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(log, lines.Text())
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			parents[e.Package+" "+e.Test[:i]] = true
		}
		switch e.Action {
		case "output", "build-output":
			io.WriteString(log, e.Output)
			text(key).WriteString(e.Output)
		case "pass":
			if e.Test != "" && !parents[key] {
				r.passed++
			}
		case "skip":
			if e.Test != "" {
				r.skipped = append(r.skipped, skip{e.Test, reason(text(key).String())})
			}
		case "fail":
			r.fail(e, parents[key], text(key).String())
		case "build-fail":
			r.failed++
			r.problems = append(r.problems, "does not build: "+e.ImportPath+"\n"+tail(text(key).String(), 40))
		}
	}
	if err := lines.Err(); err != nil {
		r.problems = append(r.problems, "go test -json: "+err.Error())
	}
}

// fail adds a failed test. A package fails with its tests; one that failed without (a panic,
// TestMain) is a failure of its own.
func (r *result) fail(e event, parent bool, output string) {
	switch {
	case e.Test == "" && e.FailedBuild != "":
	case e.Test == "" && r.failed > 0:
	case parent && r.failed > 0:
	default:
		r.failed++
		r.problems = append(r.problems, "failed: "+strings.TrimSpace(e.Test+" ("+e.Package+")")+"\n"+tail(output, 60))
	}
}

// reason is what a test said when it skipped itself.
func reason(output string) string {
	for _, line := range strings.Split(output, "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			if _, msg, ok := strings.Cut(line, ".go:"); ok {
				if _, msg, ok = strings.Cut(msg, ": "); ok {
					return msg
				}
			}
			return line
		}
	}
	return "no reason given"
}

// packages are those with tests beside the code: the suites in tests/ have groups of their own.
func packages(env []string) ([]string, error) {
	cmd := exec.Command(goCommand(), "list", "-tags", tags, "./...")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []string
	for _, p := range strings.Fields(string(out)) {
		if p != "berth/tests" && !strings.HasPrefix(p, "berth/helper") {
			pkgs = append(pkgs, p)
		}
	}
	return pkgs, nil
}

func goCommand() string {
	if g := os.Getenv("GO"); g != "" {
		return g
	}
	return "go"
}

package main

import "time"

// group is one line of the summary. It is either a list of `go test` runs or one command.
type group struct {
	name   string
	budget time.Duration // generous: twice to four times what it takes on two cores
	gotest []gotest
	// command prints a line "ok   NAME" or "FAIL NAME" for each of its checks; without such
	// lines it counts as one check.
	command []string
}

// gotest is one run of `go test`.
type gotest struct {
	dir  string // "": the repository's root
	env  []string
	args []string
}

const tags = "urfave_cli_no_docs"

var (
	pure = []string{"CGO_ENABLED=0"}
	cgo  = []string{"CGO_ENABLED=1"}
)

var groups = []group{
	{name: "lint", budget: 4 * time.Minute, command: []string{"scripts/lint"}},
	{name: "unit", budget: 3 * time.Minute, gotest: []gotest{
		{env: pure, args: []string{"-tags", tags, "PACKAGES"}},
	}},
	{name: "cgo", budget: 4 * time.Minute, gotest: []gotest{
		{env: cgo, args: []string{"-tags", tags + " seccomp", "./helper/...", "./runcstate/...", "./seccomp/..."}},
		{env: cgo, args: []string{"-tags", tags, "-run", "Runc", "."}},
	}},
	{name: "race", budget: 6 * time.Minute, gotest: []gotest{
		// What has more than one goroutine. The rest is pure, and its tests of speed would fail.
		{env: cgo, args: []string{"-race", "-tags", tags, ".", "./cgroup/...", "./container/...", "./nsenter/...", "./seccomp/...", "./tty/..."}},
	}},
	{name: "blackbox", budget: 6 * time.Minute, gotest: []gotest{
		{env: pure, args: []string{"-timeout", "6m", "./tests"}},
	}},
	{name: "bench", budget: 2 * time.Minute, gotest: []gotest{
		{dir: "bench", env: pure, args: []string{"./..."}},
	}},
	{name: "fuzz", budget: 3 * time.Minute, command: []string{"scripts/fuzz", "2s"}},
	{name: "demo", budget: time.Minute, command: []string{"scripts/demo", "./berth"}},
	{name: "install", budget: 2 * time.Minute, command: []string{"scripts/test-install"}},
	{name: "cross", budget: 3 * time.Minute, command: []string{"scripts/test-cross"}},
}

//go:build cgo && seccomp

// Command helper is berth's second program: all that needs cgo or heavy packages. Stage0 embeds
// it and executes it from a sealed memfd, only when one of its verbs is needed; users never see
// it. It takes its input on standard input, writes its result to standard output and one line
// of error to standard error. It never touches containers, cgroups or namespaces itself.
//
// It is built by build.mk with the tag "seccomp"; without that tag, or without cgo, the package
// has no files, so `go build ./...` passes it by.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// exitProfile is the exit status for "the input is at fault" (EX_DATAERR of sysexits.h);
// package seccomp knows it too.
const exitProfile = 65

// verb is one thing that the helper can do; args are those after the verb's name.
type verb func(args []string, in io.Reader, out io.Writer) error

var verbs = map[string]verb{
	"seccomp":  compileVerb,
	"features": featuresVerb,
	"version":  versionVerb,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		var bad *profileError
		if errors.As(err, &bad) {
			os.Exit(exitProfile)
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("helper: no verb")
	}
	do, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("helper: unknown verb %q", args[0])
	}
	return do(args[1:], os.Stdin, os.Stdout)
}

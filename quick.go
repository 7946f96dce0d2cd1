package main

import (
	"flag"
	"strings"

	"github.com/urfave/cli/v2"
)

// quickFlag is a flag without what only help needs. cli finds a flag's names by a regular
// expression, for each flag and each look at one: more than 0.1 ms a start, which is 3 % of a
// container's.
type quickFlag struct {
	cli.Flag
	names []string
	apply func(set *flag.FlagSet, name string)
}

func (q *quickFlag) Names() []string { return q.names }

func (q *quickFlag) Apply(set *flag.FlagSet) error {
	for _, name := range q.names {
		q.apply(set, name)
	}
	return nil
}

// quickFlags replaces the flags that quickFlag can stand for.
func quickFlags(flags []cli.Flag) []cli.Flag {
	quick := make([]cli.Flag, len(flags))
	for i, f := range flags {
		quick[i] = f
		if apply := quickApply(f); apply != nil {
			quick[i] = &quickFlag{f, flagNames(f), apply}
		}
	}
	return quick
}

// quickApply returns what defines the flag in a set, or nil if quickFlag can't stand for it.
func quickApply(f cli.Flag) func(set *flag.FlagSet, name string) {
	switch f := f.(type) {
	case *cli.StringFlag:
		if f.Action == nil && !f.Required && f.EnvVars == nil {
			return func(set *flag.FlagSet, name string) { set.String(name, f.Value, "") }
		}
	case *cli.BoolFlag:
		if f.Action == nil && !f.Required && f.EnvVars == nil && f.Count == nil {
			return func(set *flag.FlagSet, name string) { set.Bool(name, f.Value, "") }
		}
	case *cli.IntFlag:
		if f.Action == nil && !f.Required && f.EnvVars == nil {
			return func(set *flag.FlagSet, name string) { set.Int(name, f.Value, "") }
		}
	}
	return nil
}

// flagNames is cli's Names without the regular expression.
func flagNames(f cli.Flag) []string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return append([]string{f.Name}, f.Aliases...)
	case *cli.BoolFlag:
		return append([]string{f.Name}, f.Aliases...)
	case *cli.IntFlag:
		return append([]string{f.Name}, f.Aliases...)
	}
	return f.Names()
}

// asksForText says whether the arguments may ask for help or the version.
func asksForText(args []string) bool {
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "h", "help", "v", "version":
			return true
		}
	}
	return false
}

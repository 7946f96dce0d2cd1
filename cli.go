package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// globals is what the flags before the verb say. It is filled before a verb's action runs.
type globals struct {
	Root          string // absolute directory of all containers' state
	managerFlag   string // how the manager was asked for
	CgroupManager string // managerFS, managerSystemd or managerDisabled
	Rootless      *bool  // nil: decided by the runtime
	Compat        bool   // called as runc: what berth does otherwise is done as runc does it
	Log           logger
}

// Values of --cgroup-manager, crun's words.
const (
	managerFS       = "cgroupfs"
	managerSystemd  = "systemd"
	managerDisabled = "disabled"
)

// verb is one row of the command table. A command line uses one, so only that one is built.
type verb struct {
	name  string
	build func() *cli.Command
}

func verbs() []verb {
	return []verb{
		{"create", createCommand},
		{"start", startCommand},
		{"run", runCommand},
		{"kill", killCommand},
		{"delete", deleteCommand},
		{"state", stateCommand},
		{"list", listCommand},
		{"plan", planCommand},
		{"spec", specCommand},
		{"features", featuresCommand},
	}
}

func newGlobals(argv0 string) *globals {
	return &globals{
		Root:          defaultRoot(),
		CgroupManager: managerFS,
		Compat:        filepath.Base(argv0) == "runc" || os.Getenv("BERTH_COMPAT") == "runc",
		Log:           newLogger(),
	}
}

// defaultRoot is, as with runc, below the user's own runtime directory when not root.
func defaultRoot() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" && os.Geteuid() != 0 {
		return dir + "/berth"
	}
	return "/run/berth"
}

// globalsOf returns what newApp was given.
func globalsOf(c *cli.Context) *globals {
	return c.App.Metadata["globals"].(*globals)
}

func globalFlags(root string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "root", Value: root, Usage: "keep the state of all containers in `DIR` (which should be on a tmpfs)"},
		&cli.StringFlag{Name: "log", Usage: "write errors also to `FILE` (or file:FILE, journald:NAME, syslog:NAME)"},
		&cli.StringFlag{Name: "log-format", Value: "text", Usage: "write the log as `FORMAT`: text or json"},
		&cli.StringFlag{Name: "log-level", Value: "error", Usage: "log what is at least as important as `LEVEL`: error, warning, info or debug"},
		&cli.BoolFlag{Name: "debug", Usage: "the same as --log-level debug"},
		&cli.BoolFlag{Name: "systemd-cgroup", Usage: "the same as --cgroup-manager systemd"},
		&cli.StringFlag{Name: "cgroup-manager", Value: managerFS, Usage: "make cgroups by `MANAGER`: cgroupfs, systemd or disabled (none at all)"},
		&cli.StringFlag{Name: "rootless", Value: "auto", Usage: "tolerate cgroups that can't be written: `VALUE` is true, false or auto"},
	}
}

// newApp returns the application and the arguments to run it with: flags may also follow a
// verb's arguments, as with runc ("delete ID --force").
func newApp(g *globals, args []string) (*cli.App, []string) {
	app := &cli.App{
		Name:            "berth",
		Usage:           "run containers from OCI bundles",
		UsageText:       "berth [global options] command [options] [arguments]",
		Version:         version,
		HideHelpCommand: true,
		Flags:           globalFlags(g.Root),
		Metadata:        map[string]any{"globals": g},
		Before:          g.fill,
		Action:          noVerb,
		OnUsageError:    wrongUsage,
		ExitErrHandler:  func(*cli.Context, error) {}, // report shows errors
		Compiled:        time.Unix(1, 0),              // else cli asks the file system
	}
	if at := verbIndex(app.Flags, args); at < len(args) {
		for _, v := range verbs() {
			if v.name == args[at] && !asksForText(args[1:]) {
				return app, only(app, v, args, at)
			}
		}
	}
	for _, v := range verbs() {
		app.Commands = append(app.Commands, command(v))
	}
	cli.VersionPrinter = printVersion
	return app, args
}

// only makes an application of one verb, and puts the verb's flags before its arguments.
func only(app *cli.App, v verb, args []string, at int) []string {
	c := command(v)
	args = append(args[:at+1:at+1], flagsFirst(c.Flags, args[at+1:])...)
	cli.HelpFlag = nil // cli would look its names up, see quickFlag
	app.HideHelp, app.HideVersion, c.HideHelp = true, true, true
	app.Flags, c.Flags = quickFlags(app.Flags), quickFlags(c.Flags)
	app.Commands = []*cli.Command{c}
	return args
}

// command builds a verb. Without HideHelpCommand "help" and "h" could not be container ids.
func command(v verb) *cli.Command {
	c := v.build()
	c.HideHelpCommand = true
	c.OnUsageError = wrongUsage
	return c
}

// verbIndex is the index in args of the verb, or len(args).
func verbIndex(flags []cli.Flag, args []string) int {
	for i := 1; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || args[i] == "-" {
			return i
		}
		if takesValue(lookup(flags, args[i]), args[i]) {
			i++
		}
	}
	return len(args)
}

// flagsFirst moves the flags among a verb's arguments before the others. What follows "--"
// stays where it is, and so does anything that is no flag of the verb.
func flagsFirst(flags []cli.Flag, args []string) []string {
	var first, rest []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		f := lookup(flags, args[i])
		if f == nil {
			rest = append(rest, args[i])
			continue
		}
		first = append(first, args[i])
		if takesValue(f, args[i]) && i+1 < len(args) {
			i++
			first = append(first, args[i])
		}
	}
	return append(first, rest...)
}

// lookup finds the flag that an argument sets; nil: the argument sets none.
func lookup(flags []cli.Flag, arg string) cli.Flag {
	if len(arg) < 2 || arg[0] != '-' {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	for _, f := range flags {
		if slices.Contains(flagNames(f), name) {
			return f
		}
	}
	return nil
}

// takesValue says whether the argument after arg, which sets f, is the flag's value.
func takesValue(f cli.Flag, arg string) bool {
	_, isBool := f.(*cli.BoolFlag)
	return f != nil && !isBool && !strings.Contains(arg, "=")
}

// fill reads the global flags.
func (g *globals) fill(c *cli.Context) error {
	if err := g.Log.open(c); err != nil {
		return err
	}
	g.Log.debugf("berth %s, pid %d: %q", version, os.Getpid(), os.Args)
	if err := g.fillRoot(c); err != nil {
		return err
	}
	if err := g.fillRootless(c.String("rootless")); err != nil {
		return err
	}
	switch m := c.String("cgroup-manager"); {
	case m != managerFS && m != managerSystemd && m != managerDisabled:
		return usageError{fmt.Sprintf("--cgroup-manager: unknown manager %q: want cgroupfs, systemd or disabled", m), ""}
	case c.Bool("systemd-cgroup"):
		g.CgroupManager, g.managerFlag = managerSystemd, "--systemd-cgroup"
	default:
		g.CgroupManager, g.managerFlag = m, "--cgroup-manager "+m
	}
	return nil
}

func (g *globals) fillRoot(c *cli.Context) error {
	if !c.IsSet("root") {
		return nil
	}
	root, err := filepath.Abs(c.String("root"))
	if err != nil {
		return fmt.Errorf("--root: %w", err)
	}
	if root == "/" {
		return usageError{"--root can't be /", ""}
	}
	g.Root = root
	return nil
}

func (g *globals) fillRootless(s string) error {
	if s == "" || strings.EqualFold(s, "auto") {
		return nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return usageError{fmt.Sprintf("--rootless: unknown value %q: want true, false or auto", s), ""}
	}
	g.Rootless = &b
	return nil
}

// makesContainers is asked by the verbs that make a container: some managers put the same
// flags on every call, and on the others these have no meaning.
func (g *globals) makesContainers() error {
	if g.CgroupManager == managerSystemd {
		return unsupported(g.managerFlag)
	}
	if g.Rootless != nil && *g.Rootless {
		return unsupported("--rootless=true")
	}
	if os.Geteuid() != 0 {
		return unsupported("rootless containers (berth needs root)")
	}
	return nil
}

// unsupported is a flag that a later version will know.
type unsupported string

func (u unsupported) Error() string { return "not supported yet: " + string(u) }

// usageError is a wrong command line. verb says whose help has the answer; "" is berth's own.
type usageError struct{ msg, verb string }

func (e usageError) Error() string { return e.msg }

// usageArgs checks the number of a verb's arguments. The first is the container's id.
func usageArgs(c *cli.Context, min, max int) error {
	name := c.Command.Name
	switch n := c.NArg(); {
	case n == 0 && min > 0:
		return usageError{name + ": a container id is required", name}
	case n < min:
		return usageError{fmt.Sprintf("%s: %d arguments are required, got %d", name, min, n), name}
	case n > max:
		return usageError{fmt.Sprintf("%s: unexpected argument %q", name, c.Args().Get(max)), name}
	}
	return nil
}

func wrongUsage(c *cli.Context, err error, isVerb bool) error {
	if isVerb {
		return usageError{c.Command.Name + ": " + err.Error(), c.Command.Name}
	}
	return usageError{err.Error(), ""}
}

// noVerb runs when no verb was found: without arguments that is a request for help.
func noVerb(c *cli.Context) error {
	if c.NArg() == 0 || c.Args().First() == "help" {
		return help(c)
	}
	if slices.Contains(laterVerbs, c.Args().First()) {
		return unsupported(c.Args().First())
	}
	return usageError{fmt.Sprintf("unknown command %q", c.Args().First()), ""}
}

// laterVerbs are runc's commands that berth does not have yet.
var laterVerbs = []string{"checkpoint", "events", "exec", "pause", "ps", "restore", "resume", "update"}

func help(c *cli.Context) error {
	if verb := c.Args().Get(1); verb != "" {
		if err := cli.ShowCommandHelp(c, verb); err != nil {
			return usageError{fmt.Sprintf("unknown command %q", verb), ""}
		}
		return nil
	}
	return cli.ShowAppHelp(c)
}

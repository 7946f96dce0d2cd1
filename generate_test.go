package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// Man pages and completions are written from the command table, by `make generate`, and
// committed. This test holds them to the table.

var update = flag.Bool("update", false, "write the generated files instead of comparing them")

// The table as the generators need it.
type docVerb struct {
	name, usage, synopsis, description string
	flags                              []docFlag
}

type docFlag struct {
	long, short string
	value       string // what stands for the value in help; "": the flag takes none
	usage       string
	byDefault   string
}

// spelled is the flag as one types it.
func (f docFlag) spelled() []string {
	if f.short != "" {
		return []string{"--" + f.long, "-" + f.short}
	}
	return []string{"--" + f.long}
}

func table() (globals []docFlag, list []docVerb) {
	for _, v := range verbs() {
		c := v.build()
		list = append(list, docVerb{c.Name, c.Usage, synopsis(c), c.Description, docFlags(c.Flags)})
	}
	globals = docFlags(globalFlags("/run/berth"))
	globals = append(globals, docFlag{long: "version", short: "v", usage: "print name, version, commit, and the versions of the specification, Go and libseccomp"})
	return globals, list
}

func synopsis(c *cli.Command) string {
	if c.UsageText != "" {
		return c.UsageText
	}
	return strings.TrimSpace("berth " + c.Name + " [options] " + c.ArgsUsage)
}

func docFlags(flags []cli.Flag) (list []docFlag) {
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		d := f.(cli.DocGenerationFlag)
		doc := docFlag{usage: d.GetUsage()}
		for _, n := range f.Names() {
			if len(n) == 1 {
				doc.short = n
			} else {
				doc.long = n
			}
		}
		if d.TakesValue() {
			doc.value = "VALUE"
			if _, after, ok := strings.Cut(doc.usage, "`"); ok {
				doc.value, _, _ = strings.Cut(after, "`")
			}
			if s := d.GetValue(); s != "" && s != "0" {
				doc.byDefault = s
			}
		}
		doc.usage = strings.ReplaceAll(doc.usage, "`", "")
		list = append(list, doc)
	}
	return append(list, docFlag{long: "help", short: "h", usage: "show help"})
}

func TestGenerated(t *testing.T) {
	globals, list := table()
	files := map[string][]byte{
		"contrib/completions/berth.bash": bashCompletion(globals, list),
		"contrib/completions/_berth":     zshCompletion(globals, list),
		"contrib/completions/berth.fish": fishCompletion(globals, list),
		"man/berth.8":                    mainPage(t, globals, list),
	}
	for _, v := range list {
		files["man/berth-"+v.name+".8"] = verbPage(t, v, list)
	}
	for name, want := range files {
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the command table says (%v): run make generate", name, err)
		}
	}
	pages, err := filepath.Glob("man/*.8")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if files[p] == nil {
			t.Errorf("%s: no such verb", p)
		}
	}
}

// Every verb and every flag has a line of help.
func TestTableIsDocumented(t *testing.T) {
	globals, list := table()
	check := func(verb string, flags []docFlag) {
		for _, f := range flags {
			if f.usage == "" {
				t.Errorf("%s: flag --%s has no help", verb, f.long)
			}
		}
	}
	check("berth", globals)
	for _, v := range list {
		check(v.name, v.flags)
		if v.usage == "" || v.description == "" {
			t.Errorf("%s: no help", v.name)
		}
	}
}

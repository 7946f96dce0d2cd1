package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// manDate is the date in the pages' footers: when their text was last revised.
const manDate = "2026-11-21"

// mainPage is berth(8): the table, and what man/src/berth.roff adds.
func mainPage(t *testing.T, globals []docFlag, list []docVerb) []byte {
	var b strings.Builder
	pageHead(&b, "BERTH", "berth", "run containers from OCI bundles")
	b.WriteString(".SH SYNOPSIS\n.B berth\n.RI [ \"global options\" ]\n.I command\n.RI [ options ]\n.RI [ arguments ]\n")
	b.WriteString(".SH DESCRIPTION\n")
	b.WriteString(extra(t, "berth-description"))
	b.WriteString(".SH COMMANDS\nEach has a page of its own.\n")
	for _, v := range list {
		fmt.Fprintf(&b, ".TP\n.BR berth-%s (8)\n%s\n", v.name, roff(sentence(v.usage)))
	}
	b.WriteString(".SH GLOBAL OPTIONS\nThey come before the command.\n")
	options(&b, globals)
	b.WriteString(extra(t, "berth"))
	seeAlso(&b, "berth", list)
	return []byte(b.String())
}

// verbPage is berth-VERB(8); man/src/VERB.roff, if it exists, adds sections.
func verbPage(t *testing.T, v docVerb, list []docVerb) []byte {
	var b strings.Builder
	name := "berth-" + v.name
	pageHead(&b, strings.ToUpper(name), name, v.usage)
	words := strings.Fields(v.synopsis)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(strings.Join(words[:min(2, len(words))], " ")))
	if len(words) > 2 {
		fmt.Fprintf(&b, "%s\n", roff(strings.Join(words[2:], " ")))
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, v.description)
	if len(v.flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		options(&b, v.flags)
	}
	b.WriteString(extra(t, v.name))
	seeAlso(&b, name, list)
	return []byte(b.String())
}

func pageHead(b *strings.Builder, title, name, usage string) {
	b.WriteString(".\\\" Generated from the command table and man/src: run make generate.\n")
	fmt.Fprintf(b, ".TH %s 8 %s berth \"berth manual\"\n", title, manDate)
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", roff(name), roff(usage))
}

func options(b *strings.Builder, flags []docFlag) {
	for _, f := range flags {
		var names []string
		for _, s := range f.spelled() {
			n := "\\fB" + roff(s) + "\\fR"
			if f.value != "" {
				n += " \\fI" + roff(f.value) + "\\fR"
			}
			names = append(names, n)
		}
		text := sentence(f.usage)
		if f.byDefault != "" {
			text += " The default is " + f.byDefault + "."
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", strings.Join(names, ", "), roff(text))
	}
}

// paragraphs sets text: an empty line parts paragraphs, four spaces before a line make an
// example.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		example := strings.HasPrefix(p, "    ")
		if i > 0 && !example {
			b.WriteString(".PP\n")
		}
		if example {
			b.WriteString(".PP\n.RS 4\n.nf\n")
		}
		for _, line := range strings.Split(p, "\n") {
			b.WriteString(roff(strings.TrimPrefix(line, "    ")) + "\n")
		}
		if example {
			b.WriteString(".fi\n.RE\n")
		}
	}
}

func extra(t *testing.T, name string) string {
	data, err := os.ReadFile("man/src/" + name + ".roff")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

func seeAlso(b *strings.Builder, name string, list []docVerb) {
	var pages []string
	if name != "berth" {
		pages = append(pages, ".BR berth (8)")
	} else {
		for _, v := range list {
			pages = append(pages, ".BR berth-"+v.name+" (8)")
		}
		pages = append(pages, ".BR runc (8)", ".BR crun (1)")
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
}

// sentence makes a flag's or verb's line of help one.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// roff escapes text. A dot or an apostrophe at a line's begin would be a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`, `'`, `\(aq`, "`", `\(ga`, `~`, `\(ti`, `^`, `\(ha`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

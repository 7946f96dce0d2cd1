package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// onContainers are the verbs whose first argument is a container that exists.
var onContainers = []string{"start", "kill", "delete", "state"}

var signalNames = "HUP INT QUIT KILL USR1 USR2 TERM CONT STOP WINCH"

// The values that a flag takes, where they are few.
var flagValues = map[string]string{
	"log-format":     "text json",
	"log-level":      "error warning info debug",
	"cgroup-manager": "cgroupfs systemd disabled",
	"rootless":       "true false auto",
	"format":         "table json",
}

// kindOf says how a shell completes a flag's value: dirs, files, words or "".
func kindOf(f docFlag) string {
	switch {
	case f.value == "":
		return ""
	case flagValues[f.long] != "":
		return "words"
	case f.value == "DIR":
		return "dirs"
	case strings.Contains("FILE SOCKET PATH", f.value):
		return "files"
	}
	return "any"
}

func allFlags(flags []docFlag) string {
	var words []string
	for _, f := range flags {
		words = append(words, f.spelled()...)
	}
	return strings.Join(words, " ")
}

func verbNames(list []docVerb) string {
	var names []string
	for _, v := range list {
		names = append(names, v.name)
	}
	return strings.Join(names, " ")
}

const generatedMark = "Generated from berth's command table: run make generate."

func bashCompletion(globals []docFlag, list []docVerb) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for berth. %s\n\n", generatedMark)
	b.WriteString("_berth()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n")
	b.WriteString("\tlocal verb= root= args=0 i flags words=\n\tCOMPREPLY=()\n")
	b.WriteString("\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in\n")
	fmt.Fprintf(&b, "\t\t%s)\n\t\t\t[[ ${COMP_WORDS[i]} == --root ]] && root=${COMP_WORDS[i+1]}\n\t\t\t((i++))\n\t\t\t;;\n", valueFlags(globals, list, "|"))
	b.WriteString("\t\t-*) ;;\n\t\t*) if [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; else ((args++)); fi ;;\n\t\tesac\n\tdone\n")
	bashValues(&b, globals, list)
	b.WriteString("\tcase $verb in\n")
	fmt.Fprintf(&b, "\t'')\n\t\tflags='%s'\n\t\twords='%s'\n\t\t;;\n", allFlags(globals), verbNames(list))
	for _, v := range list {
		fmt.Fprintf(&b, "\t%s)\n\t\tflags='%s'\n", v.name, allFlags(v.flags))
		if slices.Contains(onContainers, v.name) {
			b.WriteString("\t\t((args == 0)) && words=$(berth ${root:+--root \"$root\"} list --quiet 2>/dev/null)\n")
		}
		if v.name == "kill" {
			fmt.Fprintf(&b, "\t\t((args == 1)) && words='%s'\n", signalNames)
		}
		b.WriteString("\t\t;;\n")
	}
	b.WriteString("\t*) return ;;\n\tesac\n\t[[ $cur == -* ]] && words=$flags\n")
	b.WriteString("\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _berth berth\n")
	return []byte(b.String())
}

// valueFlags are the flags that take a value: the word after one is no verb.
func valueFlags(globals []docFlag, list []docVerb, sep string) string {
	var names []string
	for _, f := range everyFlag(globals, list) {
		if f.value != "" {
			names = append(names, f.spelled()...)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), sep)
}

func everyFlag(globals []docFlag, list []docVerb) []docFlag {
	all := slices.Clone(globals)
	for _, v := range list {
		all = append(all, v.flags...)
	}
	return all
}

func bashValues(b *strings.Builder, globals []docFlag, list []docVerb) {
	byKind := map[string][]string{}
	cases := map[string]string{}
	for _, f := range everyFlag(globals, list) {
		switch k := kindOf(f); k {
		case "words":
			cases["--"+f.long] = flagValues[f.long]
		case "dirs", "files", "any":
			byKind[k] = append(byKind[k], f.spelled()...)
		}
	}
	b.WriteString("\tcase $prev in\n")
	for _, k := range []struct{ kind, reply string }{
		{"dirs", `COMPREPLY=($(compgen -d -- "$cur")); return`},
		{"files", `COMPREPLY=($(compgen -f -- "$cur")); return`},
		{"any", `return`},
	} {
		if names := byKind[k.kind]; len(names) > 0 {
			slices.Sort(names)
			fmt.Fprintf(b, "\t%s) %s ;;\n", strings.Join(slices.Compact(names), "|"), k.reply)
		}
	}
	var names []string
	for n := range cases {
		if n == "--rootless" { // "spec --rootless" takes none
			continue
		}
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		fmt.Fprintf(b, "\t%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", n, cases[n])
	}
	b.WriteString("\tesac\n")
}

func zshCompletion(globals []docFlag, list []docVerb) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef berth\n# zsh completion for berth. %s\n\n", generatedMark)
	b.WriteString("_berth_containers() {\n\tlocal -a ids\n\tids=(${(f)\"$(berth ${opt_args[--root]:+--root} ${opt_args[--root]} list --quiet 2>/dev/null)\"})\n\t_describe container ids\n}\n\n")
	b.WriteString("_berth_commands() {\n\tlocal -a verbs\n\tverbs=(\n")
	for _, v := range list {
		fmt.Fprintf(&b, "\t\t%s\n", zshQuote(v.name+":"+v.usage))
	}
	b.WriteString("\t)\n\t_describe command verbs\n}\n\n_berth() {\n\tlocal context state state_descr line\n\ttypeset -A opt_args\n")
	b.WriteString("\t_arguments -C \\\n")
	zshFlags(&b, globals, "\t\t")
	b.WriteString("\t\t'1:command:_berth_commands' \\\n\t\t'*::argument:->verb'\n\t[[ $state == verb ]] || return\n\tcase ${line[1]} in\n")
	for _, v := range list {
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments \\\n", v.name)
		zshFlags(&b, v.flags, "\t\t\t")
		switch {
		case v.name == "kill":
			fmt.Fprintf(&b, "\t\t\t'1:container:_berth_containers' \\\n\t\t\t'2:signal:(%s)'\n", signalNames)
		case slices.Contains(onContainers, v.name):
			b.WriteString("\t\t\t'1:container:_berth_containers'\n")
		default:
			b.WriteString("\t\t\t'*:id:'\n")
		}
		b.WriteString("\t\t;;\n")
	}
	b.WriteString("\tesac\n}\n\n_berth \"$@\"\n")
	return []byte(b.String())
}

func zshFlags(b *strings.Builder, flags []docFlag, indent string) {
	for _, f := range flags {
		for _, name := range f.spelled() {
			spec := name + "[" + strings.NewReplacer("[", `\[`, "]", `\]`).Replace(f.usage) + "]"
			switch kindOf(f) {
			case "dirs":
				spec += ":directory:_directories"
			case "files":
				spec += ":file:_files"
			case "words":
				spec += ":value:(" + flagValues[f.long] + ")"
			case "any":
				spec += ":" + strings.ToLower(f.value) + ":"
			}
			fmt.Fprintf(b, "%s%s \\\n", indent, zshQuote(spec))
		}
	}
}

func zshQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishCompletion(globals []docFlag, list []docVerb) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for berth. %s\n\n", generatedMark)
	fmt.Fprintf(&b, "set -l verbs %s\n\ncomplete -c berth -f\n", verbNames(list))
	for _, f := range globals {
		fishFlag(&b, "not __fish_seen_subcommand_from $verbs", f)
	}
	for _, v := range list {
		fmt.Fprintf(&b, "\ncomplete -c berth -n \"not __fish_seen_subcommand_from $verbs\" -a %s -d %s\n", v.name, fishQuote(v.usage))
		in := "__fish_seen_subcommand_from " + v.name
		if slices.Contains(onContainers, v.name) {
			fmt.Fprintf(&b, "complete -c berth -n \"%s\" -a '(berth list --quiet 2>/dev/null)' -d container\n", in)
		}
		if v.name == "kill" {
			fmt.Fprintf(&b, "complete -c berth -n \"%s\" -a '%s' -d signal\n", in, signalNames)
		}
		for _, f := range v.flags {
			fishFlag(&b, in, f)
		}
	}
	return []byte(b.String())
}

func fishFlag(b *strings.Builder, condition string, f docFlag) {
	fmt.Fprintf(b, "complete -c berth -n \"%s\" -l %s", condition, f.long)
	if f.short != "" {
		fmt.Fprintf(b, " -s %s", f.short)
	}
	switch kindOf(f) {
	case "dirs":
		b.WriteString(" -x -a '(__fish_complete_directories)'")
	case "files":
		b.WriteString(" -r -F")
	case "words":
		fmt.Fprintf(b, " -x -a '%s'", flagValues[f.long])
	case "any":
		b.WriteString(" -x")
	}
	fmt.Fprintf(b, " -d %s\n", fishQuote(f.usage))
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// bash and fish are asked what they offer; zsh, which needs a terminal for that, only whether
// it can read its file.
func TestCompletionsOfferEverything(t *testing.T) {
	globals, list := table()
	shells := []struct {
		name     string
		complete func(line string) *exec.Cmd
	}{
		{"bash", func(line string) *exec.Cmd {
			return exec.Command("bash", "-c", `. contrib/completions/berth.bash
				COMP_WORDS=($1); [[ $1 == *" " ]] && COMP_WORDS+=("")
				COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _berth; printf '%s\n' "${COMPREPLY[@]}"`, "bash", line)
		}},
		{"fish", func(line string) *exec.Cmd {
			return exec.Command("fish", "--no-config", "-c", "source contrib/completions/berth.fish; complete -C $argv[1]", line)
		}},
	}
	for _, sh := range shells {
		t.Run(sh.name, func(t *testing.T) {
			offers(t, sh.complete("berth "), strings.Fields(verbNames(list)))
			offers(t, sh.complete("berth --"), longFlags(globals))
			offers(t, sh.complete("berth --log-format "), []string{"text", "json"})
			for _, v := range list {
				offers(t, sh.complete("berth --log /x "+v.name+" --"), longFlags(v.flags))
			}
		})
	}
	t.Run("zsh", func(t *testing.T) {
		if out, err := exec.Command("zsh", "-n", "contrib/completions/_berth").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text := string(zshCompletion(globals, list))
		for _, f := range everyFlag(globals, list) {
			if !strings.Contains(text, "'--"+f.long+"[") {
				t.Errorf("--%s is missing", f.long)
			}
		}
		for _, v := range list {
			if !strings.Contains(text, "\t"+v.name+")\n") {
				t.Errorf("%s is missing", v.name)
			}
		}
	})
}

func longFlags(flags []docFlag) (names []string) {
	for _, f := range flags {
		names = append(names, "--"+f.long)
	}
	return names
}

func offers(t *testing.T, cmd *exec.Cmd, want []string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	got := map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		word, _, _ := strings.Cut(line, "\t")
		got[word] = true
	}
	for _, w := range want {
		if !got[w] {
			t.Fatalf("%q does not offer %s, only %q", cmd.Args[len(cmd.Args)-1], w, out)
		}
	}
}

//go:build cgo && seccomp

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runc/libcontainer/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// maxRules bounds time and memory for a hostile profile. The kernel takes 4096 instructions, so
// no profile that can be loaded comes near it; names that libseccomp does not know count too.
const maxRules = 1 << 15

// profileError is a fault of the profile itself, named by its path in config.json.
type profileError struct{ path, reason string }

func (e *profileError) Error() string { return e.path + ": " + e.reason }

func at(path, format string, args ...any) error {
	return &profileError{path, fmt.Sprintf(format, args...)}
}

const root = "linux.seccomp"

func callPath(call int) string       { return root + ".syscalls[" + strconv.Itoa(call) + "]" }
func namePath(call, name int) string { return callPath(call) + ".names[" + strconv.Itoa(name) + "]" }
func argPath(call, arg int) string   { return callPath(call) + ".args[" + strconv.Itoa(arg) + "]" }

// The profile is decoded level by level, so that an error of encoding/json can be given the
// index of the element it is in. Only the lists that hold objects need it.
type rawProfile struct {
	specs.LinuxSeccomp
	Syscalls []json.RawMessage `json:"syscalls"`
}

type rawCall struct {
	specs.LinuxSyscall
	Args []json.RawMessage `json:"args"`
}

// parse decodes linux.seccomp and checks every word in it. A nil profile means "no filter".
func parse(data []byte) (*specs.LinuxSeccomp, error) {
	var raw *rawProfile
	if err := decode(data, &raw, root); err != nil || raw == nil {
		return nil, err
	}
	p := &raw.LinuxSeccomp
	rules := 0
	for i, data := range raw.Syscalls {
		call, err := parseCall(data, i)
		if err != nil {
			return nil, err
		}
		if rules += len(call.Names); rules > maxRules {
			return nil, at(callPath(i), "more than %d names in the profile", maxRules)
		}
		p.Syscalls = append(p.Syscalls, *call)
	}
	if p.DefaultAction == "" && len(p.Syscalls) == 0 {
		return nil, nil
	}
	return p, check(p)
}

func parseCall(data []byte, i int) (*specs.LinuxSyscall, error) {
	var raw rawCall
	if err := decode(data, &raw, callPath(i)); err != nil {
		return nil, err
	}
	call := &raw.LinuxSyscall
	for j, data := range raw.Args {
		var arg specs.LinuxSeccompArg
		if err := decode(data, &arg, argPath(i, j)); err != nil {
			return nil, err
		}
		call.Args = append(call.Args, arg)
	}
	return call, nil
}

func decode(data []byte, v any, path string) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		// A field of an embedded struct is given with the struct's name, which JSON does not have.
		field := strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "LinuxSeccomp."), "LinuxSyscall.")
		if field != "" {
			path += "." + field
		}
		return at(path, "%s where %s is expected", wrong.Value, kindName(wrong.Type.String()))
	case errors.As(err, &syntax):
		return at(path, "%s at byte %d", syntax, syntax.Offset)
	}
	return at(path, "%s", err)
}

// kindName says in JSON's words what a field of the spec's type holds.
func kindName(goType string) string {
	switch goType {
	case "string", "specs.LinuxSeccompAction", "specs.LinuxSeccompOperator", "specs.Arch", "specs.LinuxSeccompFlag":
		return "a string"
	case "uint", "uint64":
		return "a number of 0 or more"
	case "[]string", "[]json.RawMessage", "[]specs.Arch", "[]specs.LinuxSeccompFlag":
		return "a list"
	}
	return "an object"
}

// check refuses every word that is not the spec's. Syscall names are not checked: a profile may
// name syscalls that only newer systems know.
func check(p *specs.LinuxSeccomp) error {
	if err := checkAction(root+".default", p.DefaultAction, p.DefaultErrnoRet); err != nil {
		return err
	}
	if p.DefaultAction == specs.ActNotify {
		return at(root+".defaultAction", "SCMP_ACT_NOTIFY can't be the default: berth itself has calls to make under the filter")
	}
	for i, arch := range p.Architectures {
		if _, err := seccomp.ConvertStringToArch(string(arch)); err != nil {
			return at(fmt.Sprintf("%s.architectures[%d]", root, i), "unknown architecture %q", arch)
		}
	}
	for i, flag := range p.Flags {
		if !slices.Contains(seccomp.KnownFlags(), string(flag)) {
			return at(flagPath(i), "unknown flag %q", flag)
		}
	}
	for i := range p.Syscalls {
		if err := checkCall(&p.Syscalls[i], i); err != nil {
			return err
		}
	}
	return nil
}

func flagPath(i int) string { return fmt.Sprintf("%s.flags[%d]", root, i) }

// checkAction checks an action and its errno; prefix is the path up to the fields' names, which
// are "action" and "errnoRet" in a rule, "defaultAction" and "defaultErrnoRet" above.
func checkAction(prefix string, action specs.LinuxSeccompAction, errnoRet *uint) error {
	actionField, errnoField := prefix+".action", prefix+".errnoRet"
	if prefix == root+".default" {
		actionField, errnoField = prefix+"Action", prefix+"ErrnoRet"
	}
	if action == "" {
		return at(actionField, "missing")
	}
	if _, err := seccomp.ConvertStringToAction(string(action)); err != nil {
		return at(actionField, "unknown action %q", action)
	}
	// SECCOMP_RET_DATA has 16 bits; a larger number would silently become another.
	if errnoRet != nil && *errnoRet > 0xffff {
		return at(errnoField, "%d is more than 65535", *errnoRet)
	}
	return nil
}

func checkCall(call *specs.LinuxSyscall, i int) error {
	if err := checkAction(callPath(i), call.Action, call.ErrnoRet); err != nil {
		return err
	}
	for j, name := range call.Names {
		if name == "" {
			return at(namePath(i, j), "empty name")
		}
		// The program that loads the filter reports the listener with write(2): an agent that
		// had to allow that write would never hear of it. runc refuses the same.
		if call.Action == specs.ActNotify && name == "write" {
			return at(namePath(i, j), "SCMP_ACT_NOTIFY can't be used for write")
		}
	}
	for j, arg := range call.Args {
		if _, err := seccomp.ConvertStringToOperator(string(arg.Op)); err != nil {
			return at(argPath(i, j)+".op", "unknown operator %q", arg.Op)
		}
		if arg.Index > 5 {
			return at(argPath(i, j)+".index", "%d: a syscall has the arguments 0 to 5", arg.Index)
		}
	}
	return nil
}

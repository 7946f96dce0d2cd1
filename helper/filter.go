//go:build cgo && seccomp

package main

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/opencontainers/runc/libcontainer/configs"
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// optimizeFrom is the number of rules from which libseccomp is asked for a binary tree. It is
// runc's threshold: filters are to be the same program (and libseccomp before 2.5.5 makes a
// wrong tree of no rules).
const optimizeFrom = 33

// source says where in the profile a rule of the libcontainer form comes from: that form has one
// rule for each name, the profile has lists of names.
type source struct{ call, name int }

// buildFilter turns the profile into libseccomp's filter, with the rules that runc makes of it.
// skipped lists the names that libseccomp does not know for the native architecture.
func buildFilter(config *configs.Seccomp, from []source) (filter *libseccomp.ScmpFilter, skipped []string, err error) {
	def := nativeAction(config.DefaultAction, config.DefaultErrnoRet)
	filter, err = libseccomp.NewFilter(def)
	if err != nil {
		return nil, nil, at(root+".defaultAction", "libseccomp: %s", err)
	}
	for i, name := range config.Architectures {
		if err := addArch(filter, name); err != nil {
			return nil, nil, at(fmt.Sprintf("%s.architectures[%d]", root, i), "libseccomp: %s", err)
		}
	}
	if len(config.Syscalls) >= optimizeFrom {
		if err := filter.SetOptimize(2); err != nil {
			return nil, nil, fmt.Errorf("libseccomp: set the optimization level: %w", err)
		}
	}
	for i, call := range config.Syscalls {
		action := nativeAction(call.Action, call.ErrnoRet)
		if action == def {
			continue // libseccomp refuses a rule that says what the default says
		}
		number, err := libseccomp.GetSyscallFromName(call.Name)
		if err != nil {
			skipped = append(skipped, call.Name)
			continue
		}
		err = addRule(filter, number, action, call.Args)
		if errors.Is(err, syscall.EEXIST) {
			return nil, nil, at(namePath(from[i].call, from[i].name), "an earlier rule has another action for the same calls of %s", call.Name)
		} else if err != nil {
			return nil, nil, at(namePath(from[i].call, from[i].name), "rule for %s: libseccomp: %s", call.Name, err)
		}
	}
	return filter, skipped, nil
}

func addArch(filter *libseccomp.ScmpFilter, name string) error {
	arch, err := libseccomp.GetArchFromString(name)
	if err != nil {
		return err
	}
	if err := filter.AddArch(arch); errors.Is(err, syscall.EDOM) {
		return fmt.Errorf("%s differs from this machine in byte order", name)
	} else if err != nil {
		return err
	}
	return nil
}

// addRule adds one rule whose conditions all have to hold. Where two conditions are on one
// argument each becomes a rule of its own, any of which is enough: libseccomp can't combine
// them, and runc and Docker's profiles rely on that meaning.
func addRule(filter *libseccomp.ScmpFilter, number libseccomp.ScmpSyscall, action libseccomp.ScmpAction, args []*configs.Arg) error {
	if len(args) == 0 {
		return filter.AddRule(number, action)
	}
	conditions := make([]libseccomp.ScmpCondition, len(args))
	var seen [6]bool
	repeated := false
	for i, arg := range args {
		c, err := libseccomp.MakeCondition(arg.Index, operators[arg.Op], arg.Value, arg.ValueTwo)
		if err != nil {
			return err
		}
		conditions[i] = c
		repeated = repeated || seen[arg.Index]
		seen[arg.Index] = true
	}
	if !repeated {
		return filter.AddRuleConditional(number, action, conditions)
	}
	for i := range conditions {
		if err := filter.AddRuleConditional(number, action, conditions[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

var operators = map[configs.Operator]libseccomp.ScmpCompareOp{
	configs.EqualTo:              libseccomp.CompareEqual,
	configs.NotEqualTo:           libseccomp.CompareNotEqual,
	configs.GreaterThan:          libseccomp.CompareGreater,
	configs.GreaterThanOrEqualTo: libseccomp.CompareGreaterEqual,
	configs.LessThan:             libseccomp.CompareLess,
	configs.LessThanOrEqualTo:    libseccomp.CompareLessOrEqual,
	configs.MaskEqualTo:          libseccomp.CompareMaskedEqual,
}

var actions = map[configs.Action]libseccomp.ScmpAction{
	configs.Kill:        libseccomp.ActKillThread, // the kernel's oldest action and its old name
	configs.KillThread:  libseccomp.ActKillThread,
	configs.KillProcess: libseccomp.ActKillProcess,
	configs.Trap:        libseccomp.ActTrap,
	configs.Errno:       libseccomp.ActErrno,
	configs.Trace:       libseccomp.ActTrace,
	configs.Allow:       libseccomp.ActAllow,
	configs.Log:         libseccomp.ActLog,
	configs.Notify:      libseccomp.ActNotify,
}

// nativeAction is libseccomp's value for an action; EPERM is the errno where the profile names none.
func nativeAction(action configs.Action, errnoRet *uint) libseccomp.ScmpAction {
	native := actions[action]
	if native != libseccomp.ActErrno && native != libseccomp.ActTrace {
		return native
	}
	if errnoRet == nil {
		return native.SetReturnCode(int16(unix.EPERM))
	}
	return native.SetReturnCode(int16(*errnoRet))
}

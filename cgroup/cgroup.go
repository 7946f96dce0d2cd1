// Package cgroup puts a container into control groups and limits it: cgroup v1,
// the mixed layout ("hybrid") and v2, by the file system alone (runc's cgroupfs
// driver). It owns which directories are a container's, their making, joining,
// killing, freezing and removal, and the table from linux.resources to files.
//
// It never decides what a container's limits should be, never talks to systemd,
// never removes a directory that it did not make, and prints nothing. It is on the
// hot path of create: no fmt, no reflection, few syscalls. docs/cgroups.md holds the
// tables and the measurements.
package cgroup

import (
	"errors"
	"strconv"
	"syscall"
)

// OpError is what was tried, on which file or directory, and the kernel's reason.
type OpError struct {
	Op, Path string
	Err      error
}

func (e *OpError) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }
func (e *OpError) Unwrap() error { return e.Err }

// SetError is a field of config.json that could not be put into its cgroup file.
type SetError struct {
	Field, Value, Path string
	Err                error
}

func (e *SetError) Error() string {
	if e.Path == "" {
		return "set " + e.Field + ": " + e.Err.Error()
	}
	return "set " + e.Field + ": write " + e.Value + " to " + e.Path + ": " + e.Err.Error()
}
func (e *SetError) Unwrap() error { return e.Err }

// FieldError is a field of config.json that can't be applied, known before anything
// was tried.
type FieldError struct {
	Field string
	Err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// ControllerError is a controller that a field needs and this machine does not have.
type ControllerError struct{ Controller string }

func (e *ControllerError) Error() string {
	return "the cgroup controller " + e.Controller + " is not available"
}

// Errors that callers tell apart.
var (
	ErrNotEmpty    = errors.New("container's cgroup is not empty")
	ErrFrozen      = errors.New("container's cgroup unexpectedly frozen")
	ErrNotCgroupfs = errors.New("not on a cgroup file system")
	ErrNoCgroup    = errors.New("the container has no cgroup")
	ErrNoFreezer   = errors.New("the container has no freezer cgroup")
	ErrUnifiedOnV1 = errors.New("needs cgroup v2, and this machine has v1")
	ErrV1Only      = errors.New("needs cgroup v1, and this machine has v2")
)

func opError(op, path string, errno error) error { return &OpError{op, path, errno} }

func fieldError(field, text string) error { return &FieldError{field, errors.New(text)} }

// permission tells the errnos that an unprivileged caller gets where root would not.
func permission(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EROFS)
}

func itoa(n int) string { return strconv.Itoa(n) }

package container

import (
	"errors"
	"fmt"
)

// Errors that managers match on; their texts are runc's.
var (
	ErrNotExist   = errors.New("container does not exist")
	ErrExists     = errors.New("container with given ID already exists")
	ErrNotRunning = errors.New("container not running")
	ErrNoProcess  = errors.New("process is not set in config.json: there is nothing to start")
)

// IDError is an id that can't name a container.
type IDError struct{ ID string }

func (e *IDError) Error() string {
	id := e.ID
	if len(id) > 64 {
		id = id[:64] + "…"
	}
	return fmt.Sprintf("invalid container id %q", id)
}

// StatusError is a verb that the container's status does not allow.
type StatusError struct {
	ID, Verb string
	Status   Status
	Reason   string // replaces the usual text
}

func (e *StatusError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	return fmt.Sprintf("cannot %s container %s in the %s state", e.Verb, e.ID, e.Status)
}

// BusyError is a container that another berth is working on.
type BusyError struct{ ID string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("container %s is busy: another command is working on it", e.ID)
}

// BrokenError is a state directory that can't be read.
type BrokenError struct {
	ID  string
	Err error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("state of container %s can't be read: %v", e.ID, e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Error is what was tried, on which object, and why it failed.
type Error struct {
	Op, Path string
	Err      error
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + e.Path + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, path, err}
}

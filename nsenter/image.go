package nsenter

import (
	"errors"

	"berth/sealed"
	"golang.org/x/sys/unix"
)

// Name is stage1's name in /proc/PID/comm and its argv[0], from its first instruction until it executes
// the app. It is stable: security rules may match it.
const Name = "berth-stage1"

// ErrNoProc: stage1 is executed through /proc/self/fd.
var ErrNoProc = sealed.ErrNoProc

// executable returns a descriptor of stage1's image, at least from on.
func executable(userns bool, from int) (int, error) {
	fd, err := sealed.File(Name, image, userns)
	var step *sealed.Error
	if errors.As(err, &step) {
		return -1, &Error{step.Op, step.Err}
	}
	if err != nil || fd >= from {
		return fd, err
	}
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, from)
	unix.Close(fd)
	if err != nil {
		return -1, &Error{"duplicate stage1's image", err}
	}
	return high, nil
}

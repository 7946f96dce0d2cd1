package container

import (
	"bytes"
	"strconv"
	"time"

	"berth/container/record"
	"golang.org/x/sys/unix"
)

// procStat reads the state letter and the start time (field 22) of a process.
func procStat(pid int) (state byte, start uint64, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything; what follows the last one does not.
	line := buf[:n]
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, unix.EINVAL
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return fields[0][0], start, err
}

// alive: the process exists, is the one that was meant, and has not ended.
func alive(p record.Process) bool {
	if p.Pid <= 0 {
		return false
	}
	state, start, err := procStat(p.Pid)
	if err != nil || start != p.Start {
		return false
	}
	return state != 'Z' && state != 'X' || threadsLive(p.Pid)
}

// threadsLive: the first thread of a process may end before the others. Its pidfd tells when
// all have.
func threadsLive(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return !waitPidfd(fd, 0)
}

// pidfd opens a process by descriptor, and only then checks that it is the one meant: a pid
// may have been used again.
func pidfd(p record.Process) (int, error) {
	fd, err := unix.PidfdOpen(p.Pid, 0)
	if err != nil {
		return -1, err
	}
	if !alive(p) {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// waitPidfd waits until the process has ended; false if the time is up first. A negative
// time waits for ever.
func waitPidfd(fd int, timeout time.Duration) bool {
	end := time.Now().Add(timeout)
	for {
		ms := -1
		if timeout >= 0 {
			ms = max(0, int(time.Until(end).Milliseconds()))
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, ms)
		if n > 0 {
			return true
		}
		if err != nil && err != unix.EINTR || err == nil && n == 0 {
			return false
		}
	}
}

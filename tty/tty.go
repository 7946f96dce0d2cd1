// Package tty joins the caller's terminal to a container's: raw mode, window size, and the
// bytes both ways. It never decides whether there is a terminal.
package tty

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Proxy copies between the caller's descriptors 0 and 1 and the master of a container's
// terminal.
type Proxy struct {
	master int
	saved  *unix.Termios // of descriptor 0, if it is a terminal
	done   chan struct{}
	once   sync.Once
}

// Start puts the caller's terminal, if descriptor 0 is one, into raw mode and begins to copy.
// The proxy owns master from here on.
func Start(master int) (*Proxy, error) {
	p := &Proxy{master: master, done: make(chan struct{})}
	if saved, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		raw := *saved
		makeRaw(&raw)
		if err := unix.IoctlSetTermios(0, unix.TCSETS, &raw); err != nil {
			return nil, err
		}
		p.saved = saved
	}
	p.Resize()
	go p.input()
	go p.output()
	return p, nil
}

// makeRaw is cfmakeraw(3).
func makeRaw(t *unix.Termios) {
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
}

// Resize gives the container's terminal the size of the caller's (at the start and on
// SIGWINCH). Without one there is nothing to do.
func (p *Proxy) Resize() {
	if size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ); err == nil {
		unix.IoctlSetWinsize(p.master, unix.TIOCSWINSZ, size)
	}
}

// input ends with the caller's input. If that was not a terminal, the program is told by the
// terminal's end-of-file character.
func (p *Proxy) input() {
	if copyAll(p.master, 0) && p.saved == nil {
		unix.Write(p.master, []byte{4})
	}
}

// output ends when the last holder of the container's terminal is gone.
func (p *Proxy) output() {
	copyAll(1, p.master)
	close(p.done)
}

// Finish waits until all output of the container is written, restores the caller's terminal
// and closes the master.
func (p *Proxy) Finish() {
	<-p.done
	p.Restore()
	p.once.Do(func() { unix.Close(p.master) })
}

// Restore ends raw mode.
func (p *Proxy) Restore() {
	if p.saved != nil {
		unix.IoctlSetTermios(0, unix.TCSETS, p.saved)
	}
}

// copyAll copies until the end of the source; true then, false on an error.
func copyAll(dst, src int) bool {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(src, buf)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN { // the caller's descriptor may be non-blocking
			unix.Poll([]unix.PollFd{{Fd: int32(src), Events: unix.POLLIN}}, -1)
			continue
		}
		if err != nil {
			return false
		}
		if n == 0 {
			return true
		}
		if !writeAll(dst, buf[:n]) {
			return false
		}
	}
}

func writeAll(fd int, data []byte) bool {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		case err != nil:
			return false
		default:
			data = data[n:]
		}
	}
	return true
}

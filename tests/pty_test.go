package tests

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A pty is a pseudoterminal whose master the test reads and writes.
type pty struct {
	w      *world
	master *os.File
	slave  *os.File // nil if only the master was received
	mu     sync.Mutex
	out    strings.Builder
}

// openPTY allocates one, as a terminal emulator does.
func openPTY(w *world) *pty {
	w.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	w.must(err)
	w.must(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	w.must(err)
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	w.must(err)
	p := &pty{w: w, master: master, slave: slave}
	w.Cleanup(p.close)
	go p.copy()
	return p
}

func (p *pty) copy() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.out.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *pty) close() {
	p.master.Close()
	if p.slave != nil {
		p.slave.Close()
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (p *pty) shows(text string) {
	p.w.Helper()
	if !eventually(waitTimeout, func() bool { return strings.Contains(p.text(), text) }) {
		p.w.Fatalf("the terminal never shows %q; it has %q", text, p.text())
	}
}

func (p *pty) types(text string) {
	p.w.Helper()
	_, err := p.master.WriteString(text)
	p.w.must(err)
}

func (p *pty) resize(rows, cols uint16) {
	p.w.Helper()
	w := unix.Winsize{Row: rows, Col: cols}
	p.w.must(unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &w))
}

// run starts a call whose controlling terminal is this one.
func (p *pty) run(c *call) *call {
	p.w.Helper()
	c.stdin, c.stdout = p.slave, p.slave
	c.attr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return c.start()
}

// A consoleSocket receives what a runtime sends to --console-socket or --pidfd-socket.
type consoleSocket struct {
	w    *world
	path string
	l    *net.UnixListener
}

func listenConsole(w *world) *consoleSocket {
	w.Helper()
	w.n++
	path := fmt.Sprintf("%s/s%d", w.dir, w.n)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	w.must(err)
	w.Cleanup(func() { l.Close() })
	return &consoleSocket{w, path, l}
}

// receive takes one message: its text and the one descriptor that came with it.
func (s *consoleSocket) receive() (string, *os.File) {
	s.w.Helper()
	s.l.SetDeadline(time.Now().Add(waitTimeout))
	conn, err := s.l.AcceptUnix()
	s.w.must(err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(waitTimeout))
	data, oob := make([]byte, 4096), make([]byte, 4096)
	n, on, _, _, err := conn.ReadMsgUnix(data, oob)
	s.w.must(err)
	msgs, err := syscall.ParseSocketControlMessage(oob[:on])
	s.w.must(err)
	var fds []int
	for _, m := range msgs {
		got, err := syscall.ParseUnixRights(&m)
		s.w.must(err)
		fds = append(fds, got...)
	}
	if len(fds) != 1 {
		s.w.Fatalf("received %d descriptors, text %q", len(fds), data[:n])
	}
	syscall.SetNonblock(fds[0], true)
	return string(data[:n]), os.NewFile(uintptr(fds[0]), "received")
}

func (s *consoleSocket) terminal() *pty {
	s.w.Helper()
	_, f := s.receive()
	p := &pty{w: s.w, master: f}
	s.w.Cleanup(p.close)
	go p.copy()
	return p
}

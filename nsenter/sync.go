package nsenter

import (
	"encoding/binary"
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// The wire format (ops.h).
const (
	packetSize  = 32 << 10
	headerSize  = 48
	headerNfds  = 24
	headerBase  = 28
	headerSync  = 32
	grantSize   = 16
	messageSize = 24
	logMax      = 4096
	maxFds      = 4
)

// Message kinds.
const (
	KindSync    = 1 // Arg: the SYNC id that is reached
	KindFail    = 2 // Op, Code, Errno, Arg, Log: see ops.h; Code 0: the plan is refused, Log says why
	KindWaiting = 3 // stage1 waits for start; it is the last message
)

// Message is what stage1 says.
type Message struct {
	Kind, Op, Code uint32
	Errno          syscall.Errno
	Arg            uint32
	Log            string
	Fds            []int // close-on-exec; the caller's to close
	Pid            int   // the sender's, as this pid namespace counts
}

// ErrGone: stage1 has ended. Next says why, if stage1 could. It is an EPIPE too.
var ErrGone error = &Error{"send to stage1", syscall.EPIPE}

var errMessage = errors.New("malformed message from stage1")

// ParseRecord reads the record that follows the release byte in exec.fifo.
func ParseRecord(b []byte) (*Message, error) {
	if len(b) < messageSize {
		return nil, errMessage
	}
	le := binary.LittleEndian
	m := &Message{Kind: le.Uint32(b), Op: le.Uint32(b[4:]), Code: le.Uint32(b[8:]),
		Errno: syscall.Errno(le.Uint32(b[12:])), Arg: le.Uint32(b[16:])}
	if n := le.Uint32(b[20:]); uint64(n) != uint64(len(b)-messageSize) || n > logMax {
		return nil, errMessage
	}
	m.Log = string(b[messageSize:])
	return m, nil
}

// Next waits for stage1's next message. io.EOF: stage1 is gone, or sent KindWaiting before.
func (p *Process) Next() (*Message, error) {
	buf := make([]byte, messageSize+logMax)
	oob := make([]byte, unix.CmsgSpace(maxFds*4)+unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, oobn, _, _, err := unix.Recvmsg(p.sock, buf, oob, unix.MSG_CMSG_CLOEXEC)
		// An end that closed with something unread leaves ECONNRESET before what it sent.
		if err == syscall.EINTR || err == syscall.ECONNRESET {
			continue
		}
		if err != nil {
			return nil, &Error{"receive from stage1", err}
		}
		if n == 0 {
			return nil, io.EOF
		}
		m, err := ParseRecord(buf[:n])
		if err != nil {
			m = &Message{}
		}
		if e := m.control(oob[:oobn]); err == nil {
			err = e
		}
		if err != nil {
			m.closeFds()
			return nil, err
		}
		return m, nil
	}
}

func (m *Message) closeFds() {
	for _, fd := range m.Fds {
		unix.Close(fd)
	}
}

// control takes the sender's pid and the descriptors.
func (m *Message) control(oob []byte) error {
	cs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return errMessage
	}
	for i := range cs {
		switch cs[i].Header.Type {
		case unix.SCM_RIGHTS:
			fds, err := unix.ParseUnixRights(&cs[i])
			if err != nil {
				return errMessage
			}
			m.Fds = append(m.Fds, fds...)
		case unix.SCM_CREDENTIALS:
			cred, err := unix.ParseUnixCredentials(&cs[i])
			if err != nil {
				return errMessage
			}
			m.Pid = int(cred.Pid)
		}
	}
	return nil
}

// Grant gives stage1 what it waits for, or will wait for, at a SYNC id: once for each id. ErrGone:
// stage1 has ended.
func (p *Process) Grant(id uint32, data []byte) error {
	le := binary.LittleEndian
	packet := make([]byte, grantSize, grantSize+min(len(data), packetSize-grantSize))
	le.PutUint32(packet, id)
	le.PutUint32(packet[4:], uint32(len(data)))
	for at := 0; ; {
		le.PutUint32(packet[8:], uint32(at))
		n := min(len(data)-at, packetSize-grantSize)
		if err := p.send(append(packet, data[at:at+n]...), 0); err != nil {
			return err
		}
		if at += n; at == len(data) {
			return nil
		}
	}
}

func (p *Process) send(packet []byte, flags int) error {
	for {
		_, err := unix.SendmsgN(p.sock, packet, nil, nil, flags|unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			return nil
		case syscall.EINTR:
		case syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED:
			return ErrGone
		case syscall.EAGAIN:
			return syscall.EAGAIN
		default:
			return &Error{"send to stage1", err}
		}
	}
}

// sendEarly puts the plan into the socket before stage1 is there, so that stage1 never waits for
// it, and returns what did not fit.
func (p *Process) sendEarly(plan []byte) ([]byte, error) {
	raised := false
	for len(plan) > 0 {
		n := min(len(plan), packetSize)
		err := p.send(plan[:n], unix.MSG_DONTWAIT)
		if err == syscall.EAGAIN {
			if raised {
				return plan, nil
			}
			raised = true
			p.raiseBuffer(len(plan))
			continue
		}
		if err != nil {
			return plan, err
		}
		plan = plan[n:]
	}
	return nil, nil
}

// raiseBuffer: the kernel counts its own overhead too, so twice what is to come.
func (p *Process) raiseBuffer(size int) {
	size = 2*size + 1<<18
	if unix.SetsockoptInt(p.sock, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, size) != nil {
		unix.SetsockoptInt(p.sock, unix.SOL_SOCKET, unix.SO_SNDBUF, size)
	}
}

// sendRest: stage1 reads it now. One that refused the beginning has told so, and Next hands it on.
func (p *Process) sendRest(plan []byte) {
	for len(plan) > 0 {
		n := min(len(plan), packetSize)
		if p.send(plan[:n], 0) != nil {
			return
		}
		plan = plan[n:]
	}
}

// Package wire owns the binary form of a compiled seccomp filter: what the helper writes to its
// standard output and what a cache entry holds. It never interprets a profile and makes no
// system calls. Both programs import it, so the format is defined once.
//
// All numbers are little-endian: a fixed part, then one section of bytes for each length in it.
package wire

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Filter is one compiled profile. A Filter without BPF asks for no filter at all: that is what
// a profile with neither a default action nor rules means.
type Filter struct {
	BPF              []byte   // array of struct sock_filter, native endian, for seccomp(2)
	Flags            uint64   // SECCOMP_FILTER_FLAG_* for seccomp(2), NEW_LISTENER with Notify
	Config           []byte   // the profile as JSON of libcontainer's configs.Seccomp
	Notify           bool     // some rule has SCMP_ACT_NOTIFY: loading returns a listener
	NotifySyscalls   []string // the names of those rules
	ListenerPath     string   // linux.seccomp.listenerPath
	ListenerMetadata string   // linux.seccomp.listenerMetadata
	Skipped          []string // names of syscalls that libseccomp does not know; no rule has them
}

// InsnSize is the size of struct sock_filter, MaxInsns what the kernel takes (BPF_MAXINSNS).
const (
	InsnSize = 8
	MaxInsns = 4096
)

const (
	sections  = 6
	fixedSize = 8 + 4 + 4*sections
)

var errDamaged = errors.New("damaged filter data")

// Append appends f's binary form to dst.
func (f *Filter) Append(dst []byte) []byte {
	parts := [sections]string{
		string(f.BPF), string(f.Config), strings.Join(f.NotifySyscalls, "\n"),
		f.ListenerPath, f.ListenerMetadata, strings.Join(f.Skipped, "\n"),
	}
	dst = binary.LittleEndian.AppendUint64(dst, f.Flags)
	notify := uint32(0)
	if f.Notify {
		notify = 1
	}
	dst = binary.LittleEndian.AppendUint32(dst, notify)
	for _, p := range parts {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p)))
	}
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}

// Decode is the inverse of Append. BPF and Config of the result are slices of b.
func Decode(b []byte) (*Filter, error) {
	if len(b) < fixedSize {
		return nil, errDamaged
	}
	f := &Filter{Flags: binary.LittleEndian.Uint64(b), Notify: b[8] == 1}
	var parts [sections][]byte
	rest := b[fixedSize:]
	for i := range parts {
		n := uint64(binary.LittleEndian.Uint32(b[12+4*i:]))
		if n > uint64(len(rest)) {
			return nil, errDamaged
		}
		parts[i], rest = rest[:n:n], rest[n:]
	}
	if len(rest) != 0 || len(parts[0])%InsnSize != 0 || len(parts[0]) > MaxInsns*InsnSize {
		return nil, errDamaged
	}
	f.BPF, f.Config = parts[0], parts[1]
	f.NotifySyscalls = lines(parts[2])
	f.ListenerPath, f.ListenerMetadata = string(parts[3]), string(parts[4])
	f.Skipped = lines(parts[5])
	return f, nil
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\n")
}

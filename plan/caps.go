package plan

import (
	"fmt"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// CapabilityNames lists the kernel's capabilities by number (capabilities(7)).
var CapabilityNames = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE",
	"CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER",
	"CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT",
	"CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME",
	"CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE", "CAP_AUDIT_CONTROL",
	"CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG", "CAP_WAKE_ALARM",
	"CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE",
}

type capSets struct{ bounding, effective, permitted, inheritable, ambient uint64 }

// capabilities resolves process.capabilities; none means no capability at all. A name that
// is not known or can't be granted is a warning (config.md, "capabilities").
func (b *builder) capabilities(c *specs.LinuxCapabilities) (s capSets) {
	if c == nil {
		return s
	}
	s.bounding = b.capSet("bounding", c.Bounding)
	s.effective = b.capSet("effective", c.Effective)
	s.permitted = b.capSet("permitted", c.Permitted)
	s.inheritable = b.capSet("inheritable", c.Inheritable)
	s.ambient = b.capSet("ambient", c.Ambient)
	// What capabilities(7) rules out can't be granted.
	s.inheritable = b.within("inheritable", s.inheritable, s.bounding, "bounding")
	s.effective = b.within("effective", s.effective, s.permitted, "permitted")
	s.ambient = b.within("ambient", s.ambient, s.permitted, "permitted")
	s.ambient = b.within("ambient", s.ambient, s.inheritable, "inheritable")
	return s
}

// within drops what is not in the set that it has to be in.
func (b *builder) within(name string, set, limit uint64, limitName string) uint64 {
	var lost []string
	for n, c := range CapabilityNames {
		if set&^limit&(1<<n) != 0 {
			lost = append(lost, c)
		}
	}
	if len(lost) > 0 {
		b.warn("config.json: process.capabilities.%s: %s can't be granted: not in %s", name, strings.Join(lost, ", "), limitName)
	}
	return set & limit
}

func (b *builder) capSet(name string, list []string) (set uint64) {
	for i, c := range list {
		n := capNumber(c)
		field := fmt.Sprintf("process.capabilities.%s[%d]", name, i)
		switch {
		case n < 0:
			b.warn("config.json: %s: unknown capability %q is ignored", field, c)
		case !b.userns() && b.f.Caps&(1<<n) == 0:
			b.warn("config.json: %s: %s can't be granted: the caller does not have it", field, c)
		default:
			set |= 1 << n
		}
	}
	return set
}

func capNumber(name string) int {
	for i, c := range CapabilityNames {
		if c == name {
			return i
		}
	}
	return -1
}

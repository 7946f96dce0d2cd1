package plan

// prctl(2) options.
const (
	prSetDumpable = 4
	prSetKeepcaps = 8
)

// joinOrder is the order in which namespaces by path are joined; the user namespace comes
// before those that it owns and after all others.
var joinOrder = []struct {
	flag uint64
	name string
}{
	{newIPC, "ipc"}, {newUTS, "uts"}, {newNet, "network"}, {newPID, "pid"}, {newNS, "mount"},
}

// begin cleans what the caller may have left in the process, and closes the door: nothing
// leaks across an exec, nobody traces.
func (b *builder) begin() {
	b.add(Op{Code: ResetSignals, What: "reset signals"})
	b.closeOnExec(3, "set close-on-exec on all descriptors")
	b.add(Op{Code: Prctl, Num: [4]uint64{prSetDumpable, 0}, What: "set PR_SET_DUMPABLE to 0"})
	_, pid := b.joined[newPID]
	_, user := b.joined[newUser]
	_, cgroup := b.joined[newCgroup]
	others := len(b.joined) > 0 && !(len(b.joined) == 1 && cgroup)
	b.p.Intermediate = pid || user || b.fresh&newUser != 0 && others
	if !b.p.Intermediate {
		b.p.Early = b.f.Early & b.fresh
		b.p.Cloneflags = b.fresh &^ b.p.Early
		if !b.f.IntoCgroup {
			b.p.Cloneflags &^= newCgroup
		}
	}
}

// closeRangeCloexec of close_range(2).
const closeRangeCloexec = 4

func (b *builder) closeOnExec(from uint64, what string) {
	fds := [4]uint64{from, 0xffffffff, closeRangeCloexec}
	b.add(Op{Code: CloseRange, Num: fds, What: what, Alt: &Op{Code: CloseEach, Num: fds, What: what}, AltOn: OnENOSYS | OnEPERM})
}

// enter brings the final process into all namespaces but the cgroup namespace.
func (b *builder) enter() {
	if !b.p.Intermediate {
		b.join(false)
		b.join(true)
		return
	}
	b.join(false)
	if slot, ok := b.joined[newUser]; ok {
		b.setns(newUser, slot)
		b.becomeRoot()
	}
	if b.fresh&newUser != 0 {
		b.p.Maps = true
		b.add(Op{Code: Unshare, Num: [4]uint64{newUser}, What: "make a user namespace", Field: "linux.namespaces"})
		b.add(Op{Code: SyncSend, Slot: [2]Slot{NoSlot}, Num: [4]uint64{SyncMaps}, What: "ask for the id maps"})
		b.add(Op{Code: SyncWait, Num: [4]uint64{SyncMaps}, What: "wait for the id maps"})
		b.becomeRoot()
	}
	b.join(true)
	flags := b.fresh &^ (newUser | newCgroup)
	b.add(Op{Code: Clone, Num: [4]uint64{flags | cloneParent},
		What: "clone the container's init into its namespaces", Field: "linux.namespaces"})
	b.add(Op{Code: SyncSend, Slot: [2]Slot{NoSlot}, Num: [4]uint64{SyncPID}, What: "report the pid"})
}

// join enters the namespaces by path that the user namespace of the list owns, or the others.
func (b *builder) join(owned bool) {
	for _, j := range joinOrder {
		if slot, ok := b.joined[j.flag]; ok && b.f.OwnedByUser[j.name] == owned {
			b.setns(j.flag, slot)
		}
	}
}

func (b *builder) setns(flag uint64, slot Slot) {
	ref := b.paths[flag]
	b.add(Op{Code: Setns, Slot: [2]Slot{slot}, Num: [4]uint64{flag}, What: "join namespace " + ref.path, Field: ref.field})
}

func (b *builder) becomeRoot() {
	b.add(Op{Code: SetIDs, What: "become root in the user namespace"})
}

// Permissions of the session keyring: the defaults of a new one, and the owner may search.
const keyringPermissions = 0x3f1b0000

// session: a session and a session keyring of its own, the private procfs that later
// operations go through, and the loopback interface.
func (b *builder) session() {
	b.add(Op{Code: Setsid, What: "start a session"})
	b.proc = b.local()
	b.add(Op{Code: OpenProc, Slot: [2]Slot{b.proc}, What: "open a private procfs",
		Alt:   &Op{Code: CloneProc, Slot: [2]Slot{b.proc}, Str: [3]Arg{str("/proc")}, What: "clone /proc"},
		AltOn: OnEPERM | OnEACCES | OnENOSYS})
	if !b.f.NoNewKeyring {
		b.add(Op{Code: Keyring, Str: [3]Arg{str("_ses." + b.f.ID)}, Num: [4]uint64{keyringPermissions},
			Skip: true, AltOn: OnENOSYS | OnEPERM | OnEACCES, What: "join a new session keyring"})
	}
	if b.fresh&newNet != 0 && b.p.Early&newNet == 0 {
		b.add(Op{Code: LoUp, What: "bring up interface lo"}) // before any hook
	}
}

// Package plan turns a container's specification and facts about the host into the flat
// list of operations that stage1 executes. It is pure: it never touches the file system,
// makes no system call and keeps no state, so that any plan can be built, printed and
// compared on any machine and by any user.
package plan

// Slot holds a descriptor while stage1 runs. Slots of passed descriptors come first.
type Slot int32

// NoSlot marks an operand that is not used.
const NoSlot Slot = -1

// firstLocal is where the numbers of slots that stage1 fills itself begin while a plan is
// built; encoding moves them right after the passed ones.
const firstLocal Slot = 1 << 20

// Op is one operation: a kernel idea with its operands (nsenter/ops.h says what each does).
type Op struct {
	Code Code
	Slot [2]Slot
	Str  [3]Arg
	Num  [4]uint64

	// Alt is taken, or the operation is skipped, when it fails with one of AltOn.
	Alt   *Op
	Skip  bool
	AltOn Errnos
	// IfSkipped: run only if the operation with index Num[3] was skipped or took its alternative.
	IfSkipped bool

	What  string // what is tried, on which object: "mount proc on /proc"
	Field string // the field of config.json it comes from, empty for berth's own
}

// Arg is a string operand: exactly one of the kinds of ops.h, or none.
type Arg struct {
	Kind byte // 0 none, 's' string, 'b' blob, 'v' vector, 'p' pairs
	Text string
	List []string
	Null []bool // pairs: element is null
}

func str(s string) Arg      { return Arg{Kind: 's', Text: s} }
func blob(s string) Arg     { return Arg{Kind: 'b', Text: s} }
func vector(l []string) Arg { return Arg{Kind: 'v', List: l} }

// PassKind says how stage0 opens a descriptor that it passes to stage1.
type PassKind uint8

const (
	PassFifo      PassKind = iota // exec.fifo of the state directory, O_PATH
	PassNamespace                 // a namespace by path, O_RDONLY
	PassTree                      // open_tree(OPEN_TREE_CLONE)
)

// Pass is a descriptor that stage0 opens before the launch.
type Pass struct {
	Kind      PassKind
	Path      string
	Recursive bool
	NSType    uint64 // PassNamespace: CLONE_NEW*
	Field     string
}

// SetRlimit is one of process.rlimits, set by stage0 at SyncFinal.
type SetRlimit struct {
	Resource   int
	Name       string
	Soft, Hard uint64
}

// Plan is all of what a launch does, as data.
type Plan struct {
	Ops        []Op
	Pass       []Pass
	Slots      int    // local slots
	Early      uint64 // namespaces (CLONE_NEW*) that the cloning thread is in before the clone
	Cloneflags uint64 // namespaces made by the first clone
	// Intermediate: the cloned process is not the container's init; it ends after the Clone
	// operation, whose child reports itself at SyncPID.
	Intermediate bool
	// Maps: the uid and gid maps are written by stage0 when SyncMaps is reached (an
	// intermediate that unshares its user namespace) rather than at the clone.
	Maps     bool
	Rlimits  []SetRlimit
	Warnings []string
	NewPID   bool // the container has a pid namespace of its own
	MountNS  bool // it has a mount namespace: nothing is mounted on the host
	// AsksFinal: stage0 sets Rlimits when SyncFinal is reached, since the root of a user
	// namespace can't raise hard limits; else stage1 sets them itself.
	AsksFinal bool
	// What stage0 has to do at the meeting points.
	HasRuntimeHooks, HasStateSync, HasStartHooks bool
	HasConsole, HasSeccomp                       bool
}

// StartHooks is the index of the first startContainer hook, or of the end.
func (p *Plan) StartHooks() int {
	waited := false
	for i := range p.Ops {
		waited = waited || p.Ops[i].Code == WaitStart
		if waited && p.Ops[i].Code == RunHook {
			return i
		}
	}
	return len(p.Ops)
}

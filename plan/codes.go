package plan

// Code names one operation of stage1. The names, numbers and operands are those of
// nsenter/ops.h; ops_test.go holds the two together.
type Code uint16

const (
	Setns        Code = 1
	Unshare      Code = 2
	Clone        Code = 3
	Setsid       Code = 4
	Prctl        Code = 5
	SetIDs       Code = 6
	Keyring      Code = 7
	ResetSignals Code = 8
	Umask        Code = 9
	Rlimit       Code = 10
	Chdir        Code = 11
	VerifyCwd    Code = 12
	Capbset      Code = 13
	Capset       Code = 14
	Ambient      Code = 15
	NoNewPrivs   Code = 16
	Seccomp      Code = 17
	CloseRange   Code = 18
	KeepFDs      Code = 19
	Dup2         Code = 20
	Close        Code = 21
	SetCtty      Code = 22
	ChownStdio   Code = 23
	Hostname     Code = 24
	Domainname   Code = 25
	LoUp         Code = 26
	CloseEach    Code = 27

	OpenProc   Code = 30
	CloneProc  Code = 31
	ProcWrite  Code = 32
	CgroupJoin Code = 33

	Fsmount      Code = 40
	OpenTree     Code = 41
	Setattr      Code = 42
	Target       Code = 43
	MoveMount    Code = 44
	Mount        Code = 45
	ReadonlyPath Code = 46
	MaskDir      Code = 47
	MaskFile     Code = 48
	Mknod        Code = 49
	Symlink      Code = 50
	Pivot        Code = 51
	MoveRoot     Code = 52
	Chroot       Code = 53
	OpenDev      Code = 54
	OpenPath     Code = 55
	Umount       Code = 56

	OpenPtmx Code = 60
	PtyPeer  Code = 61

	SyncSend   Code = 70
	SyncWait   Code = 71
	RunHook    Code = 72
	LookupExec Code = 73
	WaitStart  Code = 74
	Exec       Code = 75
	Exit       Code = 76
	Announce   Code = 77
)

// codeInfo is one row of ops.h: the printed name, the slots and the strings it takes.
type codeInfo struct {
	name  string // as `berth plan` prints it
	slots string
	strs  string
}

var codes = map[Code]codeInfo{
	Setns:        {"setns", "i-", "---"},
	Unshare:      {"unshare", "--", "---"},
	Clone:        {"clone", "--", "---"},
	Setsid:       {"setsid", "--", "---"},
	Prctl:        {"prctl", "--", "---"},
	SetIDs:       {"set_ids", "--", "B--"},
	Keyring:      {"keyring", "--", "s--"},
	ResetSignals: {"reset_signals", "--", "---"},
	Umask:        {"umask", "--", "---"},
	Rlimit:       {"rlimit", "--", "---"},
	Chdir:        {"chdir", "--", "s--"},
	VerifyCwd:    {"verify_cwd", "--", "---"},
	Capbset:      {"capbset", "--", "---"},
	Capset:       {"capset", "--", "---"},
	Ambient:      {"ambient", "--", "---"},
	NoNewPrivs:   {"no_new_privs", "--", "---"},
	Seccomp:      {"seccomp", "o-", "B--"},
	CloseRange:   {"close_range", "--", "---"},
	KeepFDs:      {"keep_fds", "--", "---"},
	Dup2:         {"dup2", "i-", "---"},
	Close:        {"close", "i-", "---"},
	SetCtty:      {"set_ctty", "--", "---"},
	ChownStdio:   {"chown_stdio", "--", "---"},
	Hostname:     {"hostname", "--", "s--"},
	Domainname:   {"domainname", "--", "s--"},
	LoUp:         {"lo_up", "--", "---"},
	CloseEach:    {"close_each", "--", "---"},
	OpenProc:     {"open_proc", "o-", "---"},
	CloneProc:    {"clone_proc", "o-", "s--"},
	ProcWrite:    {"proc_write", "i-", "sb-"},
	CgroupJoin:   {"cgroup_join", "--", "s--"},
	Fsmount:      {"fsmount", "o-", "sSp"},
	OpenTree:     {"open_tree", "o?", "S--"},
	Setattr:      {"setattr", "??", "S--"},
	Target:       {"target", "io", "s--"},
	MoveMount:    {"move_mount", "ii", "---"},
	Mount:        {"mount", "ii", "SSS"},
	ReadonlyPath: {"readonly_path", "i-", "s--"},
	MaskDir:      {"mask_dir", "i?", "s--"},
	MaskFile:     {"mask_file", "ii", "s--"},
	Mknod:        {"mknod", "i-", "s--"},
	Symlink:      {"symlink", "i-", "ss-"},
	Pivot:        {"pivot", "i-", "---"},
	MoveRoot:     {"move_root", "i-", "---"},
	Chroot:       {"chroot", "i-", "---"},
	OpenDev:      {"open_dev", "io", "s--"},
	OpenPath:     {"open_path", "-o", "s--"},
	Umount:       {"umount", "--", "s--"},
	OpenPtmx:     {"open_ptmx", "io", "s--"},
	PtyPeer:      {"pty_peer", "io", "---"},
	SyncSend:     {"sync_send", "?-", "---"},
	SyncWait:     {"sync_wait", "--", "---"},
	RunHook:      {"hook", "--", "svv"},
	LookupExec:   {"lookup_exec", "--", "v--"},
	WaitStart:    {"wait_start", "ii", "---"},
	Exec:         {"exec", "--", "vv-"},
	Exit:         {"exit", "--", "---"},
	Announce:     {"announce", "--", "---"},
}

// String is the operation's name as `berth plan` prints it.
func (c Code) String() string {
	if info, ok := codes[c]; ok {
		return info.name
	}
	return "op?"
}

// Meeting points of stage0 and stage1 (SYNC_* of ops.h).
const (
	SyncMaps       = 1
	SyncPID        = 2
	SyncCgroup     = 3
	SyncRuntime    = 4
	SyncState      = 5
	SyncConsole    = 6
	SyncListener   = 7
	SyncFinal      = 8
	SyncStartState = 9
)

// Flags of Target (TGT_* of ops.h).
const (
	TargetDir      = 1
	TargetFile     = 2
	TargetExisting = 4
	TargetStrict   = 8
	TargetNotRoot  = 16
	TargetNotProc  = 32
)

// Errnos is the set of errnos on which an operation's alternative is taken (ON_* of ops.h).
type Errnos uint32

const (
	OnENOSYS     Errnos = 0x001
	OnEPERM      Errnos = 0x002
	OnEACCES     Errnos = 0x004
	OnEINVAL     Errnos = 0x008
	OnENOENT     Errnos = 0x010
	OnENOTDIR    Errnos = 0x020
	OnENODEV     Errnos = 0x040
	OnEOPNOTSUPP Errnos = 0x080
	OnEEXIST     Errnos = 0x100
	OnEROFS      Errnos = 0x200
	OnEBUSY      Errnos = 0x400
	OnEDQUOT     Errnos = 0x800
)

var errnoNames = []struct {
	bit  Errnos
	name string
}{
	{OnENOSYS, "ENOSYS"}, {OnEPERM, "EPERM"}, {OnEACCES, "EACCES"}, {OnEINVAL, "EINVAL"},
	{OnENOENT, "ENOENT"}, {OnENOTDIR, "ENOTDIR"}, {OnENODEV, "ENODEV"},
	{OnEOPNOTSUPP, "EOPNOTSUPP"}, {OnEEXIST, "EEXIST"}, {OnEROFS, "EROFS"},
	{OnEBUSY, "EBUSY"}, {OnEDQUOT, "EDQUOT"},
}

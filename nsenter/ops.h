/*
 * ops.h: the one definition of what stage0 (Go) and stage1 (C) say to each other.
 *
 * stage0 sends a plan: a header, a flat list of operations, and a data area. stage1
 * validates all of it, then executes the operations in order. It decides nothing: an
 * operation either works, or has an alternative (or may be skipped) for errnos that Go
 * chose, or ends stage1 with one failure record.
 *
 * A Go test (plan/ops_test.go) parses this file and compares it with package plan.
 * Everything is little-endian and naturally aligned (amd64, arm64).
 */
#ifndef BERTH_OPS_H
#define BERTH_OPS_H

#include <stdint.h>

#define PLAN_MAGIC 0x31545242u /* "BRT1" */
#define PLAN_VERSION 1u
#define PLAN_MAX_SIZE (16u << 20) /* bytes, whole plan */
#define PLAN_MAX_OPS 16384u       /* main operations and alternatives */
#define PLAN_MAX_SLOTS 4096u
#define PLAN_PACKET (32u << 10) /* largest packet on the SYNC socket, both ways */
#define SYNC_IDS 16u
#define LOG_MAX 4096u /* bytes of kernel mount log or hook output in a failure record */

/*
 * The plan travels over the SYNC socket (AF_UNIX, SOCK_SEQPACKET) as packets of at
 * most PLAN_PACKET bytes; the first begins with the header.
 *
 * Slots hold file descriptors. Slots [0, nfds) start as descriptors fd_base+slot, passed
 * by stage0; the rest start empty. Writing to a slot closes what it held.
 */
struct plan_header {
	uint32_t magic;
	uint32_t version;
	uint32_t size;     /* bytes of the whole plan, header included */
	uint32_t nops;     /* operations that run in order */
	uint32_t nalts;    /* alternatives; they follow the operations in the array */
	uint32_t nslots;   /* slots used */
	uint32_t nfds;     /* slots filled by stage0 */
	uint32_t fd_base;  /* descriptor number of slot 0 */
	uint32_t sync_fd;  /* descriptor number of the SYNC socket */
	uint32_t data_off; /* data area, from the plan's start; 8-aligned; ends at size */
	uint32_t fault_op; /* tests: 1 + index of an operation that fails; 0: none */
	uint32_t fault_errno;
};

/* struct op.flags */
/* run only if the earlier operation num[3] was skipped or took its alternative; not for PRCTL and
   MKNOD, which use num[3], nor for alternatives; SETATTR is then recursive */
#define OPF_IF_SKIPPED 1u

/* struct op.alt: index into the whole array (of an alternative; above the operation's own), or one
   of these. SYNC_SEND, SYNC_WAIT, WAIT_START, EXEC and EXIT have and are no alternative */
#define ALT_NONE 0u          /* (operation 0 is never an alternative) */
#define ALT_SKIP 0xffffffffu /* go on with the next operation */

/* struct op.alt_on: the errnos on which alt is taken */
#define ON_ENOSYS 0x001u
#define ON_EPERM 0x002u
#define ON_EACCES 0x004u
#define ON_EINVAL 0x008u
#define ON_ENOENT 0x010u
#define ON_ENOTDIR 0x020u
#define ON_ENODEV 0x040u
#define ON_EOPNOTSUPP 0x080u
#define ON_EEXIST 0x100u
#define ON_EROFS 0x200u
#define ON_EBUSY 0x400u
#define ON_EDQUOT 0x800u

struct op {
	uint16_t code;
	uint16_t flags;
	uint32_t alt;
	uint32_t alt_on;
	int32_t slot[2]; /* -1: none */
	uint32_t pad;
	uint32_t str[3]; /* offset from the data area's start, plus 1; 0: none */
	uint32_t pad2;
	uint64_t num[4];
};

/*
 * Operands in the data area (a str[] entry points at one):
 *   string   bytes, then NUL
 *   blob     uint32 length (4-aligned), then bytes
 *   vector   8-aligned: uint64 n, then n uint64 offsets of strings (from the data area's
 *            start, plus 1; 0: a null element, allowed in pairs only), then uint64 0
 *   pairs    a vector of even length: key, value, key, value; a null value is a flag
 *
 * The second argument of OP is the code, the third the slots (two characters), the fourth
 * the strings (three):
 *   slots:   i read (must be filled when it runs), ? read if not -1, o written (-1: closed again),
 *            - unused (-1)
 *   strings: s string, S string or none, b blob, B blob or none, v vector, p pairs or none,
 *            - unused (0)
 */
/* clang-format off */
#define OPS(OP) \
	/* -- process and namespaces */ \
	/* setns(slot0, num0: CLONE_NEW* or 0) */ \
	OP(SETNS, 1, "i-", "---") \
	/* unshare(num0) */ \
	OP(UNSHARE, 2, "--", "---") \
	/* clone(num0 flags; no stack, no shared memory; SIGCHLD added unless CLONE_PARENT): \
	   the child goes on with the next operation, the parent exits with 0 */ \
	OP(CLONE, 3, "--", "---") \
	OP(SETSID, 4, "--", "---") \
	/* prctl(num0, num1, num2, num3, 0) */ \
	OP(PRCTL, 5, "--", "---") \
	/* setgroups(str0: uint32 gids; none: unchanged), setresgid(num1), setresuid(num0), \
	   PR_SET_DUMPABLE 0 again */ \
	OP(SET_IDS, 6, "--", "B--") \
	/* keyctl join session keyring str0, then KEYCTL_SETPERM num0 */ \
	OP(KEYRING, 7, "--", "s--") \
	/* empty signal mask, every disposition default */ \
	OP(RESET_SIGNALS, 8, "--", "---") \
	/* umask(num0) */ \
	OP(UMASK, 9, "--", "---") \
	/* setrlimit(num0 resource, num1 soft, num2 hard) */ \
	OP(RLIMIT, 10, "--", "---") \
	/* chdir(str0) */ \
	OP(CHDIR, 11, "--", "s--") \
	/* raw getcwd; it must begin with "/": else ENOENT */ \
	OP(VERIFY_CWD, 12, "--", "---") \
	/* PR_CAPBSET_DROP of every capability not in num0 (bit = capability) that the kernel has */ \
	OP(CAPBSET, 13, "--", "---") \
	/* capset: num0 effective, num1 permitted, num2 inheritable */ \
	OP(CAPSET, 14, "--", "---") \
	/* PR_CAP_AMBIENT: clear all, then raise each of num0 */ \
	OP(AMBIENT, 15, "--", "---") \
	OP(NO_NEW_PRIVS, 16, "--", "---") \
	/* seccomp(SET_MODE_FILTER): flags num0 and the struct sock_filter array of str0, or if none, \
	   the data granted with SYNC id num1: uint64 flags, then the array; no data: no filter. \
	   slot0: the listener's descriptor */ \
	OP(SECCOMP, 17, "o-", "B--") \
	/* close_range(num0, num1, num2 flags) */ \
	OP(CLOSE_RANGE, 18, "--", "---") \
	/* clear close-on-exec on descriptors num0 .. num0+num1-1 */ \
	OP(KEEP_FDS, 19, "--", "---") \
	/* dup2(slot0, num0 descriptor number), without close-on-exec */ \
	OP(DUP2, 20, "i-", "---") \
	OP(CLOSE, 21, "i-", "---") \
	/* TIOCSCTTY on descriptor 0 */ \
	OP(SET_CTTY, 22, "--", "---") \
	/* fchown descriptors 0..2 to uid num0 (group unchanged), but not those that already \
	   belong to it nor /dev/null (1:3); EPERM, EINVAL, EROFS ignored */ \
	OP(CHOWN_STDIO, 23, "--", "---") \
	OP(HOSTNAME, 24, "--", "s--") \
	OP(DOMAINNAME, 25, "--", "s--") \
	/* bring up interface "lo" of the current network namespace */ \
	OP(LO_UP, 26, "--", "---") \
	/* close_range's alternative: the same, one descriptor at a time up to the hard limit */ \
	OP(CLOSE_EACH, 27, "--", "---") \
	/* -- /proc */ \
	/* slot0: a private procfs: fsopen, fsmount (nosuid, nodev, noexec) */ \
	OP(OPEN_PROC, 30, "o-", "---") \
	/* slot0: the alternative: a clone of the mount at path str0, which must be the root of a \
	   procfs (PROC_SUPER_MAGIC, inode 1) */ \
	OP(CLONE_PROC, 31, "o-", "s--") \
	/* write blob str1 to path str0 below procfs slot0 in one write; num0 = 1: below the \
	   caller's own directory in it (never "self"). openat2 with NO_XDEV, NO_MAGICLINKS, \
	   NO_SYMLINKS, BENEATH; the file must be on a procfs */ \
	OP(PROC_WRITE, 32, "i-", "sb-") \
	/* write "0" to str0, a v1 `tasks` file (path in the current root): the caller, which has one \
	   thread, moves itself, for which the kernel does not wait for an RCU grace period */ \
	OP(CGROUP_JOIN, 33, "--", "s--") \
	/* -- mounts */ \
	/* slot0: a new detached mount: fsopen(str0 type), fsconfig source str1, pairs str2, \
	   create, fsmount(num0: MOUNT_ATTR_*). The kernel's log goes into the failure record */ \
	OP(FSMOUNT, 40, "o-", "sSp") \
	/* slot0: open_tree(CLONE) of str0 (path in the current root, from the current directory) \
	   or, if none, of slot1; num0 = 1: recursive; num1 = 1: str0 is not followed if a symlink */ \
	OP(OPEN_TREE, 41, "o?", "S--") \
	/* mount_setattr on the mount of slot0, or of path str0: num0 set, num1 clear, num2 \
	   propagation; num3 = 1: recursive; slot1: user namespace (MOUNT_ATTR_IDMAP) */ \
	OP(SETATTR, 42, "??", "S--") \
	/* slot1: O_PATH descriptor of path str0 resolved in the root slot0 (openat2 IN_ROOT, \
	   NO_MAGICLINKS, EAGAIN retried). num0: TGT_*; num1: mode of what is created */ \
	OP(TARGET, 43, "io", "s--") \
	/* move_mount(slot0 to slot1) */ \
	OP(MOVE_MOUNT, 44, "ii", "---") \
	/* mount(2) on the target slot1: source str0, type str1, data str2, flags num0; through \
	   the private procfs slot0 */ \
	OP(MOUNT, 45, "ii", "SSS") \
	/* path str0 in root slot0, if it exists: read-only (recursive bind of itself) */ \
	OP(READONLY_PATH, 46, "i-", "s--") \
	/* path str0 in root slot0, if it exists: a directory is covered by the mount slot1 (the \
	   first use attaches it, later ones attach clones of it); another: ENOTDIR, for MASK_FILE */ \
	OP(MASK_DIR, 47, "i?", "s--") \
	/* the same for one that is not a directory: covered by a clone of the file slot1. On a \
	   directory it does nothing */ \
	OP(MASK_FILE, 48, "ii", "s--") \
	/* node str0 in root slot0: num0 mode with S_IF*, num1 device (glibc makedev), num2 uid, \
	   num3 gid. One that exists with the same type and number stays as it is */ \
	OP(MKNOD, 49, "i-", "s--") \
	/* symlink at str1 in root slot0, to str0; num0 = 0: an existing one stays; 1: what is \
	   there (not a directory) is replaced */ \
	OP(SYMLINK, 50, "i-", "ss-") \
	/* fchdir slot0, pivot_root(".", "."), the old root rslave and detached, chdir "/" */ \
	OP(PIVOT, 51, "i-", "---") \
	/* fchdir slot0, move the mount over "/", chroot ".", chdir "/" */ \
	OP(MOVE_ROOT, 52, "i-", "---") \
	/* fchdir slot0, chroot ".", chdir "/" */ \
	OP(CHROOT, 53, "i-", "---") \
	/* slot1: O_PATH descriptor of character device str0 (number num1, as makedev) in root \
	   slot0, not followed, verified */ \
	OP(OPEN_DEV, 54, "io", "s--") \
	/* slot1: O_PATH descriptor of path str0 (current root, from the current directory); \
	   num0: further open flags such as O_DIRECTORY, O_NOFOLLOW */ \
	OP(OPEN_PATH, 55, "-o", "s--") \
	/* unmount (num0 flags) what is mounted at path str0 */ \
	OP(UMOUNT, 56, "--", "s--") \
	/* -- terminal */ \
	/* slot1: the master of a new pty, from path str0 (for instance "/dev/pts/ptmx") in root slot0: \
	   O_NOFOLLOW, must be on a devpts; unlocked; window num0 = rows << 16 | columns if not 0 */ \
	OP(OPEN_PTMX, 60, "io", "s--") \
	/* slot1: the peer of the master slot0 (TIOCGPTPEER, O_RDWR, O_NOCTTY) */ \
	OP(PTY_PEER, 61, "io", "---") \
	/* -- the meeting points */ \
	/* tell stage0 that SYNC id num0 is reached; slot0: a descriptor to hand over */ \
	OP(SYNC_SEND, 70, "?-", "---") \
	/* wait until stage0 has granted SYNC id num0 */ \
	OP(SYNC_WAIT, 71, "--", "---") \
	/* run a hook: path str0, arguments str1, environment str2 (exactly these), num0 timeout \
	   in ms (0: none), the data granted with SYNC id num1 on its standard input. Its exit \
	   status not 0, or a timeout (it is killed): failure, with its output as the log */ \
	OP(HOOK, 72, "--", "svv") \
	/* choose the first candidate of str0 that is a regular file and that the caller may \
	   execute; none: EACCES if one was there, else ENOENT */ \
	OP(LOOKUP_EXEC, 73, "--", "v--") \
	/* send WAITING, close the SYNC socket, reopen the fifo slot0 (O_PATH) for writing through \
	   the procfs slot1, which blocks until a reader comes; write the release byte. From here \
	   on failure records go to the fifo. Both slots are closed */ \
	OP(WAIT_START, 74, "ii", "---") \
	/* execve the chosen candidate: arguments str0, environment str1 */ \
	OP(EXEC, 75, "--", "vv-") \
	/* exit with status num0 */ \
	OP(EXIT, 76, "--", "---") \
	/* write a second byte into the fifo: startContainer hooks are over. Nobody there to read it: \
	   nothing */ \
	OP(ANNOUNCE, 77, "--", "---")
/* clang-format on */

/* OP TARGET, num0 */
#define TGT_DIR 1u       /* a directory; made if missing (with its parents) */
#define TGT_FILE 2u      /* not a directory; an empty file is made if missing (with its parents) */
#define TGT_EXISTING 4u  /* must exist, of either kind */
#define TGT_STRICT 8u    /* no component may be a symlink */
#define TGT_NOT_ROOT 16u /* the root itself is refused: EBUSY */
#define TGT_NOT_PROC 32u /* a file on a procfs is refused: EXDEV */

/* SYNC ids */
#define SYNC_MAPS 1u        /* uid_map and gid_map are written */
#define SYNC_PID 2u         /* sent by the final child of a plan with CLONE; credentials: its pid */
#define SYNC_CGROUP 3u      /* the final child is in its cgroup */
#define SYNC_RUNTIME 4u     /* sent: namespaces, mounts are there; granted: runtime hooks done */
#define SYNC_STATE 5u       /* granted with the state for createContainer hooks */
#define SYNC_CONSOLE 6u     /* sent with the pty master */
#define SYNC_LISTENER 7u    /* sent with the seccomp listener; granted: handed over */
#define SYNC_FINAL 8u       /* granted with the seccomp filter: rlimits set, state written */
#define SYNC_START_STATE 9u /* granted with the state for startContainer hooks */

/* stage1 → stage0, one packet each; also the record that follows the release byte in the fifo */
#define MSG_SYNC 1u
#define MSG_FAIL 2u
#define MSG_WAITING 3u

struct message {
	uint32_t kind;
	uint32_t op;   /* MSG_FAIL: index of the operation (an alternative: its own index) */
	uint32_t code; /* MSG_FAIL: its code; 0: the plan itself is refused */
	int32_t error; /* MSG_FAIL: errno; 0 with HOOK: see arg */
	/* MSG_SYNC: id; MSG_FAIL of HOOK: wait status; of FSMOUNT: 1 + index of the option (of
	   str2) that was refused, 0: another step */
	uint32_t arg;
	/* bytes of log that follow: the kernel's of a mount, the (last) output of a hook, the
	   reason of a refusal; lines, the last one perhaps without its end */
	uint32_t log;
};

/* stage0 → stage1: data for an id in order of offset; granted once offset + bytes == total */
struct grant {
	uint32_t id;
	uint32_t total;
	uint32_t offset;
	uint32_t pad;
};

#endif

/*
 * process.c: namespaces and the process's own attributes.
 */
#include "stage1.h"
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/keyctl.h>
#include <linux/prctl.h>
#include <linux/sched.h>

#define PATH_MAX 4096

static long prctl(long option, uint64_t a, uint64_t b, uint64_t c)
{
	return sys5(__NR_prctl, option, a, b, c, 0);
}

/* For calls that return a value: only an error is one. */
static long no_value(long r)
{
	return r < 0 ? r : 0;
}

long op_SETNS(const struct op *o)
{
	return sys2(__NR_setns, slot_fd(o, 0), o->num[0]);
}

long op_UNSHARE(const struct op *o)
{
	return sys1(__NR_unshare, o->num[0]);
}

long op_CLONE(const struct op *o)
{
	uint64_t flags = o->num[0];
	long pid = sys5(__NR_clone, flags | (flags & CLONE_PARENT ? 0 : SIGCHLD), 0, 0, 0, 0);

	if (pid > 0)
		quit(0); /* the child has the plan now */
	return pid;
}

long op_SETSID(const struct op *o)
{
	(void)o;
	return no_value(sys0(__NR_setsid));
}

long op_PRCTL(const struct op *o)
{
	return no_value(prctl((long)o->num[0], o->num[1], o->num[2], o->num[3]));
}

/* A filter may know only the older call, which does the same for root. */
static long set_id(long all, long plain, uint64_t id)
{
	long r = sys3(all, id, id, id);

	return r == -EPERM || r == -ENOSYS ? sys1(plain, id) : r;
}

long op_SET_IDS(const struct op *o)
{
	uint32_t size;
	const void *groups = blob(o, 0, &size);
	long r = 0;

	if (size % 4)
		return -EINVAL;
	if (groups)
		r = sys2(__NR_setgroups, size / 4, groups);
	if (r == 0)
		r = set_id(__NR_setresgid, __NR_setgid, o->num[1]);
	if (r == 0)
		r = set_id(__NR_setresuid, __NR_setuid, o->num[0]);
	/* the kernel resets it when ids change, to what /proc/sys/fs/suid_dumpable says */
	if (r == 0)
		r = prctl(PR_SET_DUMPABLE, 0, 0, 0);
	return r;
}

long op_KEYRING(const struct op *o)
{
	long id = sys2(__NR_keyctl, KEYCTL_JOIN_SESSION_KEYRING, str(o, 0));

	return id < 0 ? id : sys3(__NR_keyctl, KEYCTL_SETPERM, id, o->num[0]);
}

long op_UMASK(const struct op *o)
{
	sys1(__NR_umask, o->num[0]);
	return 0;
}

long op_RLIMIT(const struct op *o)
{
	uint64_t limit[2] = {o->num[1], o->num[2]};

	return sys4(__NR_prlimit64, 0, o->num[0], limit, 0);
}

long op_CHDIR(const struct op *o)
{
	return sys1(__NR_chdir, str(o, 0));
}

/* "(unreachable)/..." is a directory outside of the root (CVE-2024-21626). */
long op_VERIFY_CWD(const struct op *o)
{
	char path[PATH_MAX];
	long n = sys2(__NR_getcwd, path, sizeof path);

	(void)o;
	return n < 0 ? n : path[0] == '/' ? 0 : -ENOENT;
}

long op_CAPBSET(const struct op *o)
{
	for (long cap = 0; cap < 64; cap++) {
		long r;

		if (o->num[0] >> cap & 1)
			continue;
		r = prctl(PR_CAPBSET_DROP, (uint64_t)cap, 0, 0);
		if (r == -EINVAL)
			return 0; /* the kernel has no more */
		/* without SETPCAP, one that is not there need not be dropped */
		if (r < 0 && prctl(PR_CAPBSET_READ, (uint64_t)cap, 0, 0) != 0)
			return r;
	}
	return 0;
}

long op_CAPSET(const struct op *o)
{
	const uint64_t *n = o->num;
	struct {
		uint32_t version;
		int pid;
	} header = {0x20080522 /* _LINUX_CAPABILITY_VERSION_3 */, 0};
	uint32_t sets[2][3] = {
		{(uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2]},
		{(uint32_t)(n[0] >> 32), (uint32_t)(n[1] >> 32), (uint32_t)(n[2] >> 32)},
	};

	return sys2(__NR_capset, &header, sets);
}

long op_AMBIENT(const struct op *o)
{
	long r = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0);

	for (uint64_t cap = 0; r == 0 && cap < 64; cap++)
		if (o->num[0] >> cap & 1)
			r = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0);
	return r;
}

long op_NO_NEW_PRIVS(const struct op *o)
{
	(void)o;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0);
}

long op_EXIT(const struct op *o)
{
	quit((int)o->num[0]);
}

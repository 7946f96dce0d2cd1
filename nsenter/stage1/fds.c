/*
 * fds.c: descriptors that go on to the app, and those that must not.
 */
#include "stage1.h"
#include <linux/close_range.h>
#include <linux/fcntl.h>
#include <linux/stat.h>

#define NULL_MAJOR 1
#define NULL_MINOR 3

long op_CLOSE_RANGE(const struct op *o)
{
	return sys3(__NR_close_range, o->num[0], o->num[1], o->num[2]);
}

/* Descriptors are below the hard limit, unless it was lowered after they were opened. */
static uint64_t fd_limit(void)
{
	uint64_t limit[2] = {1024, 1024};

	sys4(__NR_prlimit64, 0, 7 /* RLIMIT_NOFILE */, 0, limit);
	return limit[1];
}

long op_CLOSE_EACH(const struct op *o)
{
	uint64_t last = fd_limit();

	if (o->num[1] < last)
		last = o->num[1];
	for (uint64_t fd = o->num[0]; fd <= last; fd++) {
		if (o->num[2] & CLOSE_RANGE_CLOEXEC)
			sys3(__NR_fcntl, fd, F_SETFD, FD_CLOEXEC);
		else
			close_fd((int)fd);
	}
	return 0;
}

/* One of stage1's own, opened in a hole of what was to be preserved? */
static int own_fd(int fd)
{
	for (uint32_t i = 0; i < st.plan->nslots; i++)
		if (st.slots[i].fd == fd)
			return 1;
	return fd == st.sync_fd || fd == st.fifo_fd;
}

long op_KEEP_FDS(const struct op *o)
{
	for (uint64_t i = 0; i < o->num[1] && i < INT32_MAX; i++) {
		int fd = (int)(o->num[0] + i);
		long r;

		if (own_fd(fd))
			return -EBADF;
		r = sys3(__NR_fcntl, fd, F_SETFD, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

long op_DUP2(const struct op *o)
{
	int fd = slot_fd(o, 0), to = (int)o->num[0];
	long r;

	if (fd == to)
		return sys3(__NR_fcntl, fd, F_SETFD, 0);
	r = RETRY(sys3(__NR_dup3, fd, to, 0));
	return r < 0 ? r : 0;
}

long op_CLOSE(const struct op *o)
{
	return empty(o, 0, 0);
}

static long chown_fd(int fd, uint32_t uid)
{
	struct statx s;
	long r = stat_fd(fd, &s);

	if (r < 0)
		return r == -EBADF ? 0 : r;
	if (s.stx_uid == uid)
		return 0;
	if ((s.stx_mode & S_IFMT) == S_IFCHR && s.stx_rdev_major == NULL_MAJOR &&
	    s.stx_rdev_minor == NULL_MINOR)
		return 0;
	r = sys3(__NR_fchown, fd, uid, -1);
	return r == -EPERM || r == -EINVAL || r == -EROFS ? 0 : r;
}

long op_CHOWN_STDIO(const struct op *o)
{
	long r = 0;

	for (int fd = 0; r == 0 && fd < 3; fd++)
		r = chown_fd(fd, (uint32_t)o->num[0]);
	return r;
}

/*
 * proc.c: writes to /proc, through a procfs that nobody else can have mounted over
 * (CVE-2025-52881, CVE-2019-16884).
 */
#include "stage1.h"
#include <asm/statfs.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>

#define PROC_ROOT_INO 1

long fs_magic(int fd)
{
	struct statfs s;
	long r = RETRY(sys2(__NR_fstatfs, fd, &s));

	return r < 0 ? r : (long)s.f_type;
}

static long new_proc(void)
{
	long fs = sys2(__NR_fsopen, "proc", FSOPEN_CLOEXEC), r;

	if (fs < 0)
		return fs;
	r = sys5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
	if (r == 0)
		r = sys3(__NR_fsmount, fs, FSMOUNT_CLOEXEC,
		         MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	close_fd((int)fs);
	return r;
}

long op_OPEN_PROC(const struct op *o)
{
	return fill(o, 0, new_proc());
}

static long check_proc_root(int fd)
{
	struct statx s;
	long r = fs_magic(fd);

	if (r < 0)
		return r;
	if (r != PROC_SUPER_MAGIC)
		return -EXDEV;
	r = stat_fd(fd, &s);
	return r < 0 ? r : s.stx_ino == PROC_ROOT_INO ? 0 : -EXDEV;
}

long op_CLONE_PROC(const struct op *o)
{
	long fd = sys3(__NR_open_tree, AT_FDCWD, str(o, 0), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), r;

	if (fd < 0)
		return fd;
	r = check_proc_root((int)fd);
	if (r < 0) {
		close_fd((int)fd);
		return r;
	}
	return fill(o, 0, fd);
}

static long open_strictly(int dir, const char *path, uint64_t flags)
{
	struct open_how how = {flags | O_CLOEXEC, 0,
	                       RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS |
	                               RESOLVE_BENEATH};

	return RETRY(sys4(__NR_openat2, dir, path, &how, sizeof how));
}

/* The caller's directory. "self" is a symlink, which must not be walked; what it says is the
   pid as this procfs counts it. */
static long open_self(int proc)
{
	char pid[16];
	long n = sys4(__NR_readlinkat, proc, "self", pid, sizeof pid - 1);

	if (n < 0)
		return n;
	pid[n] = 0;
	return open_strictly(proc, pid, O_PATH | O_DIRECTORY);
}

static long write_whole(int fd, const void *data, uint32_t size)
{
	long n = fs_magic(fd);

	if (n < 0)
		return n;
	if (n != PROC_SUPER_MAGIC)
		return -EXDEV;
	n = RETRY(sys3(__NR_write, fd, data, size));
	return n < 0 ? n : n == (long)size ? 0 : -EIO;
}

long op_PROC_WRITE(const struct op *o)
{
	uint32_t size;
	const void *data = blob(o, 1, &size);
	long dir = o->num[0] ? open_self(slot_fd(o, 0)) : slot_fd(o, 0), fd, r;

	if (dir < 0)
		return dir;
	fd = open_strictly((int)dir, str(o, 0), O_WRONLY);
	if (o->num[0])
		close_fd((int)dir);
	if (fd < 0)
		return fd;
	r = write_whole((int)fd, data, size);
	close_fd((int)fd);
	return r;
}

long op_CGROUP_JOIN(const struct op *o)
{
	long fd = RETRY(
		     sys4(__NR_openat, AT_FDCWD, str(o, 0), O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0)),
	     r;

	if (fd < 0)
		return fd;
	r = fs_magic((int)fd) == CGROUP_SUPER_MAGIC ? RETRY(sys3(__NR_write, fd, "0", 1)) : -EXDEV;
	close_fd((int)fd);
	return r < 0 ? r : 0;
}

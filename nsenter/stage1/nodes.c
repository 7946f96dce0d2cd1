/*
 * nodes.c: device nodes and symlinks below a root, made and checked relative to the descriptor of
 * their directory: /dev may be a symlink in the image (CVE-2026-41579).
 */
#include "stage1.h"
#include <linux/fcntl.h>
#include <linux/stat.h>

#define REPLACE_TRIES 16

/* A device number as glibc's makedev makes it. */
static unsigned dev_major(uint64_t dev)
{
	return (unsigned)((dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffull));
}

static unsigned dev_minor(uint64_t dev)
{
	return (unsigned)((dev & 0xff) | (dev >> 12 & ~0xffull));
}

/* The same in the form that mknod(2) takes. */
static unsigned kernel_dev(uint64_t dev)
{
	unsigned minor = dev_minor(dev);

	return (minor & 0xff) | dev_major(dev) << 8 | (minor & ~0xffu) << 12;
}

static int is_device(const struct statx *s, uint64_t dev)
{
	return s->stx_rdev_major == dev_major(dev) && s->stx_rdev_minor == dev_minor(dev);
}

static long check_existing(int dir, const char *name, uint64_t mode, uint64_t dev)
{
	struct statx s;
	long r = sys5(__NR_statx, dir, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &s);
	int device = (mode & S_IFMT) == S_IFCHR || (mode & S_IFMT) == S_IFBLK;

	if (r < 0)
		return r;
	if ((s.stx_mode & S_IFMT) != (mode & S_IFMT) || (device && !is_device(&s, dev)))
		return -EEXIST;
	return 0;
}

long op_MKNOD(const struct op *o)
{
	const char *name;
	long dir = open_parent(slot_fd(o, 0), str(o, 0), &name), r;

	if (dir < 0)
		return dir;
	r = sys4(__NR_mknodat, dir, name, o->num[0], kernel_dev(o->num[1]));
	if (r == 0)
		r = sys5(__NR_fchownat, dir, name, o->num[2], o->num[3], AT_SYMLINK_NOFOLLOW);
	else if (r == -EEXIST)
		r = check_existing((int)dir, name, o->num[0], o->num[1]);
	close_fd((int)dir);
	return r;
}

long op_SYMLINK(const struct op *o)
{
	const char *name;
	long dir = open_parent(slot_fd(o, 0), str(o, 1), &name), r;

	if (dir < 0)
		return dir;
	for (int i = 0; i < REPLACE_TRIES; i++) {
		r = sys3(__NR_symlinkat, str(o, 0), dir, name);
		if (r != -EEXIST || !o->num[0])
			break;
		r = sys3(__NR_unlinkat, dir, name, 0);
		if (r < 0 && r != -ENOENT)
			break;
		r = -EEXIST;
	}
	close_fd((int)dir);
	return r == -EEXIST && !o->num[0] ? 0 : r;
}

long op_OPEN_DEV(const struct op *o)
{
	struct statx s;
	long fd = open_in_root(slot_fd(o, 0), str(o, 0), O_PATH | O_NOFOLLOW, 0), r;

	if (fd < 0)
		return fd;
	r = stat_fd((int)fd, &s);
	if (r == 0 && ((s.stx_mode & S_IFMT) != S_IFCHR || !is_device(&s, o->num[1])))
		r = -ENODEV;
	if (r < 0) {
		close_fd((int)fd);
		return r;
	}
	return fill(o, 1, fd);
}

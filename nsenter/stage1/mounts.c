/*
 * mounts.c: detached mounts made, cloned, changed and attached, by descriptors alone.
 */
#include "stage1.h"
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/stat.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* The kernel's own words about a file system context: "e overlay: ...", one message a read. */
static void read_kernel_log(int fs)
{
	while (st.log_len < LOG_MAX - 1) {
		long n = sys3(__NR_read, fs, record.log + st.log_len, LOG_MAX - 1 - st.log_len);

		if (n <= 0)
			return;
		st.log_len += (uint32_t)n;
		if (record.log[st.log_len - 1] != '\n')
			record.log[st.log_len++] = '\n';
	}
}

static long set_option(int fs, const char *key, const char *value)
{
	return sys5(__NR_fsconfig, fs, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, key, value,
	            0);
}

static long configure(int fs, const char *source, const uint64_t *options)
{
	long r = 0;

	if (source)
		r = set_option(fs, "source", source);
	for (uint64_t i = 0; r == 0 && options && i < options[0]; i += 2) {
		st.detail = (uint32_t)(i / 2 + 1);
		r = set_option(fs, element(options, i), element(options, i + 1));
	}
	if (r == 0) {
		st.detail = 0;
		r = sys5(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0);
	}
	return r;
}

long op_FSMOUNT(const struct op *o)
{
	long fs = sys2(__NR_fsopen, str(o, 0), FSOPEN_CLOEXEC), r;

	if (fs < 0)
		return fs;
	r = configure((int)fs, str(o, 1), vector(o, 2));
	if (r == 0)
		r = sys3(__NR_fsmount, fs, FSMOUNT_CLOEXEC, o->num[0]);
	if (r < 0)
		read_kernel_log((int)fs);
	close_fd((int)fs);
	return fill(o, 0, r);
}

long op_OPEN_TREE(const struct op *o)
{
	uint64_t flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	const char *path = str(o, 0);

	if (o->num[0])
		flags |= AT_RECURSIVE;
	if (path && o->num[1])
		flags |= AT_SYMLINK_NOFOLLOW;
	if (!path && o->slot[1] < 0)
		return -EBADF;
	return fill(o, 0,
	            path ? sys3(__NR_open_tree, AT_FDCWD, path, flags)
	                 : sys3(__NR_open_tree, slot_fd(o, 1), "", flags | AT_EMPTY_PATH));
}

long op_SETATTR(const struct op *o)
{
	struct mount_attr attr = {o->num[0], o->num[1], o->num[2], 0};
	const char *path = str(o, 0);
	uint64_t flags = o->num[3] ? AT_RECURSIVE : 0;

	if (o->slot[1] >= 0)
		attr.userns_fd = (uint64_t)slot_fd(o, 1);
	if (path)
		return sys5(__NR_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof attr);
	return sys5(__NR_mount_setattr, slot_fd(o, 0), "", flags | AT_EMPTY_PATH, &attr,
	            sizeof attr);
}

static long attach(int mount, int target)
{
	return sys5(__NR_move_mount, mount, "", target, "",
	            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static long clone_mount(int fd, uint64_t recursive)
{
	return sys3(__NR_open_tree, fd, "",
	            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | recursive);
}

static long attach_clone(int fd, int target)
{
	long mount = clone_mount(fd, 0), r;

	if (mount < 0)
		return mount;
	r = attach((int)mount, target);
	close_fd((int)mount);
	return r;
}

long op_MOVE_MOUNT(const struct op *o)
{
	return attach(slot_fd(o, 0), slot_fd(o, 1));
}

static long make_readonly(int target)
{
	struct mount_attr attr = {MOUNT_ATTR_RDONLY, 0, 0, 0};
	long mount = clone_mount(target, AT_RECURSIVE), r;

	if (mount < 0)
		return mount;
	/* nothing but RDONLY: in a user namespace the other flags are locked as they are */
	r = sys5(__NR_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr);
	if (r == 0)
		r = attach((int)mount, target);
	close_fd((int)mount);
	return r;
}

static int missing(long fd)
{
	return fd == -ENOENT || fd == -ENOTDIR;
}

long op_READONLY_PATH(const struct op *o)
{
	long target = open_in_root(slot_fd(o, 0), str(o, 0), O_PATH, 0), r;

	if (target < 0)
		return missing(target) ? 0 : target;
	r = make_readonly((int)target);
	close_fd((int)target);
	return r;
}

long op_MASK_DIR(const struct op *o)
{
	long target = open_in_root(slot_fd(o, 0), str(o, 0), O_PATH | O_DIRECTORY, 0), r;
	struct slot *cover;

	if (target < 0)
		return target == -ENOENT ? 0 : target;
	if (o->slot[1] < 0) {
		close_fd((int)target);
		return -EBADF;
	}
	/* Before 6.15 a detached mount can't be cloned; once attached it can. */
	cover = &st.slots[o->slot[1]];
	r = cover->covered ? attach_clone(cover->fd, (int)target) : attach(cover->fd, (int)target);
	if (r == 0)
		cover->covered = 1;
	close_fd((int)target);
	return r;
}

long op_MASK_FILE(const struct op *o)
{
	long target = open_in_root(slot_fd(o, 0), str(o, 0), O_PATH, 0), r;
	struct statx s;

	if (target < 0)
		return missing(target) ? 0 : target;
	r = stat_fd((int)target, &s);
	if (r == 0 && (s.stx_mode & S_IFMT) != S_IFDIR)
		r = attach_clone(slot_fd(o, 1), (int)target);
	close_fd((int)target);
	return r;
}

/*
 * root.c: the change of the root, and mounts by mount(2).
 */
#include "stage1.h"
#include <linux/fcntl.h>
#include <linux/mount.h>

#define MNT_DETACH 2

static long chdir_root(long before)
{
	return before < 0 ? before : sys1(__NR_chdir, "/");
}

static long pivot(int root, int old)
{
	struct mount_attr slave = {0, 0, MS_SLAVE, 0};
	long r = sys1(__NR_fchdir, root);

	if (r == 0)
		r = sys2(__NR_pivot_root, ".", ".");
	/* No longer shared, or the host's mounts would be unmounted with it. By descriptor: "." is
	   the new root but for umount2, which takes what lies on top, the old one. */
	if (r == 0)
		r = sys5(__NR_mount_setattr, old, "", AT_EMPTY_PATH | AT_RECURSIVE, &slave,
		         sizeof slave);
	if (r == 0)
		r = sys2(__NR_umount2, ".", MNT_DETACH);
	return chdir_root(r);
}

long op_PIVOT(const struct op *o)
{
	long old = sys4(__NR_openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0), r;

	if (old < 0)
		return old;
	r = pivot(slot_fd(o, 0), (int)old);
	close_fd((int)old);
	return r;
}

long op_MOVE_ROOT(const struct op *o)
{
	long r = sys1(__NR_fchdir, slot_fd(o, 0));

	if (r == 0)
		r = sys5(__NR_mount, ".", "/", 0, MS_MOVE, 0);
	if (r == 0)
		r = sys1(__NR_chroot, ".");
	return chdir_root(r);
}

long op_CHROOT(const struct op *o)
{
	long r = sys1(__NR_fchdir, slot_fd(o, 0));

	if (r == 0)
		r = sys1(__NR_chroot, ".");
	return chdir_root(r);
}

long op_UMOUNT(const struct op *o)
{
	return sys2(__NR_umount2, str(o, 0), o->num[0]);
}

/* mount(2) takes no descriptor: the target is named relative to the private procfs. */
static long mount_from_proc(const struct op *o)
{
	char target[24] = "self/fd/";
	long r = sys1(__NR_fchdir, slot_fd(o, 0));

	append_decimal(target + 8, (unsigned)slot_fd(o, 1));
	if (r < 0)
		return r;
	return sys5(__NR_mount, str(o, 0), target, str(o, 1), o->num[0], str(o, 2));
}

long op_MOUNT(const struct op *o)
{
	long cwd = sys4(__NR_openat, AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0), r, back;

	if (cwd < 0)
		return cwd;
	r = mount_from_proc(o);
	back = sys1(__NR_fchdir, cwd);
	close_fd((int)cwd);
	return r < 0 ? r : back;
}

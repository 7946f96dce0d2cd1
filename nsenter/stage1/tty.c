/*
 * tty.c: the terminal. Both ends are opened from the devpts itself, never by a path that a bind
 * mount or a symlink could redirect (CVE-2025-52565).
 */
#include "stage1.h"
#include <asm/ioctls.h>
#include <asm/termios.h>
#include <linux/fcntl.h>
#include <linux/magic.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

long op_SET_CTTY(const struct op *o)
{
	(void)o;
	return sys3(__NR_ioctl, 0, TIOCSCTTY, 0);
}

static long check_devpts(long fd)
{
	long magic;

	if (fd < 0)
		return fd;
	magic = fs_magic((int)fd);
	if (magic == DEVPTS_SUPER_MAGIC)
		return fd;
	close_fd((int)fd);
	return magic < 0 ? magic : -EXDEV;
}

/* The directory is checked first: to open a device node of the image could do anything. */
static long open_ptmx(int root, const char *path)
{
	const char *name;
	long dir = check_devpts(open_parent(root, path, &name)), fd;

	if (dir < 0)
		return dir;
	fd = sys4(__NR_openat, dir, name, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC, 0);
	close_fd((int)dir);
	return check_devpts(fd);
}

static long set_up(int master, uint64_t window)
{
	struct winsize size = {(unsigned short)(window >> 16), (unsigned short)window, 0, 0};
	int lock = 0;
	long r = sys3(__NR_ioctl, master, TIOCSPTLCK, &lock);

	if (r == 0 && window)
		r = sys3(__NR_ioctl, master, TIOCSWINSZ, &size);
	return r;
}

long op_OPEN_PTMX(const struct op *o)
{
	long fd = open_ptmx(slot_fd(o, 0), str(o, 0)), r;

	if (fd < 0)
		return fd;
	r = set_up((int)fd, o->num[0]);
	if (r < 0) {
		close_fd((int)fd);
		return r;
	}
	return fill(o, 1, fd);
}

long op_PTY_PEER(const struct op *o)
{
	return fill(o, 1,
	            sys3(__NR_ioctl, slot_fd(o, 0), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
}

/*
 * path.c: paths below a root's descriptor. Symlinks of the image are followed inside the root
 * alone, those of /proc never; what is missing is made one component at a time, below a descriptor
 * and without following anything (CVE-2021-30465, CVE-2024-45310).
 */
#include "stage1.h"
#include <asm/stat.h>
#include <linux/fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/stat.h>

/* openat2 answers EAGAIN when a rename or mount raced with a "..". */
#define OPEN_TRIES 1024

/* Directories made on the way to a target. */
#define PARENT_MODE 0755

/* A filter that is older than statx denies it; what fstat knows is enough then. */
static long old_stat_fd(int fd, struct statx *s)
{
	struct stat old;
	long r = sys2(__NR_fstat, fd, &old);

	if (r == 0)
		*s = (struct statx){.stx_mode = (uint16_t)old.st_mode,
		                    .stx_uid = old.st_uid,
		                    .stx_ino = old.st_ino,
		                    .stx_rdev_major = (uint32_t)(old.st_rdev >> 8 & 0xfff),
		                    .stx_rdev_minor = (uint32_t)(old.st_rdev & 0xff)};
	return r;
}

long stat_fd(int fd, struct statx *s)
{
	long r = sys5(__NR_statx, fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
	              STATX_BASIC_STATS | STATX_MNT_ID, s);

	return r == -EPERM || r == -ENOSYS ? old_stat_fd(fd, s) : r;
}

long open_in_root(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {flags | O_CLOEXEC, 0,
	                       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve};
	long fd = -EAGAIN;

	if (!*path)
		path = "/";
	for (int i = 0; i < OPEN_TRIES && (fd == -EAGAIN || fd == -EINTR); i++)
		fd = sys4(__NR_openat2, root, path, &how, sizeof how);
	return fd;
}

/* The beginning of the last component of path[0..end), and in *stop its end. */
static size_t last_component(const char *path, size_t end, size_t *stop)
{
	while (end && path[end - 1] == '/')
		end--;
	*stop = end;
	while (end && path[end - 1] != '/')
		end--;
	return end;
}

/* The same call with path cut at end; the plan's memory is ours to write. */
static long open_prefix(int root, char *path, size_t end, uint64_t resolve)
{
	char cut = path[end];
	long fd;

	path[end] = 0;
	fd = open_in_root(root, path, O_PATH | O_DIRECTORY, resolve);
	path[end] = cut;
	return fd;
}

/* Directory name below dir: made if missing, opened without following it. */
static long enter_dir(int dir, const char *name, unsigned mode)
{
	struct statx s;
	long r = sys3(__NR_mkdirat, dir, name, mode);
	long fd;

	if (r < 0 && r != -EEXIST)
		return r;
	fd = sys4(__NR_openat, dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd == -ENOTDIR &&
	    sys5(__NR_statx, dir, name, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &s) == 0 &&
	    (s.stx_mode & S_IFMT) == S_IFLNK)
		return -ELOOP; /* a symlink to nothing, or put there this moment */
	return fd;
}

/* The next component of path[*at..end), which moves to its beginning; returns its end. */
static size_t component(const char *path, size_t *at, size_t end)
{
	size_t stop;

	while (*at < end && path[*at] == '/')
		++*at;
	for (stop = *at; stop < end && path[stop] != '/'; stop++)
		;
	return stop;
}

/* "." (1) or ".." (2) of that length. */
static int dots(const char *name, size_t len)
{
	return len == 1 && name[0] == '.'                     ? 1
	       : len == 2 && name[0] == '.' && name[1] == '.' ? 2
	                                                      : 0;
}

/* A ".." in what does not exist means nothing that could be made. */
static int has_parent(const char *path, size_t at, size_t end)
{
	for (size_t stop; (stop = component(path, &at, end)) > at; at = stop)
		if (dots(path + at, stop - at) == 2)
			return 1;
	return 0;
}

/* The components of path[at..end), each made and entered from dir on, which is closed. */
static long make_rest(long dir, char *path, size_t at, size_t end, unsigned mode)
{
	for (size_t stop; dir >= 0 && (stop = component(path, &at, end)) > at; at = stop) {
		char cut = path[stop];
		long next;

		if (dots(path + at, stop - at))
			continue;
		path[stop] = 0;
		next = enter_dir((int)dir, path + at, stop == end ? mode : PARENT_MODE);
		path[stop] = cut;
		close_fd((int)dir);
		dir = next;
	}
	return dir;
}

/* Directory path[0..end) below root, made with its parents where missing; O_PATH. missing: the
   whole is known not to be there. */
static long make_dirs(int root, char *path, size_t end, uint64_t resolve, unsigned mode,
                      int missing)
{
	size_t whole, exists, stop;
	long dir;

	last_component(path, end, &whole);
	exists = missing ? last_component(path, whole, &stop) : whole;
	while ((dir = open_prefix(root, path, exists, resolve)) == -ENOENT && exists)
		exists = last_component(path, exists, &stop);
	if (dir < 0)
		return dir;
	if (has_parent(path, exists, whole)) {
		close_fd((int)dir);
		return -EINVAL;
	}
	return make_rest(dir, path, exists, whole, mode);
}

/* The directory that is to hold path, made if missing; *name is the last component. */
static long make_parent(int root, const char *path, uint64_t resolve, const char **name)
{
	size_t stop, at = last_component(path, strlen(path), &stop);

	*name = path + at;
	if (at == stop || path[stop] || dots(*name, stop - at))
		return -EISDIR; /* "", "/", "a/", "a/..": no name that something could have */
	return make_dirs(root, (char *)path, at, resolve, PARENT_MODE, 0);
}

long open_parent(int root, const char *path, const char **name)
{
	return make_parent(root, path, 0, name);
}

/* An empty file, made without being opened; then what has its name, unless a symlink. */
static long make_file(int root, const char *path, uint64_t resolve, unsigned mode)
{
	const char *name;
	struct statx s;
	long dir = make_parent(root, path, resolve, &name), fd;

	if (dir < 0)
		return dir;
	fd = sys4(__NR_mknodat, dir, name, S_IFREG | mode, 0);
	if (fd == 0 || fd == -EEXIST)
		fd = sys4(__NR_openat, dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	close_fd((int)dir);
	if (fd >= 0 && stat_fd((int)fd, &s) == 0 && (s.stx_mode & S_IFMT) == S_IFLNK) {
		close_fd((int)fd);
		return -ELOOP;
	}
	return fd;
}

static int same_place(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_mnt_id == b->stx_mnt_id &&
	       a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor;
}

static long check_target(int root, int fd, uint64_t how)
{
	struct statx target, top;
	long r;

	if (how & TGT_NOT_PROC && fs_magic(fd) == PROC_SUPER_MAGIC)
		return -EXDEV;
	if (!(how & (TGT_FILE | TGT_NOT_ROOT)))
		return 0;
	r = stat_fd(fd, &target);
	if (r == 0 && how & TGT_FILE && (target.stx_mode & S_IFMT) == S_IFDIR)
		return -EISDIR;
	if (r == 0 && how & TGT_NOT_ROOT) {
		r = stat_fd(root, &top);
		if (r == 0 && same_place(&target, &top))
			return -EBUSY;
	}
	return r;
}

long op_TARGET(const struct op *o)
{
	int root = slot_fd(o, 0);
	const char *path = str(o, 0);
	uint64_t how = o->num[0], resolve = how & TGT_STRICT ? RESOLVE_NO_SYMLINKS : 0;
	unsigned mode = (unsigned)o->num[1] & 07777;
	long fd = open_in_root(root, path, O_PATH | (how & TGT_DIR ? O_DIRECTORY : 0), resolve), r;

	if (fd == -ENOENT && how & TGT_DIR)
		fd = make_dirs(root, (char *)path, strlen(path), resolve, mode, 1);
	else if (fd == -ENOENT && how & TGT_FILE)
		fd = make_file(root, path, resolve, mode);
	if (fd < 0)
		return fd;
	r = check_target(root, (int)fd, how);
	if (r < 0) {
		close_fd((int)fd);
		return r;
	}
	return fill(o, 1, fd);
}

long op_OPEN_PATH(const struct op *o)
{
	return fill(
		o, 1,
		RETRY(sys4(__NR_openat, AT_FDCWD, str(o, 0), O_PATH | O_CLOEXEC | o->num[0], 0)));
}

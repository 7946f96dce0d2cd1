/*
 * exec.c: which program, and the program.
 */
#include "stage1.h"
#include <asm/stat.h>
#include <linux/fcntl.h>
#include <linux/stat.h>

#define X_OK 1

static long may_execute(const char *path)
{
	long r = sys4(__NR_faccessat2, AT_FDCWD, path, X_OK, AT_EACCESS);

	/* before 5.8, or denied by a filter that is older; it asks for the real ids, which are the
	   effective ones by now */
	return r == -ENOSYS || r == -EPERM ? sys3(__NR_faccessat, AT_FDCWD, path, X_OK) : r;
}

static long executable(const char *path)
{
	struct stat s; /* not statx, which a filter of a profile may not know */
	long r = sys4(__NR_newfstatat, AT_FDCWD, path, &s, 0);

	if (r < 0)
		return r;
	return (s.st_mode & S_IFMT) == S_IFREG ? may_execute(path) : -EACCES;
}

long op_LOOKUP_EXEC(const struct op *o)
{
	const uint64_t *candidates = vector(o, 0);
	long result = -ENOENT;

	for (uint64_t i = 0; i < candidates[0]; i++) {
		long r = executable(element(candidates, i));

		if (r == 0) {
			st.chosen = element(candidates, i);
			return 0;
		}
		if (r != -ENOENT && r != -ENOTDIR)
			result = r;
	}
	return result;
}

long op_EXEC(const struct op *o)
{
	if (!st.chosen)
		return -EINVAL;
	return sys3(__NR_execve, st.chosen, relocate(vector(o, 0)), relocate(vector(o, 1)));
}

/*
 * launch: runs one command as its child and reports what wait4(2) knows of it, for the
 * memory measurement. A process inherits the peak of the image that called exec, so the
 * parent has to be small: Go's would hide every runtime's own.
 *
 *   launch PROCS REPORT COMMAND...
 *
 * It joins the cgroup whose cgroup.procs is PROCS first, and at the end writes
 * "STATUS MAXRSS_KB\n" to the file REPORT.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "launch: %s: %s\n", what, strerror(errno));
	return 125;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int fd, out, status;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: launch PROCS REPORT COMMAND...\n");
		return 125;
	}
	fd = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return fail(argv[1]);
	out = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		return fail(argv[2]);
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (pid == 0) {
		execv(argv[3], argv + 3);
		_exit(fail(argv[3]));
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		return fail("wait4");
	dprintf(out, "%d %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		usage.ru_maxrss);
	return 0;
}

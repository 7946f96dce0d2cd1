/*
 * probe: what a process can see of itself, told on stdout, one fact a line. The tests run
 * it inside containers, and (dirty, nofile) as a launcher with an untidy process state.
 * Static, needs nothing of the root file system.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long ret)
{
	if (ret < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: ok\n", what);
}

/* fds: each open descriptor below 1024 and what it is */
static int fds(void)
{
	char link[64], to[4096];

	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, to, sizeof to - 1);
		to[n < 0 ? 0 : n] = 0;
		printf("%d %s\n", fd, to);
	}
	return 0;
}

static int limits(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	printf("nofile %llu %llu\n", (unsigned long long)r.rlim_cur, (unsigned long long)r.rlim_max);
	return 0;
}

static int cwd(void)
{
	char buf[4096];

	memset(buf, 0, sizeof buf);
	long n = syscall(SYS_getcwd, buf, sizeof buf);
	printf("cwd %s\n", n > 0 ? buf : strerrorname_np(errno));
	return 0;
}

static int winsize(void)
{
	struct winsize w;

	if (ioctl(0, TIOCGWINSZ, &w) < 0)
		say("winsize", -1);
	else
		printf("winsize %d %d\n", w.ws_row, w.ws_col);
	return 0;
}

/* term: says each signal it gets; ends with 42 at SIGTERM */
static int term(void)
{
	sigset_t set;
	int sig;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	while (sigwait(&set, &sig) == 0) {
		if (sig == SIGWINCH)
			winsize();
		printf("got %d\n", sig);
		if (sig == SIGTERM)
			return 42;
	}
	return 1;
}

/* spawn N [exit]: N children that ignore SIGTERM; then stays, or ends at once */
static int spawn(int n, int leave)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (int i = 0; i < n; i++)
		if (fork() == 0)
			for (;;)
				pause();
	puts("ready");
	if (leave)
		return 0;
	for (;;)
		pause();
}

/* dirty CMD...: runs it with signals blocked and ignored, and descriptors left open */
static int dirty(char **argv)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	umask(0077);
	for (int fd = 10; fd < 20; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			dup2(open("/", O_RDONLY | O_DIRECTORY), fd);
	execv(argv[0], argv);
	perror(argv[0]);
	return 127;
}

static int nofile(char **argv)
{
	struct rlimit r = {strtoul(argv[0], NULL, 10), strtoul(argv[1], NULL, 10)};

	if (setrlimit(RLIMIT_NOFILE, &r) < 0) {
		perror("setrlimit");
		return 127;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}

/* listen CMD...: as a service manager calls it: LISTEN_PID is its own pid */
static int as_service(char **argv)
{
	char pid[16];

	if (getenv("LISTEN_FDS")) {
		snprintf(pid, sizeof pid, "%d", getpid());
		setenv("LISTEN_PID", pid, 1);
	}
	execv(argv[0], argv);
	perror(argv[0]);
	return 127;
}

/* deny ERRNO NR CMD...: runs it under a filter that answers one system call with an error */
static int deny(char **argv)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[1]), 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[0])),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof code / sizeof *code, code};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0) {
		perror("seccomp");
		return 127;
	}
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}

static int do_open(char **argv)
{
	int flags = strcmp(argv[1], "r") == 0   ? O_RDONLY
	            : strcmp(argv[1], "w") == 0 ? O_WRONLY
	            : strcmp(argv[1], "c") == 0 ? O_WRONLY | O_CREAT
	                                        : O_RDWR;
	say(argv[0], open(argv[0], flags | O_NOCTTY | O_NONBLOCK, 0644));
	return 0;
}

static int do_mknod(char **argv)
{
	mode_t type = argv[1][0] == 'b' ? S_IFBLK : S_IFCHR;

	say(argv[0], mknod(argv[0], type | 0600, makedev(atoi(argv[2]), atoi(argv[3]))));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	char *c = argv[1], **a = argv + 2;
	int n = argc - 2;

	if (strcmp(c, "fds") == 0)
		return fds();
	if (strcmp(c, "limits") == 0)
		return limits();
	if (strcmp(c, "cwd") == 0)
		return cwd();
	if (strcmp(c, "winsize") == 0)
		return winsize();
	if (strcmp(c, "term") == 0)
		return term();
	if (strcmp(c, "umask") == 0)
		return printf("umask %04o\n", umask(0)), 0;
	if (strcmp(c, "keyring") == 0)
		return printf("keyring %ld\n", syscall(SYS_keyctl, 0L, -3L, 0L)), 0;
	if (strcmp(c, "argv") == 0) {
		for (int i = 0; i < argc; i++)
			printf("[%s]\n", argv[i]);
		return 0;
	}
	if (strcmp(c, "spawn") == 0 && n >= 1)
		return spawn(atoi(a[0]), n > 1);
	if (strcmp(c, "dirty") == 0 && n >= 1)
		return dirty(a);
	if (strcmp(c, "listen") == 0 && n >= 1)
		return as_service(a);
	if (strcmp(c, "deny") == 0 && n >= 3)
		return deny(a);
	if (strcmp(c, "nofile") == 0 && n >= 3)
		return nofile(a);
	if (strcmp(c, "open") == 0 && n >= 2)
		return do_open(a);
	if (strcmp(c, "mknod") == 0 && n >= 4)
		return do_mknod(a);
	if (strcmp(c, "syscall") == 0 && n >= 1) {
		for (int i = 0; i < n; i++)
			say(a[i], syscall(atol(a[i]), -1L, 0L, 0L, 0L, 0L, 0L));
		return 0;
	}
	if (strcmp(c, "exit") == 0 && n >= 1)
		return atoi(a[0]);
	if (strcmp(c, "die") == 0 && n >= 1) {
		/* pid 1 of a namespace survives its own default-action signals: a real kill only
		   with a handler-less fault */
		signal(atoi(a[0]), SIG_DFL);
		kill(getpid(), atoi(a[0]));
		return 99;
	}
	fprintf(stderr, "probe: unknown %s\n", c);
	return 2;
}

/*
 * floor: what the kernel alone asks for one container. It makes the namespaces, mounts,
 * masks and device nodes of runc's default config for ROOTFS, pivots, executes /bin/true
 * and waits for it. No config is read, no state is kept, no limit is set: no runtime can
 * be faster than this, and the distance to it is the runtime's own cost.
 *
 *   floor [-c NAME] ROOTFS HIERARCHY...
 *
 * HIERARCHY are names under /sys/fs/cgroup (none: cgroup2). With -c it also makes a
 * cgroup NAME in each, moves the container there while it mounts, and removes them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const char *cgroup; /* NAME of -c */
static char **hierarchies; /* ends with NULL */

static void die(const char *what, const char *path)
{
	fprintf(stderr, "floor: %s %s: %s\n", what, path, strerror(errno));
	_exit(1);
}

static void mnt(const char *src, const char *dst, const char *type, unsigned long flags,
		const char *data)
{
	if (mount(src, dst, type, flags, data) < 0)
		die("mount", dst);
}

static void bind_ro(const char *src, const char *dst, unsigned long flags)
{
	mnt(src, dst, NULL, MS_BIND, NULL);
	mnt(NULL, dst, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL);
}

/* The path of a hierarchy's directory (the container's own with -c), optionally a file. */
static const char *hier(char *buf, size_t n, const char *name, const char *file)
{
	snprintf(buf, n, "/sys/fs/cgroup/%s%s%s%s%s", name, cgroup ? "/" : "",
		 cgroup ? cgroup : "", file ? "/" : "", file ? file : "");
	return buf;
}

static void mount_cgroups(void)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	char src[256], dst[256];

	if (!hierarchies[0]) {
		mnt("cgroup", "sys/fs/cgroup", "cgroup2", flags | MS_RDONLY, NULL);
		return;
	}
	mnt("tmpfs", "sys/fs/cgroup", "tmpfs", flags, "mode=755");
	for (char **h = hierarchies; *h; h++) {
		snprintf(dst, sizeof(dst), "sys/fs/cgroup/%s", *h);
		if (mkdir(dst, 0755) < 0)
			die("mkdir", dst);
		bind_ro(hier(src, sizeof(src), *h, NULL), dst, flags);
	}
	mnt(NULL, "sys/fs/cgroup", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL);
}

static void make_mounts(const char *rootfs)
{
	unsigned long sec = MS_NOSUID | MS_NOEXEC | MS_NODEV;

	mnt(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
	mnt(rootfs, rootfs, NULL, MS_BIND | MS_REC, NULL);
	if (chdir(rootfs) < 0)
		die("chdir", rootfs);
	mnt("proc", "proc", "proc", 0, NULL);
	mnt("tmpfs", "dev", "tmpfs", MS_NOSUID | MS_STRICTATIME, "mode=755,size=65536k");
	if (mkdir("dev/pts", 0755) < 0 || mkdir("dev/shm", 0755) < 0 || mkdir("dev/mqueue", 0755) < 0)
		die("mkdir", "dev");
	mnt("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	    "newinstance,ptmxmode=0666,mode=0620,gid=5");
	mnt("shm", "dev/shm", "tmpfs", sec, "mode=1777,size=65536k");
	mnt("mqueue", "dev/mqueue", "mqueue", sec, NULL);
	mnt("sysfs", "sys", "sysfs", sec | MS_RDONLY, NULL);
	mount_cgroups();
}

static void make_devices(void)
{
	static const struct {
		const char *path;
		int major, minor;
	} nodes[] = { { "dev/null", 1, 3 },   { "dev/zero", 1, 5 },    { "dev/full", 1, 7 },
		      { "dev/random", 1, 8 }, { "dev/urandom", 1, 9 }, { "dev/tty", 5, 0 } };
	static const char *links[][2] = { { "/proc/self/fd", "dev/fd" },
					  { "/proc/self/fd/0", "dev/stdin" },
					  { "/proc/self/fd/1", "dev/stdout" },
					  { "/proc/self/fd/2", "dev/stderr" },
					  { "/proc/kcore", "dev/core" },
					  { "pts/ptmx", "dev/ptmx" } };

	umask(0);
	for (size_t i = 0; i < LEN(nodes); i++)
		if (mknod(nodes[i].path, S_IFCHR | 0666, makedev(nodes[i].major, nodes[i].minor)) < 0)
			die("mknod", nodes[i].path);
	for (size_t i = 0; i < LEN(links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			die("symlink", links[i][1]);
	umask(022);
}

static void hide_paths(void)
{
	static const char *masked[] = { "/proc/acpi",	     "/proc/asound",	  "/proc/kcore",
					"/proc/keys",	     "/proc/latency_stats", "/proc/timer_list",
					"/proc/timer_stats", "/proc/sched_debug", "/sys/firmware",
					"/proc/scsi" };
	static const char *readonly[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					  "/proc/sysrq-trigger" };
	struct stat st;

	for (size_t i = 0; i < LEN(readonly); i++)
		if (stat(readonly[i], &st) == 0)
			bind_ro(readonly[i], readonly[i], 0);
	for (size_t i = 0; i < LEN(masked); i++) {
		if (stat(masked[i], &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			mnt("tmpfs", masked[i], "tmpfs", MS_RDONLY, NULL);
		else
			mnt("/dev/null", masked[i], NULL, MS_BIND, NULL);
	}
}

static void container(const char *rootfs, int ready)
{
	char *argv[] = { "/bin/true", NULL }, *envp[] = { "PATH=/bin", NULL };
	char byte;

	make_mounts(rootfs);
	make_devices();
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		die("pivot_root", rootfs);
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		die("umount", "the old root");
	hide_paths();
	mnt(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
	if (sethostname("runc", 4) < 0)
		die("sethostname", "runc");
	if (ready >= 0 && read(ready, &byte, 1) != 1)
		die("read", "the parent's byte");
	execve(argv[0], argv, envp);
	die("execve", argv[0]);
}

static void put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		die("write", path);
	close(fd);
}

/* A new cpuset takes no task until it has CPUs and nodes: the root's. */
static void fill_cpuset(const char *file)
{
	char path[256], value[256];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/cpuset/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, value, sizeof(value) - 1);
	if (n < 0)
		die("read", path);
	close(fd);
	value[n] = 0;
	put(hier(path, sizeof(path), "cpuset", file), value);
}

static void make_cgroups(void)
{
	char path[256];

	for (char **h = hierarchies; *h; h++) {
		if (mkdir(hier(path, sizeof(path), *h, NULL), 0755) < 0)
			die("mkdir", path);
		if (!strcmp(*h, "cpuset")) {
			fill_cpuset("cpuset.cpus");
			fill_cpuset("cpuset.mems");
		}
	}
}

/* The device rules of the spec's default devices: one write each, as the kernel wants it. */
static void limit_devices(void)
{
	static const char *allowed[] = { "c *:* m",   "b *:* m",   "c 1:3 rwm", "c 1:5 rwm",
					 "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm", "c 5:0 rwm",
					 "c 5:2 rwm", "c 136:* rwm" };
	char path[256];

	put(hier(path, sizeof(path), "devices", "devices.deny"), "a");
	for (size_t i = 0; i < LEN(allowed); i++)
		put(hier(path, sizeof(path), "devices", "devices.allow"), allowed[i]);
}

static void join_cgroups(pid_t pid)
{
	char path[256], id[16];

	snprintf(id, sizeof(id), "%d", pid);
	for (char **h = hierarchies; *h; h++) {
		if (!strcmp(*h, "devices"))
			limit_devices();
		put(hier(path, sizeof(path), *h, "cgroup.procs"), id);
	}
}

static void remove_cgroups(void)
{
	char path[256];

	for (char **h = hierarchies; *h; h++)
		if (rmdir(hier(path, sizeof(path), *h, NULL)) < 0)
			die("rmdir", path);
}

int main(int argc, char **argv)
{
	unsigned long flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS;
	int at = 1, status, ready[2] = { -1, -1 };
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "-c")) {
		cgroup = argv[2];
		at = 3;
	}
	if (argc <= at) {
		fprintf(stderr, "usage: floor [-c NAME] ROOTFS HIERARCHY...\n");
		return 2;
	}
	hierarchies = argv + at + 1;
	if (cgroup) {
		make_cgroups();
		if (pipe2(ready, O_CLOEXEC) < 0)
			die("pipe", "");
	}
	pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		die("clone", "");
	if (pid == 0)
		container(argv[at], ready[0]);
	if (cgroup) {
		join_cgroups(pid);
		if (write(ready[1], "", 1) != 1)
			die("write", "the child's byte");
	}
	if (waitpid(pid, &status, 0) != pid)
		die("wait", "");
	if (cgroup)
		remove_cgroups();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

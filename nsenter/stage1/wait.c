/*
 * wait.c: the wait for start. WAITING is the last word to stage0; what comes after it goes through
 * exec.fifo.
 */
#include "stage1.h"
#include <asm/signal.h>
#include <linux/fcntl.h>

/* What start reads first; the value is runc's. */
static const char release = '0';
static const char announcement = '1';

/* A start that went away between its open and the release is one that never came: wait again. */
static long wait_release(int proc, const char *path)
{
	for (;;) {
		long fd = RETRY(sys4(__NR_openat, proc, path, O_WRONLY | O_CLOEXEC, 0));
		long n;

		if (fd < 0)
			return fd;
		n = RETRY(sys3(__NR_write, fd, &release, 1));
		if (n == 1)
			return fd;
		close_fd((int)fd);
		if (n != -EPIPE)
			return n;
	}
}

long op_WAIT_START(const struct op *o)
{
	char path[24] = "self/fd/";
	long fd;

	append_decimal(path + 8, (unsigned)slot_fd(o, 0));
	ignore_signal(SIGPIPE);
	end_on_signals();
	record.m = (struct message){MSG_WAITING, (uint32_t)(o - st.ops), o->code, 0, 0, 0};
	/* one call: either stage0 was there when it was sent, or it fails */
	if (send_record(sizeof record.m, -1) < 0)
		peer_lost();
	close_fd(st.sync_fd);
	st.sync_fd = -1;
	fd = wait_release(slot_fd(o, 1), path);
	if (fd < 0)
		return fd;
	st.fifo_fd = (int)fd;
	default_signal(SIGPIPE);
	empty(o, 0, 0);
	return empty(o, 1, 0);
}

long op_ANNOUNCE(const struct op *o)
{
	long n;

	(void)o;
	ignore_signal(SIGPIPE);
	n = RETRY(sys3(__NR_write, st.fifo_fd, &announcement, 1));
	default_signal(SIGPIPE);
	return n < 0 && n != -EPIPE ? n : 0;
}

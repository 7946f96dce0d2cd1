/*
 * hook.c: runs a hook and collects its output, with the state on its standard input.
 */
#include "stage1.h"
#include "hook.h"
#include <asm/poll.h>
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/time.h>

enum { INPUT, OUTPUT, ENDED, PEER, WATCHED };

struct hook {
	const uint8_t *state;
	uint32_t left;
	int pid;
	uint64_t deadline; /* ms, 0: none */
	struct pollfd watch[WATCHED];
};

static uint64_t now_ms(void)
{
	long t[2];

	sys2(__NR_clock_gettime, CLOCK_MONOTONIC, t);
	return (uint64_t)t[0] * 1000 + (uint64_t)t[1] / 1000000;
}

/* Never below 3: stage0 starts stage1 with 0, 1 and 2 open. */
static long new_pipe(int ends[2])
{
	return sys2(__NR_pipe2, ends, O_CLOEXEC);
}

static void close_pipe(int ends[2])
{
	close_fd(ends[0]);
	close_fd(ends[1]);
}

static void unwatch(struct hook *h, int what)
{
	close_fd(h->watch[what].fd);
	h->watch[what].fd = -1;
}

static void feed(struct hook *h)
{
	long n = h->left ? sys3(__NR_write, h->watch[INPUT].fd, h->state, h->left) : 0;

	if (n > 0) {
		h->state += n;
		h->left -= (uint32_t)n;
	}
	/* a hook that does not read its state is none of our business */
	if (!h->left || (n < 0 && n != -EAGAIN && n != -EINTR))
		unwatch(h, INPUT);
}

/* Keeps the last bytes: there stands why it failed. Returns 0 when there is no more for now. */
static int collect(struct hook *h)
{
	long n;

	if (st.log_len == LOG_MAX) {
		st.log_len = LOG_MAX / 2;
		memmove(record.log, record.log + LOG_MAX / 2, LOG_MAX / 2);
	}
	n = sys3(__NR_read, h->watch[OUTPUT].fd, record.log + st.log_len, LOG_MAX - st.log_len);
	if (n > 0)
		st.log_len += (uint32_t)n;
	else if (n == 0)
		unwatch(h, OUTPUT);
	return n > 0;
}

static long wait_events(struct hook *h)
{
	long t[2] = {0, 0};

	if (h->deadline) {
		uint64_t now = now_ms(), left = now < h->deadline ? h->deadline - now : 0;

		if (!left)
			return -ETIMEDOUT;
		t[0] = (long)(left / 1000);
		t[1] = (long)(left % 1000) * 1000000;
	}
	return sys5(__NR_ppoll, h->watch, WATCHED, h->deadline ? t : NULL, 0, 0);
}

/* Until the hook itself has ended, whatever it left behind. */
static long attend(struct hook *h)
{
	for (;;) {
		long n = wait_events(h);

		if (n < 0 && n != -EINTR)
			return n;
		if (n <= 0)
			continue;
		if (h->watch[PEER].revents)
			return -EPIPE;
		if (h->watch[INPUT].revents)
			feed(h);
		if (h->watch[OUTPUT].revents)
			collect(h);
		if (h->watch[ENDED].revents)
			return 0;
	}
}

static void kill_hook(const struct hook *h)
{
	sys2(__NR_kill, -h->pid, SIGKILL); /* its group */
	sys2(__NR_kill, h->pid, SIGKILL);
}

static long reap(const struct hook *h)
{
	int status = 0;
	long r = RETRY(sys4(__NR_wait4, h->pid, &status, 0, 0));

	return r < 0 ? r : status;
}

static long finish(struct hook *h)
{
	long r = attend(h), status;

	if (r < 0)
		kill_hook(h);
	status = reap(h);
	if (r == -EPIPE)
		peer_lost();
	/* what it wrote last, but not the endless output of a process it left behind */
	for (uint32_t i = 0; i < 64 && h->watch[OUTPUT].fd >= 0 && collect(h); i++)
		;
	if (r == 0 && status > 0) {
		st.detail = (uint32_t)status;
		return HOOK_FAILED;
	}
	return r < 0 ? r : status;
}

/* 0 once execve has happened, else its errno. */
static long started(int status)
{
	int32_t error = 0;
	long n = RETRY(sys3(__NR_read, status, &error, sizeof error));

	return n < 0 ? n : error;
}

static long launch(const struct op *o, struct hook *h, struct hook_child *c)
{
	int pidfd = -1;
	long pid = sys5(__NR_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, 0, 0), r;

	if (pid == 0)
		hook_child(o, c);
	close_fd(c->in[0]);
	close_fd(c->out[1]);
	close_fd(c->status[1]);
	h->pid = (int)pid;
	h->watch[INPUT] = (struct pollfd){c->in[1], POLLOUT, 0};
	h->watch[OUTPUT] = (struct pollfd){c->out[0], POLLIN, 0};
	h->watch[ENDED] = (struct pollfd){pidfd, POLLIN, 0};
	h->watch[PEER] = (struct pollfd){st.sync_fd, 0, 0};
	r = pid < 0 ? pid : started(c->status[0]);
	close_fd(c->status[0]);
	if (pid > 0 && r < 0)
		reap(h);
	return r;
}

static long run_hook(const struct op *o, struct hook_child *c)
{
	const struct grant_state *g = &st.grants[o->num[1]];
	struct hook h = {.state = g->data, .left = g->granted ? g->total : 0};
	long r;

	sys3(__NR_fcntl, c->in[1], F_SETFL, O_NONBLOCK);
	sys3(__NR_fcntl, c->out[0], F_SETFL, O_NONBLOCK);
	if (o->num[0])
		h.deadline = now_ms() + o->num[0];
	/* A hook that closes its input must not kill us; its status must not be thrown away. */
	ignore_signal(SIGPIPE);
	default_signal(SIGCHLD);
	r = launch(o, &h, c);
	if (r == 0)
		r = finish(&h);
	default_signal(SIGPIPE);
	for (int i = INPUT; i <= ENDED; i++)
		if (h.watch[i].fd >= 0)
			close_fd(h.watch[i].fd);
	return r;
}

long op_HOOK(const struct op *o)
{
	struct hook_child c;
	long r = new_pipe(c.in);

	if (r < 0)
		return r;
	r = new_pipe(c.out);
	if (r < 0) {
		close_pipe(c.in);
		return r;
	}
	r = new_pipe(c.status);
	if (r < 0) {
		close_pipe(c.in);
		close_pipe(c.out);
		return r;
	}
	return run_hook(o, &c);
}

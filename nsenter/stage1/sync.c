/*
 * sync.c: the meeting points with stage0. Until WAITING is sent, the loss of stage0 ends stage1;
 * after that it does not matter.
 */
#include "stage1.h"
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/uio.h>

#define MSG_PEEK 0x02
#define MSG_NOSIGNAL 0x4000
#define SOL_SOCKET 1
#define SCM_RIGHTS 1

struct user_msghdr {
	void *name;
	int namelen;
	struct iovec *iov;
	size_t iovlen;
	void *control;
	size_t controllen;
	unsigned flags;
};

struct control_fd {
	size_t len;
	int level, type;
	int fd, pad;
};

_Noreturn void peer_lost(void)
{
	quit(1);
}

/* The record's first size bytes, with a descriptor if not -1. */
long send_record(size_t size, int fd)
{
	struct control_fd control = {sizeof control - sizeof control.pad, SOL_SOCKET, SCM_RIGHTS,
	                             fd, 0};
	struct iovec iov = {&record, size};
	struct user_msghdr m = {.iov = &iov, .iovlen = 1};

	/* without a descriptor by write(2), which every filter lets through that a program can run
	   under; SIGPIPE ends stage1 as the loss of its peer does */
	if (fd < 0)
		return RETRY(sys3(__NR_write, st.sync_fd, &record, size));
	m.control = &control;
	m.controllen = sizeof control;
	return RETRY(sys3(__NR_sendmsg, st.sync_fd, &m, MSG_NOSIGNAL));
}

static long send_message(const struct op *o, uint32_t kind, uint32_t arg, int fd)
{
	long n;

	record.m = (struct message){kind, (uint32_t)(o - st.ops), o->code, 0, arg, 0};
	n = send_record(sizeof record.m, fd);
	if (n == -EPIPE || n == -ECONNRESET || n == -ECONNREFUSED)
		peer_lost();
	return n < 0 ? n : 0;
}

long op_SYNC_SEND(const struct op *o)
{
	return send_message(o, MSG_SYNC, (uint32_t)o->num[0], slot_fd(o, 0));
}

static void refuse_grant(void)
{
	refuse_plan((uint32_t)(st.now - st.ops), "grant that does not follow the others of its id");
}

static void map_grant(struct grant_state *g, uint32_t total)
{
	long p;

	g->total = total;
	if (!total)
		return;
	p = sys6(__NR_mmap, 0, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p > -4096)
		refuse_plan((uint32_t)(st.now - st.ops), "no memory for a grant");
	g->data = (uint8_t *)p;
}

/* The header of the next packet, which stays queued: its data goes where it belongs at once. */
static void peek_grant(struct grant *g)
{
	long n = RETRY(sys6(__NR_recvfrom, st.sync_fd, g, sizeof *g, MSG_PEEK, 0, 0));

	if (n == 0 || n == -ECONNRESET)
		peer_lost();
	if (n != sizeof *g || g->id >= SYNC_IDS || g->total > PLAN_MAX_SIZE)
		refuse_grant();
}

void receive_grant(void)
{
	struct grant header;
	struct grant_state *g;
	struct iovec iov[2] = {{&header, sizeof header}};
	struct user_msghdr m = {.iov = iov, .iovlen = 2};
	long n;

	peek_grant(&header);
	g = &st.grants[header.id];
	if (g->granted || header.offset != g->got || (header.offset && header.total != g->total))
		refuse_grant();
	if (!header.offset)
		map_grant(g, header.total);
	iov[1] = (struct iovec){g->data + g->got, g->total - g->got};
	n = RETRY(sys3(__NR_recvmsg, st.sync_fd, &m, 0));
	if (n < (long)sizeof header || m.flags || (n == sizeof header && g->total))
		refuse_grant(); /* m.flags: MSG_TRUNC, it did not fit */
	g->got += (uint32_t)n - (uint32_t)sizeof header;
	g->granted = g->got == g->total;
}

long op_SYNC_WAIT(const struct op *o)
{
	while (!st.grants[o->num[0]].granted)
		receive_grant();
	return 0;
}

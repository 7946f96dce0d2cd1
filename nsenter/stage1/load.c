/*
 * load.c: receives the plan into one mapping, has it validated, and sets up the slots behind it.
 */
#include "stage1.h"
#include "validate.h"
#include <linux/mman.h>

#define MSG_PEEK 0x02
#define MSG_TRUNC 0x20

static struct plan_header *map_plan(const struct plan_header *h)
{
	/* 8 zero bytes behind the plan: a string always ends */
	size_t slots_at = ((size_t)h->size + 15) & ~(size_t)7;
	size_t size = slots_at + h->nslots * sizeof(struct slot);
	long p = sys6(__NR_mmap, 0, size, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p < 0 && p > -4096)
		refuse_plan(0, "no memory for it");
	st.slots = (struct slot *)((char *)p + slots_at);
	return (struct plan_header *)p;
}

/* One packet, which must fit. */
static long receive(void *to, size_t size, int flags)
{
	long n = RETRY(sys6(__NR_recvfrom, st.sync_fd, to, size, flags, 0, 0));

	if (n == 0 || n == -ECONNRESET)
		peer_lost();
	if (n < 0)
		quit(127); /* not a socket: nobody to tell */
	return n;
}

static void receive_packets(struct plan_header *p, uint32_t size)
{
	uint32_t got = 0;

	while (got < size) {
		long n = receive((char *)p + got, size - got, MSG_TRUNC);

		if ((unsigned long)n > size - got)
			refuse_plan(0, "more bytes than its size");
		got += (uint32_t)n;
	}
}

static void fill_slots(const struct plan_header *p)
{
	for (uint32_t i = 0; i < p->nslots; i++)
		st.slots[i].fd = i < p->nfds ? (int32_t)(p->fd_base + i) : -1;
}

void load_plan(void)
{
	struct plan_header h;
	const char *reason;
	struct refusal refusal;

	if (receive(&h, sizeof h, MSG_PEEK) != sizeof h)
		refuse_plan(0, "no header");
	reason = validate_header(&h, (uint32_t)st.sync_fd);
	if (reason)
		refuse_plan(0, reason);
	st.plan = map_plan(&h);
	receive_packets(st.plan, h.size);
	refusal = validate_plan(st.plan);
	if (refusal.reason)
		refuse_plan(refusal.op, refusal.reason);
	st.ops = (struct op *)(st.plan + 1);
	st.data = (char *)st.plan + st.plan->data_off;
	fill_slots(st.plan);
}

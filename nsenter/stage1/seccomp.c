/*
 * seccomp.c: loads the filter, from the plan or as it was granted.
 */
#include "stage1.h"
#include <linux/filter.h>
#include <linux/seccomp.h>

/* What was granted: uint64 flags, then the filter. Nothing granted is a mistake, not "no filter".
 */
static long granted_filter(const struct op *o, const void **filter, uint32_t *size, uint64_t *flags)
{
	const struct grant_state *g = &st.grants[o->num[1]];
	const uint64_t *data = (const uint64_t *)(const void *)g->data;

	if (!g->granted || g->total < sizeof *data)
		return -EINVAL;
	*flags = data[0];
	*size = g->total - (uint32_t)sizeof *data;
	*filter = data + 1;
	return 0;
}

static int no_filter(const struct op *o)
{
	const struct grant_state *g = &st.grants[o->num[1]];

	return !o->str[0] && g->granted && !g->total;
}

static long load_filter(const void *filter, uint32_t size, uint64_t flags)
{
	struct sock_fprog prog = {(unsigned short)(size / sizeof(struct sock_filter)),
	                          (struct sock_filter *)filter};

	if (size % sizeof(struct sock_filter) || size / sizeof(struct sock_filter) > BPF_MAXINSNS)
		return -EINVAL;
	return sys3(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

long op_SECCOMP(const struct op *o)
{
	uint32_t size;
	uint64_t flags = o->num[0];
	const void *filter = blob(o, 0, &size);
	long r = 0;

	if (no_filter(o))
		return 0;
	if (!filter)
		r = granted_filter(o, &filter, &size, &flags);
	if (r == 0)
		r = load_filter(filter, size, flags);
	if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)
		return fill(o, 0, r);
	return r > 0 ? -ESRCH : r; /* TSYNC: a thread that did not follow; there is none */
}

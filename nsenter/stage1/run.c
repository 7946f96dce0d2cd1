/*
 * run.c: runs the operations in order. The one place that looks at results, takes alternatives,
 * and ends stage1 with a record.
 */
#include "stage1.h"
#include "validate.h"

struct state st;
struct record record;

typedef long (*handler_t)(const struct op *o);

#define HANDLER(name, code, slots, strings) [code] = op_##name,
static const handler_t handlers[] = {OPS(HANDLER)};

/* struct op.pad, once the operation was tried */
#define PASSED_OVER 1u

static const struct {
	uint16_t error, on;
} errnos[] = {
	{ENOSYS, ON_ENOSYS}, {EPERM, ON_EPERM},           {EACCES, ON_EACCES},
	{EINVAL, ON_EINVAL}, {ENOENT, ON_ENOENT},         {ENOTDIR, ON_ENOTDIR},
	{ENODEV, ON_ENODEV}, {EOPNOTSUPP, ON_EOPNOTSUPP}, {EEXIST, ON_EEXIST},
	{EROFS, ON_EROFS},   {EBUSY, ON_EBUSY},           {EDQUOT, ON_EDQUOT},
};

_Noreturn void quit(int status)
{
	for (;;)
		sys1(__NR_exit_group, status);
}

void log_text(const char *text, size_t n)
{
	if (n > LOG_MAX - st.log_len)
		n = LOG_MAX - st.log_len;
	memcpy(record.log + st.log_len, text, n);
	st.log_len += (uint32_t)n;
}

/* The one record, then the end. Nobody is told when nobody listens. */
static _Noreturn void fail(uint32_t op, uint32_t code, long error)
{
	/* a result above 0 says all in the detail: HOOK_FAILED */
	int32_t number = error < 0 ? (int32_t)-error : 0;

	record.m = (struct message){MSG_FAIL, op, code, number, st.detail, st.log_len};
	if (st.fifo_fd >= 0)
		RETRY(sys3(__NR_write, st.fifo_fd, &record, sizeof record.m + st.log_len));
	else if (st.sync_fd >= 0)
		send_record(sizeof record.m + st.log_len, -1);
	quit(1);
}

_Noreturn void refuse_plan(uint32_t op, const char *reason)
{
	st.log_len = 0;
	log_text(reason, strlen(reason));
	fail(op, 0, -EINVAL);
}

long fill(const struct op *o, int k, long fd)
{
	struct slot *s;

	if (fd < 0)
		return fd;
	if (o->slot[k] < 0)
		return close_fd((int)fd);
	s = &st.slots[o->slot[k]];
	if (s->fd >= 0)
		close_fd(s->fd);
	s->fd = (int32_t)fd;
	s->covered = 0;
	return 0;
}

long empty(const struct op *o, int k, long result)
{
	struct slot *s = &st.slots[o->slot[k]];

	close_fd(s->fd);
	s->fd = -1;
	return result;
}

char **relocate(uint64_t *v)
{
	for (uint64_t i = 0; i < v[0]; i++)
		v[1 + i] = (uint64_t)(uintptr_t)(st.data + v[1 + i] - 1);
	return (char **)(v + 1);
}

static int slots_filled(const struct op *o)
{
	const char *kinds = signature(o->code)->slots;

	for (int k = 0; k < 2; k++)
		if (kinds[k] != 'o' && o->slot[k] >= 0 && slot_fd(o, k) < 0)
			return 0;
	return 1;
}

static long run_op(struct op *o)
{
	uint32_t index = (uint32_t)(o - st.ops);

	st.now = o;
	st.detail = 0;
	st.log_len = 0;
	if (st.plan->fault_op == index + 1)
		return -(long)st.plan->fault_errno;
	if (!slots_filled(o))
		return -EBADF;
	return handlers[o->code](o);
}

static int taken_on(uint32_t alt_on, long error)
{
	for (size_t i = 0; i < sizeof errnos / sizeof *errnos; i++)
		if (errnos[i].error == -error)
			return (alt_on & errnos[i].on) != 0;
	return 0;
}

static int passed_over(const struct op *o)
{
	return st.ops[o->num[3]].pad & PASSED_OVER;
}

/* One operation and the alternatives after it. */
static void run_chain(struct op *first)
{
	struct op *o = first;
	long result;

	while ((result = run_op(o)) != 0) {
		if (!taken_on(o->alt_on, result))
			fail((uint32_t)(o - st.ops), o->code, result);
		first->pad = PASSED_OVER;
		if (o->alt == ALT_SKIP)
			return;
		o = st.ops + o->alt;
	}
}

_Noreturn void run_plan(void)
{
	for (uint32_t i = 0; i < st.plan->nops; i++) {
		struct op *o = st.ops + i;

		if (!(o->flags & OPF_IF_SKIPPED) || passed_over(o))
			run_chain(o);
	}
	quit(0); /* a plan without EXEC or EXIT */
}

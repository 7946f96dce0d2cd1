/*
 * stage1.h: what the files of stage1 share.
 *
 * stage1 executes a plan (../ops.h). It decides nothing: an operation returns 0 or minus an
 * errno, and run.c alone turns that into an alternative, a skip or the one failure record.
 */
#ifndef BERTH_STAGE1_H
#define BERTH_STAGE1_H

#include "../ops.h"
#include "sys.h"

struct slot {
	int32_t fd;       /* -1: empty */
	uint32_t covered; /* a mount that MASK_DIR has attached: from now on only its clones are */
};

struct grant_state {
	uint8_t *data;
	uint32_t total, got;
	uint32_t granted;
};

/* The one state of the process. */
struct state {
	struct plan_header *plan;
	struct op *ops;
	char *data;
	struct slot *slots;
	struct op *now;     /* the operation that runs */
	const char *chosen; /* by LOOKUP_EXEC */
	int sync_fd;        /* -1 once WAITING is sent */
	int fifo_fd;        /* -1 before start has come */
	uint32_t detail;    /* message.arg of a failure */
	uint32_t log_len;
	struct grant_state grants[SYNC_IDS];
};

struct record {
	struct message m;
	char log[LOG_MAX];
};

extern struct state st;
extern struct record record;

/* load.c: the plan, validated, or no return. */
void load_plan(void);

/* run.c */
_Noreturn void run_plan(void);
_Noreturn void refuse_plan(uint32_t op, const char *reason);
_Noreturn void quit(int status);
void log_text(const char *text, size_t n);

/* sync.c */
void receive_grant(void);
_Noreturn void peer_lost(void);
long send_record(size_t size, int fd);

/* operands */
static inline const char *str(const struct op *o, int k)
{
	return o->str[k] ? st.data + o->str[k] - 1 : NULL;
}

static inline uint64_t *vector(const struct op *o, int k)
{
	return o->str[k] ? (uint64_t *)(void *)(st.data + o->str[k] - 1) : NULL;
}

static inline const char *element(const uint64_t *v, uint64_t i)
{
	return v[1 + i] ? st.data + v[1 + i] - 1 : NULL;
}

static inline const void *blob(const struct op *o, int k, uint32_t *len)
{
	const char *b = str(o, k);

	*len = b ? *(const uint32_t *)(const void *)b : 0;
	return b ? b + 4 : NULL;
}

char **relocate(uint64_t *v);

static inline int slot_fd(const struct op *o, int k)
{
	return o->slot[k] < 0 ? -1 : st.slots[o->slot[k]].fd;
}

/* Fills a slot with the descriptor, or hands its error on. */
long fill(const struct op *o, int k, long fd);
long empty(const struct op *o, int k, long result);

/* path.c */
long open_in_root(int root, const char *path, uint64_t flags, uint64_t resolve);
long open_parent(int root, const char *path, const char **name);

/* mem.c */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
size_t strlen(const char *s);
int decimal(const char *s);
char *append_decimal(char *to, unsigned value);

/* small calls that many operations make */
static inline long close_fd(int fd)
{
	return sys1(__NR_close, fd);
}

struct statx;
long stat_fd(int fd, struct statx *s);
long fs_magic(int fd);

/* signals.c */
void reset_signals(void);
void ignore_signal(int sig);
void default_signal(int sig);
void end_on_signals(void);

/* One handler for each operation. */
#define OP_DECLARE(name, code, slots, strings) long op_##name(const struct op *o);
OPS(OP_DECLARE)

#endif

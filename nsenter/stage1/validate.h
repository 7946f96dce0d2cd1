/*
 * validate.h: is this plan what ops.h describes? Pure: reads memory, makes no system call.
 */
#ifndef BERTH_VALIDATE_H
#define BERTH_VALIDATE_H

#include "../ops.h"
#include <stddef.h>

struct refusal {
	const char *reason; /* NULL: the plan is good */
	uint32_t op;        /* the operation it is about, if any */
};

/* The header alone, before the rest is received. */
const char *validate_header(const struct plan_header *h, uint32_t sync_fd);

/* All of h->size bytes, 8-aligned and readable. The header is validated already. */
struct refusal validate_plan(const struct plan_header *h);

/* The operand signature of a known code: two slots, three strings. */
struct signature {
	char slots[3];
	char strings[4];
};
const struct signature *signature(uint32_t code);

#endif

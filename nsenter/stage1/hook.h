/*
 * hook.h: between the two sides of a hook's fork.
 */
#ifndef BERTH_HOOK_H
#define BERTH_HOOK_H

#include "stage1.h"

/* The result of a hook that ran and failed: no errno; message.arg is its wait status. */
#define HOOK_FAILED 1

struct hook_child {
	int in[2], out[2], status[2]; /* pipes, close-on-exec */
};

_Noreturn void hook_child(const struct op *o, const struct hook_child *c);

#endif

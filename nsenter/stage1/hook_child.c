/*
 * hook_child.c: the child's side of a hook, up to its execve.
 */
#include "hook.h"

_Noreturn void hook_child(const struct op *o, const struct hook_child *c)
{
	int32_t error;

	reset_signals();
	/* a group of its own, which a timeout can kill */
	sys2(__NR_setpgid, 0, 0);
	sys3(__NR_dup3, c->in[0], 0, 0);
	sys3(__NR_dup3, c->out[1], 1, 0);
	sys3(__NR_dup3, c->out[1], 2, 0);
	/* every other descriptor is close-on-exec */
	error = (int32_t)sys3(__NR_execve, str(o, 0), relocate(vector(o, 1)),
	                      relocate(vector(o, 2)));
	RETRY(sys3(__NR_write, c->status[1], &error, sizeof error));
	quit(127);
}

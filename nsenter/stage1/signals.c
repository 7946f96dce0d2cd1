/*
 * signals.c: dispositions and the mask.
 */
#include "stage1.h"
#include <asm/signal.h>

struct action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static void set_action(int sig, void *handler)
{
	struct action a = {handler, 0, NULL, 0};

	sys4(__NR_rt_sigaction, sig, &a, 0, sizeof a.mask);
}

void ignore_signal(int sig)
{
	set_action(sig, (void *)SIG_IGN);
}

void default_signal(int sig)
{
	set_action(sig, (void *)SIG_DFL);
}

void reset_signals(void)
{
	uint64_t none = 0;

	for (int sig = 1; sig <= 64; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			default_signal(sig);
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
}

long op_RESET_SIGNALS(const struct op *o)
{
	(void)o;
	reset_signals();
	return 0;
}

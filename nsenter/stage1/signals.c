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

static void end_by_signal(int sig)
{
	quit(128 + sig);
}

/* As the init of a pid namespace stage1 is spared what it does not catch; a container that waits
   for start is to end by the signals that end any program. The handler does not return, so the
   restorer that x86 insists on is never called. */
void end_on_signals(void)
{
	static const unsigned char sigs[] = {SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGTERM};
	struct action a = {(void *)end_by_signal, SA_RESTORER, (void *)end_by_signal, 0};

	for (unsigned i = 0; i < sizeof sigs; i++)
		sys4(__NR_rt_sigaction, sigs[i], &a, 0, sizeof a.mask);
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

/*
 * start.c: where the kernel enters. stage0 runs "berth-stage1 FD" with an empty environment; FD is
 * the SYNC socket.
 */
#include "stage1.h"
#include <linux/prctl.h>

#if defined(__x86_64__)
__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "	xor %ebp, %ebp\n"
        "	mov %rsp, %rdi\n"
        "	and $-16, %rsp\n"
        "	call stage1\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "	mov x29, #0\n"
        "	mov x30, #0\n"
        "	mov x0, sp\n"
        "	b stage1\n");
#endif

_Noreturn void stage1(const long *stack);

/* stack: argc, then the pointers of argv. */
_Noreturn void stage1(const long *stack)
{
	st.fifo_fd = -1;
	st.sync_fd = stack[0] == 2 ? decimal((const char *)stack[2]) : -1;
	if (st.sync_fd < 3)
		quit(127);
	/* The name that security rules know. execve of /proc/self/fd/N named it N. */
	sys5(__NR_prctl, PR_SET_NAME, "berth-stage1", 0, 0, 0);
	/* Modes are what the plan says; the app's umask is an operation. */
	sys1(__NR_umask, 0);
	load_plan();
	run_plan();
}

/*
 * sys.h: raw system calls. Each returns what the kernel returns: a value, or minus an errno.
 * Nothing here looks at a result: operations hand it on, and run.c checks it.
 */
#ifndef BERTH_SYS_H
#define BERTH_SYS_H

#include <asm/unistd.h>
#include <asm/errno.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
static inline long sys3_(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
	                 : "=a"(ret)
	                 : "a"(nr), "D"(a), "S"(b), "d"(c)
	                 : "rcx", "r11", "memory");
	return ret;
}

static inline long sys6_(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
	                 : "=a"(ret)
	                 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys3_(long nr, long a, long b, long c)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
	return x0;
}

static inline long sys6_(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory", "cc");
	return x0;
}
#else
#error "amd64 and arm64 only"
#endif

#define sys0(nr) sys3_(nr, 0, 0, 0)
#define sys1(nr, a) sys3_(nr, (long)(a), 0, 0)
#define sys2(nr, a, b) sys3_(nr, (long)(a), (long)(b), 0)
#define sys3(nr, a, b, c) sys3_(nr, (long)(a), (long)(b), (long)(c))
#define sys4(nr, a, b, c, d) sys6_(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(nr, a, b, c, d, e) sys6_(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define sys6(nr, a, b, c, d, e, f) \
	sys6_(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The call, again as long as a signal interrupts it. */
#define RETRY(call)                          \
	({                                   \
		long retry_ret;              \
		do                           \
			retry_ret = (call);  \
		while (retry_ret == -EINTR); \
		retry_ret;                   \
	})

#endif

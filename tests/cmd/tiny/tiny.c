/*
 * tiny: a program without a C library, for containers with almost no memory. Writes "tiny",
 * then waits for a signal when it has an argument. Few pages, no allocation, no thread.
 */
static long call(long n, long a, long b, long c)
{
#ifdef __x86_64__
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

#ifdef __x86_64__
enum { WRITE = 1, EXIT = 231, PPOLL = 271 };
__asm__(".globl _start\n_start: mov (%rsp), %rdi\n and $-16, %rsp\n call run\n");
#else
enum { WRITE = 64, EXIT = 94, PPOLL = 73 };
__asm__(".globl _start\n_start: ldr x0, [sp]\n bl run\n");
#endif

void run(long argc);
void run(long argc)
{
	call(WRITE, 1, (long)"tiny\n", 5);
	while (argc > 1)
		call(PPOLL, 0, 0, 0);
	call(EXIT, 0, 0, 0);
}

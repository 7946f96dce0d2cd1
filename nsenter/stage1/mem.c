/*
 * mem.c: memory and numbers. gcc itself calls the first three.
 */
#include "stage1.h"

void *memcpy(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (t <= f)
		return memcpy(to, from, n);
	while (n--)
		t[n] = f[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *t = to;

	while (n--)
		*t++ = (char)c;
	return to;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

/* A number of digits alone that fits an int, or -1. */
int decimal(const char *s)
{
	int value = 0;

	if (!*s)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || value > (INT32_MAX - 9) / 10)
			return -1;
		value = value * 10 + (*s - '0');
	}
	return value;
}

/* Returns the end, where there is a NUL. */
char *append_decimal(char *to, unsigned value)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + value % 10);
	while (value /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
	return to;
}

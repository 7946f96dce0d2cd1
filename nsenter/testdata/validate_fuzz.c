/*
 * validate_fuzz.c: feeds mutations of good plans to stage1's validator, as a hosted program under
 * AddressSanitizer, and reads every operand of what it accepts as stage1 would.
 *
 * usage: validate_fuzz ITERATIONS SEED PLAN...
 * prints: "N accepted of M"
 */
#include "../stage1/validate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state;

static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static volatile uint64_t sink;

static void read_string(const char *s)
{
	sink += strlen(s);
}

static void read_bytes(const unsigned char *p, uint64_t n)
{
	while (n--)
		sink += *p++;
}

static void read_vector(const char *data, uint64_t *v)
{
	for (uint64_t i = 0; i < v[0]; i++)
		if (v[1 + i])
			read_string(data + v[1 + i] - 1);
	if (v[1 + v[0]])
		abort();
}

/* In place, as EXEC and the child of HOOK do. */
static void relocate(char *data, uint64_t *v)
{
	for (uint64_t i = 0; i < v[0]; i++)
		v[1 + i] = (uint64_t)(uintptr_t)(data + v[1 + i] - 1);
	for (char **s = (char **)(v + 1); *s; s++)
		read_string(*s);
}

static void read_operands(const struct plan_header *h, const struct op *o, int turn)
{
	const struct signature *sig = signature(o->code);
	char *data = (char *)h + h->data_off;

	for (int i = 0; i < 3; i++) {
		char *at = data + o->str[i] - 1;

		if (!o->str[i])
			continue;
		if (sig->strings[i] == 's' || sig->strings[i] == 'S')
			read_string(at);
		else if (sig->strings[i] == 'b' || sig->strings[i] == 'B')
			read_bytes((unsigned char *)at + 4, *(uint32_t *)(void *)at);
		else if (!turn)
			read_vector(data, (uint64_t *)(void *)at);
		else if (sig->strings[i] == 'v')
			relocate(data, (uint64_t *)(void *)at);
	}
}

static void read_plan(const struct plan_header *h, size_t size)
{
	const struct op *ops = (const struct op *)(const void *)(h + 1);
	/* stage1's mapping: 8 zero bytes behind the plan */
	unsigned char *copy = calloc(1, size + 8);

	for (uint32_t i = 0; i < h->nops + h->nalts; i++) {
		read_operands(h, ops + i, 0);
		if (ops[i].alt && ops[i].alt != ALT_SKIP &&
		    (ops[i].alt <= i || ops[i].alt >= h->nops + h->nalts))
			abort();
		if (ops[i].flags & OPF_IF_SKIPPED && ops[i].num[3] >= i)
			abort();
		memcpy(copy, h, size);
		read_operands((struct plan_header *)(void *)copy,
		              (struct op *)(void *)(copy + sizeof *h) + i, 1);
	}
	free(copy);
}

static const uint32_t interesting[] = {0,          1,          2,         3,          7,
                                       8,          0x7f,       0x80,      0xff,       0xffff,
                                       1u << 16,   1u << 20,   1u << 24,  0x7fffffff, 0x80000000,
                                       0xfffffff8, 0xffffffff, 0xfffffffe};

static void mutate(unsigned char *p, size_t size)
{
	size_t at = rnd() % size, word = (rnd() % (size / 4)) * 4;
	uint32_t value;

	switch (rnd() % 6) {
	case 0:
		p[at] ^= (unsigned char)(1u << rnd() % 8);
		break;
	case 1:
		p[at] = (unsigned char)rnd();
		break;
	case 2:
		value = interesting[rnd() % (sizeof interesting / sizeof *interesting)];
		memcpy(p + word, &value, 4);
		break;
	case 3: /* near what is there: offsets into each other */
		memcpy(&value, p + word, 4);
		value += (uint32_t)(rnd() % 129) - 64;
		memcpy(p + word, &value, 4);
		break;
	case 4: /* what stands elsewhere */
		memcpy(p + word, p + (rnd() % (size / 4)) * 4, 4);
		break;
	case 5: /* no end anywhere */
		memset(p + at, 'x', size - at < 64 ? size - at : 64);
		break;
	}
}

static int try(unsigned char *plan, size_t size, uint32_t sync_fd)
{
	struct plan_header h;

	memcpy(&h, plan, sizeof h);
	if (validate_header(&h, sync_fd) || h.size > size)
		return 0;
	/* stage1 maps h.size bytes: nothing beyond them may be read */
	plan = memcpy(malloc(h.size), plan, h.size);
	if (!validate_plan((struct plan_header *)(void *)plan).reason) {
		read_plan((struct plan_header *)(void *)plan, h.size);
		free(plan);
		return 1;
	}
	free(plan);
	return 0;
}

static unsigned char *load(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = malloc(1 << 20);

	if (!f || !p)
		exit(2);
	*size = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

int main(int argc, char **argv)
{
	long iterations = atol(argv[1]), accepted = 0;

	random_state = strtoull(argv[2], 0, 0) | 1;
	for (int i = 3; i < argc; i++) {
		size_t size;
		unsigned char *plan = load(argv[i], &size), *copy = malloc(size);
		uint32_t sync_fd = ((struct plan_header *)(void *)plan)->sync_fd;

		if (!try(plan, size, sync_fd)) {
			fprintf(stderr, "%s: a good plan is refused\n", argv[i]);
			return 1;
		}
		for (long n = 0; n < iterations; n++) {
			memcpy(copy, plan, size);
			for (uint64_t k = 1 + rnd() % 4; k; k--)
				mutate(copy, size);
			accepted += try(copy, size, sync_fd);
		}
		free(copy);
		free(plan);
	}
	printf("%ld accepted of %ld\n", accepted, iterations * (argc - 3));
	return 0;
}

/*
 * validate.c: checks a whole plan before its first operation. All arithmetic is on uint64_t with
 * operands below 2^32, so that nothing wraps.
 */
#include "validate.h"

#define SIGNATURE(name, code, slots, strings) [code] = {slots, strings},
static const struct signature signatures[] = {OPS(SIGNATURE)};

enum {
#define CODE(name, code, slots, strings) CODE_##name = code,
	OPS(CODE)
};

#define ON_ALL 0xfffu

struct data {
	const unsigned char *base;
	uint64_t size;
	uint64_t strings_end; /* a string that starts below has its NUL in the area */
};

const struct signature *signature(uint32_t code)
{
	if (code >= sizeof signatures / sizeof *signatures || !signatures[code].slots[0])
		return NULL;
	return &signatures[code];
}

const char *validate_header(const struct plan_header *h, uint32_t sync_fd)
{
	uint64_t ops_end = sizeof *h + ((uint64_t)h->nops + h->nalts) * sizeof(struct op);

	if (h->magic != PLAN_MAGIC || h->version != PLAN_VERSION)
		return "not a plan of this version";
	if (h->size > PLAN_MAX_SIZE)
		return "plan too large";
	if (h->nops == 0 || (uint64_t)h->nops + h->nalts > PLAN_MAX_OPS)
		return "number of operations";
	if (h->nslots > PLAN_MAX_SLOTS || h->nfds > h->nslots)
		return "number of slots";
	if (h->fd_base < 3 || h->fd_base > INT32_MAX - PLAN_MAX_SLOTS)
		return "descriptor number of slot 0";
	if (h->sync_fd != sync_fd || sync_fd < 3 ||
	    (sync_fd >= h->fd_base && sync_fd - h->fd_base < h->nfds))
		return "descriptor number of the socket";
	if (h->data_off % 8 || h->data_off < ops_end || h->data_off > h->size)
		return "place of the data area";
	if (h->fault_op && h->fault_op - 1 >= (uint64_t)h->nops + h->nalts)
		return "operation that fails";
	if (h->fault_errno > 4095)
		return "errno of the operation that fails";
	return NULL;
}

static int string_ok(const struct data *d, uint64_t off)
{
	return off != 0 && off - 1 < d->strings_end;
}

/* The bytes that follow offset off-1, if that is in the area and aligned; else 0. */
static uint64_t room(const struct data *d, uint64_t off, unsigned align)
{
	if (off == 0 || off - 1 >= d->size || (off - 1) % align)
		return 0;
	return d->size - (off - 1);
}

static int blob_ok(const struct data *d, uint64_t off)
{
	uint64_t left = room(d, off, 4);
	uint32_t len;

	if (left < sizeof len)
		return 0;
	len = *(const uint32_t *)(const void *)(d->base + off - 1);
	return len <= left - sizeof len;
}

/* The words of a vector: count, elements, 0; NULL if they are not all there. */
static const uint64_t *vector_at(const struct data *d, uint64_t off)
{
	uint64_t words = room(d, off, 8) / 8;
	const uint64_t *v;

	if (words < 2)
		return NULL;
	v = (const uint64_t *)(const void *)(d->base + off - 1);
	return v[0] > words - 2 || v[1 + v[0]] != 0 ? NULL : v;
}

static int vector_ok(const struct data *d, uint64_t off, int pairs)
{
	const uint64_t *v = vector_at(d, off);

	if (!v || (pairs && v[0] % 2))
		return 0;
	for (uint64_t i = 0; i < v[0]; i++) {
		if (v[1 + i] == 0 && pairs && i % 2)
			continue;
		if (!string_ok(d, v[1 + i]))
			return 0;
	}
	return 1;
}

static int operand_ok(const struct data *d, char kind, uint64_t off)
{
	switch (kind) {
	case 'S':
		return off == 0 || string_ok(d, off);
	case 's':
		return string_ok(d, off);
	case 'B':
		return off == 0 || blob_ok(d, off);
	case 'b':
		return blob_ok(d, off);
	case 'p':
		return off == 0 || vector_ok(d, off, 1);
	case 'v':
		return vector_ok(d, off, 0);
	default:
		return off == 0;
	}
}

/* EXEC and HOOK turn the offsets of their vectors into addresses in place: no word may be both. */
static int vectors_apart(const struct data *d, uint64_t a, uint64_t b)
{
	const uint64_t *va = vector_at(d, a), *vb = vector_at(d, b);

	if (va == vb)
		return va[0] == 0; /* nothing to turn */
	return va + va[0] + 2 <= vb || vb + vb[0] + 2 <= va;
}

static int slot_ok(const struct plan_header *h, char kind, int32_t slot)
{
	if (slot == -1)
		return kind != 'i';
	return kind != '-' && slot >= 0 && (uint32_t)slot < h->nslots;
}

/* What neither can be repeated nor replaced: no alternative has it, and it has none. */
static int final_code(uint32_t code)
{
	return code == CODE_CLONE || code == CODE_WAIT_START || code == CODE_EXEC ||
	       code == CODE_EXIT || code == CODE_SYNC_SEND || code == CODE_SYNC_WAIT;
}

static int alternative_ok(const struct plan_header *h, const struct op *o, uint32_t index)
{
	if (o->alt_on & ~ON_ALL)
		return 0;
	if (o->alt == ALT_NONE)
		return o->alt_on == 0;
	if (final_code(o->code) && o->code != CODE_CLONE)
		return 0;
	if (o->alt == ALT_SKIP)
		return o->code != CODE_CLONE;
	/* always forward: a chain of alternatives ends */
	return o->alt >= h->nops && o->alt > index && o->alt - h->nops < h->nalts;
}

static int condition_ok(const struct plan_header *h, const struct op *o, uint32_t index)
{
	if (o->flags == 0)
		return 1;
	if (o->flags != OPF_IF_SKIPPED || index >= h->nops || o->num[3] >= index)
		return 0;
	/* these use num[3] themselves */
	return o->code != CODE_PRCTL && o->code != CODE_MKNOD;
}

static const char *numbers(const struct op *o)
{
	if ((o->code == CODE_SYNC_SEND || o->code == CODE_SYNC_WAIT) && o->num[0] >= SYNC_IDS)
		return "SYNC id";
	if ((o->code == CODE_HOOK || (o->code == CODE_SECCOMP && !o->str[0])) &&
	    o->num[1] >= SYNC_IDS)
		return "SYNC id";
	/* no shared memory or descriptors: CLONE_NEW* and CLONE_PARENT only */
	if (o->code == CODE_CLONE && o->num[0] & ~0x7e028000ull)
		return "clone flags";
	return NULL;
}

static const char *validate_op(const struct plan_header *h, const struct data *d, uint32_t index)
{
	const struct op *o = (const struct op *)(const void *)(h + 1) + index;
	const struct signature *sig = signature(o->code);

	if (!sig)
		return "unknown operation";
	if (index >= h->nops && final_code(o->code) && o->code != CODE_CLONE)
		return "operation that can't be an alternative";
	if (o->pad || o->pad2)
		return "padding";
	for (int i = 0; i < 2; i++)
		if (!slot_ok(h, sig->slots[i], o->slot[i]))
			return "slot";
	for (int i = 0; i < 3; i++)
		if (!operand_ok(d, sig->strings[i], o->str[i]))
			return "string, blob or vector";
	if (sig->strings[0] == 'v' && sig->strings[1] == 'v' &&
	    !vectors_apart(d, o->str[0], o->str[1]))
		return "vectors overlap";
	if (sig->strings[1] == 'v' && sig->strings[2] == 'v' &&
	    !vectors_apart(d, o->str[1], o->str[2]))
		return "vectors overlap";
	if (!alternative_ok(h, o, index))
		return "alternative";
	if (!condition_ok(h, o, index))
		return "condition";
	return numbers(o);
}

struct refusal validate_plan(const struct plan_header *h)
{
	struct data d = {(const unsigned char *)h + h->data_off, h->size - h->data_off, 0};
	struct refusal r = {NULL, 0};

	d.strings_end = d.size;
	while (d.strings_end && d.base[d.strings_end - 1])
		d.strings_end--;
	for (; r.op < h->nops + h->nalts; r.op++) {
		r.reason = validate_op(h, &d, r.op);
		if (r.reason)
			return r;
	}
	r.op = 0;
	return r;
}

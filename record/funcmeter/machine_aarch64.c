/* Machine code of aarch64.
 *
 * All instructions have 32 bits, and only a few depend on their address, so these are decoded here:
 * the instructions of the groups "PC-rel. addressing", "Conditional branch (immediate)",
 * "Unconditional branch (immediate)", "Compare and branch (immediate)", "Test and branch
 * (immediate)" and "Load register (literal)" of the Arm Architecture Reference Manual, C4.1, "A64
 * instruction set encoding". Unknown instructions in the group of branches are not moved. All other
 * instructions are copied.
 *
 * A function may begin with an instruction on which indirect branches must land (BTI, PACIASP); it
 * stays in its place. PACIASP signs the return address before the hook sees it: the thunk removes
 * the signature, and adds it again after the hook.
 *
 * In a large library, a branch does not reach all thunks: jumps to these have three instructions.
 * Procedure calls may change x16 and x17 (AAPCS64, 6.1.1), so jumps at the beginning of a function
 * may use these registers.
 *
 * SPDX-License-Identifier: MIT */
#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "record/funcmeter/machine.h"

enum { WORD = 4 /* bytes */, NEAR_JUMP = WORD, FAR_JUMP = 3 * WORD };

/* Kinds of instructions, according to how they depend on their address. */
enum form {
    INVALID,
    PLAIN,
    BRANCH,      /* B */
    CALL,        /* BL */
    CONDITIONAL, /* B.cond, BC.cond */
    COMPARE,     /* CBZ, CBNZ */
    TEST,        /* TBZ, TBNZ */
    ADDRESS,     /* ADR */
    PAGE,        /* ADRP */
    LITERAL,     /* LDR, LDRSW, PRFM (literal) */
    INDIRECT,    /* BR, RET and their variants with authentication: copied */
    INDIRECT_CALL,
    BREAKPOINT,
    FIXED, /* cannot be moved */
    PADDING
};

struct instruction {
    enum form form;
    uint64_t target;
};

/* Returns COUNT bits of WORD, beginning with bit FROM. */
static uint32_t bits(uint32_t word, unsigned from, unsigned count)
{
    return word >> from & ((UINT32_C(1) << count) - 1);
}

/* The same, sign-extended. */
static uint64_t signed_bits(uint32_t word, unsigned from, unsigned count)
{
    uint64_t sign = UINT64_C(1) << (count - 1);
    return (bits(word, from, count) ^ sign) - sign;
}

/* "Branches, Exception Generating and System instructions" */
static enum form form_of_branch(uint32_t word)
{
    enum { BR = 0, BLR = 1, RET = 2 };
    if (bits(word, 26, 5) == 5)
        return bits(word, 31, 1) ? CALL : BRANCH;
    if (bits(word, 25, 6) == 0x1a)
        return COMPARE;
    if (bits(word, 25, 6) == 0x1b)
        return TEST;
    if (bits(word, 24, 8) == 0x54)
        return CONDITIONAL;
    if (bits(word, 24, 8) == 0xd4) /* "Exception generation": SVC, BRK, HLT */
        return bits(word, 21, 3) == 1 || bits(word, 21, 3) == 2 ? BREAKPOINT : PLAIN;
    if (word == 0xd50324ff) /* PACM, which changes the effect of the next one */
        return FIXED;
    if (bits(word, 22, 10) == 0x354) /* "Hints", "Barriers", "System register move" */
        return word == 0xd503201f ? PADDING : PLAIN;
    if (bits(word, 25, 7) == 0x6b &&
        bits(word, 16, 5) == 0x1f) { /* "Unconditional branch (register)" */
        uint32_t operation = bits(word, 21, 4);
        if (operation == BLR && bits(word, 10, 6) == 0 && bits(word, 5, 5) != 30)
            return INDIRECT_CALL;
        return operation == BR || operation == RET || operation == 8 + BR ? INDIRECT : FIXED;
    }
    return FIXED;
}

static enum form form_of(uint32_t word)
{
    if (word == 0)
        return PADDING; /* UDF #0, with which linkers fill gaps */
    if (bits(word, 26, 3) == 5)
        return form_of_branch(word);
    if (bits(word, 24, 5) == 0x10)
        return bits(word, 31, 1) ? PAGE : ADDRESS;
    if (bits(word, 27, 3) == 3 && bits(word, 24, 2) == 0)
        return bits(word, 26, 1) && bits(word, 30, 2) == 3 ? INVALID : LITERAL;
    if (bits(word, 22, 10) == 0x3ce || (word & ~UINT32_C(0x2400)) == 0xdac183fe)
        return FIXED; /* authentication that depends on the address (FEAT_PAuth_LR) */
    uint32_t group = bits(word, 25, 4);
    if (group == 1 || group == 3 || (group == 0 && !bits(word, 31, 1)))
        return INVALID; /* "Reserved", not allocated */
    return PLAIN;
}

static struct instruction decode(uint32_t word, uint64_t address)
{
    struct instruction in = {.form = form_of(word)};
    switch (in.form) {
    case BRANCH:
    case CALL:
        in.target = address + signed_bits(word, 0, 26) * WORD;
        break;
    case CONDITIONAL:
    case COMPARE:
    case LITERAL:
        in.target = address + signed_bits(word, 5, 19) * WORD;
        break;
    case TEST:
        in.target = address + signed_bits(word, 5, 14) * WORD;
        break;
    case ADDRESS:
        in.target = address + (signed_bits(word, 5, 19) << 2 | bits(word, 29, 2));
        break;
    case PAGE:
        in.target = (address & ~UINT64_C(4095)) +
                    ((signed_bits(word, 5, 19) << 2 | bits(word, 29, 2)) << 12);
        break;
    default:
        break;
    }
    return in;
}

/* Returns whether FORM is a branch that can lead to code other than a landing pad. */
static bool branches(enum form form)
{
    return form == BRANCH || form == CALL || form == CONDITIONAL || form == COMPARE || form == TEST;
}

static void sweep(const uint8_t *code, size_t size, size_t end, uint64_t address,
                  machine_branch *found, void *opaque)
{
    (void)end;
    for (size_t at = 0; at + WORD <= size; at += WORD) {
        struct instruction in = decode(get_u32(code + at, false), address + at);
        if (branches(in.form))
            found(opaque, address + at, in.target, in.form == CALL);
    }
}

static struct machine_instruction describe(const uint8_t *code, size_t size)
{
    if (size < WORD)
        return (struct machine_instruction){0};
    enum form form = form_of(get_u32(code, false));
    if (form == INVALID)
        return (struct machine_instruction){0};
    return (struct machine_instruction){
        .length = WORD,
        .fixed = form == BREAKPOINT ? "begins with a breakpoint"
                 : form == FIXED    ? "begins with an instruction that cannot be moved"
                                    : NULL,
        .is_call = form == CALL || form == INDIRECT_CALL,
        .is_end = form == BRANCH || form == INDIRECT,
        .is_padding = form == PADDING,
    };
}

enum {
    BTI = 0xd503241f, /* without its targets, which are in bits 6 and 7 */
    PACIASP = 0xd503233f,
    PACIBSP = 0xd503237f,
    SIGN_TO_CHECK = 0x80 /* AUTIASP, AUTIBSP */
};

static bool signs(uint32_t word)
{
    return word == PACIASP || word == PACIBSP;
}

static size_t landing(const uint8_t *code, size_t size)
{
    uint32_t word = size >= WORD ? get_u32(code, false) : 0;
    return signs(word) || (word & ~UINT32_C(0xc0)) == BTI ? WORD : 0;
}

/* ---- writing ---- */

enum {
    SCRATCH = 16,
    OTHER_SCRATCH = 17,
    LINK = 30, /* the register with the return address */
    LITERALS = 8
};

/* A thunk being written, with the values that it loads from its end. */
struct writer {
    uint8_t *bytes;
    size_t count;
    uint64_t place; /* of its first instruction */
    uint64_t literals[LITERALS];
    size_t loads[LITERALS]; /* where the values are loaded */
    size_t literal_count;
    uint32_t scratch; /* a register that the moved code does not use; 0: none */
    bool far;
};

static void put(struct writer *w, uint32_t word)
{
    put_u32le(w->bytes + w->count, word);
    w->count += WORD;
}

/* Loads VALUE into a register: LDR (literal). */
static void put_value(struct writer *w, uint32_t to, uint64_t value)
{
    w->literals[w->literal_count] = value;
    w->loads[w->literal_count++] = w->count;
    put(w, 0x58000000 | to);
}

static void put_literals(struct writer *w)
{
    for (size_t i = 0; i < w->literal_count; i++) {
        uint8_t *load = w->bytes + w->loads[i];
        uint32_t distance = (uint32_t)(w->count - w->loads[i]) / WORD;
        put_u32le(load, get_u32(load, false) | distance << 5);
        put_u64le(w->bytes + w->count, w->literals[i]);
        w->count += sizeof w->literals[i];
    }
}

/* Returns whether a branch at FROM can lead to TARGET. */
static bool reaches(uint64_t from, uint64_t target)
{
    const int64_t most = INT64_C(1) << 27, distance = (int64_t)(target - from);
    return distance >= -most && distance < most;
}

static uint32_t branch(uint64_t from, uint64_t target)
{
    return 0x14000000 | ((uint32_t)(target - from) / WORD & 0x03ffffff);
}

/* Writes a jump. The longer form is a return, because its target need not be a landing pad. */
static void put_jump(struct writer *w, uint64_t target)
{
    if (!w->far && reaches(w->place + w->count, target)) {
        put(w, branch(w->place + w->count, target));
        return;
    }
    put_value(w, w->scratch, target);
    put(w, 0xd65f0000 | w->scratch << 5); /* RET */
}

/* Writes a jump that is executed if the conditional branch WORD is taken: the inverse branch skips
 * it. */
static void put_conditional(struct writer *w, uint32_t word, struct instruction in)
{
    const uint32_t always = 14; /* and 15 */
    const bool is_near = !w->far && reaches(w->place + w->count + WORD, in.target);
    const uint32_t over = is_near ? 2 : 3, distance = in.form == TEST ? 0x3fff : 0x7ffff;
    if (in.form != CONDITIONAL || bits(word, 0, 4) < always)
        put(w, ((word ^ (in.form == CONDITIONAL ? 1U : 1U << 24)) & ~(distance << 5)) | over << 5);
    put_jump(w, in.target);
}

/* Loads from the address TARGET like WORD, but with the address in a register instead of in the
 * instruction. */
static void put_load(struct writer *w, uint32_t word, uint64_t target)
{
    enum { NOWHERE = 31, PREFETCH = 3 };
    static const uint32_t loads[2][4] = {
        {0xb9400000, 0xf9400000, 0xb9800000, 0xf9800000}, /* LDR W, LDR X, LDRSW, PRFM */
        {0xbd400000, 0xfd400000, 0x3dc00000, 0}           /* LDR S, D, Q */
    };
    uint32_t to = bits(word, 0, 5), vector = bits(word, 26, 1), kind = bits(word, 30, 2);
    bool own =
        /* the loaded register first contains the address */
        !vector && kind != PREFETCH && to != NOWHERE;
    uint32_t from = own ? to : w->scratch;
    put_value(w, from, target);
    put(w, loads[vector][kind] | from << 5 | to);
}

static void put_moved(struct writer *w, uint32_t word, uint64_t address)
{
    struct instruction in = decode(word, address);
    switch (in.form) {
    case CALL:
        put_value(w, LINK, address + WORD);
        put_jump(w, in.target);
        break;
    case INDIRECT_CALL:
        put_value(w, LINK, address + WORD);
        put(w, word & ~(UINT32_C(1) << 21)); /* BR */
        break;
    case BRANCH:
        put_jump(w, in.target);
        break;
    case CONDITIONAL:
    case COMPARE:
    case TEST:
        put_conditional(w, word, in);
        break;
    case ADDRESS:
    case PAGE:
        put_value(w, bits(word, 0, 5), in.target);
        break;
    case LITERAL:
        put_load(w, word, in.target);
        break;
    default:
        put(w, word);
        break;
    }
}

/* Returns whether any field that may be a register contains NUMBER. */
static bool names(uint32_t word, uint32_t number)
{
    switch (form_of(word)) {
    case BRANCH:
    case CALL:
    case CONDITIONAL:
        return false;
    case COMPARE:
    case TEST:
    case ADDRESS:
    case PAGE:
    case LITERAL:
        return bits(word, 0, 5) == number;
    default:
        return bits(word, 0, 5) == number || bits(word, 5, 5) == number ||
               bits(word, 10, 5) == number || bits(word, 16, 5) == number;
    }
}

/* Returns a register that jumps may change and that none of COUNT instructions uses; 0: there is
 * none. */
static uint32_t free_register(const uint8_t *code, size_t count)
{
    for (uint32_t number = SCRATCH; number <= OTHER_SCRATCH; number++) {
        size_t i = 0;
        while (i < count && !names(get_u32(code + i * WORD, false), number))
            i++;
        if (i == count)
            return number;
    }
    return 0;
}

/* A jump over a long distance needs a free register. */
static const char *why_together(const uint8_t *code, size_t size)
{
    return free_register(code, size / WORD) == 0 ? "needs all registers from its beginning" : NULL;
}

static size_t make_thunk(const struct machine_hook *hook, bool far, uint8_t *to)
{
    const size_t count = hook->moved / WORD;
    struct writer w = {.bytes = to, .place = hook->place, .far = far};
    uint32_t first = hook->kept != 0 ? get_u32(hook->code, false) : 0;
    const uint8_t *code = hook->code + hook->kept;
    enum form last = PLAIN;
    w.scratch = free_register(code, count);
    if (signs(first))
        put(&w, first | SIGN_TO_CHECK);
    put(&w, 0x52800000 | bits(hook->number, 0, 16) << 5 | OTHER_SCRATCH);  /* MOVZ */
    put(&w, 0x72a00000 | bits(hook->number, 16, 16) << 5 | OTHER_SCRATCH); /* MOVK */
    put(&w, branch(w.place + w.count, hook->pool));
    const size_t moved = w.count;
    if (signs(first))
        put(&w, first);
    const uint64_t address = hook->address + hook->kept;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = get_u32(code + i * WORD, false);
        last = form_of(word);
        put_moved(&w, word, address + i * WORD);
    }
    if (last != BRANCH && last != INDIRECT && last != CALL && last != INDIRECT_CALL) {
        put_jump(&w, address + hook->moved);
    }
    put_literals(&w);
    return w.literal_count > 0 && w.scratch == 0 ? 0 : moved;
}

static size_t make_near_thunk(const struct machine_hook *hook, uint8_t *to)
{
    return make_thunk(hook, false, to);
}

static size_t make_far_thunk(const struct machine_hook *hook, uint8_t *to)
{
    return make_thunk(hook, true, to);
}

static void make_start(uint64_t enter, uint8_t to[MACHINE_START])
{
    struct writer w = {.bytes = to};
    put_value(&w, SCRATCH, enter);
    put(&w, 0xd61f0000 | SCRATCH << 5); /* BR */
    put_literals(&w);
}

static bool write_near_jump(uint64_t from, uint64_t target, uint8_t *to, size_t size)
{
    (void)size;
    if (!reaches(from, target))
        return false;
    put_u32le(to, branch(from, target));
    return true;
}

/* Writes ADRP, ADD, BR. */
static bool write_far_jump(uint64_t from, uint64_t target, uint8_t *to, size_t size)
{
    const int64_t most = INT64_C(1) << 20, pages = (int64_t)((target >> 12) - (from >> 12));
    (void)size;
    if (pages < -most || pages >= most)
        return false;
    struct writer w = {.bytes = to};
    put(&w,
        0x90000000 | ((uint32_t)pages & 3) << 29 | ((uint32_t)pages >> 2 & 0x7ffff) << 5 | SCRATCH);
    put(&w, 0x91000000 | (uint32_t)(target & 4095) << 10 | SCRATCH << 5 | SCRATCH);
    put(&w, 0xd61f0000 | SCRATCH << 5);
    return true;
}

/* These functions expect certain values in x16 and x17. */
static const char *const own_calls[] = {"dl_runtime_resolve", "dl_runtime_profile", "dl_tlsdesc_",
                                        NULL};

const struct machine machine_aarch64 = {
    .elf = EM_AARCH64,
    .name = "aarch64",
    .jump = NEAR_JUMP,
    .thunk_size = 64,
    .reach = UINT64_C(0x7f00000),
    .most_code = UINT64_C(0x6000000),
    .own_calls = own_calls,
    .sweep = sweep,
    .decode = describe,
    .landing = landing,
    .start = make_start,
    .thunk = make_near_thunk,
    .write_jump = write_near_jump,
};

const struct machine machine_aarch64_far = {
    /* for code that is larger than the range of a branch */
    .elf = EM_AARCH64,
    .name = "aarch64",
    .jump = FAR_JUMP,
    .thunk_size = 128,
    .reach = UINT64_C(0x7ff00000),
    .own_calls = own_calls,
    .sweep = sweep,
    .decode = describe,
    .why_together = why_together,
    .landing = landing,
    .start = make_start,
    .thunk = make_far_thunk,
    .write_jump = write_far_jump,
};

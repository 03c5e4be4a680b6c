/* Machine code of an ELF file.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "record/funcmeter/shared.h"

enum { MAX_CODE = 1 << 30 };

/* The contents of an executable segment. */
struct part {
    uint64_t address, size;
    uint8_t *bytes;
    uint8_t *targets; /* a bit per byte: it is the target of a branch */
    uint8_t *loops;   /* the same: it is the target of a branch of the function that begins there */
    /* the same: it may be moved together with the first byte of a function. NULL: no beginnings
     * are sought */
    uint8_t *beginnings;
};

struct code {
    struct part *parts;
    size_t count;
    uint64_t *bounds; /* where functions begin, ascending */
    size_t bound_count;
    struct code_branch *branches; /* to the beginnings of functions, by target */
    size_t branch_count, branch_capacity;
    const struct machine *machine;
};

static struct part *part_at(const struct code *code, uint64_t address)
{
    for (size_t i = 0; i < code->count; i++)
        if (address - code->parts[i].address < code->parts[i].size)
            return &code->parts[i];
    return NULL;
}

static void set_bit(uint8_t *bits, uint64_t number)
{
    bits[number / 8] |= (uint8_t)(1U << (number % 8));
}

static bool has_bit(const uint8_t *bits, uint64_t number)
{
    return (bits[number / 8] >> (number % 8) & 1) != 0;
}

static bool is_target(const struct code *code, uint64_t address)
{
    const struct part *part = part_at(code, address);
    return part != NULL && has_bit(part->targets, address - part->address);
}

/* Returns whether the function at ADDRESS has a branch, other than a call, to its first
 * instruction. */
static bool begins_loop(const struct code *code, uint64_t address)
{
    const struct part *part = part_at(code, address);
    return part != NULL && has_bit(part->loops, address - part->address);
}

const char *code_why_no_probe(const struct code *code, uint64_t address)
{
    const struct part *part = part_at(code, address);
    if (begins_loop(code, address))
        return "has a loop back to its first instruction"; /* which would count as a call */
    if (part == NULL || code->machine->refuses_probe == NULL)
        return NULL;
    uint64_t at = address - part->address;
    return code->machine->refuses_probe(part->bytes + at, part->size - at)
               ? "begins with an instruction that cannot have a breakpoint"
               : NULL;
}

/* A function whose branches are recorded. */
struct sweep {
    struct code *code;
    const struct part *part;
    uint64_t start, end; /* of the function; END 0: unknown */
};

static void note_branch(void *opaque, uint64_t at, uint64_t target, bool is_call)
{
    const struct sweep *s = opaque;
    const struct part *to = part_at(s->code, target);
    if (to == NULL)
        return;
    set_bit(to->targets, target - to->address);
    bool own = s->end == 0 || at < s->end;
    bool loop = to == s->part && target == s->start && own && !is_call;
    if (loop)
        set_bit(to->loops, target - to->address);
    if (to->beginnings == NULL || (!loop && !has_bit(to->beginnings, target - to->address)))
        return;
    mem_reserve(&s->code->branches, &s->code->branch_capacity, s->code->branch_count + 1,
                sizeof *s->code->branches);
    s->code->branches[s->code->branch_count++] = (struct code_branch){at, target};
}

/* Marks the bytes that are moved with the first byte of a function, but not this byte itself. */
static void mark_beginnings(const struct code *code, struct part *part)
{
    part->beginnings = mem_zalloc(part->size / 8 + 1, 1);
    for (size_t i = 0; i < code->bound_count; i++) {
        uint64_t at = code->bounds[i] + 1, end = at + METER_MAX_CODE - 1;
        if (i + 1 < code->bound_count && code->bounds[i + 1] < end)
            end = code->bounds[i + 1];
        for (; at < end && at - part->address < part->size; at++)
            set_bit(part->beginnings, at - part->address);
    }
}

static int compare_branches(const void *left, const void *right)
{
    const struct code_branch *a = left, *b = right;
    int order = (a->target > b->target) - (a->target < b->target);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

const struct code_branch *code_branches(const struct code *code, uint64_t address, size_t size,
                                        size_t *count)
{
    size_t low = SEARCH_FROM(code->branches, code->branch_count, target, address);
    size_t end = low;
    while (end < code->branch_count && code->branches[end].target - address < size)
        end++;
    *count = end - low;
    return code->branches + low;
}

/* Decodes function by function, because there may be data between them. */
static void sweep(struct code *code, const struct part *part, const struct elf_function *functions,
                  size_t count)
{
    size_t next = 0;
    for (uint64_t at = 0, limit; at < part->size; at = limit) {
        while (next < count && (functions[next].address < part->address ||
                                functions[next].address - part->address <= at))
            next++;
        limit = next < count && functions[next].address - part->address < part->size
                    ? functions[next].address - part->address
                    : part->size;
        const struct elf_function *f = next > 0 ? &functions[next - 1] : NULL;
        struct sweep s = {code, part, f != NULL ? f->address : 0,
                          f != NULL && f->size != 0 ? f->address + f->size : 0};
        code->machine->sweep(part->bytes + at, limit - at, part->size - at, part->address + at,
                             note_branch, &s);
    }
}

/* Returns the distance from the first to the last byte of code. */
static uint64_t span(const struct code *code)
{
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < code->count; i++) {
        const struct part *part = &code->parts[i];
        low = part->address < low ? part->address : low;
        high = part->address + part->size > high ? part->address + part->size : high;
    }
    return high > low ? high - low : 0;
}

struct code *code_new(const struct elf_file *file, const struct elf_function *functions,
                      size_t count)
{
    struct code *code = mem_zalloc(1, sizeof *code);
    code->parts = mem_zalloc(file->segment_count + 1, sizeof *code->parts);
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (!s->executable || s->file_size == 0 || s->file_size > MAX_CODE ||
            s->address + s->file_size < s->address)
            continue;
        struct part part = {s->address,
                            s->file_size,
                            mem_alloc(s->file_size),
                            mem_zalloc(s->file_size / 8 + 1, 1),
                            mem_zalloc(s->file_size / 8 + 1, 1),
                            NULL};
        if (elf_file_read(file, s->offset, part.bytes, part.size)) {
            code->parts[code->count++] = part;
        } else {
            free(part.bytes);
            free(part.targets);
            free(part.loops);
        }
    }
    code->machine = machine_find(file->machine, span(code));
    code->bounds = mem_alloc((count + 1) * sizeof *code->bounds);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || functions[i].address != functions[i - 1].address)
            code->bounds[code->bound_count++] = functions[i].address;
    for (size_t i = 0; i < code->count && code->machine->write_branch != NULL; i++)
        mark_beginnings(code, &code->parts[i]);
    for (size_t i = 0; i < code->count; i++)
        sweep(code, &code->parts[i], functions, count);
    if (code->branch_count > 0)
        qsort(code->branches, code->branch_count, sizeof *code->branches, compare_branches);
    return code;
}

void code_delete(struct code *code)
{
    if (code == NULL)
        return;
    for (size_t i = 0; i < code->count; i++) {
        free(code->parts[i].bytes);
        free(code->parts[i].targets);
        free(code->parts[i].loops);
        free(code->parts[i].beginnings);
    }
    free(code->parts);
    free(code->bounds);
    free(code->branches);
    free(code);
}

const struct machine *code_machine(const struct code *code)
{
    return code->machine;
}

size_t code_parts(const struct code *code)
{
    return code->count;
}

/* Returns how many functions begin at or before ADDRESS. */
static size_t bounds_until(const struct code *code, uint64_t address)
{
    return search_sorted(code->bounds, code->bound_count, sizeof *code->bounds, 0, address, true);
}

uint64_t code_next(const struct code *code, uint64_t address)
{
    size_t after = bounds_until(code, address);
    return after < code->bound_count ? code->bounds[after] : UINT64_MAX;
}

size_t code_peek(const struct code *code, uint64_t address, uint8_t *to, size_t size)
{
    const struct part *part = part_at(code, address);
    if (part == NULL)
        return 0;
    uint64_t left = part->size - (address - part->address);
    size_t copied = left < size ? (size_t)left : size;
    memcpy(to, part->bytes + (address - part->address), copied);
    return copied;
}

bool code_read(const struct code *code, uint64_t address, uint8_t *to, size_t size)
{
    const struct part *part = part_at(code, address);
    return part != NULL && part->size - (address - part->address) >= size &&
           code_peek(code, address, to, size) == size;
}

/* Decodes the instruction at ADDRESS. Returns false if there is none. */
static bool decode(const struct code *code, uint64_t address, struct machine_instruction *in)
{
    const struct part *part = part_at(code, address);
    if (part == NULL)
        return false;
    uint64_t at = address - part->address;
    *in = code->machine->decode(part->bytes + at, part->size - at);
    return in->length != 0;
}

size_t code_length(const struct code *code, uint64_t address)
{
    struct machine_instruction in;
    return decode(code, address, &in) ? in.length : 0;
}

/* Returns whether there is only padding from AT to END, and no branch into it. */
static bool only_padding(const struct code *code, uint64_t at, uint64_t end)
{
    struct machine_instruction in;
    while (at < end) {
        if (!decode(code, at, &in) || !in.is_padding)
            return false;
        at += in.length;
    }
    return true;
}

size_t code_kept(const struct code *code, uint64_t address)
{
    const struct part *part = part_at(code, address);
    if (part == NULL || code->machine->landing == NULL)
        return 0;
    uint64_t at = address - part->address;
    return code->machine->landing(part->bytes + at, part->size - at);
}

/* Returns why SIZE bytes at ADDRESS cannot be moved together; NULL: they can. */
static const char *why_together(const struct code *code, uint64_t address, size_t size)
{
    const struct part *part = part_at(code, address);
    return part != NULL && code->machine->why_together != NULL
               ? code->machine->why_together(part->bytes + (address - part->address), size)
               : NULL;
}

/* Returns the end of the complete instructions from START, in a function that ends at LIMIT, that
 * must be moved to make room up to END. Returns 0, with *WHY set, if they cannot be moved. */
static uint64_t moved_end(const struct code *code, uint64_t start, uint64_t limit, uint64_t end,
                          const char **why)
{
    uint64_t at = start;
    bool ended = false;
    while (at < end && at < limit && !ended) {
        struct machine_instruction in;
        if (!decode(code, at, &in)) {
            *why = "cannot be decoded";
            return 0;
        }
        if ((*why = in.fixed) != NULL)
            return 0;
        at += in.length;
        if (in.is_call && at < end) {
            *why = "begins with an indirect call";
            return 0;
        }
        ended = in.is_end;
    }
    if (at < end && (!only_padding(code, at, end) || !ended)) {
        *why = "too short";
        return 0;
    }
    return at;
}

/* Returns why branches prevent moving the code from ADDRESS, the beginning of a function, to END;
 * NULL: they do not. */
static const char *why_branches(const struct code *code, uint64_t address, uint64_t end)
{
    if (begins_loop(code, address))
        return "has a loop back to its first instruction";
    for (uint64_t i = address + 1; i < end; i++)
        if (is_target(code, i))
            return "has a branch to its first instructions";
    return NULL;
}

size_t code_movable(const struct code *code, uint64_t address, uint64_t size, uint64_t next,
                    size_t room, bool changed, const char **why)
{
    const uint64_t start = address + code_kept(code, address), end = start + room;
    const uint64_t limit = size != 0 ? address + size : UINT64_MAX;
    if (next < end || part_at(code, end - 1) == NULL) {
        *why = "too short";
        return 0;
    }
    if (!changed && (*why = why_branches(code, address, end)) != NULL)
        return 0;
    uint64_t at = moved_end(code, start, limit, end, why);
    if (at == 0 || (!changed && (*why = why_branches(code, address, at)) != NULL) ||
        (*why = why_together(code, start, at - start)) != NULL)
        return 0;
    return (size_t)(at - start);
}

/* Returns the end of the padding at AT if it is between functions: no branch leads to it, and a
 * function may begin at its end. Otherwise returns AT. */
static uint64_t padding_end(const struct code *code, uint64_t at)
{
    enum { ALIGNMENT = 16 };
    struct machine_instruction in;
    uint64_t end = at, next = code_next(code, at - 1);
    while (end < next && !is_target(code, end) && decode(code, end, &in) && in.is_padding)
        end += in.length;
    return end == next || end % ALIGNMENT == 0 ? end : at;
}

size_t code_gaps(const struct code *code, uint64_t address, size_t room, uint64_t gaps[CODE_GAPS])
{
    enum { BACK = 128, FORTH = 127 };
    const uint64_t from = address + code->machine->short_jump, low = from < BACK ? 0 : from - BACK;
    size_t before = bounds_until(code, low), count = 0;
    if (before == 0)
        return 0;
    for (uint64_t at = code->bounds[before - 1]; at <= from + FORTH && count < CODE_GAPS;) {
        struct machine_instruction in;
        if (!decode(code, at, &in)) {
            at = code_next(code, at);
            continue;
        }
        at += in.length;
        uint64_t end = in.is_end ? padding_end(code, at) : at;
        for (; end - at >= room && count < CODE_GAPS; end -= room)
            if (end - room >= low && end - room <= from + FORTH)
                gaps[count++] = end - room;
    }
    return count;
}

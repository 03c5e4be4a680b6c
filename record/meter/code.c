/* Machine code of x86-64, decoded with Zydis.
 * SPDX-License-Identifier: MIT */
#include "record/meter/code.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { MAX_CODE = 1 << 30, LONGEST_INSTRUCTION = 15 };

/* The contents of an executable segment. */
struct part {
    uint64_t address, size;
    uint8_t *bytes;
    uint8_t *targets; /* a bit per byte: does a branch lead there? */
    uint8_t *loops; /* a bit per byte: does one, not a call, from the function that begins there? */
};

struct code {
    struct part *parts;
    size_t count;
    uint64_t *bounds; /* where functions begin, ascending */
    size_t bound_count;
    ZydisDecoder decoder;
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

static bool begins_loop(const struct code *code, uint64_t address)
{
    const struct part *part = part_at(code, address);
    return part != NULL && has_bit(part->loops, address - part->address);
}

/* Notes the target of the instruction at AT of PART, in the function that begins at START. Returns its length; 1 if there
 * is no instruction. */
static size_t sweep_one(struct code *code, const struct part *part, uint64_t at, uint64_t start)
{
    enum { CALL = 0xe8 };
    ZydisDecodedInstruction in;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&code->decoder, NULL, part->bytes + at,
                                                    part->size - at, &in)))
        return 1;
    if (!in.raw.imm[0].is_relative)
        return in.length;
    uint64_t target = part->address + at + in.length + in.raw.imm[0].value.u;
    const struct part *to = part_at(code, target);
    if (to != NULL)
        set_bit(to->targets, target - to->address);
    if (to == part && target == start && in.opcode != CALL)
        set_bit(part->loops, target - part->address);
    return in.length;
}

/* Decodes from function to function, since there may be data between them. */
static void sweep(struct code *code, const struct part *part, const struct elf_function *functions,
                  size_t count)
{
    size_t next = 0;
    for (uint64_t at = 0; at < part->size;) {
        while (next < count && (functions[next].address < part->address ||
                                functions[next].address - part->address <= at))
            next++;
        uint64_t limit = next < count && functions[next].address - part->address < part->size
                             ? functions[next].address - part->address
                             : part->size;
        at += sweep_one(code, part, at, next > 0 ? functions[next - 1].address : 0);
        at = at > limit ? limit : at;
    }
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
        struct part part = {s->address, s->file_size, mem_alloc(s->file_size),
                            mem_zalloc(s->file_size / 8 + 1, 1),
                            mem_zalloc(s->file_size / 8 + 1, 1)};
        if (elf_file_read(file, s->offset, part.bytes, part.size)) {
            code->parts[code->count++] = part;
        } else {
            free(part.bytes);
            free(part.targets);
            free(part.loops);
        }
    }
    code->bounds = mem_alloc((count + 1) * sizeof *code->bounds);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || functions[i].address != functions[i - 1].address)
            code->bounds[code->bound_count++] = functions[i].address;
    ZydisDecoderInit(&code->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&code->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    for (size_t i = 0; i < code->count; i++)
        sweep(code, &code->parts[i], functions, count);
    ZydisDecoderEnableMode(&code->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_FALSE);
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
    }
    free(code->parts);
    free(code->bounds);
    free(code);
}

size_t code_parts(const struct code *code)
{
    return code->count;
}

/* How many functions begin at ADDRESS or before. */
static size_t bounds_until(const struct code *code, uint64_t address)
{
    size_t low = 0, high = code->bound_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (code->bounds[middle] > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t code_next(const struct code *code, uint64_t address)
{
    size_t after = bounds_until(code, address);
    return after < code->bound_count ? code->bounds[after] : UINT64_MAX;
}

bool code_read(const struct code *code, uint64_t address, uint8_t *to, size_t size)
{
    const struct part *part = part_at(code, address);
    if (part == NULL || part->size - (address - part->address) < size)
        return false;
    memcpy(to, part->bytes + (address - part->address), size);
    return true;
}

static bool decode(const struct code *code, uint64_t address, ZydisDecodedInstruction *in)
{
    const struct part *part = part_at(code, address);
    return part != NULL && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
                               &code->decoder, NULL, part->bytes + (address - part->address),
                               part->size - (address - part->address), in));
}

static bool is_call(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_CALL;
}

/* Nothing that follows it is executed after it. */
static bool is_end(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_JMP || in->mnemonic == ZYDIS_MNEMONIC_RET ||
           in->mnemonic == ZYDIS_MNEMONIC_UD2 || in->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool is_padding(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_NOP || in->mnemonic == ZYDIS_MNEMONIC_INT3;
}

static bool is_conditional(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_COND_BR && in->raw.imm[0].is_relative &&
           in->mnemonic != ZYDIS_MNEMONIC_LOOP && in->mnemonic != ZYDIS_MNEMONIC_LOOPE &&
           in->mnemonic != ZYDIS_MNEMONIC_LOOPNE && in->mnemonic != ZYDIS_MNEMONIC_JRCXZ &&
           in->mnemonic != ZYDIS_MNEMONIC_JECXZ && in->mnemonic != ZYDIS_MNEMONIC_JCXZ;
}

/* Why an instruction cannot be moved; NULL: it can. */
static const char *why_fixed(const ZydisDecodedInstruction *in)
{
    enum { CALL = 2, STACK = 4 }; /* in a ModRM byte: the operation; stack pointer or index */
    bool direct = in->raw.imm[0].is_relative;
    if (direct && !is_conditional(in) && !is_call(in) && in->mnemonic != ZYDIS_MNEMONIC_JMP)
        return "begins with an instruction that cannot be moved";
    if (is_call(in) && !direct &&
        (in->opcode != 0xff || in->raw.modrm.reg != CALL || in->raw.modrm.rm == STACK))
        return "begins with an indirect call through the stack";
    if (in->mnemonic == ZYDIS_MNEMONIC_INT3)
        return "begins with a breakpoint";
    return NULL;
}

/* Is there only padding from AT to END, which no branch leads to? */
static bool only_padding(const struct code *code, uint64_t at, uint64_t end)
{
    ZydisDecodedInstruction in;
    while (at < end) {
        if (!decode(code, at, &in) || !is_padding(&in))
            return false;
        at += in.length;
    }
    return true;
}

size_t code_movable(const struct code *code, uint64_t address, uint64_t size, uint64_t next,
                    size_t room, const char **why)
{
    uint64_t at = address, end = address + room;
    bool ended = false;
    if (next < end || part_at(code, end - 1) == NULL) {
        *why = "too short";
        return 0;
    }
    if (begins_loop(code, address)) {
        *why = "a loop of it goes back to its first instruction";
        return 0;
    }
    for (uint64_t i = address + 1; i < end; i++)
        if (is_target(code, i)) {
            *why = "has a branch to its first instructions";
            return 0;
        }
    while (at < end && !ended) {
        ZydisDecodedInstruction in;
        if (size != 0 && at >= address + size)
            break;
        if (!decode(code, at, &in)) {
            *why = "cannot be decoded";
            return 0;
        }
        if ((*why = why_fixed(&in)) != NULL)
            return 0;
        at += in.length;
        if (is_call(&in) && at < end) {
            *why = "begins with an indirect call";
            return 0;
        }
        ended = is_end(&in);
    }
    if (at < end && (!only_padding(code, at, end) || !ended)) {
        *why = "too short";
        return 0;
    }
    for (uint64_t i = end; i < at; i++)
        if (is_target(code, i)) {
            *why = "has a branch to its first instructions";
            return 0;
        }
    return (size_t)(at - address);
}

/* The end of the padding at AT, which nothing leads to: only that between functions ends where one may begin. Otherwise
 * AT. */
static uint64_t padding_end(const struct code *code, uint64_t at)
{
    enum { ALIGNMENT = 16 };
    ZydisDecodedInstruction in;
    uint64_t end = at, next = code_next(code, at - 1);
    while (end < next && !is_target(code, end) && decode(code, end, &in) && is_padding(&in))
        end += in.length;
    return end == next || end % ALIGNMENT == 0 ? end : at;
}

size_t code_gaps(const struct code *code, uint64_t address, size_t room, uint64_t gaps[CODE_GAPS])
{
    enum { BACK = 128, FORTH = 127 };
    const uint64_t from = address + CODE_SHORT_JUMP, low = from < BACK ? 0 : from - BACK;
    size_t before = bounds_until(code, low), count = 0;
    if (before == 0)
        return 0;
    for (uint64_t at = code->bounds[before - 1]; at <= from + FORTH && count < CODE_GAPS;) {
        ZydisDecodedInstruction in;
        if (!decode(code, at, &in)) {
            at = code_next(code, at);
            continue;
        }
        at += in.length;
        uint64_t end = is_end(&in) ? padding_end(code, at) : at;
        for (; end - at >= room && count < CODE_GAPS; end -= room)
            if (end - room >= low && end - room <= from + FORTH)
                gaps[count++] = end - room;
    }
    return count;
}

/* Bytes being written. */
struct writer {
    uint8_t *bytes;
    size_t count;
    uint64_t place; /* of the first */
    bool too_far;
};

static void put(struct writer *w, const void *bytes, size_t count)
{
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
}

static void put_number(struct writer *w, uint32_t value)
{
    uint8_t bytes[4];
    put_u32le(bytes, value);
    put(w, bytes, sizeof bytes);
}

/* A displacement to TARGET from the end of an instruction, AFTER bytes behind the displacement. */
static void put_distance(struct writer *w, uint64_t target, size_t after)
{
    int64_t distance = (int64_t)(target - (w->place + w->count + 4 + after));
    w->too_far |= distance != (int32_t)distance;
    put_number(w, (uint32_t)distance);
}

/* A call is a push of the return address and a jump: it is the one in the function, not one in the moved code, which has no
 * unwind table. */
static void put_return_address(struct writer *w, uint64_t back)
{
    const uint8_t push = 0x68, store[4] = {0xc7, 0x44, 0x24, 0x04};
    put(w, &push, 1);
    put_number(w, (uint32_t)back);
    put(w, store, sizeof store);
    put_number(w, (uint32_t)(back >> 32));
}

/* An indirect call in BYTES becomes a jump. */
static void make_jump(const ZydisDecodedInstruction *in, uint8_t *bytes)
{
    enum { CALL_TO_JUMP = 2 << 3 | 4 << 3 };
    bytes[in->raw.modrm.offset] ^= CALL_TO_JUMP;
}

static void put_instruction(struct writer *w, const ZydisDecodedInstruction *in, uint8_t *bytes,
                            uint64_t address)
{
    uint64_t next = address + in->length;
    if (is_call(in))
        put_return_address(w, next);
    if (in->raw.imm[0].is_relative) {
        uint64_t target = next + in->raw.imm[0].value.u;
        const uint8_t jump = 0xe9, jump_if[2] = {0x0f, (uint8_t)(0x80 | (in->opcode & 15))};
        put(w, is_conditional(in) ? jump_if : &jump, is_conditional(in) ? 2 : 1);
        put_distance(w, target, 0);
        return;
    }
    if (is_call(in))
        make_jump(in, bytes);
    if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE)) {
        put(w, bytes, in->length);
        return;
    }
    size_t at = in->raw.disp.offset;
    put(w, bytes, at);
    put_distance(w, next + (uint64_t)in->raw.disp.value, in->length - at - 4);
    put(w, bytes + at + 4, in->length - at - 4);
}

size_t code_move(const struct code *code, uint64_t address, size_t size, uint64_t bias,
                 uint64_t place, uint8_t to[CODE_LONGEST])
{
    struct writer w = {.bytes = to, .place = place};
    ZydisDecodedInstruction in;
    uint8_t bytes[LONGEST_INSTRUCTION];
    bool ended = false;
    for (uint64_t at = address; at < address + size; at += in.length) {
        if (!decode(code, at, &in) || !code_read(code, at, bytes, in.length))
            return 0;
        put_instruction(&w, &in, bytes, at + bias);
        ended = is_end(&in) || is_call(&in);
    }
    const uint8_t jump = 0xe9;
    if (!ended) {
        put(&w, &jump, 1);
        put_distance(&w, address + size + bias, 0);
    }
    return w.too_far ? 0 : w.count;
}

/* Machine code of x86-64, decoded with Zydis.
 * SPDX-License-Identifier: MIT */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "record/funcmeter/machine.h"

enum { MAX_INSTRUCTION = 15, ENTRY_JUMP = 10, JUMP = 5, SHORT_JUMP = 2 };

static ZydisDecoder make_decoder(bool minimal)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL, minimal);
    return decoder;
}

static void sweep(const uint8_t *code, size_t size, size_t end, uint64_t address,
                  machine_branch *found, void *opaque)
{
    enum { CALL = 0xe8 };
    const ZydisDecoder decoder = make_decoder(true);
    ZydisDecodedInstruction in;
    for (size_t at = 0; at < size; at += in.length) {
        if (!ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, end - at, &in))) {
            in.length = 1;
            continue;
        }
        if (in.raw.imm[0].is_relative)
            found(opaque, address + at, address + at + in.length + in.raw.imm[0].value.u,
                  in.opcode == CALL);
    }
}

static bool decode(const uint8_t *code, size_t size, ZydisDecodedInstruction *in)
{
    const ZydisDecoder decoder = make_decoder(false);
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, in));
}

static bool is_call(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_CALL;
}

static bool is_end(const ZydisDecodedInstruction *in)
{
    return in->mnemonic == ZYDIS_MNEMONIC_JMP || in->mnemonic == ZYDIS_MNEMONIC_RET ||
           in->mnemonic == ZYDIS_MNEMONIC_UD2 || in->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool is_conditional(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_COND_BR && in->raw.imm[0].is_relative &&
           in->mnemonic != ZYDIS_MNEMONIC_LOOP && in->mnemonic != ZYDIS_MNEMONIC_LOOPE &&
           in->mnemonic != ZYDIS_MNEMONIC_LOOPNE && in->mnemonic != ZYDIS_MNEMONIC_JRCXZ &&
           in->mnemonic != ZYDIS_MNEMONIC_JECXZ && in->mnemonic != ZYDIS_MNEMONIC_JCXZ;
}

/* Returns why an instruction cannot be moved; NULL: it can. */
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

static struct machine_instruction describe(const uint8_t *code, size_t size)
{
    ZydisDecodedInstruction in;
    if (!decode(code, size, &in))
        return (struct machine_instruction){0};
    return (struct machine_instruction){
        .length = in.length,
        .fixed = why_fixed(&in),
        .is_call = is_call(&in),
        .is_end = is_end(&in),
        .is_padding = in.mnemonic == ZYDIS_MNEMONIC_NOP || in.mnemonic == ZYDIS_MNEMONIC_INT3,
    };
}

/* Bytes being written. */
struct writer {
    uint8_t *bytes;
    size_t count;
    uint64_t place; /* of the first byte */
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

/* Writes the displacement to TARGET from the end of an instruction, which is AFTER bytes after the
 * displacement. */
static void put_distance(struct writer *w, uint64_t target, size_t after)
{
    int64_t distance = (int64_t)(target - (w->place + w->count + 4 + after));
    w->too_far |= distance != (int32_t)distance;
    put_number(w, (uint32_t)distance);
}

static void put_jump(struct writer *w, uint64_t target)
{
    const uint8_t jump = 0xe9;
    put(w, &jump, 1);
    put_distance(w, target, 0);
}

/* A call becomes a push of the return address and a jump. The return address is in the function,
 * because moved code has no unwind table. */
static void put_return_address(struct writer *w, uint64_t back)
{
    const uint8_t push = 0x68, store[4] = {0xc7, 0x44, 0x24, 0x04};
    put(w, &push, 1);
    put_number(w, (uint32_t)back);
    put(w, store, sizeof store);
    put_number(w, (uint32_t)(back >> 32));
}

/* Returns the new target of a branch to TARGET in the code that HOOK moves: the same instruction,
 * at its new place if it is moved. The part before AT has been moved so far. */
static uint64_t moved_target(struct writer *w, const struct machine_hook *hook, uint64_t target,
                             size_t at)
{
    if (hook->where == NULL || target - hook->address >= hook->moved)
        return target;
    w->too_far |= target - hook->address > at;
    return hook->place + hook->where[target - hook->address];
}

/* Changes an indirect call in BYTES to a jump. */
static void make_jump(const ZydisDecodedInstruction *in, uint8_t *bytes)
{
    enum { CALL_TO_JUMP = 2 << 3 | 4 << 3 };
    bytes[in->raw.modrm.offset] ^= CALL_TO_JUMP;
}

/* Writes the instruction that is AT bytes from the beginning of the function. */
static void put_instruction(struct writer *w, const ZydisDecodedInstruction *in,
                            const struct machine_hook *hook, size_t at)
{
    uint64_t next = hook->address + at + in->length;
    uint8_t bytes[MAX_INSTRUCTION];
    memcpy(bytes, hook->code + at, in->length);
    if (is_call(in))
        put_return_address(w, next);
    if (in->raw.imm[0].is_relative) {
        uint64_t target = next + in->raw.imm[0].value.u;
        if (!is_call(in))
            target = moved_target(w, hook, target, at);
        const uint8_t jump_if[2] = {0x0f, (uint8_t)(0x80 | (in->opcode & 15))};
        if (!is_conditional(in)) {
            put_jump(w, target);
            return;
        }
        put(w, jump_if, sizeof jump_if);
        put_distance(w, target, 0);
        return;
    }
    if (is_call(in))
        make_jump(in, bytes);
    if (!(in->attributes & ZYDIS_ATTRIB_IS_RELATIVE)) {
        put(w, bytes, in->length);
        return;
    }
    size_t offset = in->raw.disp.offset, after = in->length - offset - 4;
    put(w, bytes, offset);
    put_distance(w, next + (uint64_t)in->raw.disp.value, after);
    put(w, bytes + offset + 4, after);
}

static size_t make_thunk(const struct machine_hook *hook, uint8_t to[MACHINE_MAX_THUNK])
{
    struct writer w = {.bytes = to, .place = hook->place};
    const uint8_t push = 0x68;
    ZydisDecodedInstruction in;
    bool ended = false;
    put(&w, &push, 1);
    put_number(&w, hook->number);
    put_jump(&w, hook->pool);
    for (size_t at = 0; at < hook->moved; at += in.length) {
        if (!decode(hook->code + at, hook->moved - at, &in))
            return 0;
        if (hook->where != NULL)
            hook->where[at] = (uint8_t)w.count;
        put_instruction(&w, &in, hook, at);
        ended = is_end(&in) || is_call(&in);
    }
    if (!ended)
        put_jump(&w, hook->address + hook->moved);
    return w.too_far ? 0 : ENTRY_JUMP;
}

static void make_start(uint64_t enter, uint8_t to[MACHINE_START])
{
    const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(to, jump, sizeof jump);
    put_u64le(to + sizeof jump, enter);
}

static bool write_jump(uint64_t from, uint64_t target, uint8_t *to, size_t size)
{
    uint64_t distance = target - (from + size);
    if ((int64_t)distance != (int32_t)distance)
        return false;
    to[0] = size == SHORT_JUMP ? 0xeb : 0xe9;
    for (size_t i = 1; i < size; i++)
        to[i] = (uint8_t)(distance >> (8 * (i - 1)));
    return true;
}

static size_t write_branch(const uint8_t *code, size_t size, uint64_t from, uint64_t target,
                           uint8_t *to)
{
    ZydisDecodedInstruction in;
    if (!decode(code, size, &in) || !in.raw.imm[0].is_relative || is_call(&in))
        return 0;
    uint64_t distance = target - (from + in.length);
    size_t bytes = in.raw.imm[0].size / 8;
    if ((int64_t)distance != (bytes == 1 ? (int8_t)distance : (int32_t)distance))
        return 0;
    memcpy(to, code, in.length);
    for (size_t i = 0; i < bytes; i++)
        to[in.raw.imm[0].offset + i] = (uint8_t)(distance >> (8 * i));
    return in.length;
}

/* The kernel (arch/x86/kernel/uprobes.c) cannot execute an instruction at another place if it has a
 * prefix for an unused segment or LOCK, is encoded with VEX or EVEX, is privileged, or does not
 * exist in 64-bit code. */
static bool refuses_probe(const uint8_t *code, size_t size)
{
    static const uint8_t usual[] = {0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
    static const uint8_t refused[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x26, 0x27, 0x2e,
                                      0x2f, 0x36, 0x37, 0x3e, 0x3f, 0x60, 0x61, 0x62, 0x6c, 0x6d,
                                      0x6e, 0x6f, 0x82, 0x9a, 0xc4, 0xc5, 0xcc, 0xcd, 0xce, 0xcf,
                                      0xd4, 0xd5, 0xd6, 0xe4, 0xe5, 0xe6, 0xe7, 0xea, 0xec, 0xed,
                                      0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb};
    size_t at = 0;
    while (at < size && memchr(usual, code[at], sizeof usual) != NULL)
        at++;
    if (at < size && (code[at] & 0xf0) == 0x40) /* REX */
        at++;
    return at == size || memchr(refused, code[at], sizeof refused) != NULL;
}

const struct machine machine_x86_64 = {
    .elf = EM_X86_64,
    .name = "x86-64",
    .jump = JUMP,
    .short_jump = SHORT_JUMP,
    .thunk_size = 64,
    .reach = UINT64_C(0x7ff00000),
    .filler = 0xcc,
    .sweep = sweep,
    .decode = describe,
    .refuses_probe = refuses_probe,
    .start = make_start,
    .thunk = make_thunk,
    .write_jump = write_jump,
    .write_branch = write_branch,
};

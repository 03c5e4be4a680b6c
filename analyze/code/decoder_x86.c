/* Instructions of x86 and x86-64, decoded with Zydis, which supports AVX-512.
 * SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdlib.h>

#include "analyze/code/decoder.h"
#include "analyze/code/x86_instruction.h"
#include "base/memory.h"

struct decoder_x86 {
    struct decoder base;
    ZydisDecoder zydis;
    bool intel;
    struct x86_instruction last;
};

static enum branch branch_of(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR: /* transactions: only their beginning has a target */
        return in->mnemonic != ZYDIS_MNEMONIC_XEND && in->mnemonic != ZYDIS_MNEMONIC_XABORT
                   ? BRANCH_JUMP
                   : BRANCH_NONE;
    case ZYDIS_CATEGORY_CALL:
        return BRANCH_CALL;
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
        return BRANCH_OTHER;
    default:
        return BRANCH_NONE;
    }
}

/* The size of an instruction that is newer than the library, so that the next instruction is
 * decoded correctly: in the opcode maps that are still being filled, the size does not depend on
 * the opcode. 1 if it is not such an instruction. */
static size_t unknown_size(const uint8_t *bytes, size_t size, bool is_64)
{
    const size_t modrm_at =
        size > 6 && bytes[0] == 0xC4 ? 4 : 5; /* after VEX or EVEX and the opcode */
    const unsigned map = size > 6 ? bytes[1] & (modrm_at == 4 ? 31 : 15) : 0;
    const bool is_evex = size > 6 && bytes[0] == 0x62 && (bytes[2] & 4);
    if (!(size > 6 && modrm_at == 4) && !is_evex)
        return 1;
    if ((!is_64 && bytes[1] < 0xC0) ||
        !(map == 2 || map == 3 || (is_evex && (map == 5 || map == 6))))
        return 1;
    const unsigned mod = bytes[modrm_at] >> 6, rm = bytes[modrm_at] & 7;
    const bool has_sib = mod != 3 && rm == 4;
    const unsigned base = has_sib ? bytes[modrm_at + 1] & 7 : rm;
    const bool has_32 = mod == 2 || (mod == 0 && base == 5);
    const size_t all = modrm_at + 1 + has_sib + (mod == 1) + (has_32 ? 4 : 0) + (map == 3);
    return all <= size ? all : 1;
}

static bool decode(struct decoder *decoder, bool thumb, uint64_t address, const uint8_t *bytes,
                   size_t size, struct decoded *found)
{
    struct decoder_x86 *d = (struct decoder_x86 *)decoder;
    struct x86_instruction *x = &d->last;
    (void)thumb;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->zydis, bytes, size, &x->in, x->operands)) ||
        x->in.meta.isa_ext == ZYDIS_ISA_EXT_KNC) { /* Zydis accepts some of these in any mode */
        found->size =
            unknown_size(bytes, size, d->zydis.machine_mode == ZYDIS_MACHINE_MODE_LONG_64);
        return false;
    }
    x->address = address;
    found->size = x->in.length;
    found->branch = branch_of(&x->in);
    found->target = x86_target(x);
    x86_mnemonic(x, d->intel, found->mnemonic);
    return true;
}

static void operands(const struct decoder *decoder, char text[MAX_OPERANDS])
{
    const struct decoder_x86 *d = (const struct decoder_x86 *)decoder;
    x86_operands(&d->last, d->intel, text);
}

static void delete (struct decoder *decoder)
{
    free(decoder);
}

struct decoder *decoder_x86_new(const struct elf_file *file, bool intel)
{
    if (file->machine != EM_X86_64 && file->machine != EM_386)
        return NULL;
    const bool is_64 = file->machine == EM_X86_64;
    struct decoder_x86 *d = mem_zalloc(1, sizeof *d);
    d->base = (struct decoder){1, decode, operands, delete};
    d->intel = intel;
    ZydisDecoderInit(&d->zydis,
                     is_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LONG_COMPAT_32,
                     is_64 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
    ZydisDecoderEnableMode(&d->zydis, ZYDIS_DECODER_MODE_WBNOINVD, ZYAN_TRUE);
    return &d->base;
}

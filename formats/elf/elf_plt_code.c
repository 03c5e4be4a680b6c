/* Recognises, for each machine, the code of stubs that jump to the address in a slot.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_plt_code.h"

#include <elf.h>
#include <stddef.h>

#include "base/bytes.h"

#define WORD UINT64_C(4)

/* The word at offset AT; 0 beyond the end, where no stub begins. */
static uint32_t word(const struct plt_code *c, uint64_t at)
{
    return at <= c->size && c->size - at >= WORD ? get_u32(c->bytes + at, c->big_endian) : 0;
}

static uint8_t byte(const struct plt_code *c, uint64_t at)
{
    return at < c->size ? c->bytes[at] : 0;
}

/* The lower 16 bits of VALUE with their sign. */
static uint64_t signed_half(uint32_t value)
{
    return (uint64_t)(int64_t)(int16_t)(value & 0xffff);
}

/* ---- x86 ---- */

enum { SHORT_X86 = 8, LONG_X86 = 16, JUMP = 0xff, RIP_OR_ABSOLUTE = 0x25, FROM_EBX = 0xa3 };

static bool jumps(const struct plt_code *c, uint64_t at)
{
    uint8_t how = byte(c, at + 1);
    return byte(c, at) == JUMP && (how == RIP_OR_ABSOLUTE || how == FROM_EBX);
}

/* [endbr] [bnd] jmp *SLOT, with padding or a call of the dynamic linker, in 16 bytes, or 8 where
 * stubs are not lazy. Sets *JUMP to the offset of the jump, and all of STUB but its slot. */
static bool find_x86(const struct plt_code *c, uint64_t at, uint32_t endbr, uint64_t *jump,
                     struct plt_stub *stub)
{
    enum { BND = 0xf2 };
    const bool marked = word(c, at) == endbr;
    *jump = at + (marked ? WORD : 0);
    *jump += byte(c, *jump) == BND;
    if (!jumps(c, *jump))
        return false;
    const bool is_short =
        !marked && *jump == at && (at + SHORT_X86 >= c->size || jumps(c, at + SHORT_X86));
    stub->address = c->address + at;
    stub->size = is_short ? SHORT_X86 : LONG_X86;
    return true;
}

static bool find_x86_64(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    uint64_t jump;
    if (!find_x86(c, at, 0xfa1e0ff3, &jump, stub) || byte(c, jump + 1) != RIP_OR_ABSOLUTE)
        return false;
    stub->slot = c->address + jump + 6 + (uint64_t)(int64_t)(int32_t)word(c, jump + 2);
    return true;
}

static bool find_i386(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    uint64_t jump;
    if (!find_x86(c, at, 0xfb1e0ff3, &jump, stub))
        return false;
    const uint64_t from = byte(c, jump + 1) == FROM_EBX ? c->got : 0;
    stub->slot = (from + word(c, jump + 2)) & UINT32_MAX;
    return true;
}

/* ---- ARM ---- */

/* [bti c] adrp x16, PAGE; ldr x17, [x16, #OFFSET]; add x16, x16, #OFFSET; [autia1716] br x17 [nop] */
static bool find_aarch64(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    enum { SHORT = 16, LONG = 24 };
    const uint32_t bti = 0xd503245f, nop = 0xd503201f, br = 0xd61f0220;
    const uint32_t adrp = word(c, at), ldr = word(c, at + WORD);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t pages = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
    pages = (pages ^ 0x100000) - 0x100000; /* 21 bits, signed */
    uint64_t begin = at, end = at + SHORT;
    if (at >= WORD && word(c, at - WORD) == bti)
        begin -= WORD;
    while (end < c->size && end < begin + LONG && word(c, end - WORD) != br)
        end += WORD;
    while (end + WORD <= c->size && end < begin + LONG && word(c, end) == nop)
        end += WORD;
    stub->address = c->address + begin;
    stub->size = end - begin;
    stub->slot =
        ((c->address + at) & ~UINT64_C(4095)) + (pages << 12) + (uint64_t)(ldr >> 10 & 0xfff) * 8;
    return true;
}

/* The constant in an instruction: 8 bits, rotated. */
static uint32_t rotated(uint32_t instruction)
{
    const uint32_t value = instruction & 0xff, by = instruction >> 7 & 30;
    return by == 0 ? value : value >> by | value << (32 - by);
}

/* [Thumb: bx pc; nop] add ip, pc, #A; add ip, ip, #B; [add ip, ip, #C;] ldr pc, [ip, #D]! */
static bool find_arm(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    enum { AHEAD = 8, MAX_ADDS = 2 }; /* pc is this far ahead of the instruction */
    uint64_t end = at + WORD, begin = at;
    if ((word(c, at) & 0xfffff000) != 0xe28fc000)
        return false;
    uint32_t slot = (uint32_t)(c->address + at) + AHEAD + rotated(word(c, at));
    for (int i = 0; i < MAX_ADDS && (word(c, end) & 0xfffff000) == 0xe28cc000; i++, end += WORD)
        slot += rotated(word(c, end));
    if ((word(c, end) & 0xfffff000) != 0xe5bcf000)
        return false;
    slot += word(c, end) & 0xfff;
    const uint32_t before = at >= WORD ? word(c, at - WORD) : 0;
    if (before == 0x46c04778 || before == 0xe7fd4778)
        begin -= WORD;
    *stub = (struct plt_stub){c->address + begin, end + WORD - begin, slot};
    return true;
}

/* ---- others ---- */

/* auipc t3, HIGH; ld or lw t3, LOW(t3); jalr t1, t3; nop */
static bool find_riscv(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    const uint32_t high = word(c, at), low = word(c, at + WORD);
    const bool is_load = (low & 0xfffff) == 0xe3e03 || (low & 0xfffff) == 0xe2e03;
    if ((high & 0xfff) != 0xe17 || !is_load || word(c, at + 2 * WORD) != 0x000e0367)
        return false;
    const uint64_t pages = (uint64_t)(int64_t)(int32_t)(high & 0xfffff000);
    const uint64_t rest = (low >> 20 ^ 0x800) - UINT64_C(0x800);
    *stub = (struct plt_stub){c->address + at, 4 * WORD, c->address + at + pages + rest};
    return true;
}

/* larl %r1, SLOT; lg %r1, 0(%r1); br %r1; and the call of the dynamic linker */
static bool find_s390(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    enum { SIZE = 32 };
    if (word(c, at) >> 16 != 0xc010 || word(c, at + 6) != 0xe3101000 ||
        word(c, at + 10) != 0x000407f1)
        return false;
    const uint64_t halves = (uint64_t)(int64_t)(int32_t)word(c, at + 2);
    *stub = (struct plt_stub){c->address + at, SIZE, c->address + at + 2 * halves};
    return true;
}

/* lui t7 or t6, HIGH; lw or ld t9, LOW(t7); and two more */
static bool find_mips(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    const uint32_t high = word(c, at), low = word(c, at + WORD);
    const uint32_t base = high >> 16 & 31, load = low >> 26;
    if ((high >> 16 != 0x3c0f && high >> 16 != 0x3c0e) || (load != 0x23 && load != 0x37) ||
        (low >> 21 & 31) != base || (low >> 16 & 31) != 25)
        return false;
    *stub = (struct plt_stub){c->address + at, 4 * WORD,
                              ((uint64_t)(high & 0xffff) << 16) + signed_half(low)};
    stub->slot &= UINT32_MAX;
    return true;
}

/* Decodes instructions at AT that load r12 from a slot relative to r2 or to the program counter.
 * Returns their size, 0 for other instructions. */
static uint64_t load_ppc64(const struct plt_code *c, uint64_t at, uint64_t *slot)
{
    enum { FROM_MIDDLE = 0x8000 };
    const uint32_t first = word(c, at), second = word(c, at + WORD);
    const uint64_t toc = c->got + FROM_MIDDLE;
    if ((first & 0xffff0003) == 0xe9820000) { /* ld r12, OFFSET(r2) */
        *slot = toc + signed_half(first);
        return WORD;
    }
    const uint32_t high = first >> 16; /* addis r11 or r12, r2, HIGH; ld r12, LOW(r11 or r12) */
    if ((high == 0x3d62 && (second & 0xffff0003) == 0xe98b0000) ||
        (high == 0x3d82 && (second & 0xffff0003) == 0xe98c0000)) {
        *slot = toc + (signed_half(first) << 16) + signed_half(second);
        return 2 * WORD;
    }
    if (first >> 18 == 0x04100000 >> 18 && second >> 16 == 0xe580) { /* pld r12, OFFSET */
        const uint64_t offset = (uint64_t)(first & 0x3ffff) << 16 | (second & 0xffff);
        *slot = c->address + at + (offset ^ UINT64_C(1) << 33) - (UINT64_C(1) << 33);
        return 2 * WORD;
    }
    return 0;
}

static bool saves_toc(uint32_t instruction) /* std r2, 24(r1) or 40(r1) */
{
    return instruction == 0xf8410018 || instruction == 0xf8410028;
}

/* [std r2, ..(r1)]; load r12; mtctr r12; [ld r2 and r11;] bctr
 * In the big-endian ABI, a slot has three words, and another thread may be filling them: instead of
 * bctr, libraries have cmpldi r2, 0; bnectr; b to the call of the dynamic linker; or xor and add that
 * make the second load depend on the first. */
static bool find_ppc64(const struct plt_code *c, uint64_t at, struct plt_stub *stub)
{
    enum { MAX_BETWEEN = 6 };
    const uint32_t bctr = 0x4e800420, bnectr = 0x4ce20420, mtctr = 0x7d8903a6;
    uint64_t end = at + (saves_toc(word(c, at)) ? WORD : 0);
    const uint64_t load = load_ppc64(c, end, &stub->slot);
    if (load == 0 || (end == at && at >= WORD && saves_toc(word(c, at - WORD))))
        return false;
    end += load;
    bool moved = false;
    for (int i = 0; i < MAX_BETWEEN && word(c, end) != bctr && word(c, end) != bnectr; i++) {
        moved |= word(c, end) == mtctr;
        end += WORD;
    }
    const uint32_t last = word(c, end);
    if (last == bnectr)
        end += WORD;
    stub->address = c->address + at;
    stub->size = end + WORD - at;
    return moved && (last == bctr || (last == bnectr && word(c, end) >> 26 == 0x48000000 >> 26));
}

static const struct plt_machine machines[] = {
    {EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, SHORT_X86, false, true,
     find_x86_64},
    {EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE, SHORT_X86, false, true, find_i386},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE, WORD, false, true,
     find_aarch64},
    {EM_ARM, R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT, R_ARM_IRELATIVE, WORD, false, true, find_arm},
    {EM_RISCV, R_RISCV_JUMP_SLOT, R_RISCV_64, R_RISCV_IRELATIVE, WORD, false, true, find_riscv},
    {EM_S390, R_390_JMP_SLOT, R_390_GLOB_DAT, R_390_IRELATIVE, WORD, false, false, find_s390},
    {EM_MIPS, R_MIPS_JUMP_SLOT, R_MIPS_GLOB_DAT, UINT32_MAX, WORD, false, false, find_mips},
    {EM_PPC64, R_PPC64_JMP_SLOT, R_PPC64_GLOB_DAT, R_PPC64_JMP_IREL, WORD, true, false, find_ppc64},
};

const struct plt_machine *plt_machine_find(uint16_t machine, bool big_endian)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i].machine == machine)
            return big_endian && machines[i].only_little ? NULL : &machines[i];
    return NULL;
}

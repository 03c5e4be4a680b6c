/* Operands of x86, in AT&T and Intel syntax.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analyze/code/x86_instruction.h"

/* The text of operands, which grows. */
struct line {
    char *text;
    size_t length;
    bool intel;
};

static void put(struct line *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to->text + to->length, MAX_OPERANDS - to->length, format, args);
    va_end(args);
    to->length += (size_t)n < MAX_OPERANDS - to->length ? (size_t)n : 0;
}

/* Numbers up to 9 are written in decimal. */
static void put_unsigned(struct line *to, uint64_t value)
{
    put(to, value < 10 ? "%" PRIu64 : "0x%" PRIx64, value);
}

static void put_signed(struct line *to, int64_t value)
{
    put(to, "%s", value < 0 ? "-" : "");
    put_unsigned(to, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* ---- registers ---- */

static void put_register(struct line *to, const ZydisDecodedOperand *o)
{
    const char *sign = to->intel ? "" : "%";
    ZydisRegister r = o->reg.value;
    if (ZydisRegisterGetClass(r) != ZYDIS_REGCLASS_X87)
        put(to, "%s%s", sign, ZydisRegisterGetString(r));
    else if (o->visibility == ZYDIS_OPERAND_VISIBILITY_IMPLICIT)
        put(to, "%sst", sign);
    else
        put(to, "%sst(%d)", sign, ZydisRegisterGetId(r));
}

static void put_plain(struct line *to, const char *before, ZydisRegister r)
{
    if (r != ZYDIS_REGISTER_NONE)
        put(to, "%s%s%s", before, to->intel ? "" : "%", ZydisRegisterGetString(r));
}

/* ---- memory ---- */

static bool is_nop(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_NOP || in->meta.category == ZYDIS_CATEGORY_WIDENOP;
}

/* Returns whether operands of the instruction are written although they follow from its opcode. */
static bool is_string(const ZydisDecodedInstruction *in)
{
    return in->meta.category == ZYDIS_CATEGORY_STRINGOP ||
           in->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

/* Writes the segment if a prefix names it, except in no-operations, where it only makes them
 * longer. */
static void put_segment(struct line *to, const struct x86_instruction *x,
                        const ZydisDecodedOperandMem *m)
{
    bool is_padding = false;
    for (size_t i = 0; i < x->in.raw.prefix_count; i++)
        is_padding |= is_nop(&x->in) && x->in.raw.prefixes[i].value == 0x2E;
    const bool is_extra = x->in.machine_mode != ZYDIS_MACHINE_MODE_LONG_64 && is_string(&x->in) &&
                          m->segment == ZYDIS_REGISTER_ES;
    if (is_padding)
        put_plain(to, "", ZYDIS_REGISTER_CS);
    else if (is_extra || (x->in.attributes & ZYDIS_ATTRIB_HAS_SEGMENT))
        put_plain(to, "", m->segment);
    else
        return;
    put(to, ":");
}

static void put_absolute(struct line *to, const struct x86_instruction *x,
                         const ZydisDecodedOperandMem *m)
{
    const unsigned width = x->in.address_width;
    put_unsigned(to, (uint64_t)m->disp.value & (UINT64_MAX >> (64 - width)));
}

static void put_att_memory(struct line *to, const struct x86_instruction *x,
                           const ZydisDecodedOperandMem *m)
{
    const bool absolute = m->base == ZYDIS_REGISTER_NONE && m->index == ZYDIS_REGISTER_NONE;
    put_segment(to, x, m);
    if (absolute) {
        put_absolute(to, x, m);
        return;
    }
    if (m->disp.value != 0)
        put_signed(to, m->disp.value);
    put(to, "(");
    put_plain(to, "", m->base);
    put_plain(to, ", ", m->index);
    if (m->index != ZYDIS_REGISTER_NONE && m->scale > 1)
        put(to, ", %u", m->scale);
    put(to, ")");
}

static const char *size_name(unsigned bits)
{
    switch (bits) {
    case 8:
        return "byte ptr ";
    case 16:
        return "word ptr ";
    case 32:
        return "dword ptr ";
    case 48:
        return "fword ptr ";
    case 64:
        return "qword ptr ";
    case 80:
        return "tbyte ptr ";
    case 128:
        return "xmmword ptr ";
    case 256:
        return "ymmword ptr ";
    case 512:
        return "zmmword ptr ";
    default:
        return "";
    }
}

static void put_intel_memory(struct line *to, const struct x86_instruction *x,
                             const ZydisDecodedOperand *o)
{
    const ZydisDecodedOperandMem *m = &o->mem;
    const bool absolute = m->base == ZYDIS_REGISTER_NONE && m->index == ZYDIS_REGISTER_NONE;
    if (m->type != ZYDIS_MEMOP_TYPE_AGEN)
        put(to, "%s",
            size_name(x->in.avx.broadcast.mode != 0 && !x->in.avx.broadcast.is_static
                          ? o->element_size
                          : o->size));
    put_segment(to, x, m);
    put(to, "[");
    put_plain(to, "", m->base);
    put_plain(to, m->base != ZYDIS_REGISTER_NONE ? " + " : "", m->index);
    if (m->index != ZYDIS_REGISTER_NONE && m->scale > 1)
        put(to, "*%u", m->scale);
    if (absolute)
        put_absolute(to, x, m);
    else if (m->disp.value != 0) {
        put(to, m->disp.value < 0 ? " - " : " + ");
        put_signed(to, m->disp.value < 0 ? -m->disp.value : m->disp.value);
    }
    put(to, "]");
}

/* ---- others ---- */

uint64_t x86_target(const struct x86_instruction *x)
{
    ZyanU64 target;
    for (size_t i = 0; i < x->in.operand_count_visible; i++)
        if (x->operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && x->operands[i].imm.is_relative &&
            ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&x->in, &x->operands[i], x->address, &target)))
            return target;
    return UINT64_MAX;
}

/* Numbers that the processor sign-extends are written with a sign, except bit masks. */
static void put_immediate(struct line *to, const struct x86_instruction *x,
                          const ZydisDecodedOperand *o)
{
    const bool is_first = o == &x->operands[0]; /* of push */
    const unsigned size = is_first ? x->in.operand_width : x->operands[0].size;
    const unsigned width = size < 64 ? size : 64;
    const bool extended = o->imm.is_signed && x->in.raw.imm[0].size < width;
    const bool bits = x->in.meta.category == ZYDIS_CATEGORY_LOGICAL;
    if (o->imm.is_relative) {
        put(to, "0x%" PRIx64, x86_target(x));
        return;
    }
    put(to, "%s", to->intel ? "" : "$");
    if (extended && !bits)
        put_signed(to, o->imm.value.s);
    else if (o->imm.is_signed && width > 0)
        put_unsigned(to, o->imm.value.u & (UINT64_MAX >> (64 - width)));
    else
        put_unsigned(to, o->imm.value.u);
}

/* AVX-512: writes broadcasts such as 1to8, the mask of the destination, and the rounding mode. */
static void put_broadcast(struct line *to, const ZydisDecodedInstruction *in)
{
    static const unsigned lanes[] = {0, 2, 4, 8, 16, 32, 64, 4, 8, 16, 8, 16, 16};
    if (in->avx.broadcast.mode != 0 && !in->avx.broadcast.is_static)
        put(to, "{1to%u}", lanes[in->avx.broadcast.mode]);
}

static void put_mask(struct line *to, const ZydisDecodedInstruction *in)
{
    if (in->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX || in->raw.evex.aaa == 0)
        return;
    put_plain(to, "{", in->avx.mask.reg);
    put(to, in->raw.evex.z ? "}{z}" : "}");
}

static const char *rounding(const ZydisDecodedInstruction *in)
{
    static const char texts[][9] = {"", "{rn-sae}", "{rd-sae}", "{ru-sae}", "{rz-sae}"};
    if (in->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
        return "";
    return in->avx.rounding.mode != 0 ? texts[in->avx.rounding.mode]
           : in->avx.has_sae          ? "{sae}"
                                      : "";
}

static void put_operand(struct line *to, const struct x86_instruction *x, size_t i)
{
    const ZydisDecodedOperand *o = &x->operands[i];
    const bool indirect = x->in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE && !to->intel;
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        put(to, "%s", indirect ? "*" : "");
        put_register(to, o);
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        put(to, "%s", indirect ? "*" : "");
        if (to->intel)
            put_intel_memory(to, x, o);
        else
            put_att_memory(to, x, &o->mem);
        put_broadcast(to, &x->in);
        break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        put_immediate(to, x, o);
        break;
    case ZYDIS_OPERAND_TYPE_POINTER:
        put(to, to->intel ? "0x%x:0x%x" : "$0x%x, $0x%x", o->ptr.segment, o->ptr.offset);
        break;
    default:
        break;
    }
    if (i == 0)
        put_mask(to, &x->in);
}

/* ---- which operands ---- */

static bool is_written(const struct x86_instruction *x, size_t i)
{
    const ZydisDecodedOperand *o = &x->operands[i];
    if (is_string(&x->in))
        return i < 2;
    if (i >= x->in.operand_count_visible || o->encoding == ZYDIS_OPERAND_ENCODING_MASK)
        return false;
    if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return !x86_has_predicate(x);
    return i == 0 || !is_nop(&x->in);
}

/* The operand before which rounding is written: in AT&T syntax, the first one that is not an
 * immediate; in Intel syntax, the immediate after the others. For conversions of integers, it is on
 * the other side of this operand. */
static bool follows_rounding(const struct x86_instruction *x, size_t i, bool intel)
{
    if (rounding(&x->in)[0] == '\0' || x->in.operand_count_visible == 0)
        return false;
    const size_t last = x->in.operand_count_visible - 1U;
    const ZydisDecodedOperand *o = &x->operands[last];
    const bool is_integer = o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                            ZydisRegisterGetClass(o->reg.value) <= ZYDIS_REGCLASS_GPR64;
    const bool apart = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE || is_integer;
    return intel ? apart && i == last : i == last - apart;
}

void x86_operands(const struct x86_instruction *x, bool intel, char text[MAX_OPERANDS])
{
    const bool same_order =
        intel || x->in.mnemonic == ZYDIS_MNEMONIC_ENTER || x->in.mnemonic == ZYDIS_MNEMONIC_BOUND;
    struct line to = {text, 0, intel};
    bool rounded = rounding(&x->in)[0] == '\0';
    text[0] = '\0';
    for (size_t k = 0; k < x->in.operand_count; k++) {
        const size_t i = same_order ? k : x->in.operand_count - 1U - k;
        if (follows_rounding(x, i, intel)) {
            put(&to, "%s%s", to.length > 0 ? ", " : "", rounding(&x->in));
            rounded = true;
        }
        if (!is_written(x, i))
            continue;
        if (to.length > 0)
            put(&to, ", ");
        put_operand(&to, x, i);
    }
    if (!rounded)
        put(&to, ", %s", rounding(&x->in));
}

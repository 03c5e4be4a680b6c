/* Mnemonics of x86. Zydis uses those of Intel; AT&T syntax renames some, and adds the size of
 * operands to others.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyze/code/x86_instruction.h"

static const char conditions[16][4] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                       "s", "ns", "p", "np", "l", "ge", "le", "g"};

/* The comparisons that immediates select, for cmpps and similar instructions, and for integers in
 * AVX-512. */
static const char predicates[32][9] = {
    "eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
    "eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
    "eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
    "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us"};
static const char integer_predicates[8][4] = {"eq", "lt", "le", "", "neq", "nlt", "nle", ""};

/* ---- predicates ---- */

/* The number of letters before the predicate (0 if the mnemonic has none), and the predicates of
 * the mnemonic. */
static size_t predicate_place(ZydisMnemonic mnemonic, const char **texts, size_t *count,
                              size_t *width)
{
    *texts = predicates[0];
    *count = 32;
    *width = sizeof predicates[0];
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CMPPS:
    case ZYDIS_MNEMONIC_CMPPD:
    case ZYDIS_MNEMONIC_CMPSS:
    case ZYDIS_MNEMONIC_CMPSD:
        *count = 8;
        return 3;
    case ZYDIS_MNEMONIC_VCMPPS:
    case ZYDIS_MNEMONIC_VCMPPD:
    case ZYDIS_MNEMONIC_VCMPSS:
    case ZYDIS_MNEMONIC_VCMPSD:
    case ZYDIS_MNEMONIC_VCMPPH:
    case ZYDIS_MNEMONIC_VCMPSH:
        return 4;
    case ZYDIS_MNEMONIC_VPCMPB:
    case ZYDIS_MNEMONIC_VPCMPW:
    case ZYDIS_MNEMONIC_VPCMPD:
    case ZYDIS_MNEMONIC_VPCMPQ:
    case ZYDIS_MNEMONIC_VPCMPUB:
    case ZYDIS_MNEMONIC_VPCMPUW:
    case ZYDIS_MNEMONIC_VPCMPUD:
    case ZYDIS_MNEMONIC_VPCMPUQ:
        *texts = integer_predicates[0];
        *count = 8;
        *width = sizeof integer_predicates[0];
        return 5;
    default:
        return 0;
    }
}

/* The predicate of X, and in *AT the number of letters before it. NULL if there is none. */
static const char *predicate(const struct x86_instruction *x, size_t *at)
{
    const char *texts;
    size_t count, width;
    const uint64_t value = x->in.raw.imm[0].value.u;
    if (x->in.raw.imm[0].size == 0) /* CMPSD is also a string instruction */
        return NULL;
    *at = predicate_place(x->in.mnemonic, &texts, &count, &width);
    return *at > 0 && value < count && texts[value * width] != '\0' ? &texts[value * width] : NULL;
}

bool x86_has_predicate(const struct x86_instruction *x)
{
    size_t at;
    return predicate(x, &at) != NULL;
}

/* ---- suffixes ---- */

static const char *size_letter(unsigned bits)
{
    return bits == 8 ? "b" : bits == 16 ? "w" : bits == 32 ? "l" : bits == 64 ? "q" : "";
}

static bool is_general(const ZydisDecodedOperand *o)
{
    ZydisRegisterClass class =
        o->type == ZYDIS_OPERAND_TYPE_REGISTER ? ZydisRegisterGetClass(o->reg.value) : 0;
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY ||
           (class >= ZYDIS_REGCLASS_GPR8 && class <= ZYDIS_REGCLASS_GPR64);
}

static const ZydisDecodedOperand *memory_operand(const struct x86_instruction *x)
{
    for (size_t i = 0; i < x->in.operand_count_visible; i++)
        if (x->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return &x->operands[i];
    return NULL;
}

/* The suffix for x87 numbers in memory. */
static const char *x87_suffix(const struct x86_instruction *x)
{
    const ZydisDecodedOperand *memory = memory_operand(x);
    if (memory == NULL)
        return "";
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_FIADD:
    case ZYDIS_MNEMONIC_FICOM:
    case ZYDIS_MNEMONIC_FICOMP:
    case ZYDIS_MNEMONIC_FIDIV:
    case ZYDIS_MNEMONIC_FIDIVR:
    case ZYDIS_MNEMONIC_FILD:
    case ZYDIS_MNEMONIC_FIMUL:
    case ZYDIS_MNEMONIC_FIST:
    case ZYDIS_MNEMONIC_FISTP:
    case ZYDIS_MNEMONIC_FISTTP:
    case ZYDIS_MNEMONIC_FISUB:
    case ZYDIS_MNEMONIC_FISUBR:
        return memory->size == 16 ? "s" : memory->size == 32 ? "l" : "ll";
    case ZYDIS_MNEMONIC_FADD:
    case ZYDIS_MNEMONIC_FCOM:
    case ZYDIS_MNEMONIC_FCOMP:
    case ZYDIS_MNEMONIC_FDIV:
    case ZYDIS_MNEMONIC_FDIVR:
    case ZYDIS_MNEMONIC_FLD:
    case ZYDIS_MNEMONIC_FMUL:
    case ZYDIS_MNEMONIC_FST:
    case ZYDIS_MNEMONIC_FSTP:
    case ZYDIS_MNEMONIC_FSUB:
    case ZYDIS_MNEMONIC_FSUBR:
        return memory->size == 32 ? "s" : memory->size == 64 ? "l" : "t";
    default:
        return "";
    }
}

/* The suffix for conversions of vectors to narrower ones, where registers do not determine the size
 * of the source in memory. */
static const char *vector_suffix(const struct x86_instruction *x)
{
    const unsigned bits = x->in.avx.vector_length;
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_VCVTPD2DQ:
    case ZYDIS_MNEMONIC_VCVTPD2PS:
    case ZYDIS_MNEMONIC_VCVTPD2UDQ:
    case ZYDIS_MNEMONIC_VCVTQQ2PS:
    case ZYDIS_MNEMONIC_VCVTTPD2DQ:
    case ZYDIS_MNEMONIC_VCVTTPD2UDQ:
    case ZYDIS_MNEMONIC_VCVTUQQ2PS:
    case ZYDIS_MNEMONIC_VCVTNEPS2BF16:
    case ZYDIS_MNEMONIC_VCVTDQ2PH:
    case ZYDIS_MNEMONIC_VCVTUDQ2PH:
    case ZYDIS_MNEMONIC_VCVTPS2PHX:
        if (bits == 512)
            return "";
        break;
    case ZYDIS_MNEMONIC_VCVTPD2PH:
    case ZYDIS_MNEMONIC_VCVTQQ2PH:
    case ZYDIS_MNEMONIC_VCVTUQQ2PH:
    case ZYDIS_MNEMONIC_VFPCLASSPS:
    case ZYDIS_MNEMONIC_VFPCLASSPD:
    case ZYDIS_MNEMONIC_VFPCLASSPH:
        break;
    default:
        return "";
    }
    if (memory_operand(x) == NULL || x->in.raw.evex.b)
        return "";
    return bits == 128 ? "x" : bits == 256 ? "y" : "z";
}

static const char *moved_suffix(const struct x86_instruction *x)
{
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        for (size_t i = 0; i < 2; i++) /* segment registers have 16 bits, whatever is moved */
            if (x->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_general(&x->operands[i]))
                return size_letter(x->operands[i].size);
        return size_letter(x->operands[0].size);
    case ZYDIS_MNEMONIC_BSWAP:
    case ZYDIS_MNEMONIC_MOVBE:
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_XCHG:
        return size_letter(x->operands[0].size);
    default:
        return "";
    }
}

static const char *other_suffix(const struct x86_instruction *x)
{
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_POPCNT:
    case ZYDIS_MNEMONIC_IN:
    case ZYDIS_MNEMONIC_VMWRITE:
    case ZYDIS_MNEMONIC_VMREAD:
        return size_letter(x->operands[0].size);
    case ZYDIS_MNEMONIC_CRC32:
    case ZYDIS_MNEMONIC_CVTSI2SD:
    case ZYDIS_MNEMONIC_CVTSI2SS:
    case ZYDIS_MNEMONIC_OUT:
        return size_letter(x->operands[1].size);
    case ZYDIS_MNEMONIC_VCVTSI2SD:
    case ZYDIS_MNEMONIC_VCVTSI2SS:
    case ZYDIS_MNEMONIC_VCVTSI2SH:
    case ZYDIS_MNEMONIC_VCVTUSI2SD:
    case ZYDIS_MNEMONIC_VCVTUSI2SS:
    case ZYDIS_MNEMONIC_VCVTUSI2SH:
        return size_letter(x->operands[2].size);
    default:
        return vector_suffix(x);
    }
}

static const char *suffix(const struct x86_instruction *x)
{
    const ZydisDecodedOperand *first = &x->operands[0];
    switch (x->in.meta.category) {
    case ZYDIS_CATEGORY_ADOX_ADCX:
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_LZCNT:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_RDRAND:
    case ZYDIS_CATEGORY_RDSEED:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_SEMAPHORE:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_TBM:
    case ZYDIS_CATEGORY_WIDENOP:
        return x->in.operand_count_visible > 0 && is_general(first) ? size_letter(first->size) : "";
    case ZYDIS_CATEGORY_DATAXFER:
        return moved_suffix(x);
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
        return x->in.operand_count_visible > 0 || x->in.meta.category == ZYDIS_CATEGORY_RET
                   ? size_letter(x->in.operand_width)
                   : "";
    case ZYDIS_CATEGORY_UNCOND_BR:
        return x->in.mnemonic == ZYDIS_MNEMONIC_JMP && !x->in.raw.imm[0].is_relative
                   ? size_letter(x->in.operand_width)
                   : "";
    case ZYDIS_CATEGORY_X87_ALU:
        return x87_suffix(x);
    default:
        return other_suffix(x);
    }
}

/* ---- names ---- */

/* The AT&T names of instructions that differ from Intel's. */
static const char *const att_names[] = {
    [ZYDIS_MNEMONIC_CALL] = "lcall",   [ZYDIS_MNEMONIC_JMP] = "ljmp",
    [ZYDIS_MNEMONIC_RET] = "lret",     [ZYDIS_MNEMONIC_CBW] = "cbtw",
    [ZYDIS_MNEMONIC_CWDE] = "cwtl",    [ZYDIS_MNEMONIC_CDQE] = "cltq",
    [ZYDIS_MNEMONIC_CWD] = "cwtd",     [ZYDIS_MNEMONIC_CDQ] = "cltd",
    [ZYDIS_MNEMONIC_CQO] = "cqto",     [ZYDIS_MNEMONIC_IRETD] = "iret",
    [ZYDIS_MNEMONIC_IRETQ] = "iret",   [ZYDIS_MNEMONIC_MOVSX] = "movs",
    [ZYDIS_MNEMONIC_MOVSXD] = "movs",  [ZYDIS_MNEMONIC_MOVZX] = "movz",
    [ZYDIS_MNEMONIC_CMPSD] = "cmpsl",  [ZYDIS_MNEMONIC_MOVSD] = "movsl",
    [ZYDIS_MNEMONIC_INSD] = "insl",    [ZYDIS_MNEMONIC_LODSD] = "lodsl",
    [ZYDIS_MNEMONIC_OUTSD] = "outsl",  [ZYDIS_MNEMONIC_SCASD] = "scasl",
    [ZYDIS_MNEMONIC_STOSD] = "stosl",  [ZYDIS_MNEMONIC_FDIV] = "fdivr",
    [ZYDIS_MNEMONIC_FDIVR] = "fdiv",   [ZYDIS_MNEMONIC_FDIVP] = "fdivrp",
    [ZYDIS_MNEMONIC_FDIVRP] = "fdivp", [ZYDIS_MNEMONIC_FSUB] = "fsubr",
    [ZYDIS_MNEMONIC_FSUBR] = "fsub",   [ZYDIS_MNEMONIC_FSUBP] = "fsubrp",
    [ZYDIS_MNEMONIC_FSUBRP] = "fsubp",
};

/* The AT&T name of an instruction if it differs from Intel's, otherwise NULL. */
static const char *att_name(const struct x86_instruction *x)
{
    bool differs = x->in.mnemonic < sizeof att_names / sizeof att_names[0];
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_RET:
        differs = x->in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
        break;
    case ZYDIS_MNEMONIC_MOVSXD:
        differs = x->operands[0].size == 64;
        break;
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_MOVSD:
        differs = x->in.meta.category == ZYDIS_CATEGORY_STRINGOP;
        break;
    case ZYDIS_MNEMONIC_FDIV:  /* AT&T syntax of GNU and LLVM swaps names of x87 instructions */
    case ZYDIS_MNEMONIC_FDIVR: /* that subtract or divide, unless they write the top of the stack */
    case ZYDIS_MNEMONIC_FSUB:
    case ZYDIS_MNEMONIC_FSUBR:
        differs = x->in.opcode == 0xDC && memory_operand(x) == NULL;
        break;
    default:
        break;
    }
    return differs ? att_names[x->in.mnemonic] : NULL;
}

/* The prefix that changes the effect of an instruction, with a blank after it. */
static const char *prefix(const struct x86_instruction *x)
{
    const ZydisInstructionAttributes has = x->in.attributes;
    if (has & ZYDIS_ATTRIB_HAS_LOCK)
        return has & ZYDIS_ATTRIB_HAS_XACQUIRE   ? "xacquire lock "
               : has & ZYDIS_ATTRIB_HAS_XRELEASE ? "xrelease lock "
                                                 : "lock ";
    if (has & ZYDIS_ATTRIB_HAS_XRELEASE)
        return "xrelease ";
    if (has & ZYDIS_ATTRIB_HAS_REP)
        return "rep ";
    if (has & ZYDIS_ATTRIB_HAS_REPE)
        return "repe ";
    if (has & ZYDIS_ATTRIB_HAS_REPNE)
        return "repne ";
    if (has & ZYDIS_ATTRIB_HAS_BND)
        return "bnd ";
    return has & ZYDIS_ATTRIB_HAS_NOTRACK ? "notrack " : "";
}

/* The name without a suffix. */
static const char *name(const struct x86_instruction *x, bool intel)
{
    const char *att = intel ? NULL : att_name(x);
    const bool is_move = x->in.mnemonic == ZYDIS_MNEMONIC_MOV;
    if (is_move && (x->in.raw.imm[0].size == 64 || x->in.raw.disp.size == 64))
        return "movabs";
    return att != NULL ? att : ZydisMnemonicGetString(x->in.mnemonic);
}

/* Instructions that end in a condition have two names: Zydis uses jz, other tools je. */
static const char *conditional(const struct x86_instruction *x)
{
    switch (x->in.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return (x->in.opcode & 0xF0) == (x->in.opcode_map == ZYDIS_OPCODE_MAP_0F ? 0x80 : 0x70)
                   ? "j"
                   : NULL;
    case ZYDIS_CATEGORY_CMOV:
        return "cmov";
    case ZYDIS_CATEGORY_SETCC:
        return "set";
    default:
        return NULL;
    }
}

void x86_mnemonic(const struct x86_instruction *x, bool intel, char text[MAX_MNEMONIC])
{
    size_t at;
    const char *condition = conditional(x), *compared = predicate(x, &at);
    const char *root = name(x, intel);
    const bool extends = root[0] == 'm' && (strcmp(root, "movs") == 0 || strcmp(root, "movz") == 0);
    if (condition != NULL)
        snprintf(text, MAX_MNEMONIC, "%s%s%s%s", prefix(x), condition,
                 conditions[x->in.opcode & 15], intel ? "" : suffix(x));
    else if (compared != NULL)
        snprintf(text, MAX_MNEMONIC, "%.*s%s%s", (int)at, root, compared, root + at);
    else if (extends)
        snprintf(text, MAX_MNEMONIC, "%s%s%s", root, size_letter(x->operands[1].size),
                 size_letter(x->operands[0].size));
    else
        snprintf(text, MAX_MNEMONIC, "%s%s%s", prefix(x), root, intel ? "" : suffix(x));
}

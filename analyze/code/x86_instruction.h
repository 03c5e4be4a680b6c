/* The text of an x86 instruction that Zydis has decoded, in AT&T syntax or, with INTEL, in Intel
 * syntax. Names, suffixes and numbers are those of LLVM. Its AT&T mnemonics always contain the
 * size: movq, not mov.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_X86_INSTRUCTION_H
#define ANALYZE_CODE_X86_INSTRUCTION_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

#include "analyze/code/decoder.h"

struct x86_instruction {
    uint64_t address;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* The mnemonic, with prefixes that change the effect of the instruction, such as "lock". */
void x86_mnemonic(const struct x86_instruction *x, bool intel, char text[MAX_MNEMONIC]);

/* Returns whether the immediate is part of the mnemonic, as in cmpltps. */
bool x86_has_predicate(const struct x86_instruction *x);

/* The operands, separated by commas; "" if there are none. */
void x86_operands(const struct x86_instruction *x, bool intel, char text[MAX_OPERANDS]);

/* The target of a jump or call; UINT64_MAX if the instruction does not contain it. */
uint64_t x86_target(const struct x86_instruction *x);

#endif

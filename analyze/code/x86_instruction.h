/* The text of an x86 instruction that Zydis has decoded, in AT&T syntax or, INTEL, in Intel's. Names, suffixes and
 * numbers are those of LLVM, whose AT&T mnemonics always name the size: movq, not mov.
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

/* Its mnemonic with prefixes that change what it does, such as "lock". */
void x86_mnemonic(const struct x86_instruction *x, bool intel, char text[MAX_MNEMONIC]);

/* Is the immediate part of the mnemonic, as in cmpltps? */
bool x86_has_predicate(const struct x86_instruction *x);

/* Its operands, separated by commas; "" if it has none. */
void x86_operands(const struct x86_instruction *x, bool intel, char text[MAX_OPERANDS]);

/* The address to which a jump or call leads; UINT64_MAX: it is not in the instruction. */
uint64_t x86_target(const struct x86_instruction *x);

#endif

/* The instructions of a binary as text.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_DISASSEMBLER_H
#define ANALYZE_CODE_DISASSEMBLER_H

#include "analyze/code/machine_code.h"

struct disassembler;

/* Returns a disassembler for CODE, which is borrowed until disassembler_delete. INTEL: use Intel
 * syntax (only for x86). Returns NULL after a warning through REPORTER if the machine is not
 * supported. */
struct disassembler *disassembler_new(const struct machine_code *code, bool intel,
                                      struct reporter *reporter);
/* NULL is allowed. */
void disassembler_delete(struct disassembler *disassembler);

/* Decodes the first instruction of SIZE BYTES (at least one) at ADDRESS. Returns its size in bytes.
 * Data that is not an instruction counts as one byte, or as one word if instructions have a fixed
 * size. */
size_t disassembler_decode(struct disassembler *disassembler, uint64_t address,
                           const uint8_t *bytes, size_t size);

/* The mnemonic of the instruction decoded last, borrowed until the next call. */
const char *disassembler_mnemonic(const struct disassembler *disassembler);

/* Returns whether the instruction decoded last ends a basic block, as jumps, calls, returns and
 * data do. Sets *TARGET to the target of a jump; UINT64_MAX if the instruction does not contain
 * it. */
bool disassembler_branches(const struct disassembler *disassembler, uint64_t *target);

/* The text of the instruction decoded last, with the function of a branch target, unless that is
 * the function that begins at BEGIN. The caller frees it. */
char *disassembler_text(const struct disassembler *disassembler, uint64_t begin);

#endif

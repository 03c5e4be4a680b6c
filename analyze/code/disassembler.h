/* Instructions of a binary as text.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_DISASSEMBLER_H
#define ANALYZE_CODE_DISASSEMBLER_H

#include "analyze/code/machine_code.h"

struct disassembler;

/* Disassembler for CODE, borrowed until disassembler_delete; INTEL: Intel syntax, x86 only. Returns NULL after a
 * warning through REPORTER if the machine is not supported. */
struct disassembler *disassembler_new(const struct machine_code *code, bool intel,
                                      struct reporter *reporter);
/* NULL is allowed. */
void disassembler_delete(struct disassembler *disassembler);

/* Decodes the first instruction of SIZE BYTES (at least one) at ADDRESS. Returns its size in bytes; data that is not an
 * instruction counts as one byte, or one word if instructions have a fixed size. */
size_t disassembler_decode(struct disassembler *disassembler, uint64_t address,
                           const uint8_t *bytes, size_t size);

/* The mnemonic of the instruction that was decoded last; borrowed until the next call. */
const char *disassembler_mnemonic(const struct disassembler *disassembler);

/* Does the instruction that was decoded last end a basic block, as a jump, call or return does, and data? *TARGET becomes
 * the address to which a jump leads; UINT64_MAX: that is not in the instruction. */
bool disassembler_branches(const struct disassembler *disassembler, uint64_t *target);

/* The instruction that was decoded last, with the function of a branch target, except the function that begins at
 * BEGIN. Caller frees. */
char *disassembler_text(const struct disassembler *disassembler, uint64_t begin);

#endif

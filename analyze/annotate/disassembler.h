/* Instructions of a binary as text: the one file that knows capstone.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ANNOTATE_DISASSEMBLER_H
#define ANALYZE_ANNOTATE_DISASSEMBLER_H

#include "analyze/annotate/machine_code.h"

struct disassembler;

/* For CODE, borrowed until disassembler_delete; INTEL: operands as Intel writes them, x86 only. NULL after a
 * warning through REPORTER when its machine is not known. */
struct disassembler *disassembler_new(const struct machine_code *code, bool intel,
                                      struct reporter *reporter);
/* NULL is allowed. */
void disassembler_delete(struct disassembler *disassembler);

/* Decodes the first instruction of SIZE BYTES (at least one) at ADDRESS. Returns how many bytes it has; what is not an instruction
 * counts as one byte, or one word where instructions are words. */
size_t disassembler_decode(struct disassembler *disassembler, uint64_t address,
                           const uint8_t *bytes, size_t size);

/* The instruction that was decoded last; a target has the name of its function, left out for the function that
 * begins at BEGIN. Caller frees. */
char *disassembler_text(const struct disassembler *disassembler, uint64_t begin);

#endif

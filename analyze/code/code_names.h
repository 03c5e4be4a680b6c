/* The instruction and the basic block at a program counter, as names.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_CODE_NAMES_H
#define ANALYZE_CODE_CODE_NAMES_H

#include "base/report.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"

/* The name of code that cannot be read. */
#define LABEL_NO_CODE "_no_code"

enum code_name {
    CODE_INSTRUCTION, /* mnemonic of the instruction */
    CODE_OPCODE,      /* bytes of the instruction, in hexadecimal */
    CODE_BLOCK        /* FUNCTION+0xOFFSET of the first instruction of the block */
};

struct code_names;

/* Finds binaries with SEARCH. Warns through REPORTER once for each file that cannot be read. Both
 * are borrowed until code_names_delete. */
struct code_names *code_names_new(const struct elf_search *search, struct reporter *reporter);
/* NULL is allowed. */
void code_names_delete(struct code_names *names);

/* The name of the instruction or basic block at AT, a location of ALL; borrowed until
 * code_names_delete. A block ends at every jump, call and return, and before the target of a direct
 * jump in its function. For a location without a binary, the name is its label (_foreign, ...). It
 * is LABEL_NO_CODE if the binary cannot be read, and _unknown for a block outside functions.
 * Several threads may call this simultaneously. */
const char *code_names_get(struct code_names *names, const struct pbin_definitions *all,
                           const struct pbin_location *at, enum code_name wanted);

#endif

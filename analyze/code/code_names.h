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
    CODE_INSTRUCTION, /* its mnemonic */
    CODE_OPCODE,      /* its bytes, in hexadecimal */
    CODE_BLOCK        /* FUNCTION+0xOFFSET of its first instruction */
};

struct code_names;

/* Finds binaries with SEARCH; warns through REPORTER once per file that cannot be read. Both are borrowed until
 * code_names_delete. */
struct code_names *code_names_new(const struct elf_search *search, struct reporter *reporter);
/* NULL is allowed. */
void code_names_delete(struct code_names *names);

/* The name of the instruction or basic block AT, a location of ALL; borrowed until code_names_delete. A block ends at
 * every jump, call and return, and before the target of a direct jump of its function. For a location without a binary
 * the name is its label (_foreign, ...); it is LABEL_NO_CODE if the binary cannot be read, and _unknown for a block
 * outside functions. Several threads may call this at once. */
const char *code_names_get(struct code_names *names, const struct pbin_definitions *all,
                           const struct pbin_location *at, enum code_name wanted);

#endif

/* The instruction and the basic block at a program counter, as names.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_CODE_NAMES_H
#define ANALYZE_CODE_CODE_NAMES_H

#include "base/report.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"

/* What code is called that cannot be read. */
#define LABEL_NO_CODE "_no_code"

enum code_name {
    CODE_INSTRUCTION, /* its mnemonic */
    CODE_BLOCK        /* FUNCTION+0xOFFSET of its first instruction */
};

struct code_names;

/* Binaries are sought by SEARCH; what fails is a warning through REPORTER, once a file. Both are borrowed until
 * code_names_delete. */
struct code_names *code_names_new(const struct elf_search *search, struct reporter *reporter);
/* NULL is allowed. */
void code_names_delete(struct code_names *names);

/* The name of what is AT, a location of ALL; borrowed until code_names_delete. A block ends at every jump, call and return,
 * and before the target of a direct jump of its function. Where there is no binary, the name is that of the location's
 * (_foreign, ...); LABEL_NO_CODE where the binary cannot be read; _unknown for a block outside functions. May be called by
 * several threads. */
const char *code_names_get(struct code_names *names, const struct pbin_definitions *all,
                           const struct pbin_location *at, enum code_name wanted);

#endif

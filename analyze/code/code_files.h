/* The files with a profile's code, each of which is opened once.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_CODE_FILES_H
#define ANALYZE_CODE_CODE_FILES_H

#include "analyze/code/disassembler.h"
#include "analyze/code/machine_code.h"

struct code_file {
    struct machine_code *code;         /* NULL if it was not found */
    struct disassembler *disassembler; /* NULL if there is none */
};

struct code_files;

/* Finds files with SEARCH, and disassembles them, in Intel syntax if INTEL. SEARCH and REPORTER are
 * borrowed until code_files_delete. */
struct code_files *code_files_new(const struct elf_search *search, bool intel,
                                  struct reporter *reporter);
/* NULL is allowed. */
void code_files_delete(struct code_files *files);

/* The file of WANTED, borrowed until code_files_delete. The first call opens it, and warns if that
 * fails. The place in WANTED does not identify a file, and is ignored. */
const struct code_file *code_files_get(struct code_files *files, const struct code_wanted *wanted);

#endif

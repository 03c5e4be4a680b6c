/* A binary of the profiled program: its file, symbols and debug information.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_CODE_FILE_H
#define CONVERT_SYMBOLIZE_CODE_FILE_H

#include "base/intern.h"
#include "base/report.h"
#include "convert/dwarf/dwarf_worker.h"
#include "convert/symbolize/symbolizer_input.h"
#include "formats/elf/elf_symbols.h"

struct code_file;

/* Takes IMAGE. Symbols and debug information are loaded when first asked for; OPTIONS and REPORTER
 * are borrowed until code_file_delete. */
struct code_file *code_file_new(struct elf_file *image, const struct symbolizer_options *options,
                                struct reporter *reporter);
void code_file_delete(struct code_file *file);

const struct elf_file *code_file_image(const struct code_file *file);

/* Ends the process that reads its debug information, if there is one; the next question starts another. NULL is
 * allowed. */
void code_file_rest(struct code_file *file);

/* Looks up COUNT (at most MAX_QUESTION) ascending addresses: in the debug information, where ANSWER is without frames if
 * there is none, or it was lost after a warning; and in symbols and unwind tables. NAMES[i] is what these call the function
 * that has the code, if they know better, or the debug information does not know; NULL: nothing. Borrowed until
 * code_file_delete. */
void code_file_find(struct code_file *file, const uint64_t *addresses, size_t count,
                    struct strings *strings, struct dwarf_answer *answer, const char **names);

#endif

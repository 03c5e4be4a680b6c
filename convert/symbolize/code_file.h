/* A binary of the profiled program: its file, symbols and debug information.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_CODE_FILE_H
#define CONVERT_SYMBOLIZE_CODE_FILE_H

#include "base/intern.h"
#include "base/report.h"
#include "convert/dwarf/dwarf_worker.h"
#include "convert/symbolize/debuginfod.h"
#include "convert/symbolize/symbolizer_input.h"
#include "formats/elf/elf_symbols.h"

struct code_file;

/* Takes ownership of IMAGE. Symbols and debug information are loaded when first needed; OPTIONS and REPORTER are
 * borrowed until code_file_delete. */
struct code_file *code_file_new(struct elf_file *image, const struct symbolizer_options *options,
                                struct reporter *reporter);
void code_file_delete(struct code_file *file);

/* Debug files that are not on this machine may be downloaded from SERVERS, which are borrowed until
 * code_file_delete. */
void code_file_ask(struct code_file *file, struct debuginfod *servers);

/* Its ELF file, borrowed until code_file_close or code_file_delete; opened again if it was closed. Returns NULL with ERR
 * filled if that fails, or if another file is there now. */
const struct elf_file *code_file_image(struct code_file *file, struct error *err);

/* Borrowed until code_file_delete. */
const char *code_file_path(const struct code_file *file);
const char *code_file_build_id(const struct code_file *file);

/* Closes all files and descriptors of FILE, which must be that of a file, not of memory, to have any; code_file_image
 * opens them again. */
void code_file_close(struct code_file *file);
bool code_file_is_open(const struct code_file *file);

/* Ends the process that reads its debug information, if there is one; the next lookup starts another. NULL is
 * allowed. */
void code_file_rest(struct code_file *file);

/* Begins to end that process: several end at the same time. Only code_file_delete may follow. NULL is allowed. */
void code_file_end(struct code_file *file);

/* Begins to look up these addresses, which must be looked up next in FILE, in the order in which they were announced: the debug
 * information is read meanwhile. */
void code_file_announce(struct code_file *file, const uint64_t *addresses, size_t count);

/* Looks up COUNT (at most MAX_QUESTION) ascending addresses: in the debug information, and in symbols and unwind
 * tables, after code_file_image. ANSWER has no frames for an address without debug information, or if reading it
 * failed, which is a warning. NAMES[i] is the name of the function in the symbols or unwind tables, a number in
 * STRINGS like those in ANSWER, if it is more precise or the debug information has none; else 0. */
void code_file_find(struct code_file *file, const uint64_t *addresses, size_t count,
                    struct strings *strings, struct dwarf_answer *answer, uint32_t *names);

#endif

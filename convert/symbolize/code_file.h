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

/* Lets FILE download debug files that are not on this machine from SERVERS, which is borrowed until
 * code_file_delete. */
void code_file_ask(struct code_file *file, struct debuginfod *servers);

/* Returns the ELF file of FILE, borrowed until code_file_close or code_file_delete; it is opened
 * again if it was closed. Returns NULL with ERR filled if this fails, or if it is a different file
 * now. */
const struct elf_file *code_file_image(struct code_file *file, struct error *err);

/* The path and build-id of FILE, borrowed until code_file_delete. */
const char *code_file_path(const struct code_file *file);
const char *code_file_build_id(const struct code_file *file);

/* Closes all files and descriptors of FILE; code_file_image opens them again. FILE must have been
 * made from a file, not from memory. */
void code_file_close(struct code_file *file);
bool code_file_is_open(const struct code_file *file);

/* Ends the process that reads its debug information, if there is one; the next lookup starts another. NULL is
 * allowed. */
void code_file_rest(struct code_file *file);

/* Begins to end that process, so that several processes end at the same time. Only code_file_delete
 * may follow. NULL is allowed. */
void code_file_end(struct code_file *file);

/* Begins to read the debug information of COUNT addresses in the background. They must be the next
 * ones that are looked up in FILE, in the order in which they were announced. */
void code_file_announce(struct code_file *file, const uint64_t *addresses, size_t count);

/* Looks up COUNT (at most MAX_QUESTION) ascending addresses: in the debug information, and in
 * symbols and unwind tables, after code_file_image. ANSWER has no frames for an address without
 * debug information, or if reading it failed, after a warning. NAMES[i] is the name of the function
 * in the symbols or unwind tables, as a number in STRINGS like those in ANSWER, if it is more
 * precise than the debug information or this has none; else 0. */
void code_file_find(struct code_file *file, const uint64_t *addresses, size_t count,
                    struct strings *strings, struct dwarf_answer *answer, uint32_t *names);

#endif

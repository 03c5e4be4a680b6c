/* The machine code of a profiled file: bytes and symbols by address.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_MACHINE_CODE_H
#define ANALYZE_CODE_MACHINE_CODE_H

#include "analyze/code/jump_targets.h"
#include "base/report.h"
#include "formats/elf/elf_code_kinds.h"
#include "formats/elf/elf_search.h"
#include "formats/elf/elf_symbols.h"

/* A mapped file as recorded in the profile. Places are the addresses of samples: offsets in the
 * file or, if these are unknown, from the start of the mapping [bytes]. */
struct code_wanted {
    struct elf_sought sought;
    const char *build_id; /* in lower-case hexadecimal; "": unknown */
    bool has_offset;
    uint64_t place;    /* of a sample */
    uint64_t map_size; /* without offsets: size of the mapping [bytes]; otherwise 0 */
};

struct machine_code;

/* Opens the file that ran, and its debug file. Returns NULL after a warning through REPORTER if it
 * is not found. Also warns if the profile has no build-id, because the file may not be the one that
 * ran. */
struct machine_code *machine_code_open(const struct code_wanted *wanted,
                                       const struct elf_search *search, struct reporter *reporter);
/* Does the same for the file PATH. Returns NULL with ERR filled if this fails. */
struct machine_code *machine_code_open_file(const char *path, const struct elf_search *search,
                                            struct reporter *reporter, struct error *err);
void machine_code_close(struct machine_code *code);

/* The file of CODE, borrowed until machine_code_close. */
const struct elf_file *machine_code_file(const struct machine_code *code);

/* The known targets of indirect jumps. */
const struct jump_targets *machine_code_jump_targets(const struct machine_code *code);

/* The address in the file that corresponds to PLACE. */
uint64_t machine_code_address(const struct machine_code *code, uint64_t place);

/* The function that contains ADDRESS, borrowed until machine_code_close; NULL if there is none. */
const struct elf_symbol *machine_code_symbol(const struct machine_code *code, uint64_t address);

/* See elf_code_kind_at. */
enum elf_code_kind machine_code_kind(const struct machine_code *code, uint64_t address,
                                     uint64_t *until);

/* The size of SYMBOL, which is in the file [bytes]. If it has no size: up to the next symbol or the
 * end of the section. */
uint64_t machine_code_size(const struct machine_code *code, const struct elf_symbol *symbol);

#endif

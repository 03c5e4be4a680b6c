/* Which bytes of code are instructions of which set, and which are data: ARM has two sets in one file, and tables of
 * constants between functions.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_CODE_KINDS_H
#define FORMATS_ELF_ELF_CODE_KINDS_H

#include "formats/elf/elf_file.h"

enum elf_code_kind {
    ELF_CODE, /* of the only set, or of ARM's 32-bit one */
    ELF_CODE_THUMB,
    ELF_CODE_DATA
};

struct elf_code_kinds;

/* Reads the mapping symbols of FILE or of its DEBUG file (NULL: none), and bit 0 of the addresses of functions. Of machines
 * other than ARM and AArch64 everything is ELF_CODE. Never fails: a damaged table has no symbols. */
struct elf_code_kinds *elf_code_kinds_new(const struct elf_file *file,
                                          const struct elf_file *debug);
void elf_code_kinds_delete(struct elf_code_kinds *kinds); /* NULL is allowed */

/* What is at ADDRESS of the file. *UNTIL: the first address after it of which a symbol says what is there; UINT64_MAX: there
 * is none. */
enum elf_code_kind elf_code_kind_at(const struct elf_code_kinds *kinds, uint64_t address,
                                    uint64_t *until);

#endif

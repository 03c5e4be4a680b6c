/* Determines the instruction set of code, and which bytes are data: on ARM a file can have two instruction sets, and
 * tables of constants between functions.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_CODE_KINDS_H
#define FORMATS_ELF_ELF_CODE_KINDS_H

#include "formats/elf/elf_file.h"

enum elf_code_kind {
    ELF_CODE, /* in the only instruction set, or in ARM's 32-bit set */
    ELF_CODE_THUMB,
    ELF_CODE_DATA
};

struct elf_code_kinds;

/* Reads the mapping symbols of FILE or of its DEBUG file (NULL: none), and bit 0 of the addresses of functions. For
 * machines other than ARM and AArch64 everything is ELF_CODE. Never fails: a damaged table counts as empty. */
struct elf_code_kinds *elf_code_kinds_new(const struct elf_file *file,
                                          const struct elf_file *debug);
void elf_code_kinds_delete(struct elf_code_kinds *kinds); /* NULL is allowed */

/* Returns the kind of the bytes at ADDRESS of the file. Sets *UNTIL to the address of the next
 * symbol that determines a kind, or to UINT64_MAX if there is none. */
enum elf_code_kind elf_code_kind_at(const struct elf_code_kinds *kinds, uint64_t address,
                                    uint64_t *until);

#endif

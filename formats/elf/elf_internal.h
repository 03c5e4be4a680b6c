/* What the files of formats/elf share.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_INTERNAL_H
#define FORMATS_ELF_ELF_INTERNAL_H

#include "formats/elf/elf_file.h"

/* Of a table that is read as a whole: symbols, names [bytes]. */
enum { MAX_TABLE = 1 << 30 };

/* The names in section INDEX: each that begins before *LIMIT ends with a NUL. Borrowed until
 * elf_file_close; NULL with *LIMIT 0 where there are none. */
const char *elf_strings(const struct elf_file *file, size_t index, size_t *limit);

/* $a $t $d $x (also "$x.1", on RISC-V "$xrv64i2p1"): where code changes its instruction set or data begin, not functions. */
bool elf_is_mapping_symbol(const struct elf_file *file, const char *name);

/* Records that the SIZE bytes at OFFSET could not be read, if the file has them: libelf does not say what is wrong with
 * a file from what went wrong. */
void elf_file_blame(const struct elf_file *file, uint64_t offset, uint64_t size);

#endif

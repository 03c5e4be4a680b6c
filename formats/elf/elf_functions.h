/* All names of all functions of an ELF file.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_FUNCTIONS_H
#define FORMATS_ELF_ELF_FUNCTIONS_H

#include "formats/elf/elf_file.h"

struct elf_function {
    uint64_t address, size; /* [bytes]; size 0: unknown */
    const char *name;       /* borrowed from the files */
    /* the code at ADDRESS only selects, when the program is loaded, the function to be used */
    bool resolver;
};

/* The functions in the symbol tables of FILE and of its DEBUG file (NULL: none), which has the
 * stripped symbols; only functions in the code of FILE. Sorted by address, then name, then size,
 * without duplicates. Sets *COUNT. Caller frees; the names are valid until the files are closed.
 * Never fails: a damaged table counts as empty. */
struct elf_function *elf_functions_read(const struct elf_file *file, const struct elf_file *debug,
                                        size_t *count);

#endif

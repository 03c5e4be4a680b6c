/* The stubs through which a program calls functions of libraries. Symbol tables do not contain
 * them.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_PLT_H
#define FORMATS_ELF_ELF_PLT_H

#include "base/intern.h"
#include "formats/elf/elf_file.h"

struct elf_stub {
    uint64_t address, size; /* [bytes] */
    const char *name;       /* "malloc@plt"; with a RESOLVER "*ABS*+0x1234@plt", like objdump */
    uint64_t resolver;      /* address of the code that selects the function; 0: none */
};

/* The entries of .plt, .plt.sec and .plt.got of FILE, on MIPS also .MIPS.stubs and on 64-bit
 * PowerPC the stubs among functions, sorted by address; machines are listed in elf_plt_code.c. An
 * entry jumps to an address set by a relocation, and is named after the function of the relocation.
 * Sets *COUNT, and *OVERLAP if entries were left out because names overlap. Caller frees; the names
 * are borrowed from STRINGS. */
struct elf_stub *elf_plt_read(const struct elf_file *file, struct strings *strings, size_t *count,
                              bool *overlap);

/* Returns whether ADDRESS is in one of these sections. */
bool elf_plt_has(const struct elf_file *file, uint64_t address);

#endif

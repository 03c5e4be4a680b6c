/* The stubs through which a program calls functions of libraries: no symbol table has them.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_PLT_H
#define FORMATS_ELF_ELF_PLT_H

#include "base/intern.h"
#include "formats/elf/elf_file.h"

struct elf_stub {
    uint64_t address, size; /* [bytes] */
    const char *name;       /* "malloc@plt"; as objdump, "*ABS*+0x1234@plt", with a RESOLVER */
    uint64_t
        resolver; /* the address of the code that chooses the function; 0: the linker knows it */
};

/* The stubs in .plt, .plt.sec and .plt.got of FILE (x86-64, aarch64), by address: those that jump to where a relocation puts
 * the address of a function, which names them. Sets *COUNT. Caller frees; the names are those of STRINGS. */
struct elf_stub *elf_plt_read(const struct elf_file *file, struct strings *strings, size_t *count);

#endif

/* Functions of an ELF file by address, from .symtab, or from .dynsym and .gnu_debugdata where there is no .symtab;
 * and those without a symbol, from the unwind tables.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SYMBOLS_H
#define FORMATS_ELF_ELF_SYMBOLS_H

#include "formats/elf/elf_file.h"

struct elf_symbol {
    uint64_t address, size; /* [bytes]; size 0: not known */
    const char *name;       /* borrowed until elf_symbols_delete */
    bool
        is_address; /* the function has no symbol: NAME is "FILE!0xADDRESS", with the base name of the file */
    bool is_local; /* other files do not see the symbol */
};

struct elf_symbols;

/* Reads the symbols of FILE, and of its DEBUG file (NULL: none), which has those that were
 * stripped. Both must stay open until elf_symbols_delete. Never fails: a damaged table has no
 * symbols, damaged unwind tables no bounds. */
struct elf_symbols *elf_symbols_new(const struct elf_file *file, const struct elf_file *debug);
void elf_symbols_delete(struct elf_symbols *symbols);

/* Whether long names share more bytes than linkers let them: those beyond the limit are left out. */
bool elf_symbols_overlap(const struct elf_symbols *symbols);

/* What could not be read of unwind tables or .gnu_debugdata, so that some functions have no bounds or names; NULL: nothing. */
const char *elf_symbols_damage(const struct elf_symbols *symbols);

/* The symbol that covers ADDRESS of the file: the one that begins last before it; among those
 * that begin together the largest; of those, one of an old version, such as cfree@GLIBC_2.2.5, and then local ones only where
 * there is no other; then the name with the fewest underscores in front, the shortest one, the first one in the alphabet.
 * Names are without versions. Stubs that call functions of libraries are called "malloc@plt". A symbol without size reaches to the next one
 * or to the end of its section, but not beyond the function that it is in by the unwind tables, or into the next one there.
 * Where no symbol does, the function of the unwind tables: it has the name of the symbol at its begin, if there is one.
 * Borrowed until elf_symbols_delete; NULL: none. */
const struct elf_symbol *elf_symbols_find(struct elf_symbols *symbols, uint64_t address);

/* Whether ADDRESS is in a symbol or a function of the unwind tables, as elf_symbols_find has it. */
bool elf_symbols_cover(const struct elf_symbols *symbols, uint64_t address);

/* Contiguous addresses for which elf_symbols_find returns the same symbol, of those that have one. NAME is borrowed until
 * elf_symbols_delete. */
struct elf_symbol_range {
    uint64_t begin, last; /* both inside */
    const char *name;
};

/* The first range that ends at ADDRESS or after it; false: none. */
bool elf_symbols_next(const struct elf_symbols *symbols, uint64_t address,
                      struct elf_symbol_range *range);

/* The value of the symbol called NAME, whatever its type and section, of FILE or its DEBUG file
 * (NULL: none). Returns false if it is not found. */
bool elf_symbol_value(const struct elf_file *file, const struct elf_file *debug, const char *name,
                      uint64_t *value);

#endif

/* Functions of an ELF file by address: from .symtab, or from .dynsym and .gnu_debugdata if there is no .symtab;
 * functions without a symbol from the unwind tables.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SYMBOLS_H
#define FORMATS_ELF_ELF_SYMBOLS_H

#include "formats/elf/elf_file.h"

struct elf_symbol {
    uint64_t address, size; /* [bytes]; size 0: unknown */
    const char *name;       /* borrowed until elf_symbols_delete */
    bool is_address; /* the function has no symbol: NAME is "FILE!0xADDRESS", FILE without folder */
    bool is_local;   /* the symbol is not visible to other files */
    /* of a local symbol: the source file of its object file, without folder; borrowed like NAME.
     * NULL: unknown */
    const char *file;
};

struct elf_symbols;

/* Reads the symbols of FILE, and of its DEBUG file (NULL: none), which has the stripped symbols.
 * Both must stay open until elf_symbols_delete. Never fails: a damaged table counts as empty, and
 * damaged unwind tables give no bounds. */
struct elf_symbols *elf_symbols_new(const struct elf_file *file, const struct elf_file *debug);
void elf_symbols_delete(struct elf_symbols *symbols);

/* Returns whether long names share more bytes than in the output of linkers. Names beyond the limit
 * are left out. */
bool elf_symbols_overlap(const struct elf_symbols *symbols);

/* Describes the parts of unwind tables or .gnu_debugdata that could not be read, so that some
 * functions have no bounds or names; NULL: none. */
const char *elf_symbols_damage(const struct elf_symbols *symbols);

/* The symbol that covers ADDRESS of the file: the last one that begins at or before it. Among symbols with the same
 * address, the largest; then symbols of old versions, such as cfree@GLIBC_2.2.5, and local symbols only if there is no
 * other; then the name with the fewest leading underscores, the shortest, the first in alphabetical order. Names have
 * no versions. Stubs that call functions of libraries are called "malloc@plt". A symbol without size extends to the
 * next symbol or to the end of its section, but not beyond the bounds of its function in the unwind tables, nor into
 * the next function there. If no symbol covers ADDRESS, the result is the function in the unwind tables, with the name
 * of the symbol at its beginning if there is one. Borrowed until elf_symbols_delete; NULL: none. */
const struct elf_symbol *elf_symbols_find(struct elf_symbols *symbols, uint64_t address);

/* Returns whether elf_symbols_find would find a symbol or a function of the unwind tables for
 * ADDRESS. */
bool elf_symbols_cover(const struct elf_symbols *symbols, uint64_t address);

/* Contiguous addresses for which elf_symbols_find returns the same symbol. NAME is borrowed until
 * elf_symbols_delete. */
struct elf_symbol_range {
    uint64_t begin, last; /* both inclusive */
    const char *name;
};

/* Sets RANGE to the first range that ends at or after ADDRESS. Returns false if there is none. */
bool elf_symbols_next(const struct elf_symbols *symbols, uint64_t address,
                      struct elf_symbol_range *range);

/* Sets *VALUE to the value of the symbol called NAME, of any type and section, in FILE or its DEBUG
 * file (NULL: none). Returns false if it is not found. */
bool elf_symbol_value(const struct elf_file *file, const struct elf_file *debug, const char *name,
                      uint64_t *value);

#endif

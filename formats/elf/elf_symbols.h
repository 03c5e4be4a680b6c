/* Functions of an ELF file by address, from .symtab, or from .dynsym where there is no .symtab.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SYMBOLS_H
#define FORMATS_ELF_ELF_SYMBOLS_H

#include "formats/elf/elf_file.h"

struct elf_symbol {
    uint64_t address, size; /* [bytes]; size 0: not known */
    const char *name;       /* borrowed until elf_symbols_delete */
};

struct elf_symbols;

/* Reads the symbols of FILE, and of its DEBUG file (NULL: none), which has those that were
 * stripped. Both must stay open until elf_symbols_delete. Never fails: a damaged table has no
 * symbols. */
struct elf_symbols *elf_symbols_new(const struct elf_file *file, const struct elf_file *debug);
void elf_symbols_delete(struct elf_symbols *symbols);

/* Whether long names share more bytes than linkers let them: those beyond the limit are left out. */
bool elf_symbols_overlap(const struct elf_symbols *symbols);

/* The symbol that covers ADDRESS of the file: the one that begins last before it; among those
 * that begin together the largest, then the last in the file's table (which has globals after
 * locals; llvm-symbolizer chooses alike). A symbol without size reaches to the next one
 * or to the end of its section. Borrowed until elf_symbols_delete; NULL: none. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *symbols, uint64_t address);

/* Contiguous addresses for which elf_symbols_find returns the same symbol. NAME is borrowed until
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

/* Functions of an ELF file by address, from .symtab, or from .dynsym where there is no .symtab.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOL_TABLE_H
#define CONVERT_SYMBOLIZE_SYMBOL_TABLE_H

#include "convert/symbolize/elf_image.h"

struct symbol_table;

/* Reads the symbols of IMAGE, and of its DEBUG file (NULL: none), which has those that were
 * stripped. Never fails: what is damaged has no symbols. */
struct symbol_table *symbol_table_new(const struct elf_image *image, const struct elf_image *debug);
void symbol_table_delete(struct symbol_table *table);

/* The symbol that covers ADDRESS of the file: the one that begins last before it; among those
 * that begin together the largest, then the last in the file's table (which has globals behind
 * locals; llvm-symbolizer chooses alike). A symbol without size reaches to the next one
 * or to the end of its section. Borrowed until symbol_table_delete; NULL when there is none. */
const char *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* Addresses that one symbol names: all that symbol_table_find would answer alike, as far as they are
 * contiguous. NAME is borrowed until symbol_table_delete. */
struct symbol_range {
    uint64_t begin, last; /* both inside */
    const char *name;
};

/* The first range that ends at ADDRESS or behind it; false when there is none. */
bool symbol_table_next(const struct symbol_table *table, uint64_t address,
                       struct symbol_range *range);

/* The value of the symbol called NAME, whatever its type and section, of IMAGE or its DEBUG file (NULL: none).
 * Returns false when there is none. */
bool symbol_value(const struct elf_image *image, const struct elf_image *debug, const char *name,
                  uint64_t *value);

#endif

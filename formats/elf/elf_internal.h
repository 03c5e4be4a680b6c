/* Declarations shared by the files of formats/elf.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_INTERNAL_H
#define FORMATS_ELF_ELF_INTERNAL_H

#include <gelf.h>

#include "formats/elf/elf_file.h"

/* The contents of section INDEX, a table of symbols, relocations or versions; borrowed until
 * elf_file_close. NULL if there is none, or if it is too large, damaged or unreadable;
 * elf_file_failed reports read errors. */
Elf_Data *elf_table(const struct elf_file *file, size_t index);

/* The names in section INDEX. Each name that begins before *LIMIT is NUL-terminated. Borrowed until elf_file_close;
 * NULL with *LIMIT 0 if there are none. */
const char *elf_strings(const struct elf_file *file, size_t index, size_t *limit);

/* A table of symbols. Everything is borrowed until elf_file_close. */
struct elf_symbol_table {
    size_t index;      /* of its section */
    Elf_Data *data;    /* for gelf_getsym */
    const char *names; /* as from elf_strings */
    size_t limit;      /* of NAMES */
};

/* Finds the first table of TYPE, SHT_SYMTAB or SHT_DYNSYM. Returns false if there is none, or if
 * elf_table cannot read it. */
bool elf_find_symbols(const struct elf_file *file, uint32_t type, struct elf_symbol_table *table);

/* Linkers store a name as the end of a longer one, but a table with a name at each byte of a name
 * of a megabyte is an attack. All names longer than 64 bytes in a table may together have four
 * times as many bytes as the table, plus 64 kB. */
struct elf_name_budget {
    size_t left; /* [bytes] */
};
struct elf_name_budget elf_name_budget(size_t table_size);

/* Deducts NAME, which must end inside its table, from the budget. Returns false if the budget is
 * too small. Call it before doing anything else with a name, even before determining its length. */
bool elf_name_fits(struct elf_name_budget *budget, const char *name);

/* $a $t $d $x (also "$x.1", on RISC-V "$xrv64i2p1"): such symbols mark where the instruction set
 * changes or data begins, and are not functions. */
bool elf_is_mapping_symbol(const struct elf_file *file, const char *name);

#endif

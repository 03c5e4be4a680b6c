/* Contents of the sections of an ELF file, decompressed.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SECTIONS_H
#define FORMATS_ELF_ELF_SECTIONS_H

#include "formats/elf/elf_file.h"

/* The first section called NAME with contents in the file, or NULL. */
const struct elf_section *elf_section_find(const struct elf_file *file, const char *name);

/* The debug section ".debug_NAME", or ".zdebug_NAME", the name that older compressing linkers use;
 * NULL: none. */
const struct elf_section *elf_section_debug(const struct elf_file *file, const char *name);

/* Returns whether FILE contains debug information (DWARF), compressed or not. */
bool elf_has_debug(const struct elf_file *file);

/* Size of the contents, unpacked [bytes]. 0: no contents, outside the file, compressed by an
 * unknown method, or larger than the compression method allows. */
uint64_t elf_section_size(const struct elf_file *file, const struct elf_section *section);

/* Copies the contents to TO, which has room for elf_section_size bytes. Returns false if they are damaged. */
bool elf_section_read(const struct elf_file *file, const struct elf_section *section, uint8_t *to);

/* Copies only the first SIZE bytes to TO, which must have room for all bytes and be zeroed. The rest of TO is then
 * undefined, and damage after the first SIZE bytes is not noticed. */
bool elf_section_read_begin(const struct elf_file *file, const struct elf_section *section,
                            uint8_t *to, uint64_t size);

/* The contents in place, borrowed until elf_file_close; NULL if they are compressed or FILE is not in memory. */
const uint8_t *elf_section_in_place(const struct elf_file *file, const struct elf_section *section);

#endif

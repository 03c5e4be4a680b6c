/* Debug sections of an ELF file for libdwarf. Used in the DWARF worker only.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SECTIONS_H
#define CONVERT_DWARF_DWARF_SECTIONS_H

#include <libdwarf/libdwarf.h>

#include "formats/elf/elf_file.h"

struct dwarf_sections;

/* Over FILE, which must be in memory (elf_file_map), as the worker cannot read. Borrowed until the
 * process ends: it is never deleted, the worker just exits. */
struct dwarf_sections *dwarf_sections_new(const struct elf_file *file);

/* The argument of dwarf_object_init_b; borrowed. */
Dwarf_Obj_Access_Interface *dwarf_sections_interface(struct dwarf_sections *d);

/* The contents of section NAME (".debug_line") and their *SIZE; NULL if it is missing. Borrowed. */
const uint8_t *dwarf_sections_find(struct dwarf_sections *d, const char *name, uint64_t *size);

#endif

/* Provides the debug sections of an ELF file to libdwarf, which would otherwise open and check the
 * file itself.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_DWARF_SECTIONS_H
#define RECORD_FUNCMETER_DWARF_SECTIONS_H

#include <libdwarf/libdwarf.h>

#include "formats/elf/elf_file.h"

/* Returns the interface that dwarf_object_init_b needs to read FILE, which is borrowed while
 * libdwarf uses it. libdwarf does not free sections: only for a process that ends soon. */
Dwarf_Obj_Access_Interface dwarf_sections_of(struct elf_file *file);

#endif

/* Debug sections of an ELF file, unpacked. Used in the DWARF worker only.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SECTIONS_H
#define CONVERT_DWARF_DWARF_SECTIONS_H

#include "formats/elf/dwarf_bytes.h"
#include "formats/elf/elf_file.h"

struct dwarf_sections;

/* Those that are needed for lines and functions. */
enum dwarf_section {
    DEBUG_INFO,
    DEBUG_ABBREV,
    DEBUG_LINE,
    DEBUG_STR,
    DEBUG_LINE_STR,
    DEBUG_RANGES,
    DEBUG_RNGLISTS,
    DEBUG_ADDR,
    DEBUG_STR_OFFSETS,
    DEBUG_CU_INDEX, /* of a package of split units */
    DEBUG_SECTIONS  /* how many */
};

/* Over FILE, which must be in memory (elf_file_map), as the worker cannot read; SPLIT: over what is in .dwo and .dwp files.
 * Borrowed until the process ends: it is never deleted, the worker just exits. */
struct dwarf_sections *dwarf_sections_new(const struct elf_file *file, bool split);

/* The contents of SECTION, unpacked when first asked for; empty if it is missing or damaged. Borrowed. */
struct dwarf_span dwarf_sections_get(struct dwarf_sections *d, enum dwarf_section section);

/* A thread that unpacks sections. It must be started before the process is confined, which confines the thread too. */
struct dwarf_unpacker;

/* Starts one for what D has besides .debug_info. NULL: that would not pay, or there is none to be had. */
struct dwarf_unpacker *dwarf_unpacker_start(struct dwarf_sections *d);

/* Unpacks all sections, two at a time. NULL: leaves that until they are asked for. */
void dwarf_unpacker_run(struct dwarf_unpacker *u);

#endif

/* Debug sections of an ELF file, unpacked. Only used in the DWARF worker.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_SECTIONS_H
#define CONVERT_DWARF_DWARF_SECTIONS_H

#include "formats/elf/dwarf_bytes.h"
#include "formats/elf/elf_file.h"

struct dwarf_sections;

/* The sections needed for lines and functions. */
enum dwarf_section {
    DEBUG_ARANGES, /* not needed itself, but shows which part of .debug_info is */
    DEBUG_INFO,
    DEBUG_ABBREV,
    DEBUG_LINE,
    DEBUG_STR,
    DEBUG_LINE_STR,
    DEBUG_RANGES,
    DEBUG_RNGLISTS,
    DEBUG_ADDR,
    DEBUG_STR_OFFSETS,
    DEBUG_CU_INDEX, /* only in a package of split units */
    DEBUG_SECTIONS  /* their number */
};

/* Returns the sections of FILE, which must be in memory (elf_file_map) because the worker cannot
 * read files; if SPLIT, the sections of .dwo and .dwp files. FILE is borrowed until the process
 * ends; the result is never freed, because the worker just exits. */
struct dwarf_sections *dwarf_sections_new(const struct elf_file *file, bool split);

/* Allocates memory for all sections together, which is faster unless they are large. */
void dwarf_sections_reserve(struct dwarf_sections *d);

/* Returns the contents of SECTION, unpacked at the first call; empty if it is missing or damaged.
 * Borrowed until the process ends. */
struct dwarf_span dwarf_sections_get(struct dwarf_sections *d, enum dwarf_section section);

/* Returns the size of the whole contents of SECTION [bytes]; 0 if it is missing. */
uint64_t dwarf_sections_size(const struct dwarf_sections *d, enum dwarf_section section);

/* Return how much of SECTION is wanted, and how much has been unpacked [bytes]. */
uint64_t dwarf_sections_wanted(const struct dwarf_sections *d, enum dwarf_section section);
uint64_t dwarf_sections_unpacked(const struct dwarf_sections *d, enum dwarf_section section);

/* From now on, only the first SIZE bytes of SECTION (UINT64_MAX: all) are wanted, unless more have
 * been unpacked. Borrowed contents stay valid. */
void dwarf_sections_limit(struct dwarf_sections *d, enum dwarf_section section, uint64_t size);

/* States that the bytes from BEGIN to END of SECTION will hardly be needed again: if they are
 * mapped from the file, their pages need not stay in memory. They can still be read. */
void dwarf_sections_rest(struct dwarf_sections *d, enum dwarf_section section, uint64_t begin,
                         uint64_t end);

/* Unpacks the sections from FIRST to LAST, if necessary. Another thread may unpack other sections
 * at the same time. */
void dwarf_sections_unpack(struct dwarf_sections *d, enum dwarf_section first,
                           enum dwarf_section last);

#endif

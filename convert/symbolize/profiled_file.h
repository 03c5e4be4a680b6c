/* The ELF file of one binary of a pbin, and where each of its mappings is in it.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_PROFILED_FILE_H
#define CONVERT_SYMBOLIZE_PROFILED_FILE_H

#include "formats/elf/elf_match.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"

struct profiled_file {
    struct elf_file *image;
    char *name; /* base name, as rows and labels have it */
    size_t map_count;
    bool *is_mine; /* by map: is it one of this file? */
    struct elf_mapping *mappings;
};

/* Finds the file. CHOICE names it, as a path or only as the base name of a mapping; NULL: the
 * target of META, else the first mapping. ALL and META are those of the whole pbin. A file that is
 * not the one that ran (elf_match) is refused. Returns 0, or -1 with ERR filled; profiled_file_free
 * in any case. */
int profiled_file_find(struct profiled_file *file, const char *choice,
                       const struct pbin_definitions *all, const struct pbin_meta *meta,
                       const struct elf_search *search, struct error *err);
void profiled_file_free(struct profiled_file *file);

/* Turns the program counter PC of mapping MAP (PBIN_NO_MAP: the one that holds it; there may be
 * none at all, then it is an address of the file) of BINARY into an address of the file. Returns
 * false when it is not in this file. */
bool profiled_file_address(const struct profiled_file *file, const struct pbin_definitions *all,
                           const char *binary, uint32_t map, uint64_t pc, uint64_t *address);

#endif

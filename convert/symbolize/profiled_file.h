/* The ELF file of one binary of a pbin, and the place of each mapping in it.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_PROFILED_FILE_H
#define CONVERT_SYMBOLIZE_PROFILED_FILE_H

#include "formats/elf/elf_match.h"
#include "formats/elf/elf_search.h"
#include "formats/pbin/pbin.h"

struct profiled_file {
    struct elf_file *image;
    char *name; /* base name, as in rows and labels */
    size_t map_count;
    bool *is_mine; /* [by map] whether it is a mapping of this file */
    struct elf_mapping *mappings;
};

/* Finds the file. CHOICE names it, as a path or only as the base name of a mapping; NULL: the
 * target of META, or else the file of the first mapping. ALL and META are those of the whole pbin.
 * It is an error if the file is not the one that ran (elf_match). Returns 0, or -1 with ERR filled.
 * Call profiled_file_free in any case. */
int profiled_file_find(struct profiled_file *file, const char *choice,
                       const struct pbin_definitions *all, const struct pbin_meta *meta,
                       const struct elf_search *search, struct error *err);
void profiled_file_free(struct profiled_file *file);

/* Converts the program counter PC in mapping MAP of BINARY to an address of the file. If MAP is PBIN_NO_MAP, the
 * mapping that contains PC is used; if the pbin has no mappings, PC is already an address of the file. Returns false
 * if PC is not in this file. */
bool profiled_file_address(const struct profiled_file *file, const struct pbin_definitions *all,
                           const char *binary, uint32_t map, uint64_t pc, uint64_t *address);

#endif

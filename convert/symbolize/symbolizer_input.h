/* What the symbolizer is given: the mappings of the profiled program, and options.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOLIZER_INPUT_H
#define CONVERT_SYMBOLIZE_SYMBOLIZER_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/elf/elf_search.h"

/* Labels for what has no name (FORMATS: as the original tools). */
#define LABEL_UNKNOWN "_unknown" /* inside a known binary, no symbol */
#define LABEL_FOREIGN "_foreign" /* outside every mapping */
#define LABEL_KERNEL  "_kernel"

/* One mapping of the profiled program. Strings are borrowed during symbolizer_new only. */
struct code_map {
    uint64_t address, size; /* [bytes] in the address space of the target */
    const char *label;      /* a path, or only a base name */
    bool has_offset;        /* offset is known (raw extension): the bias needs no guess */
    uint64_t offset;        /* of the mapping in the file [bytes] */
    const char *build_id;   /* lower-case hex of the file that ran, NULL or "": not known */
    const uint8_t *image;   /* the ELF image itself (vdso), NULL: a file to be searched */
    size_t image_size;      /* [bytes] */
    bool no_file;           /* neither: the label is a name like [heap] */
};

struct symbolizer_options {
    struct elf_search search;
    const char *kallsyms;   /* file as /proc/kallsyms; NULL: the kernel has no names */
    bool no_dwarf;          /* symbol tables only */
    bool no_cache;          /* neither read nor keep answers on disk */
    int64_t recorded;       /* when the program ran [s since 1970]; 0: not known */
    unsigned dwarf_timeout; /* seconds a DWARF worker may take for one answer; 0: 60 */
};

#endif

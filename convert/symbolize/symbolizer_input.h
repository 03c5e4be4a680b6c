/* The input of the symbolizer: the mappings of the profiled program, and options.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOLIZER_INPUT_H
#define CONVERT_SYMBOLIZE_SYMBOLIZER_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribute/labels.h"
#include "formats/elf/elf_search.h"

/* One mapping of the profiled program. Strings are borrowed only during symbolizer_new. */
struct code_map {
    uint64_t address, size; /* [bytes] in the address space of the target */
    const char *label;      /* a path or only a base name */
    bool has_offset; /* offset is known (raw extension), so that the bias need not be guessed */
    uint64_t offset; /* of the mapping in the file [bytes] */
    const char *build_id; /* of the file that ran, as in struct elf_mapping; NULL or "": unknown */
    const uint8_t *image; /* the ELF image (vdso); NULL: search for the file */
    size_t image_size;    /* [bytes] */
    bool no_file;         /* no file and no image: the label is a name like [heap] */
};

struct symbolizer_options {
    struct elf_search search;
    const char *kallsyms; /* file like /proc/kallsyms; NULL: no names for the kernel */
    bool no_dwarf;        /* symbol tables only */
    bool object_files; /* local functions without lines have the source file of their object file */
    bool no_cache;     /* neither read nor keep answers on disk */
    bool no_demangle;  /* demangled names are not needed, and replaced by the mangled ones */
    bool no_debuginfod;     /* do not download debug files */
    int64_t recorded;       /* when the program ran [s since 1970]; 0: unknown */
    unsigned dwarf_timeout; /* seconds a DWARF worker may take for one answer; 0: 60 */
};

#endif

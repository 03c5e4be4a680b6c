/* Finds functions that gprof does not show, and writes a table of symbols with which it shows all functions.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PBIN2GMON_GPROF_NAMES_H
#define CONVERT_PBIN2GMON_GPROF_NAMES_H

#include "convert/pbin2gmon/gmon_render.h"
#include "formats/elf/elf_symbols.h"

/* Functions that gprof omits: local functions with '$' or '.' in their names, which it mistakes for
 * labels. It adds their time to that of the functions before them. */
struct gprof_hidden {
    size_t functions;
    exact time;       /* [2^-32 ns] */
    const char *name; /* of the function with the most time at a single address; borrowed from the
                * symbols */
};

/* Finds the omitted functions of SYMBOLS that contain any of the COUNT items. */
struct gprof_hidden gprof_hidden_find(struct elf_symbols *symbols, const struct address_time *items,
                                      size_t count);

/* Writes all functions to OUT, in the form in which nm prints global functions, for gprof
 * --external-symbol-table. Returns 0, or -1 with the struct error of OUT filled. */
int gprof_names_write(struct elf_symbols *symbols, struct output *out);

#endif

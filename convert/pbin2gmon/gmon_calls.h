/* Converts call arcs of a pbin, whose ends are names, to those of a gmon.out, whose ends are addresses.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PBIN2GMON_GMON_CALLS_H
#define CONVERT_PBIN2GMON_GMON_CALLS_H

#include "convert/pbin2gmon/pc_times.h"
#include "convert/symbolize/profiled_file.h"
#include "formats/elf/elf_symbols.h"
#include "formats/gmon/gmon.h"

/* Adds the arcs of TIMES to GMON: both ends become the first address of a function of FILE. ALL are the definitions of
 * the pbin; SYMBOLS are those of FILE. Returns the number of arcs that were left out because an end is not a function
 * of FILE. */
size_t gmon_calls_add(struct gmon *gmon, const struct pc_times *times,
                      const struct profiled_file *file, const struct pbin_definitions *all,
                      const struct elf_symbols *symbols);

#endif

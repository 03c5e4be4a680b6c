/* Options of the tools that look for binaries and their symbols.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H
#define CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H

#include <argp.h>

#include "convert/symbolize/symbolizer.h"

/* Group of these options in argp's help; the tool gives it a heading. */
enum { SYMBOL_GROUP = 50 };

/* Child parsers whose input is a zeroed struct symbolizer_options: -s and --sysroot; --kallsyms and --no-dwarf.
 * The caller frees its search_paths, not the texts. */
extern const struct argp search_argp, symbol_argp;

#endif

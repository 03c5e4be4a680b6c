/* Options of the tools that read symbols.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H
#define CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H

#include "convert/symbolize/symbolizer.h"
#include "formats/elf/elf_options.h"

/* Child parsers for options in group ELF_GROUP, whose input is a zeroed struct symbolizer_options.
 * debug_argp has --no-dwarf, --no-cache and --no-debuginfod; symbol_argp has these, --kallsyms and
 * the options of elf_argp. The caller frees SEARCH with elf_search_free. */
extern const struct argp debug_argp;
extern const struct argp symbol_argp;

#endif

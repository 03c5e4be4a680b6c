/* Options of the tools that read symbols.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H
#define CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H

#include "convert/symbolize/symbolizer.h"
#include "formats/elf/elf_options.h"

/* Child parser for the options of elf_argp, --kallsyms and --no-dwarf, in group ELF_GROUP, whose input is a zeroed struct
 * symbolizer_options. The caller frees its SEARCH with elf_search_free. */
extern const struct argp symbol_argp;

#endif

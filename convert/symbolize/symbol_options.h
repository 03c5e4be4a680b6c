/* Options of the tools that read symbols.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H
#define CONVERT_SYMBOLIZE_SYMBOL_OPTIONS_H

#include "convert/symbolize/symbolizer.h"
#include "formats/elf/elf_options.h"

/* Child parser for -s, --sysroot, --kallsyms and --no-dwarf, in group ELF_GROUP, whose input is a
 * zeroed struct symbolizer_options. The caller frees its search folders, not the texts. */
extern const struct argp symbol_argp;

#endif

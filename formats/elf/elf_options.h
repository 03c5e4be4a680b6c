/* Command-line options of the tools that look for binaries.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_OPTIONS_H
#define FORMATS_ELF_ELF_OPTIONS_H

#include <argp.h>

#include "base/tool.h"
#include "formats/elf/elf_search.h"

/* Group of these options in argp's help; the tool gives it a heading. */
enum { ELF_GROUP = 50 };

/* Child parser for -s, --sysroot and --debug-dir, whose input is a zeroed struct elf_search. The caller frees it with
 * elf_search_free. */
extern const struct argp elf_argp;
/* The same for tools that seldom need binaries: -h does not show these options. */
extern const struct argp elf_rare_argp;

/* Keys of these options, for tools that have only some of them, or use -s for something else. */
enum { ELF_KEY_SEARCH_PATH = KEY_TOOL_FIRST + 0x80, ELF_KEY_SYSROOT, ELF_KEY_DEBUG_DIR };

/* For the parsers of such tools: takes the option KEY, whose ARGUMENT is borrowed. Returns 0, or
 * ARGP_ERR_UNKNOWN for other keys. */
error_t elf_take_option(struct elf_search *search, int key, const char *argument);

#endif

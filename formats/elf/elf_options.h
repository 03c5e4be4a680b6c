/* Command-line options of the tools that look for binaries.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_OPTIONS_H
#define FORMATS_ELF_ELF_OPTIONS_H

#include <argp.h>

#include "formats/elf/elf_search.h"

/* Group of these options in argp's help; the tool gives it a heading. */
enum { ELF_GROUP = 50 };

/* Child parser for -s, --sysroot and --debug-dir, whose input is a zeroed struct elf_search. The caller frees it with
 * elf_search_free. */
extern const struct argp elf_argp;
/* The same for tools that seldom need binaries: -h does not show these options. */
extern const struct argp elf_rare_argp;

/* For parsers of similar options: adds FOLDER to the COUNT FOLDERS of a struct elf_search. */
void elf_add_folder(const char ***folders, size_t *count, const char *folder);

#endif

/* Where the debug information is that compilers leave beside the program (-gsplit-dwarf): a file for each unit (.dwo), or one
 * package of them (.dwp).
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SPLIT_H
#define FORMATS_ELF_ELF_SPLIT_H

#include "formats/elf/elf_search.h"

/* Finds the file NAME of a unit of PROGRAM that was compiled in FOLDER, both as the program has them: below each search path
 * and debug folder, with its path or the base name; at that path, below the sysroot; beside PROGRAM. It must be for the same
 * machine; whether it is of the same build, only its contents say. Returns NULL with ERR filled when there is none; caller
 * closes. */
struct elf_file *elf_search_split(const struct elf_search *search, const struct elf_file *program,
                                  const char *folder, const char *name, struct error *err);

/* Finds the package of PROGRAM, whose debug information is in DEBUG (which may be PROGRAM): with ".dwp" after the name of
 * either (in place of ".debug", too), beside it or in a search path or debug folder. Returns NULL when there is none, or none
 * is needed; ERR is filled where one cannot be read. Caller closes. */
struct elf_file *elf_search_package(const struct elf_search *search, const struct elf_file *program,
                                    const struct elf_file *debug, struct error *err);

#endif

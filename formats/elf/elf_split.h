/* Searches for split debug information (-gsplit-dwarf), which compilers write beside the program: a file for each unit
 * (.dwo), or one package of them (.dwp).
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SPLIT_H
#define FORMATS_ELF_ELF_SPLIT_H

#include "formats/elf/elf_search.h"

/* Finds the file NAME of a unit of PROGRAM that was compiled in FOLDER, both as recorded in the
 * program: with its path or base name below each search path and debug folder; at its path below
 * the sysroot; or beside PROGRAM. The file must be for the same machine; the caller must check its
 * contents to see whether it is from the same build. Returns NULL with ERR filled if there is none;
 * caller closes. */
struct elf_file *elf_search_split(const struct elf_search *search, const struct elf_file *program,
                                  const char *folder, const char *name, struct error *err);

/* Finds the package of PROGRAM, whose debug information is in DEBUG (which may be PROGRAM): with
 * ".dwp" after the name of either (or in place of ".debug"), beside it or in a search path or debug
 * folder. Returns NULL if there is none or none is needed; ERR is filled if a package cannot be
 * read. Caller closes. */
struct elf_file *elf_search_package(const struct elf_search *search, const struct elf_file *program,
                                    const struct elf_file *debug, struct error *err);

#endif

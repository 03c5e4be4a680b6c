/* Searches for the file of a mapping, and for the debug file of a stripped file.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SEARCH_H
#define FORMATS_ELF_ELF_SEARCH_H

#include "base/report.h"
#include "formats/elf/elf_file.h"

/* The options of the user; all zero: none. */
struct elf_search {
    const char **folders; /* search paths, tried first, in this order */
    size_t folder_count;
    const char **debug_folders; /* folders like /usr/lib/debug, tried before it */
    size_t debug_folder_count;
    const char *beside;  /* the profile, whose folder may contain binaries; NULL: none */
    const char *sysroot; /* prefix for absolute labels and the system's folders; NULL: none */
};

/* The file to be found. Texts are borrowed. */
struct elf_sought {
    const char *label; /* of its mapping: a path, or only a base name */
    const char *path;  /* where the file was or should be; NULL or "": unknown */
};

/* Calls TAKE with paths for SOUGHT, in this order, until it returns true:
 *   1. each search path: with the whole label under it, then with its base name;
 *   2. SOUGHT->path;
 *   3. an absolute label: under the sysroot, or unchanged without a sysroot; a relative
 *      one: in the current directory;
 *   4. the base name in the current directory;
 *   5. the base name beside the profile;
 *   6. the base name in the system's folders for libraries and programs (under the sysroot).
 * TAKE checks whether a path exists. Returns whether TAKE returned true. */
bool elf_search_paths(const struct elf_search *search, const struct elf_sought *sought,
                      bool (*take)(void *context, const char *path), void *context);

/* Opens the first of those files that FITS accepts (it returns 0, or -1 with ERR filled). Returns
 * NULL if none fits, with ERR filled for the first existing file, or empty if none exists. Caller
 * closes. */
struct elf_file *elf_search_file(const struct elf_search *search, const struct elf_sought *sought,
                                 int (*fits)(void *context, const struct elf_file *file,
                                             struct error *err),
                                 void *context, struct error *err);

/* Warns that the file for LABEL is missing, with the CONSEQUENCE, and with the reason why
 * elf_search_file REFUSED a file (empty: none exists). */
void elf_search_warn(struct reporter *reporter, const char *label, const struct error *refused,
                     const char *consequence);

/* Finds the file with the debug information of the stripped FILE: by build-id, as
 * .build-id/ab/cdef.debug below each search path, below each debug folder and below usr/lib/debug
 * in the sysroot; by .gnu_debuglink beside FILE, in .debug there, and with the path of FILE below
 * each debug folder and usr/lib/debug. The link is also tried with the absolute path of FILE
 * without symbolic links, and with the path of the file to which FILE is a link. elf_match_debug
 * decides whether a file fits. Returns NULL if none is found, with ERR filled if a candidate cannot
 * be read or belongs to another build. Caller closes. */
struct elf_file *elf_search_debug(const struct elf_search *search, const struct elf_file *file,
                                  struct error *err);

/* Finds the debug file of FILE if FILE has no debug information, and warns through REPORTER about a
 * candidate that cannot be read or belongs to another build. Returns NULL if there is none; caller
 * closes. */
struct elf_file *elf_search_debug_warn(const struct elf_search *search, const struct elf_file *file,
                                       struct reporter *reporter);

/* Finds the file that DEBUG shares with other debug files: dwz moves their common information there. Its path is in
 * the section .gnu_debugaltlink or .debug_sup, and is used as it is or, below usr/lib/debug, in a debug folder;
 * otherwise the file is found by its build-id. Returns NULL if DEBUG needs none, or with ERR filled if it is not
 * found. Caller closes. */
struct elf_file *elf_search_alternate(const struct elf_search *search, const struct elf_file *debug,
                                      struct error *err);

enum { MAX_ALTERNATE_ID = 129 };

/* Copies the build-id of the file that DEBUG shares to BUILD_ID. Returns false if DEBUG needs
 * none. */
bool elf_alternate_id(const struct elf_file *debug, char build_id[MAX_ALTERNATE_ID]);

/* Frees the lists of folders, not their texts. */
void elf_search_free(struct elf_search *search);

/* Warns if a part of FILE could not be read; LOST describes what may be missing. NULL is allowed. */
void elf_warn_failed(struct reporter *reporter, const struct elf_file *file, const char *lost);

/* Base name of LABEL, borrowed from it; the whole LABEL if it ends with '/'. */
const char *elf_base_name(const char *label);

#endif

/* Where the file of a mapping, and the debug file of a stripped one, may be.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_SEARCH_H
#define FORMATS_ELF_ELF_SEARCH_H

#include "base/report.h"
#include "formats/elf/elf_file.h"

/* The options of the user; all zero: none. */
struct elf_search {
    const char **folders; /* search paths, tried first, in this order */
    size_t folder_count;
    const char **debug_folders; /* with debug files as in /usr/lib/debug, tried before that */
    size_t debug_folder_count;
    const char *beside;  /* a file, the profile, in whose folder binaries may be; NULL: none */
    const char *sysroot; /* prefix for absolute labels and the system's folders; NULL: none */
};

/* The file that is sought. Texts are borrowed. */
struct elf_sought {
    const char *label; /* of its mapping: a path, or only a base name */
    const char *path;  /* where it was before, or should be; NULL or "": not known */
};

/* Offers paths for SOUGHT to TAKE, in this order, until it returns true:
 *   1. each search path: with the whole label under it, then with its base name;
 *   2. SOUGHT->path;
 *   3. an absolute label: under the sysroot, or unchanged without a sysroot; a relative
 *      one: in the current directory;
 *   4. the base name in the current directory;
 *   5. the base name beside the profile;
 *   6. the base name in the system's folders for libraries and programs (under the sysroot).
 * TAKE checks whether a path exists. Returns whether one was taken. */
bool elf_search_paths(const struct elf_search *search, const struct elf_sought *sought,
                      bool (*take)(void *context, const char *path), void *context);

/* Opens the first of those files that FITS accepts (0; -1: it does not, with ERR filled). Returns NULL if none fits,
 * with ERR filled for the first existing file, or empty if none exists. Caller closes. */
struct elf_file *elf_search_file(const struct elf_search *search, const struct elf_sought *sought,
                                 int (*fits)(void *context, const struct elf_file *file,
                                             struct error *err),
                                 void *context, struct error *err);

/* Warns that the file for LABEL is missing, why elf_search_file REFUSED one (empty: none exists), and of the
 * CONSEQUENCE. */
void elf_search_warn(struct reporter *reporter, const char *label, const struct error *refused,
                     const char *consequence);

/* Finds the file that holds the debug information of FILE, a stripped one: by build-id, as
 * .build-id/ab/cdef.debug below each search path, below each debug folder and below usr/lib/debug in the sysroot; by
 * .gnu_debuglink beside FILE, in .debug there, and with the path of FILE below each debug folder and usr/lib/debug.
 * elf_match_debug decides whether it fits. Returns NULL if not found, with ERR filled where a file may be it, but cannot
 * be read; caller closes. */
struct elf_file *elf_search_debug(const struct elf_search *search, const struct elf_file *file,
                                  struct error *err);

/* Finds the debug file of FILE, if that has no debug information itself, and warns REPORTER of what cannot be read. */
struct elf_file *elf_search_debug_warn(const struct elf_search *search, const struct elf_file *file,
                                       struct reporter *reporter);

/* Finds the file that DEBUG shares with others: dwz moves there what they have in common. Its path is in the section
 * .gnu_debugaltlink or .debug_sup, as it is or, below usr/lib/debug, in a debug folder; else it is found by its build-id.
 * Returns NULL if DEBUG needs none, or none is found, with ERR filled then; caller closes. */
struct elf_file *elf_search_alternate(const struct elf_search *search, const struct elf_file *debug,
                                      struct error *err);

/* Frees the lists of folders, not their texts. */
void elf_search_free(struct elf_search *search);

/* Warns of a FILE, NULL allowed, of which some part could not be read: LOST is what may be missing. */
void elf_warn_failed(struct reporter *reporter, const struct elf_file *file, const char *lost);

/* Base name of LABEL, borrowed from it; all of it when it ends in '/'. */
const char *elf_base_name(const char *label);

#endif

/* Downloads debug files from the servers in the environment variable DEBUGINFOD_URLS, through
 * libdebuginfod, which is loaded when it is first needed. It keeps downloaded files in its own
 * cache.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_DEBUGINFOD_H
#define CONVERT_SYMBOLIZE_DEBUGINFOD_H

#include "base/report.h"
#include "formats/elf/elf_file.h"

struct debuginfod;

/* Returns whether the environment names servers. */
bool debuginfod_is_set(void);

/* Returns NULL if the environment names no server. REPORTER is borrowed until debuginfod_delete. */
struct debuginfod *debuginfod_new(struct reporter *reporter);

/* NULL is allowed. */
void debuginfod_delete(struct debuginfod *debuginfod);

/* Downloads the debug file with BUILD_ID, with a progress bar that calls it NAME. Returns NULL if
 * no server has it or if the download fails; the first failure is a warning, and no server is asked
 * again. A signal that ends the program takes effect after the download has been cleaned up.
 * DEBUGINFOD may be NULL if there are no servers. Caller closes. */
struct elf_file *debuginfod_find(struct debuginfod *debuginfod, const char *build_id,
                                 const char *name);

#endif

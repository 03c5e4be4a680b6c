/* Names of the kernel's functions, from a copy of /proc/kallsyms.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_KALLSYMS_H
#define CONVERT_SYMBOLIZE_KALLSYMS_H

#include <stdint.h>

#include "base/error.h"

struct kallsyms;

/* Reads PATH: lines "HEXADDR TYPE NAME [MODULE]", of which only functions (types t, T, w, W) are used. Returns NULL
 * with ERR filled if it cannot be read, has no functions, or has an invalid line. */
struct kallsyms *kallsyms_read(const char *path, struct error *err);
void kallsyms_delete(struct kallsyms *kallsyms);

/* Returns the last function that begins at or before ADDRESS, borrowed until kallsyms_delete; NULL
 * if there is none. Sizes are not known, so the last function extends to the end of memory. */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address);

#endif

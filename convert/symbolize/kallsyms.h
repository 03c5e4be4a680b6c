/* Names of the kernel's functions, from a copy of /proc/kallsyms.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_KALLSYMS_H
#define CONVERT_SYMBOLIZE_KALLSYMS_H

#include <stdint.h>

#include "base/error.h"

struct kallsyms;

/* Reads PATH: lines "HEXADDR TYPE NAME [MODULE]", of which functions (types t, T, w, W) count.
 * Returns NULL with ERR filled when it cannot be read, has no functions, or has another
 * kind of line. */
struct kallsyms *kallsyms_read(const char *path, struct error *err);
void kallsyms_delete(struct kallsyms *kallsyms);

/* The function that begins last at or before ADDRESS, borrowed until kallsyms_delete; NULL when
 * none does. There are no sizes: the last one reaches to the end. */
const char *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address);

#endif

/* Names of rows: their keys joined, except keys that do not distinguish any rows.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_NAMES_H
#define PLOT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/pbin/pbin.h"

/* The source of the keys of rows. */
struct name_source {
    const struct pbin_keys *keys;
    const char *(*text)(const void *texts, uint64_t number);
    const void *texts;
};

/* Returns key number K of ROW as text, "" if it is unknown. Caller frees. */
char *names_key(const struct name_source *from, const struct pbin_row *row, size_t k);

/* Returns the names of COUNT ROWS, complete and as in the profile. Caller frees the array and all
 * names. */
char **names_make(const struct name_source *from, const struct pbin_row *const *rows, size_t count);

#endif

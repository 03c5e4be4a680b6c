/* Internal to analyze/attribute/attribute*.c.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ATTRIBUTE_INTERNAL_H
#define ANALYZE_ATTRIBUTE_ATTRIBUTE_INTERNAL_H

#include "analyze/attribute/attribute.h"

/* Records that THREAD, which must be a first definition, is in ROW. Returns whether it was in
 * another row before. */
static inline bool attribution_enter(struct attribution *a, uint64_t thread, uint32_t row)
{
    uint32_t before = a->last_row[thread];
    a->last_row[thread] = row;
    if (before == NO_ROW)
        a->first_row[thread] = row;
    return before != row;
}

/* Charges at most MAX of the samples in the weigher, up to the first that does not fit in packed
 * sums. Returns their number. Requires weigher_packs, and no selection by time or phase. */
size_t attribute_packed(struct attribution *attribution, const struct pbin_definitions *all,
                        size_t max);

/* Finds the rows of COUNT thread samples. */
void attribution_rows(struct attribution *attribution, const struct pbin_definitions *all,
                      const uint64_t *thread, const uint64_t *location, size_t count,
                      uint32_t *row);

/* Adds the stretch that has just been settled to the sums for least squares. THREAD and LOCATION
 * point to its first thread sample. Everything in VIEW except the rows must be set. */
void attribute_fit(struct attribution *attribution, const struct pbin_definitions *all,
                   const uint64_t *thread, const uint64_t *location, struct fit_view *view);

#endif

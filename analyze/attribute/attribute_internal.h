/* Attribution: what its parts share.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ATTRIBUTE_INTERNAL_H
#define ANALYZE_ATTRIBUTE_ATTRIBUTE_INTERNAL_H

#include "analyze/attribute/attribute.h"

enum {
    ROOM = 16 /* 2^16 samples of the largest power can be added up; real ones are far from it */
};

/* One sample, with what the loops over its threads need. */
struct moment {
    const uint64_t *thread, *location, *cpu_ns;
    size_t count;
    exact interval; /* [2^-32 ns] */
    double energy;  /* [J] */
    double power;
};

static inline bool is_summable(double value)
{
    return exact_fits(value, ENERGY_SHIFT, ROOM);
}

/* THREAD is in ROW: was it in another one before? */
static inline bool attribution_enter(struct attribution *a, uint64_t thread, uint32_t row)
{
    uint32_t before = a->last_row[thread];
    a->last_row[thread] = row;
    if (before == NO_ROW)
        a->first_row[thread] = row;
    return before != row;
}

/* The row of LABEL: it is there from now on. Borrowed until a row is added. */
struct current *attribution_label(struct attribution *attribution, const char *label);

/* TIME [2^-32 ns] and ENERGY [2^-80 J] to a row, and to the sums of all. */
void attribution_charge(struct attribution *attribution, struct current *current, exact time,
                        exact energy);

/* Charges at most MOST samples from number FIRST on, whose threads M points to, as long as they are of the usual
 * kind. Returns how many, with M behind them; 0 when the first is unusual. Not for selections by time or phase,
 * corrected intervals or other energy models. */
size_t attribute_usual(struct attribution *attribution, const struct pbin_definitions *all,
                       const struct pbin_samples *samples, size_t first, size_t most,
                       struct moment *m);

#endif

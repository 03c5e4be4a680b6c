/* Two sides of a comparison, joined by the names of their rows.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SIDES_H
#define PLOT_SIDES_H

#include "analyze/welch.h"
#include "plot/ranking.h"

struct side_row {
    char *name;
    struct moments base, with;
    double difference,
        ratio;    /* with - base, with / base (infinite for new rows, 1 where both are 0) */
    double error; /* half of Welch's 95 % interval of the difference; NaN: not known */
    double p;     /* Welch's test with Holm's correction; NaN: a side has one run only */
    bool other;
};

struct sides {
    struct aggregate *base, *with; /* owned */
    const char *const *base_paths, *const *with_paths;
    size_t base_count, with_count;
    enum row_metric metric;
    struct side_row *rows; /* largest difference first, the rest as _other */
    size_t count, all;     /* rows kept, and before the rest was joined */
    double base_total, with_total;
};

/* Reads --base and --with, or the first PBIN and all others. Returns 0, or -1. */
int sides_read(struct sides *sides, const struct plot *plot, struct error *err);

/* Keeps TOP rows and joins the others (0: all). Once, after sides_read. */
void sides_limit(struct sides *sides, size_t top);

void sides_free(struct sides *sides);

/* All rows as CSV: name, base, with, difference, ratio, p. */
void sides_write(const struct sides *sides, struct output *out);

/* "base.pbin (3 runs) against new.pbin (3 runs)". Caller frees. */
char *sides_subtitle(const struct sides *sides);

#endif

/* Two sides of a comparison: rows, differences and verdicts of pbin-compare, ready to be drawn.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_RUN_SETS_H
#define PLOT_RUN_SETS_H

#include "analyze/compare/compare.h"
#include "plot/ranking.h"

/* What is drawn of a row; values are means over the runs, 0 where the side has no such row. */
struct change {
    char *name; /* owned */
    double base, with, difference;
    double ratio; /* with / base; infinite where the base is 0, 1 where both are */
    double error; /* half of Welch's 95 % interval of the difference; NaN: not known */
    struct judgement judgement; /* of _other: VERDICT_SAME, not tested */
    bool other;                 /* what the other rows add up to */
};

struct sides {
    struct compare *compare; /* owned; side 0 is the base, side 1 the other */
    const char *const *base_paths, *const *with_paths;
    size_t base_count, with_count;
    enum compare_metric metric;
    const char *metric_name, *unit; /* borrowed from COMPARE */
    enum compare_test test;
    size_t all;          /* rows there are */
    struct change *rows; /* largest difference first, the rest as _other; after sides_limit */
    size_t count;
    double base_total, with_total;
};

/* Reads --base and --with, or the first PBIN and all others. Returns 0, or -1 with ERR filled. */
int sides_read(struct sides *sides, const struct plot *plot, struct error *err);

/* Makes TOP rows to draw and joins the others to one more (0: all). Once, after sides_read. */
void sides_limit(struct sides *sides, size_t top);

void sides_free(struct sides *sides);

/* The table of all rows as pbin-compare --format=csv writes it. */
void sides_write(const struct sides *sides, struct output *out);

/* "new.pbin and 2 more (3 runs) against base base.pbin and 2 more (3 runs)", or less where that is
 * wider than ROOM: at least how many runs. Caller frees. */
char *sides_subtitle(const struct sides *sides, double room, bool cells);

#endif

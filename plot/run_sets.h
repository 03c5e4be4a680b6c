/* Two run sets of a comparison: rows, differences and verdicts of pbin-compare, ready to be drawn.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_RUN_SETS_H
#define PLOT_RUN_SETS_H

#include "analyze/compare/compare.h"
#include "plot/ranking.h"

/* A row to draw; values are means over the runs, 0 if the run set lacks the row. */
struct change {
    char *name; /* owned */
    double base, with, difference;
    double ratio; /* with / base; infinite if the base is 0, 1 if both are */
    double error; /* half of Welch's 95 % interval of the difference; NaN: not known */
    struct significance result; /* of _other: VERDICT_NOT_TESTED */
    bool other;                 /* the sum of the other rows */
};

struct run_sets {
    struct compare *compare; /* owned; run set 0 is the base, run set 1 the other */
    const char *const *base_paths, *const *with_paths;
    size_t base_count, with_count;
    enum compare_metric metric;
    const char *metric_name, *unit; /* borrowed from COMPARE */
    enum compare_test test;
    size_t all;          /* number of rows */
    struct change *rows; /* largest difference first, the rest as _other; after run_sets_limit */
    size_t count;
    double base_total, with_total;
};

/* Reads --base and --with, or the first PBIN and all others. Returns 0, or -1 with ERR filled. */
int run_sets_read(struct run_sets *sets, const struct plot *plot, struct error *err);

/* Selects TOP rows to draw (0: all) and joins the others in one more. Call once, after run_sets_read. */
void run_sets_limit(struct run_sets *sets, size_t top);

void run_sets_free(struct run_sets *sets);

/* Writes the table of all rows like pbin-compare --format=csv. */
void run_sets_write(const struct run_sets *sets, struct output *out);

/* "new.pbin and 2 more (3 runs) against base base.pbin and 2 more (3 runs)", or less if that is wider
 * than ROOM, but always the number of runs. Caller frees. */
char *run_sets_subtitle(const struct run_sets *sets, double room, bool cells);

#endif

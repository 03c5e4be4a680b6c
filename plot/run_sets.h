/* The run sets of a comparison, a base and other sides, with the rows, differences and verdicts of
 * pbin-compare, for drawing.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_RUN_SETS_H
#define PLOT_RUN_SETS_H

#include "analyze/compare/report_compare.h"
#include "plot/ranking.h"

/* A row to draw; values are means over the runs, 0 if the run set lacks the row. */
struct change {
    char *name;  /* owned; includes the side if there are several */
    size_t side; /* from 1 */
    double base, with, difference;
    double ratio;               /* with / base; infinite if the base is 0, 1 if both are */
    double error;               /* half of Welch's 95 % interval of the difference; NaN: unknown */
    struct significance result; /* VERDICT_NOT_TESTED for _other */
    bool tested;                /* the runs of this side allow a test */
    bool other;                 /* the sum of the other rows */
    bool label;                 /* not code: _idle, _others, ... */
};

/* The files of a side, a short name for it, and its sum. */
struct side_files {
    const char *const *paths;
    size_t count;
    char *name; /* owned */
    double total;
};

struct run_sets {
    struct compare *compare;  /* owned; run set 0 is the base */
    struct side_files *sides; /* with the same numbers */
    size_t side_count;        /* at least 2 */
    enum compare_metric metric;
    struct compare_report report;   /* of its table, with --error and --weight */
    const char *metric_name, *unit; /* borrowed from COMPARE */
    enum compare_test test;         /* of the first tested side */
    size_t all;                     /* number of rows of the comparison */
    struct change
        *rows; /* set by run_sets_limit: largest difference first, each with all sides, and the rest
               * as _other */
    size_t count;
};

/* Reads --base and each --with, or the first PBIN and each other PBIN. Returns 0, or -1 with ERR
 * filled. */
int run_sets_read(struct run_sets *sets, const struct plot *plot, struct error *err);

/* Selects TOP rows of the comparison (0: all), and joins the others into one more row. Each row is
 * drawn for every side. Call it once, after run_sets_read. */
void run_sets_limit(struct run_sets *sets, size_t top);

void run_sets_free(struct run_sets *sets);

/* Writes the table of all rows, as pbin-compare --format=csv does. */
void run_sets_write(const struct run_sets *sets, struct output *out);

/* Returns "new.pbin and 2 more (3 runs) against base base.pbin and 2 more (3 runs)", or a shorter
 * text if this is wider than ROOM, but always with the number of runs. Caller frees. */
char *run_sets_subtitle(const struct run_sets *sets, double room, bool cells);

#endif

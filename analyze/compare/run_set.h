/* A run set of a comparison: sums and moments of the runs of its profiles, in rows with keys that
 * all run sets share.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_RUN_SET_H
#define ANALYZE_COMPARE_RUN_SET_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/statistics/statistics.h"
#include "analyze/compare/run_set_blocks.h"

enum compare_metric {
    COMPARE_TIME,          /* [s] per run */
    COMPARE_ENERGY,        /* [J] per run, or in the unit of the profile's quantity */
    COMPARE_POWER,         /* energy / time [W] */
    COMPARE_SAMPLES,       /* per run */
    COMPARE_EXECUTION,     /* time / entries [s] */
    COMPARE_SHARE,         /* of the time of all rows [%] */
    COMPARE_SAMPLES_SHARE, /* of the samples of all rows [%] */
    COMPARE_CALLS,         /* per run */
    COMPARE_INCLUSIVE,     /* time between entry and exit [s] per run */
    COMPARE_CALL_TIME,     /* of a call that has returned [s] */
    COMPARE_METRICS
};

/* The names "time", ..., "execution-time", "share", ..., "call-time", and the metric of a name
 * (LENGTH bytes of NAME), -1 if unknown. */
const char *compare_metric_name(enum compare_metric metric);
int compare_metric_parse(const char *name, size_t length);

/* Sums and moments over the runs, for a row or the total. */
struct run_set_row {
    uint64_t key[PBIN_MAX_KEYS]; /* numbers of shared texts, or values */
    uint32_t tuple;              /* number of the key among the shared tuples */
    exact time, energy;          /* summed over all runs */
    double samples, entries;     /* summed over all runs; entries: NaN if unknown */
    struct run_set_calls calls;
    struct run_moments moments[COMPARE_METRICS];
};

struct run_set {
    const struct run_set_rules *rules;
    struct strings *texts, *tuples; /* shared by all run sets */
    size_t *index;                  /* [tuples]: number of the row + 1 */
    size_t index_count, index_capacity;
    struct run_set_row *rows;
    size_t count, capacity;
    struct run_set_row total; /* its samples are those of all threads */
    size_t runs;
    uint64_t wall_ns;       /* sum over all runs */
    bool no_wall;           /* it is unknown for some runs */
    double moments_sampled; /* samples in all runs */
    struct quantity quantity;
    char unit[32], rate[24]; /* of QUANTITY, if it is custom */
    bool quantity_known, quantity_mixed;
    char *attribution; /* attribution (pbin.5); NULL: not recorded */
    char *attributed;  /* the first profile that recorded it */
};

/* RULES, TEXTS and TUPLES are borrowed until run_set_free. */
void run_set_init(struct run_set *set, const struct run_set_rules *rules, struct strings *texts,
                  struct strings *tuples);
void run_set_free(struct run_set *set);

/* Adds the runs of the profile PATH. Returns 0, or -1 with ERR filled. */
int run_set_read(struct run_set *set, const char *path, struct reporter *reporter,
                 struct error *err);

/* Adds the runs of A, from the profile PATH. A must be finished, and have the keys of the rules.
 * Returns 0, or -1 with ERR filled if its attribution differs from those before. */
int run_set_add(struct run_set *set, const struct aggregate *a, const char *path,
                struct error *err);

/* Completes the moments after the last profile. Runs without a row count as 0. */
void run_set_finish(struct run_set *set);

/* The row of TUPLE; NULL if there is none. Borrowed until run_set_free. */
const struct run_set_row *run_set_find(const struct run_set *set, uint32_t tuple);

/* The value of METRIC for ROW as it is shown: a mean over runs; ratios are computed from sums. 0 or
 * NaN if ROW is NULL. The power of the total is energy / wall time, because there is no CPU time to
 * divide idle energy by. */
double run_set_value(const struct run_set *set, const struct run_set_row *row,
                     enum compare_metric metric);

#endif

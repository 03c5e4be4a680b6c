/* Comparison: matches the rows of a base and of other run sets, and tests whether they differ
 * significantly.
 *
 *   compare = compare_new(&options);
 *   set = compare_add_set(compare); run_set_read(set, ...) ...   the base first, then the others
 *   compare_finish(compare);
 *   results = compare_significance(compare, metric);
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_COMPARE_H
#define ANALYZE_COMPARE_COMPARE_H

#include "analyze/compare/run_set.h"

enum { MAX_RUN_SETS = 64 };

struct compare_options {
    struct run_set_rules rules;
    double alpha;       /* significance level */
    double least_share; /* [0, 1] rows with smaller shares in both run sets are not tested */
    double noise;       /* for sampling_test */
    /* Options that select the rows to compare; totals remain those of all rows. */
    bool common; /* only rows that all run sets have */
    double threshold,
        cumulative; /* [0, 1] with this share of the base, or largest that add up to it; 0: all */
    size_t largest; /* number of rows of the base; 0: all */
    bool by_energy; /* shares and sizes are of energy, otherwise of time */
};

/* The defaults of pbin-compare; rules are empty. */
extern const struct compare_options compare_defaults;

struct compare_row {
    const struct run_set_row **set; /* [set_count]; NULL: missing in this run set */
};

struct compare {
    struct compare_options options;
    struct strings *texts, *tuples;
    struct run_set sets[MAX_RUN_SETS]; /* the base is set 0 */
    size_t set_count;
    struct compare_row *rows;
    size_t count, capacity;
    struct quantity quantity; /* of all run sets; NAME is NULL: none, or they differ */
};

/* OPTIONS are copied; data that they point to is borrowed until compare_delete. */
struct compare *compare_new(const struct compare_options *options);
void compare_delete(struct compare *compare);

/* Adds an empty run set, which is borrowed until compare_delete. There can be at most
 * MAX_RUN_SETS. */
struct run_set *compare_add_set(struct compare *compare);

/* Matches the rows, after all run sets have been read. Rows are sorted by their keys. */
void compare_finish(struct compare *compare);

/* Checks that the numbers of all sides are of the same kind. Returns 0, or -1 with ERR filled if
 * only some of them are wall times. Warns of other differences between attributions, because the
 * comparison shows their effect. */
int compare_check_attribution(const struct compare *compare, struct reporter *reporter,
                              struct error *err);

/* Returns -1 with ERR filled if METRIC is a metric of calls, and there are rows but none of them
 * has it; otherwise 0. */
int compare_check_calls(const struct compare *compare, enum compare_metric metric,
                        struct error *err);

/* The keys of all rows. */
const struct pbin_keys *compare_keys(const struct compare *compare);

/* Returns whether ROW has no code, like _idle. Such a row counts as 0 in a run set that lacks
 * it. */
bool compare_is_label(const struct compare *compare, const struct compare_row *row);

/* Returns whether ROW is all code of the kernel. */
bool compare_is_kernel(const struct compare *compare, const struct compare_row *row);

/* The text of key number I of ROW in any run set; NULL if the key is a number. */
const char *compare_text(const struct compare *compare, const struct run_set_row *row, size_t i);

enum verdict {
    VERDICT_NOT_TESTED,
    VERDICT_NOT_SIGNIFICANT,
    VERDICT_FASTER,
    VERDICT_SLOWER,
    VERDICT_NEW,
    VERDICT_GONE,
    VERDICT_AS_TOTAL,
    VERDICT_MORE,
    VERDICT_FEWER,
    VERDICT_LESS
};

/* "not tested", "not significant", "faster", "slower", "new", "gone", and "as the total", for
 * single runs, which cannot distinguish a program that changed everywhere by the same factor from a
 * slower machine. For metrics that are not times: "more" and "less", or "fewer" (calls,
 * samples). */
const char *verdict_name(enum verdict verdict);

struct significance {
    double p; /* after Holm's correction over all rows and run sets; NaN: not tested */
    bool significant;
    enum verdict verdict;
};

/* Numbers of calls are exact: any difference is significant, unless they vary from run to run.
 * Other values are tested by Welch's test if both run sets have several runs, otherwise by the
 * sampling test if there are samples. */
enum compare_test { TEST_NONE, TEST_WELCH, TEST_SAMPLING, TEST_EXACT };
enum compare_test compare_test_of(const struct compare *compare, size_t other,
                                  enum compare_metric metric);

/* Tests METRIC of all run sets against the base. Returns count + 1 results for each run set: one
 * for each row, then one for the total, which is tested separately. The results for the base are
 * empty. The caller frees them. The verdicts new and gone mean that the row is in only one run set,
 * whether or not this is significant. */
struct significance *compare_significance(const struct compare *compare,
                                          enum compare_metric metric);

/* METRIC of the total of run set OTHER, divided by that of the base, if both are single runs and
 * the ratio exceeds their noise; otherwise 1. */
double compare_unexplained(const struct compare *compare, size_t other, enum compare_metric metric);

/* Half of Welch's 95 % interval of the difference of METRIC in row number ROW. NaN if
 * compare_test_of is not TEST_WELCH, or if the variance is unknown. */
double compare_interval(const struct compare *compare, size_t other, enum compare_metric metric,
                        size_t row);

#endif

/* Comparison: the rows of a base and of other sides brought together, and whether they differ by more than
 * noise.
 *
 *   compare = compare_new(&options);
 *   side = compare_side(compare); side_read(side, ...) ...   the base first, then each other
 *   compare_finish(compare);
 *   compare_judge(compare, other, metric, judgements);
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_COMPARE_H
#define ANALYZE_COMPARE_COMPARE_H

#include "analyze/compare/run_set.h"

enum { SIDES_MOST = 64 };

struct compare_options {
    struct side_rules rules;
    double alpha;       /* level of significance */
    double least_share; /* [0, 1] rows below it on both sides are not tested */
    double noise;       /* for sampling_test */
};

/* As pbin-compare has them without options; rules are empty. */
extern const struct compare_options compare_defaults;

struct compare_row {
    const struct side_row **side; /* [sides]; NULL: not there */
};

struct compare {
    struct compare_options options;
    struct strings *texts, *tuples;
    struct side sides[SIDES_MOST]; /* 0 is the base */
    size_t side_count;
    struct compare_row *rows;
    size_t count, capacity;
    struct quantity quantity; /* that all sides have; name NULL: none, or different ones */
};

/* OPTIONS are copied; what they point to is borrowed until compare_delete. */
struct compare *compare_new(const struct compare_options *options);
void compare_delete(struct compare *compare);

/* The next side, empty. Borrowed until compare_delete. At most SIDES_MOST. */
struct side *compare_side(struct compare *compare);

/* All sides are read: matches their rows. Rows are in order of their keys. */
void compare_finish(struct compare *compare);

/* The keys of all rows. */
const struct pbin_keys *compare_keys(const struct compare *compare);

/* Text of key number I of ROW of any side, or NULL where the key is a number. */
const char *compare_text(const struct compare *compare, const struct side_row *row, size_t i);

enum verdict { VERDICT_SAME, VERDICT_FASTER, VERDICT_SLOWER, VERDICT_NEW, VERDICT_GONE };

/* "same?", "faster", "slower", "new", "gone" */
const char *verdict_name(enum verdict verdict);

struct judgement {
    double p; /* after Holm's correction; NaN: not tested */
    bool significant;
    enum verdict verdict;
};

/* Welch's test where both sides have several runs, else the sampling test. */
enum compare_test { TEST_NONE, TEST_WELCH, TEST_SAMPLING };
enum compare_test compare_test_of(const struct compare *compare, size_t other,
                                  enum compare_metric metric);

/* Judges METRIC of side OTHER against the base: a judgement for each row in *JUDGEMENTS, then one for the total,
 * which is a test of its own. new and gone say that a row is on one side only, significant or not. */
void compare_judge(const struct compare *compare, size_t other, enum compare_metric metric,
                   struct judgement *judgements);

/* Half of Welch's 95 % interval of the difference of METRIC of row number ROW; NaN where compare_test_of is not
 * TEST_WELCH or the variance is not known. */
double compare_interval(const struct compare *compare, size_t other, enum compare_metric metric,
                        size_t row);

#endif

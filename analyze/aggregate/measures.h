/* Measures of the rows of an aggregate (pbin.5): typed columns beside time and energy, such as
 * calls and their durations. Memory grows with the number of values.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_MEASURES_H
#define ANALYZE_AGGREGATE_MEASURES_H

#include "base/error.h"
#include "base/intern.h"
#include "formats/pbin/pbin.h"

/* The value of a measure in a row. */
struct measure_cell {
    struct pbin_value total;    /* over the complete runs */
    exact now;                  /* in the run being read */
    struct pbin_bucket *bucket; /* of a histogram, over all runs; in ascending order */
    size_t buckets;
    uint32_t row, measure;
    bool touched; /* NOW has a value */
    bool unknown; /* values were combined that cannot be combined */
};

/* The measures. Names and units are numbers of texts of the aggregate. */
struct measures {
    struct pbin_measure kind[PBIN_MAX_MEASURES];
    size_t count;
    struct numbers index; /* of cells, by row and measure */
    struct measure_cell *cells;
    size_t cell_count, capacity;
    bool overflow; /* a sum was too large: the contents are invalid */
};

void measures_free(struct measures *measures);

/* Returns the number of MEASURE, which is added if it is new; -1 with ERR filled for FILE (NULL:
 * none) if a different measure has its name, or if there are too many. TEXTS are those of the
 * aggregate. */
int measures_add(struct measures *measures, const struct pbin_measure *measure,
                 const struct strings *texts, const char *file, struct error *err);

/* The number of the measure called NAME, or -1. */
int measures_find(const struct measures *measures, const struct strings *texts, const char *name);

/* The value of measure NUMBER in ROW, borrowed until the next call that adds one. If there is none,
 * measures_cell adds it, and measures_get returns NULL. */
struct measure_cell *measures_cell(struct measures *measures, size_t number, size_t row);
const struct measure_cell *measures_get(const struct measures *measures, size_t number, size_t row);

/* Adds VALUE to the current run. */
void measures_put(struct measures *measures, size_t number, size_t row, exact value);

/* Adds COUNT buckets of a histogram. */
void measures_put_buckets(struct measures *measures, size_t number, size_t row,
                          const struct pbin_bucket *buckets, size_t count);

/* Adds the values of the current run to the totals. */
void measures_end_run(struct measures *measures);

/* Adds the measures of FROM, whose row R is row ROW[R] of TO. Returns 0, or -1 with ERR filled. */
int measures_merge(struct measures *to, struct strings *to_texts, const struct measures *from,
                   const struct strings *from_texts, const uint32_t *row, struct error *err);

/* Renumbers measures in the order of their names, and moves the values of each row R to row
 * POSITION[R]. */
void measures_sort(struct measures *measures, const struct strings *texts,
                   const uint32_t *position);

#endif

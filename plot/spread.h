/* The distribution of weighted values, as boxes and violins show it.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SPREAD_H
#define PLOT_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

struct spread_value {
    double value, weight;
};

/* A row of the picture, and its values: of runs, each with weight 1, or of functions. */
struct spread {
    char *name;                  /* owned */
    struct spread_value *values; /* owned; sorted by spread_sort */
    size_t count;
    bool weighted;    /* by functions */
    double bound;     /* of the values, if none is beyond: 0, or for relative errors -100 % */
    double mean;      /* set by spread_sort; NaN without values */
    double least;     /* set by spread_sort: where its violin ends */
    double low, high; /* set by spread_sort: what the axis must show */
    bool beyond;      /* the axis: not code, and so large that all code would be too small to see */
};

struct box {
    double low, q1, median, q3, high;
};

/* Extent of a violin beyond its values, in kernel widths. */
extern const double spread_reach;

/* The part of the weight at either end of a weighted spread that is outside of LOW and HIGH. */
extern const double spread_tail;

/* Sorts the values, and drops those that are NaN or have no weight. */
void spread_sort(struct spread *spread);

void spread_free(struct spread *spread);

/* Kish's effective number of values: as many equal weights would carry as much information. */
double spread_effective(const struct spread *spread);

/* The quantile for PART: of runs, interpolated between the two nearest values; of weighted values, the smallest one up
 * to which the values have this PART of the weight. SPREAD must have values. */
double spread_quantile(const struct spread *spread, double part);

/* Whiskers end at the last values within 1.5 times the height of the box, but never inside it, because
 * the quartiles of a few runs are between values. */
struct box spread_box(const struct spread *spread);

/* Silverman's rule for the kernel width, but at least 1e-4 of LARGEST. */
double spread_bandwidth(const struct spread *spread, double largest);

/* The density at AT, with kernels of WIDTH; its unit is arbitrary. */
double spread_density(const struct spread *spread, double at, double width);

#endif

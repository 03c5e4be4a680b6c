/* The distribution of weighted values, as shown by boxes and violins.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SPREAD_H
#define PLOT_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

struct spread_value {
    double value, weight;
};

/* A row of the picture, and its values: those of runs, each with weight 1, or those of
 * functions. */
struct spread {
    char *name;                  /* owned */
    struct spread_value *values; /* owned; sorted by spread_sort */
    size_t count;
    bool weighted;    /* the values are those of functions, with weights */
    double bound;     /* limit of violins unless a value is below: 0, or -100 % for relative
                       * errors */
    double mean;      /* set by spread_sort; NaN without values */
    double least;     /* set by spread_sort: lower limit of its violin */
    double low, high; /* set by spread_sort: the range that the axis must show */
    bool beyond;      /* not shown on the axis: not code, and so large that all code would be too
                       * small to see */
};

struct box {
    double low, q1, median, q3, high;
};

/* Extent of a violin beyond its values, in kernel widths. */
extern const double spread_reach;

/* The part of the weight of a weighted spread that is below LOW, and also above HIGH. */
extern const double spread_tail;

/* Sorts the values, and drops those that are not finite or have no weight. */
void spread_sort(struct spread *spread);

void spread_free(struct spread *spread);

/* Returns Kish's effective number of values: the number of equal weights that would carry as much
 * information. */
double spread_effective(const struct spread *spread);

/* Returns the quantile for PART. For runs, it is interpolated between the two nearest values; for
 * weighted values, it is the smallest value up to which the values have this PART of the weight.
 * SPREAD must have values. */
double spread_quantile(const struct spread *spread, double part);

/* Returns the box of SPREAD. Whiskers end at the last values within 1.5 times the height of the
 * box, but never inside the box: the quartiles of a few runs are between values. */
struct box spread_box(const struct spread *spread);

/* Returns the kernel width by Silverman's rule, but at least 1e-4 of LARGEST. */
double spread_bandwidth(const struct spread *spread, double largest);

/* Returns the density at AT, with kernels of WIDTH; its unit is arbitrary. */
double spread_density(const struct spread *spread, double at, double width);

#endif

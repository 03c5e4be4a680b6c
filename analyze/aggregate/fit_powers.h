/* The power of each row by least squares over the windows of the sensor, with its error.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_FIT_POWERS_H
#define ANALYZE_AGGREGATE_FIT_POWERS_H

#include "analyze/attribute/fit.h"
#include "base/error.h"

/* With fewer windows than this there is no answer; no more rows than FIT_MAX have a power of their own, the others, and those
 * with less than a thousandth of the CPU time, have one together. */
enum { FIT_LEAST_WINDOWS = 40, FIT_MAX = 64 };

/* Of a column of the sums, but for FIT_ENERGY. */
struct fit_power {
    double watt;     /* power [W], or rate of the quantity */
    double energy;   /* in all windows [J] */
    double interval; /* half of the 95 % interval of ENERGY [J]; NaN: not known */
    uint16_t like;   /* cannot be distinguished from this column, or FIT_NONE */
    bool rare; /* has its power in common with others, as it runs too little or they are too many */
};

/* Sets POWERS [fit->columns]. That of FIT_TIME is drawn whether or not threads run; it is 0, and LIKE another column, if it
 * cannot be distinguished from theirs. Returns 0, or -1 with ERR filled if the sums have no answer. */
int fit_powers(const struct fit *fit, struct fit_power *powers, struct error *err);

#endif

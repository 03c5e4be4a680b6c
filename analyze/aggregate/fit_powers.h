/* Estimates the power of each row, and its error, by least squares over the windows of the sensor.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_FIT_POWERS_H
#define ANALYZE_AGGREGATE_FIT_POWERS_H

#include "analyze/attribute/fit.h"
#include "base/error.h"

/* At least FIT_MIN_WINDOWS windows are needed. At most FIT_MAX_ROWS rows have powers of their own.
 * The others, and rows with less than a thousandth of the CPU time, share one power. */
enum { FIT_MIN_WINDOWS = 40, FIT_MAX_ROWS = 64 };

/* The result for one column of the sums (except FIT_ENERGY). */
struct fit_power {
    double watt;     /* [W], or the rate of the quantity */
    double energy;   /* in all windows [J] */
    double interval; /* half of the 95 % interval of ENERGY [J]; NaN: unknown */
    uint16_t like;   /* the column from which it cannot be distinguished, or FIT_NONE */
    bool rare;       /* it shares its power with other rows */
};

/* Sets POWERS [fit->columns]. ENTERED [fit->columns]: the part of the samples of the row that
 * follow a sample of another row. The power of FIT_TIME is drawn whether or not threads run; if it
 * cannot be distinguished from the power of a row, it is 0 and LIKE is set. Returns 0, or -1 with
 * ERR filled if the sums do not determine the powers. */
int fit_powers(const struct fit *fit, const double *entered, struct fit_power *powers,
               struct error *err);

/* The energies of windows that powers do not explain. */
struct fit_rest {
    double part; /* of the variance of energies; may be slightly negative */
    double windows;
};

/* Sets *REST for powers of all columns, whether or not they can be distinguished. MOVED: a lag of
 * the sensor has moved windows, which doubles the error of the moments of leaps. Returns 0, or -1
 * with ERR filled, like fit_powers. */
int fit_unexplained(const struct fit *fit, bool moved, struct fit_rest *rest, struct error *err);

#endif

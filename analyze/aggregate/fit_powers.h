/* Estimates the power of each row, and its error, by least squares over the windows of the sensor.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_FIT_POWERS_H
#define ANALYZE_AGGREGATE_FIT_POWERS_H

#include "analyze/attribute/fit.h"
#include "base/error.h"

/* At least FIT_MIN_WINDOWS windows are needed. At most FIT_MAX_ROWS rows have separate powers; the other rows, and rows
 * with less than a thousandth of the CPU time, share one. */
enum { FIT_MIN_WINDOWS = 40, FIT_MAX_ROWS = 64 };

/* The result for a column of the sums other than FIT_ENERGY. */
struct fit_power {
    double watt;     /* power [W], or rate of the quantity */
    double energy;   /* in all windows [J] */
    double interval; /* half of the 95 % interval of ENERGY [J]; NaN: unknown */
    uint16_t like;   /* the column from which it cannot be distinguished, or FIT_NONE */
    bool rare;       /* shares its power with other rows */
};

/* Sets POWERS [fit->columns]. ENTERED, of the same columns: the part of the row's samples that follow one of another row.
 * The power of FIT_TIME is drawn whether or not threads run; it is 0, and LIKE is set, if
 * it cannot be distinguished from the power of a row. Returns 0, or -1 with ERR filled if the sums do not determine
 * the powers. */
int fit_powers(const struct fit *fit, const double *entered, struct fit_power *powers,
               struct error *err);

/* What powers leave of the energies of windows. */
struct fit_rest {
    double part; /* of their variance; it can be slightly below 0 */
    double windows;
};

/* Sets *REST for powers of all columns, whether or not they can be distinguished. MOVED: a lag of the sensor has moved
 * windows, so that moments of leaps have twice the error. Returns as fit_powers. */
int fit_unexplained(const struct fit *fit, bool moved, struct fit_rest *rest, struct error *err);

#endif

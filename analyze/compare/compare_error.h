/* Error functions and aggregates: the difference between two profiles as a single number.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_COMPARE_COMPARE_ERROR_H
#define ANALYZE_COMPARE_COMPARE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* The error of a row with the base value b, the other value v, and the weight w (its share of one
 * side). */
enum error_function {
    ERROR_ERROR,             /* v - b */
    ERROR_ABSOLUTE,          /* |v - b| */
    ERROR_RELATIVE,          /* 100 (v - b) / b [%] */
    ERROR_ABSOLUTE_RELATIVE, /* 100 |v - b| / |b| [%] */
    ERROR_WEIGHTED_ERROR,    /* w times each of the four above */
    ERROR_WEIGHTED_ABSOLUTE,
    ERROR_WEIGHTED_RELATIVE,
    ERROR_WEIGHTED_ABSOLUTE_RELATIVE,
    ERROR_CORRECT, /* not an error but the common part: min(b, v); 0 unless v > 0 */
    ERROR_FUNCTIONS
};

/* The aggregate of the errors e_i of the n rows that have an error. */
enum error_aggregate {
    AGGREGATE_SUM, /* sum(e) */
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_MEAN,          /* sum(e) / n */
    AGGREGATE_WEIGHTED_MEAN, /* sum(w e) / sum(w) */
    AGGREGATE_RMSE,          /* sqrt(sum(e^2) / n) */
    AGGREGATE_WEIGHTED_RMSE, /* sqrt(sum(w e^2) / sum(w)) */
    /* [%] of a total T, that of the other side or of the base: see error_aggregate_is_share */
    AGGREGATE_ERROR, /* 100 (T - sum(e)) / T */
    AGGREGATE_ERROR_BASELINE,
    AGGREGATE_RELATIVE, /* 100 sum(e) / T */
    AGGREGATE_RELATIVE_BASELINE,
    ERROR_AGGREGATES
};

/* The names that the options and tables of pbin-compare use. */
const char *error_function_name(enum error_function function);
const char *error_aggregate_name(enum error_aggregate aggregate);
/* The inverse, which also accepts the names in the original scripts (relative_error, wmean, ...);
 * -1 if unknown. */
int error_function_parse(const char *name);
int error_aggregate_parse(const char *name);

/* Returns whether it is a percentage, whatever the unit of the values is. */
bool error_function_is_relative(enum error_function function);

/* Returns whether it is a percentage of a total. The errors passed to it must already be
 * percentages of this total (100 e / T). */
bool error_aggregate_is_share(enum error_aggregate aggregate);
/* Returns whether this total is that of the base. */
bool error_aggregate_is_of_base(enum error_aggregate aggregate);

/* NaN if the error is undefined: a value is missing, or the error is relative to 0. */
double error_of(enum error_function function, double base, double value, double weight);

/* Ignores errors that are NaN. Returns NaN if all of them are. */
double error_aggregate(enum error_aggregate aggregate, const double *errors, const double *weights,
                       size_t count);

#endif

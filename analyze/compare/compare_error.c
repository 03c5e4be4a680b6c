/* Error functions and aggregates.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/compare_error.h"

#include <math.h>
#include <string.h>

#include "base/name_list.h"

static const char *const functions[ERROR_FUNCTIONS] = {
    "error",          "absolute",          "relative",          "absolute-relative",
    "weighted-error", "weighted-absolute", "weighted-relative", "weighted-absolute-relative",
    "correct"};
static const char *const aggregates[ERROR_AGGREGATES] = {"sum",
                                                         "min",
                                                         "max",
                                                         "mean",
                                                         "weighted-mean",
                                                         "rmse",
                                                         "weighted-rmse",
                                                         "error",
                                                         "error-baseline",
                                                         "relative",
                                                         "relative-baseline"};

/* The names in the original scripts. */
struct alias {
    const char *theirs, *ours;
};
static const struct alias function_aliases[] = {
    {"relative_error", "relative"},
    {"absolute_error", "absolute"},
    {"weighted_error", "weighted-error"},
    {"absolute_weighted_error", "weighted-absolute"},
    {"absolute_relative_error", "absolute-relative"},
    {"weighted_relative_error", "weighted-relative"},
    {"absolute_weighted_relative_error", "weighted-absolute-relative"},
    {NULL, NULL}};
static const struct alias aggregate_aliases[] = {{"total", "sum"},
                                                 {"wmean", "weighted-mean"},
                                                 {"wrmse", "weighted-rmse"},
                                                 {"error_baseline", "error-baseline"},
                                                 {"relative_baseline", "relative-baseline"},
                                                 {NULL, NULL}};

static int find(const char *const *names, size_t count, const struct alias *aliases,
                const char *name)
{
    for (; aliases->theirs != NULL; aliases++)
        if (strcmp(aliases->theirs, name) == 0)
            name = aliases->ours;
    return name_find(names, count, name);
}

const char *error_function_name(enum error_function function)
{
    return functions[function];
}

const char *error_aggregate_name(enum error_aggregate aggregate)
{
    return aggregates[aggregate];
}

int error_function_parse(const char *name)
{
    return find(functions, ERROR_FUNCTIONS, function_aliases, name);
}

int error_aggregate_parse(const char *name)
{
    return find(aggregates, ERROR_AGGREGATES, aggregate_aliases, name);
}

bool error_function_is_relative(enum error_function function)
{
    int plain = function % ERROR_WEIGHTED_ERROR;
    return plain == ERROR_RELATIVE || plain == ERROR_ABSOLUTE_RELATIVE;
}

bool error_aggregate_is_share(enum error_aggregate aggregate)
{
    return aggregate >= AGGREGATE_ERROR;
}

bool error_aggregate_is_of_base(enum error_aggregate aggregate)
{
    return aggregate == AGGREGATE_ERROR_BASELINE || aggregate == AGGREGATE_RELATIVE_BASELINE;
}

double error_of(enum error_function function, double base, double value, double weight)
{
    int plain = function % ERROR_WEIGHTED_ERROR;
    double error = value - base;
    if (function == ERROR_CORRECT)
        return isnan(error) ? NAN : value > 0 ? fmin(base, value) : 0;
    if (error_function_is_relative(function))
        error = base != 0 ? 100 * error / base : NAN;
    if (plain == ERROR_ABSOLUTE || plain == ERROR_ABSOLUTE_RELATIVE)
        error = fabs(error);
    return function >= ERROR_WEIGHTED_ERROR ? weight * error : error;
}

/* The sums from which aggregates are computed. */
struct sums {
    double count, sum, squares, least, most;
    double weights, weighted, weighted_squares;
};

static struct sums add_up(const double *errors, const double *weights, size_t count)
{
    struct sums s = {.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < count; i++) {
        double e = errors[i], w = isnan(weights[i]) ? 0 : weights[i];
        if (isnan(e))
            continue;
        s.count++;
        s.sum += e;
        s.squares += e * e;
        s.least = fmin(s.least, e);
        s.most = fmax(s.most, e);
        s.weights += w;
        s.weighted += w * e;
        s.weighted_squares += w * e * e;
    }
    return s;
}

double error_aggregate(enum error_aggregate aggregate, const double *errors, const double *weights,
                       size_t count)
{
    struct sums s = add_up(errors, weights, count);
    const double all[ERROR_AGGREGATES] = {
        [AGGREGATE_SUM] = s.sum,
        [AGGREGATE_MIN] = s.least,
        [AGGREGATE_MAX] = s.most,
        [AGGREGATE_MEAN] = s.sum / s.count,
        [AGGREGATE_WEIGHTED_MEAN] = s.weights > 0 ? s.weighted / s.weights : NAN,
        [AGGREGATE_RMSE] = sqrt(s.squares / s.count),
        [AGGREGATE_WEIGHTED_RMSE] = s.weights > 0 ? sqrt(s.weighted_squares / s.weights) : NAN,
        [AGGREGATE_ERROR] = 100 - s.sum,
        [AGGREGATE_ERROR_BASELINE] = 100 - s.sum,
        [AGGREGATE_RELATIVE] = s.sum,
        [AGGREGATE_RELATIVE_BASELINE] = s.sum,
    };
    return s.count > 0 ? all[aggregate] : NAN;
}

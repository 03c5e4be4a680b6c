/* The lag of a power sensor.
 *
 * With a wrong lag, energies are compared with code that ran earlier or later, and powers explain
 * less of them:
 *
 *   unexplained |*
 *               |   *               *
 *               |      *        *
 *               |         *  *
 *               +--------------------- lag
 *
 * There can be several minima, because phases of programs recur. All lags are therefore tried in
 * steps of a quarter of an update; then the interval around the best one is divided by golden
 * sections.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/sensor_lag.h"

#include <math.h>
#include <sys/stat.h>

#include "analyze/aggregate/fit_powers.h"

enum { STEPS = 16, SECTIONS = 8 };
static const double step = 0.25, golden = 0.6180339887498949; /* STEP: in updates */
/* A lag other than 0 must explain this part of the energy that is unexplained without it. With few
 * windows, the part must be larger, because chance could explain it. */
static const double min_gain = 0.2, chance = 4; /* divided by the square root of windows */

struct search {
    const struct inputs *inputs;
    struct aggregate_options options;
    double update;  /* time between updates of the sensor [s] */
    double windows; /* number without a lag */
    const struct reporter *reporter;
};

struct attempt {
    double lag, unexplained;
};

/* Sets UNEXPLAINED for the lag of TO, and the time between updates. Returns 0, or -1 with ERR
 * filled. */
static int try_lag(struct search *s, struct attempt *to, struct error *err)
{
    struct reporter silent = {.quiet = true};
    struct fit_rest rest = {0};
    double samples;
    s->options.rows.weigh.lag = to->lag;
    struct aggregate *a = aggregate_new(&s->options);
    int result = inputs_aggregate(s->inputs, a, &silent, err);
    if (result == 0)
        result = aggregate_unexplained(a, to->lag > 0, &rest, err);
    if (result == 0 && to->lag == 0) {
        s->update = aggregate_window(a, &samples);
        s->windows = rest.windows;
    }
    to->unexplained = rest.part;
    if (result == 0)
        report_verbose(s->reporter, "--sensor-lag=%.6f: %.3f %% of the variance is unexplained",
                       to->lag, 100 * to->unexplained);
    aggregate_delete(a);
    return result;
}

/* Some lags leave too few windows, and cannot be the best ones. */
static struct attempt attempt_at(struct search *s, double lag)
{
    struct attempt a = {.lag = lag};
    struct error ignored = {0};
    if (try_lag(s, &a, &ignored) != 0)
        a.unexplained = INFINITY;
    return a;
}

static struct attempt best_of(struct attempt a, struct attempt b)
{
    return b.unexplained < a.unexplained ? b : a;
}

/* The best lag between LOW and HIGH, where unexplained energy has a single minimum. */
static struct attempt divide(struct search *s, double low, double high)
{
    struct attempt a = attempt_at(s, high - golden * (high - low));
    struct attempt b = attempt_at(s, low + golden * (high - low));
    for (int i = 2; i < SECTIONS; i++) {
        if (a.unexplained < b.unexplained) {
            high = b.lag;
            b = a;
            a = attempt_at(s, high - golden * (high - low));
        } else {
            low = a.lag;
            a = b;
            b = attempt_at(s, low + golden * (high - low));
        }
    }
    return best_of(a, b);
}

static int check_files(const struct inputs *inputs, struct error *err)
{
    struct stat about;
    for (size_t i = 0; i < inputs->count; i++) {
        const char *path = inputs->paths[i];
        if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
            return error_set(err, path, NO_OFFSET,
                             "--sensor-lag=auto reads profiles several times: save this one to a "
                             "file, and give its name");
    }
    return 0;
}

int sensor_lag_find(const struct inputs *inputs, const struct aggregate_options *options,
                    const struct reporter *reporter, double *lag, struct error *err)
{
    struct search s = {.inputs = inputs, .options = *options, .reporter = reporter};
    struct attempt none = {.lag = 0}, best;
    s.options.rows.keys = pbin_keys_of("binary,function");
    s.options.rows.fit = s.options.rows.weigh.undivided = true;
    s.options.rows.weigh.model = NULL;
    if (check_files(inputs, err) != 0 || try_lag(&s, &none, err) != 0)
        return -1;
    best = none;
    for (int i = 1; i <= STEPS && s.update > 0; i++)
        best = best_of(best, attempt_at(&s, i * step * s.update));
    double low = fmax(best.lag - step * s.update, 0), high = best.lag + step * s.update;
    best = best_of(best, divide(&s, low, high));
    double gain = fmax(min_gain, chance / sqrt(s.windows));
    *lag = best.unexplained < (1 - gain) * none.unexplained ? round(best.lag * 1e6) / 1e6 : 0;
    return 0;
}

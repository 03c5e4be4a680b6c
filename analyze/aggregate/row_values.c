/* Converts exact sums to numbers in SI units.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "analyze/aggregate/row_values.h"
#include "analyze/statistics/welch.h"
#include "base/name_list.h"

enum { NS_PER_S = 1000000000 };

static const char *const metrics[METRICS] = {"time",    "energy", "power",    "samples",
                                             "entries", "calls",  "inclusive"};

const char *row_metric_name(enum row_metric metric)
{
    return metrics[metric];
}

int row_metric_parse(const char *name)
{
    return name_find(metrics, METRICS, name);
}

void row_values_of(const struct pbin_sums *sums, size_t runs, struct row_values *values)
{
    uint64_t n = runs > 0 ? runs : 1;
    values->time = exact_to_double(sums->time, TIME_SHIFT, n * NS_PER_S);
    values->energy = exact_to_double(sums->energy, ENERGY_SHIFT, n);
    values->power = sums->time > 0 ? values->energy / values->time : NAN;
    values->samples = exact_to_double(sums->samples, SAMPLES_SHIFT, n);
    values->calls = values->inclusive = NAN;
    values->entries = sums->entries == UINT64_MAX ? NAN : (double)sums->entries / (double)n;
}

double row_value(const struct row_values *values, enum row_metric metric)
{
    const double all[METRICS] = {values->time,    values->energy, values->power,    values->samples,
                                 values->entries, values->calls,  values->inclusive};
    return all[metric];
}

static double least(exact value, bool everywhere)
{
    return everywhere || value < 0 ? (double)value : 0;
}

static double greatest(exact value, bool everywhere)
{
    return everywhere || value > 0 ? (double)value : 0;
}

void row_spread_of(const struct pbin_sums *sums, size_t runs, struct row_spread *spread)
{
    *spread = (struct row_spread){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (runs < 2)
        return;
    bool everywhere = sums->runs >= runs;
    double ns = ldexp(1, -TIME_SHIFT) / NS_PER_S, joule = ldexp(1, -ENERGY_SHIFT);
    double t = student_quantile(0.95, (double)runs - 1) / sqrt((double)runs);
    spread->time_sd = sqrt(exact_variance(sums->time, &sums->time_sq, runs, TIME_SHIFT)) / NS_PER_S;
    spread->energy_sd = sqrt(exact_variance(sums->energy, &sums->energy_sq, runs, ENERGY_SHIFT));
    spread->time_ci = t * spread->time_sd;
    spread->energy_ci = t * spread->energy_sd;
    spread->time_min = least(sums->time_min, everywhere) * ns;
    spread->time_max = greatest(sums->time_max, everywhere) * ns;
    spread->energy_min = least(sums->energy_min, everywhere) * joule;
    spread->energy_max = greatest(sums->energy_max, everywhere) * joule;
}

void row_sums_join(struct pbin_sums *to, const struct pbin_sums *from)
{
    to->time += from->time;
    to->energy += from->energy;
    to->samples += from->samples;
    to->entries = to->entries == UINT64_MAX || from->entries == UINT64_MAX
                      ? UINT64_MAX
                      : to->entries + from->entries;
}

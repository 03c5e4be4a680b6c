/* Sums over runs.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin.h"

struct pbin_sums pbin_sums_of_run(exact samples, uint64_t entries, exact time, exact energy)
{
    struct pbin_sums sums = {
        .samples = samples,
        .entries = entries,
        .time = time,
        .energy = energy,
        .time_min = time,
        .time_max = time,
        .energy_min = energy,
        .energy_max = energy,
        .runs = 1,
    };
    wide_add_square(&sums.time_sq, time);
    wide_add_square(&sums.energy_sq, energy);
    return sums;
}

static void widen(exact *least, exact *most, exact other_least, exact other_most)
{
    *least = other_least < *least ? other_least : *least;
    *most = other_most > *most ? other_most : *most;
}

/* Adds FROM to *TO. Returns whether the sum overflows or reaches UINT64_MAX, which means "not
 * known". */
static bool entries_overflow(uint64_t *to, uint64_t from)
{
    if (*to == UINT64_MAX || from == UINT64_MAX) {
        *to = UINT64_MAX;
        return false;
    }
    return __builtin_add_overflow(*to, from, to) || *to == UINT64_MAX;
}

bool pbin_sums_merge(struct pbin_sums *to, const struct pbin_sums *from)
{
    if (to->runs == 0) {
        *to = *from;
        return true;
    }
    bool overflow = entries_overflow(&to->entries, from->entries);
    overflow |= __builtin_add_overflow(to->samples, from->samples, &to->samples);
    overflow |= __builtin_add_overflow(to->time, from->time, &to->time);
    overflow |= __builtin_add_overflow(to->energy, from->energy, &to->energy);
    wide_add(&to->time_sq, &from->time_sq);
    wide_add(&to->energy_sq, &from->energy_sq);
    widen(&to->time_min, &to->time_max, from->time_min, from->time_max);
    widen(&to->energy_min, &to->energy_max, from->energy_min, from->energy_max);
    overflow |= __builtin_add_overflow(to->runs, from->runs, &to->runs);
    return !overflow;
}

struct pbin_value pbin_value_of_run(exact value)
{
    struct pbin_value result = {.value = value, .runs = 1, .least = value, .most = value};
    wide_add_square(&result.square, value);
    return result;
}

bool pbin_value_merge(struct pbin_value *to, const struct pbin_value *from,
                      enum pbin_measure_join join)
{
    bool overflow = false;
    if (to->runs == 0 || from->runs == 0) {
        *to = from->runs == 0 ? *to : *from;
        return true;
    }
    if (join == PBIN_MIN)
        to->value = from->value < to->value ? from->value : to->value;
    else if (join == PBIN_MAX)
        to->value = from->value > to->value ? from->value : to->value;
    else
        overflow = __builtin_add_overflow(to->value, from->value, &to->value);
    wide_add(&to->square, &from->square);
    widen(&to->least, &to->most, from->least, from->most);
    overflow |= __builtin_add_overflow(to->runs, from->runs, &to->runs);
    return !overflow;
}

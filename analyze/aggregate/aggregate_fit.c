/* Rows whose energies come from least squares over the windows of the sensor.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/fit_powers.h"
#include "base/memory.h"

/* Idle power cannot be distinguished from that of any row if no time is idle. */
#define EVERY_ROW "every row"
/* Old profiles do not record how often rows were entered; this is the entries per sample of rows
 * that last ten samples. */
#define UNKNOWN_ENTRIES 0.1

uint32_t *aggregate_positions(const struct aggregate *a)
{
    uint32_t *position = mem_alloc((a->rows.count + 1) * sizeof *position);
    for (uint32_t r = 0; r < a->rows.count; r++) {
        size_t size = a->rows.key_count * sizeof a->rows.rows[r].key[0];
        position[strings_intern_bytes(a->rows.tuples, (const char *)a->rows.rows[r].key, size) -
                 1] = r;
    }
    return position;
}

/* The last text among the keys of a row: its most specific name. */
static const char *name_of(const struct aggregate *a, uint32_t row)
{
    const char *name = LABEL_OTHER; /* used if all keys are numbers */
    for (size_t i = 0; i < a->rows.key_count; i++)
        if (a->rows.is_text[i])
            name = strings_get(a->rows.texts, (uint32_t)a->rows.rows[row].key[i]);
    return name;
}

/* The name that distinguishes OTHER from ROW: its last text, preceded, if ROW has the same text
 * there, by the first text that differs: "libc.so.6 clock_gettime". */
static const char *name_beside(const struct aggregate *a, uint32_t row, uint32_t other)
{
    const char *name = name_of(a, other);
    if (strcmp(name, name_of(a, row)) != 0)
        return name;
    for (size_t i = 0; i < a->rows.key_count; i++) {
        uint32_t text = (uint32_t)a->rows.rows[other].key[i];
        if (!a->rows.is_text[i] || text == (uint32_t)a->rows.rows[row].key[i])
            continue;
        char *both = mem_printf("%s %s", strings_get(a->rows.texts, text), name);
        name = strings_get(a->rows.texts, strings_intern(a->rows.texts, both));
        free(both);
        break;
    }
    return name;
}

static void set_energy(struct aggregate *a, uint32_t row, double joule, exact *left)
{
    struct pbin_sums *sums = &a->rows.rows[row].sums;
    bool fits = exact_fits(joule, ENERGY_SHIFT, 16);
    sums->energy = fits ? exact_of_double(joule, ENERGY_SHIFT) : 0;
    a->rows.overflow |= !fits || __builtin_sub_overflow(*left, sums->energy, left);
}

/* Removes the energies of all rows except gaps. Returns their sum. */
static exact take_energies(struct aggregate *a)
{
    exact sum = 0;
    for (uint32_t r = 0; r < a->rows.count; r++) {
        struct pbin_sums *sums = &a->rows.rows[r].sums;
        if (aggregate_has_label(a, &a->rows.rows[r], LABEL_GAP))
            continue;
        a->rows.overflow |= __builtin_add_overflow(sum, sums->energy, &sum);
        sums->energy = 0;
    }
    return sum;
}

static exact time_without_column(const struct aggregate *a, const uint32_t *position,
                                 const bool *has_column)
{
    exact sum = 0;
    for (uint32_t r = 0; r < a->rows.count; r++)
        if (!has_column[position[r]])
            sum += a->rows.rows[position[r]].sums.time;
    return sum;
}

/* Rows without their own column share the power of all of these rows together. */
static void share_rest(struct aggregate *a, const struct fit_power *rest, const bool *has_column,
                       exact time, exact *left)
{
    for (uint32_t r = 0; r < a->rows.count; r++) {
        const struct pbin_sums *sums = &a->rows.rows[r].sums;
        if (has_column[r] || sums->time <= 0)
            continue;
        double part =
            exact_approximate(sums->time, TIME_SHIFT) / exact_approximate(time, TIME_SHIFT);
        set_energy(a, r, rest->energy * part, left);
        a->fitted[r].like = LABEL_OTHER;
    }
}

/* The row of LABEL, or the row of excluded samples. */
static uint32_t row_of_label(struct aggregate *a, const char *label, const uint32_t *position)
{
    uint32_t row = rowset_find_label(&a->rows, label);
    if (aggregate_selects(a, a->rows.rows[position[row]].key, a->meta.target))
        return position[row];
    return position[key_find_excluded(&a->rows)];
}

/* Adds energy, the sum over all runs, to the row of LABEL. Returns the number of the row. */
static uint32_t put_label(struct aggregate *a, const char *label, exact energy,
                          const uint32_t *position)
{
    uint32_t row = row_of_label(a, label, position);
    struct pbin_sums *sums = &a->rows.rows[row].sums;
    if (sums->runs == 0 || aggregate_has_label(a, &a->rows.rows[row], label))
        sums->runs = a->run_count;
    a->rows.overflow |= __builtin_add_overflow(sums->energy, energy, &sums->energy);
    return row;
}

static const char *like_name(const struct aggregate *a, uint32_t row, const struct fit_power *power,
                             const uint32_t *position)
{
    if (power->rare || power->like == FIT_REST)
        return LABEL_OTHER;
    if (power->like == FIT_NONE)
        return NULL;
    return power->like == FIT_TIME ? LABEL_IDLE
                                   : name_beside(a, row, position[a->fit->row[power->like]]);
}

static void put_rows(struct aggregate *a, const struct fit_power *powers, const uint32_t *position,
                     exact left)
{
    bool *has_column = mem_zalloc(a->rows.count + 1, sizeof *has_column);
    for (size_t c = FIT_ROW; c < a->fit->columns; c++) {
        uint32_t row = position[a->fit->row[c]];
        has_column[row] = true;
        set_energy(a, row, powers[c].energy, &left);
        a->fitted[row] =
            (struct fitted){powers[c].interval, like_name(a, row, &powers[c], position)};
    }
    share_rest(a, &powers[FIT_REST], has_column, time_without_column(a, position, has_column),
               &left);
    const struct fit_power *idle = &powers[FIT_TIME];
    exact energy = 0;
    if (exact_fits(idle->energy, ENERGY_SHIFT, 16))
        energy = exact_of_double(idle->energy, ENERGY_SHIFT);
    a->rows.overflow |= __builtin_sub_overflow(left, energy, &left);
    uint32_t row = put_label(a, LABEL_IDLE, energy, position);
    a->fitted[row] = (struct fitted){idle->interval, idle->like != FIT_NONE ? EVERY_ROW : NULL};
    put_label(a, LABEL_RESIDUAL, left, position);
    free(has_column);
}

/* The entries per sample of the row of each column. */
static double *entries_of(const struct aggregate *a, const uint32_t *position)
{
    double *entered = mem_zalloc(a->fit->columns, sizeof *entered);
    for (size_t c = FIT_ROW; c < a->fit->columns; c++) {
        const struct pbin_sums *sums = &a->rows.rows[position[a->fit->row[c]]].sums;
        double samples = exact_approximate(sums->samples, 64);
        entered[c] = samples > 0 && sums->entries != UINT64_MAX
                         ? fmin(1, (double)sums->entries / samples)
                         : UNKNOWN_ENTRIES;
    }
    return entered;
}

int aggregate_fit(struct aggregate *a, struct error *err)
{
    struct fit_power *powers = mem_zalloc(a->fit->columns, sizeof *powers);
    uint32_t *position = aggregate_positions(a);
    double *entered = entries_of(a, position);
    int result = fit_powers(a->fit, entered, powers, err);
    if (result == 0) {
        a->fitted = mem_alloc((a->rows.count + 1) * sizeof *a->fitted);
        for (size_t r = 0; r < a->rows.count; r++)
            a->fitted[r] = (struct fitted){NAN, NULL};
        put_rows(a, powers, position, take_energies(a));
        if (a->rows.overflow)
            result = aggregate_too_large(NULL, err);
    }
    free(position);
    free(entered);
    free(powers);
    return result;
}

int aggregate_unexplained(const struct aggregate *a, bool moved, struct fit_rest *rest,
                          struct error *err)
{
    return fit_unexplained(a->fit, moved, rest, err);
}

const struct fitted *aggregate_fitted(const struct aggregate *a, size_t number)
{
    return a->fitted != NULL ? &a->fitted[number] : NULL;
}

/* The static part of energies.
 *
 * A baseline of P watts is P x wall joules in a run. The default model divides energy by CPU time
 * while CPUs are busy, and assigns the rest to _idle. The static part is divided in the same way,
 * using the sums of rows:
 *
 *   busy = wall - max(wall - CPU time of all, wall x energy of _idle / energy of all)
 *   row: P x busy x its CPU time / CPU time of all      _idle: P x (wall - busy)
 *
 * Other programs have no CPU time in an aggregate, but power was divided by CPU time in their busy
 * intervals, so that the ratio of their time to that of the rows is the ratio of the energies. _gap
 * has the same part of the wall time as of the energy, and _idle has at least that part, because
 * simultaneous threads use more CPU time than wall time. The static energy of _idle does not exceed
 * its energy: if the model assigns a negligible idle time to rows, they also get its static energy.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/static_energy.h"

#include <math.h>
#include <string.h>

#include "analyze/attribute/words.h"

struct shares {
    double wall, busy, used; /* [s]; USED: CPU time, including that of other programs */
    double own, others;      /* [J] */
    double gap;              /* part of WALL [s] */
};

static bool has(const struct aggregate *a, size_t row, const char *label)
{
    return aggregate_has_label(a, aggregate_row(a, row), label);
}

static double seconds(const struct pbin_row *row)
{
    return exact_approximate(row->sums.time, TIME_SHIFT) / 1e9;
}

static void find_shares(const struct aggregate *a, double watts, struct shares *s)
{
    *s = (struct shares){.wall = (double)aggregate_meta(a)->wall_ns / 1e9};
    double own_time = 0, all = 0, idle = 0;
    for (size_t r = 0; r < aggregate_row_count(a); r++) {
        const struct pbin_row *row = aggregate_row(a, r);
        double joule = exact_approximate(row->sums.energy, ENERGY_SHIFT);
        bool gap = has(a, r, LABEL_GAP), others = has(a, r, LABEL_OTHERS);
        all += joule;
        s->gap += gap ? joule : 0;
        s->others += others ? joule : 0;
        idle += has(a, r, LABEL_IDLE) ? joule : 0;
        s->own += gap || others || has(a, r, LABEL_IDLE) ? 0 : joule;
        own_time += gap ? 0 : seconds(row);
    }
    double per_joule = all > 0 ? s->wall / all : 0;
    s->gap = fmin(fmax(s->gap * per_joule, 0), s->wall);
    s->used = own_time;
    if (s->others > 0 && s->own > 0)
        s->used += own_time * s->others / s->own;
    double left = s->wall - s->gap, spare = fmax(left - s->used, idle * per_joule);
    s->busy = left - fmin(fmin(fmax(spare, 0), left), fmax(idle, 0) / watts);
}

/* The part of the wall time for which a row is charged [s]. */
static double charged(const struct aggregate *a, const struct shares *s, size_t r)
{
    double per_used = s->used > 0 ? s->busy / s->used : 0;
    if (has(a, r, LABEL_GAP))
        return s->gap;
    if (has(a, r, LABEL_IDLE))
        return s->wall - s->gap - s->busy;
    if (has(a, r, LABEL_OTHERS))
        return s->own > 0 && s->others > 0 ? per_used * s->used * s->others / (s->own + s->others)
                                           : 0;
    return per_used * seconds(aggregate_row(a, r));
}

/* Uses the static energy that least squares determined: the energies of rows exclude idle power. */
static int take_fitted(const struct aggregate *a, exact *part)
{
    for (size_t r = 0; r < aggregate_row_count(a); r++)
        part[r] = has(a, r, LABEL_IDLE) ? aggregate_row(a, r)->sums.energy : 0;
    return 0;
}

/* Returns whether some energies are not in rows, and therefore cannot be divided. */
static bool is_filtered(const struct aggregate *a)
{
    for (size_t r = 0; r < aggregate_row_count(a); r++) {
        const struct pbin_row *row = aggregate_row(a, r);
        if (row->sums.runs > 0 && aggregate_is_excluded(a, row))
            return true;
    }
    return false;
}

static int check(const struct aggregate *a, double watts, struct error *err)
{
    const struct quantity *q = aggregate_quantity(a);
    const char *words = aggregate_meta(a)->attribution;
    if (q->name == NULL || strcmp(q->name, "energy") != 0)
        return error_set(err, NULL, NO_OFFSET, "--static: the profile has no energies");
    if (words != NULL && !attribution_has(words, "energy-model=share"))
        return error_set(err, NULL, NO_OFFSET,
                         "--static needs --energy-model=share or fit: with the other models, rows "
                         "include the energy of idle time");
    if (is_filtered(a))
        return error_set(err, NULL, NO_OFFSET,
                         "--static needs all rows: filters exclude idle time and other programs");
    if (!(watts > 0))
        return error_set(err, NULL, NO_OFFSET,
                         "--static: the profiles have no baseline of %s, or different ones: record "
                         "with sampler --baseline, or give it (--static=12.5)",
                         aggregate_meta(a)->value != NULL ? aggregate_meta(a)->value : "the value");
    if (aggregate_meta(a)->wall_ns == 0)
        return error_set(err, NULL, NO_OFFSET, "--static: the wall time is not known");
    if (!exact_fits(watts * (double)aggregate_meta(a)->wall_ns / 1e9, ENERGY_SHIFT, 2))
        return error_set(err, NULL, NO_OFFSET, "--static: a baseline of %g W is too large", watts);
    return 0;
}

int static_energies(const struct aggregate *a, double watts, exact *part, struct error *err)
{
    struct shares shares;
    if (aggregate_row_count(a) > 0 && aggregate_fitted(a, 0) != NULL)
        return take_fitted(a, part);
    watts = watts > 0 ? watts : aggregate_meta(a)->baseline_w;
    if (check(a, watts, err) != 0)
        return -1;
    find_shares(a, watts, &shares);
    for (size_t r = 0; r < aggregate_row_count(a); r++)
        part[r] = exact_of_double(watts * charged(a, &shares, r), ENERGY_SHIFT);
    return 0;
}

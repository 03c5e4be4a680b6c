/* The values of a late sensor.
 *
 *   samples   |----1----|--2--|-----3-----|---4---|
 *   values        :---------:-----:-----------:         of the same times, one lag later: means of what is recorded there
 *
 * A counter that is read with each sample leaps at the end of an interval between others of 0: a leap moves as a whole, to the
 * interval in which it would have been seen.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/lag.h"

static exact interval_of(const struct late_samples *l, size_t i)
{
    return l->even > 0 ? l->even : (exact)l->in->interval_ns[i] << TIME_SHIFT;
}

bool lag_is_covered(const struct late_samples *l, size_t count)
{
    exact after = 0;
    size_t i = l->next + count;
    for (; i < l->in->count && after < l->lag; i++)
        after += interval_of(l, i);
    return after >= l->lag && i < l->in->count; /* one more shows whether the last leaps */
}

/* The sample that is reached, and the time of its ends since the beginning of the window. */
struct place {
    size_t sample;
    exact begin, end;
};

static bool is_leap(const struct late_samples *l, size_t i)
{
    const double *value = l->in->value;
    double before = i > l->next ? value[i - 1] : l->before;
    return value[i] != 0 && before == 0 && (i + 1 == l->in->count || value[i + 1] == 0);
}

/* The sum of value * time from BEGIN to END [2^-32 ns]. */
static double add_between(const struct late_samples *l, struct place *p, exact begin, exact end)
{
    double sum = 0;
    while (p->sample < l->in->count) {
        double value = l->in->value[p->sample];
        if (p->end > begin && is_leap(l, p->sample)) {
            sum += p->end <= end ? value * (double)(p->end - p->begin) : 0;
        } else if (p->end > begin) {
            exact from = p->begin > begin ? p->begin : begin, to = p->end < end ? p->end : end;
            sum += from < to ? value * (double)(to - from) : 0;
        }
        if (p->end > end)
            return sum;
        p->begin = p->end;
        p->sample++;
        if (p->sample < l->in->count)
            p->end += interval_of(l, p->sample);
    }
    exact from = p->end > begin ? p->end : begin;
    return from < end ? sum + l->in->value[l->in->count - 1] * (double)(end - from) : sum;
}

void lag_move(const struct late_samples *l, size_t count, double *value)
{
    struct place p = {l->next, 0, interval_of(l, l->next)};
    exact at = l->lag;
    for (size_t i = 0; i < count; i++) {
        exact interval = interval_of(l, l->next + i);
        double sum = add_between(l, &p, at, at + interval);
        value[i] = interval > 0 ? sum / (double)interval : l->in->value[l->next + i];
        at += interval;
    }
}

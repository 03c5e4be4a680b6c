/* The values of a sensor with a lag.
 *
 *   samples   |----1----|--2--|-----3-----|---4---|
 *   values        :---------:-----:-----------:       for the same durations, one lag later: means
 *                                                     of the values recorded there
 *
 * A counter that is read with each sample leaps at the end of an interval, and is 0 in the
 * intervals around it. A leap is moved as a whole, to the interval in which it would have been seen
 * without the lag.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/lag.h"

static exact interval_of(const struct late_samples *l, size_t i)
{
    return l->even > 0 ? l->even : (exact)l->in->interval_ns[i] << TIME_SHIFT;
}

enum {
    AROUND = 2 /* samples before and after one that show if the sensor was updated in it */
};

bool lag_is_covered(const struct late_samples *l, size_t count)
{
    exact after = 0;
    size_t i = l->next + count;
    for (; i < l->in->count && after < l->lag; i++)
        after += interval_of(l, i);
    return after >= l->lag && i + AROUND < l->in->count;
}

/* A value that the sensor shows from BEGIN to END [2^-32 ns since the beginning of the window]. */
struct level {
    double value;
    exact begin, end;
};

/* The current position of a walk over the samples. */
struct place {
    size_t sample;
    exact begin, end;       /* of the sample, since the beginning of the window */
    struct level levels[2]; /* the values that the sensor shows in it */
    size_t count;
    double value; /* of the previous level, if ANY */
    bool any;
};

static bool is_leap(const struct late_samples *l, size_t i)
{
    const double *value = l->in->value;
    double before = i > l->next ? value[i - 1] : l->before;
    return value[i] != 0 && before == 0 && (i + 1 == l->in->count || value[i + 1] == 0);
}

/* The part of sample I before an update in it, if that is between two values that persist;
 * otherwise 1. */
static double cut_of(const struct late_samples *l, size_t i)
{
    const double *value = l->in->value;
    if ((l->own && l->in->threads[i] == 0) || i < l->next + AROUND || i + AROUND >= l->in->count ||
        !stretch_same_power(value[i - 2], value[i - 1]) ||
        !stretch_same_power(value[i + 2], value[i + 1]))
        return 1;
    return stretch_cut(value[i - 1], value[i], value[i + 1]);
}

static void go_to(const struct late_samples *l, struct place *p, size_t sample, exact begin)
{
    const double *value = l->in->value;
    double cut = cut_of(l, sample);
    p->sample = sample;
    p->begin = begin;
    p->end = begin + interval_of(l, sample);
    p->levels[0] = (struct level){value[sample], p->begin, p->end};
    p->count = 1;
    if (!(cut < 1))
        return;
    exact middle = begin + (exact)(cut * (double)(p->end - begin));
    p->levels[0] = (struct level){value[sample - 1], begin, middle};
    p->levels[1] = (struct level){value[sample + 1], middle, p->end};
    p->count = 2;
}

/* An interval of the window. */
struct late_interval {
    exact begin, end;
    double sum; /* sum of value * time so far [2^-32 ns] */
    double cut, before;
    bool leaps;
};

static void add_level(struct late_interval *to, struct place *p, const struct level *level)
{
    exact from = level->begin > to->begin ? level->begin : to->begin;
    exact end = level->end < to->end ? level->end : to->end;
    if (from >= end)
        return;
    if (p->any && !stretch_same_power(p->value, level->value) && to->cut == 1) {
        to->cut = (double)(from - to->begin) / (double)(to->end - to->begin);
        to->before = to->sum;
    }
    to->sum += level->value * (double)(end - from);
    p->value = level->value;
    p->any = true;
}

/* Adds the samples up to the end of the interval. */
static void add_samples(const struct late_samples *l, struct place *p, struct late_interval *to)
{
    while (p->sample < l->in->count) {
        bool leap = p->end > to->begin && is_leap(l, p->sample);
        exact middle = p->begin + (p->end - p->begin) / 2;
        to->leaps |= leap;
        if (leap && middle > to->begin && middle <= to->end)
            to->sum += l->in->value[p->sample] * (double)(p->end - p->begin);
        for (size_t i = 0; i < p->count && !leap; i++)
            add_level(to, p, &p->levels[i]);
        if (p->end > to->end)
            return;
        if (p->sample + 1 < l->in->count)
            go_to(l, p, p->sample + 1, p->end);
        else
            p->sample++;
    }
    exact from = p->end > to->begin ? p->end : to->begin;
    to->sum += from < to->end ? l->in->value[l->in->count - 1] * (double)(to->end - from) : 0;
}

void lag_move(const struct late_samples *l, size_t count, double *value,
              struct stretch_edges *edges)
{
    struct place p = {.any = false};
    struct late_interval to = {.end = l->lag};
    go_to(l, &p, l->next, 0);
    edges->known = true;
    edges->count = 0;
    for (size_t i = 0; i < count; i++) {
        exact interval = interval_of(l, l->next + i);
        to = (struct late_interval){.begin = to.end, .end = to.end + interval, .cut = 1};
        bool any = p.any;
        add_samples(l, &p, &to);
        if (!any)
            edges->first =
                to.cut < 1 && to.cut > 0 ? to.before / (to.cut * (double)interval) : p.value;
        value[i] = interval > 0 ? to.sum / (double)interval : l->in->value[l->next + i];
        edges->cut[i] = interval > 0 ? to.cut : 1;
        edges->part[i] = to.sum != 0 ? to.before / to.sum : to.cut;
        edges->count += edges->cut[i] < 1;
        edges->known &= !to.leaps;
    }
    edges->last = p.value;
}

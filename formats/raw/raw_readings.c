/* Readings of power sources, and the values computed from them for the time between two samples.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/search.h"

#define NS 1e-9

struct point {
    uint64_t time;
    union {
        uint64_t counts; /* of a counter */
        double gauge;    /* of others */
    };
};

struct source {
    enum pmu_kind kind;
    bool counter, part;
    double per_count;
    struct point *points; /* by time */
    size_t count, capacity;
    size_t near; /* where the last look-up ended */
};

struct raw_readings {
    struct source *sources;
    size_t count;
};

static enum pmu_kind kind_of(const char *name)
{
    if (name == NULL)
        return PMU_CUSTOM;
    int kind = strcmp(name, "energy") == 0 ? PMU_POWER : pmu_kind_parse(name);
    return kind <= PMU_NONE ? PMU_CUSTOM : (enum pmu_kind)kind;
}

struct raw_readings *raw_readings_new(const struct raw_source *sources, size_t count)
{
    struct raw_readings *r = mem_zalloc(1, sizeof *r);
    r->sources = mem_zalloc(count + 1, sizeof *r->sources);
    r->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct raw_source *from = &sources[i];
        r->sources[i] =
            (struct source){.kind = kind_of(from->kind),
                            .counter = from->kind != NULL && strcmp(from->kind, "energy") == 0,
                            .part = from->role == 1,
                            .per_count = from->per_count};
    }
    return r;
}

void raw_readings_delete(struct raw_readings *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        free(r->sources[i].points);
    free(r->sources);
    free(r);
}

int raw_readings_add(struct raw_readings *r, const struct raw_reading *reading)
{
    if (reading->source >= r->count)
        return -1;
    struct source *s = &r->sources[reading->source];
    const struct point *last = s->count > 0 ? &s->points[s->count - 1] : NULL;
    struct point point = {.time = reading->time};
    if (s->counter)
        point.counts = reading->value;
    else
        point.gauge = double_of_bits(reading->value);
    if (last != NULL && (reading->time < last->time || (s->counter && point.counts < last->counts)))
        return -1;
    if (!s->counter && !isfinite(point.gauge))
        return -1;
    *MEM_APPEND(s->points, s->count, s->capacity) = point;
    return 0;
}

uint64_t raw_readings_until(const struct raw_readings *r)
{
    uint64_t until = UINT64_MAX;
    for (size_t i = 0; i < r->count; i++) {
        const struct source *s = &r->sources[i];
        uint64_t last = s->count > 0 ? s->points[s->count - 1].time : 0;
        if (s->part && last < until)
            until = last;
    }
    return until;
}

/* The last point at or before TIME, or the first point if none is. There must be at least one. */
static size_t find(struct source *s, uint64_t time)
{
    size_t low = s->near < s->count && s->points[s->near].time <= time ? s->near : 0;
    size_t step = 1, high = low + 1;
    while (high < s->count && s->points[high].time <= time) {
        low = high;
        high += step *= 2;
    }
    if (high > s->count)
        high = s->count;
    low += SEARCH_AFTER(&s->points[low + 1], high - low - 1, time, time);
    s->near = low;
    return low;
}

void raw_readings_forget(struct raw_readings *r, uint64_t from)
{
    for (size_t i = 0; i < r->count; i++) {
        struct source *s = &r->sources[i];
        size_t gone = s->count > 0 ? find(s, from) : 0;
        if (gone < s->count / 2 || gone < 64) /* moving the rest is worthwhile only then */
            continue;
        s->count -= gone;
        memmove(s->points, s->points + gone, s->count * sizeof *s->points);
        s->near = 0;
    }
}

/* Seconds from A to B; A <= B. */
static double seconds(uint64_t a, uint64_t b)
{
    return (double)(b - a) * NS;
}

/* The fraction of the way from point AT to the next one at which TIME is: 0 to 1; 0 outside all
 * points. */
static double part_of_way(const struct source *s, size_t at, uint64_t time)
{
    if (at + 1 >= s->count || time <= s->points[at].time)
        return 0;
    return (double)(time - s->points[at].time) /
           (double)(s->points[at + 1].time - s->points[at].time);
}

/* The counts from point BASE to TIME, which must not be before it. */
static double counts_at(struct source *s, size_t base, uint64_t time)
{
    size_t at = find(s, time);
    double part = part_of_way(s, at, time);
    double counts = (double)(s->points[at].counts - s->points[base].counts);
    return part > 0 ? counts + part * (double)(s->points[at + 1].counts - s->points[at].counts)
                    : counts;
}

static double gauge_at(struct source *s, uint64_t time)
{
    size_t at = find(s, time);
    double part = part_of_way(s, at, time), low = s->points[at].gauge;
    return part > 0 ? low + part * (s->points[at + 1].gauge - low) : low;
}

/* The integral of a gauge: a sum of trapezoids between points. */
static double area(struct source *s, uint64_t from, uint64_t to)
{
    double sum = 0, value = gauge_at(s, from);
    for (size_t i = s->near; i < s->count && s->points[i].time <= to; i++) {
        if (s->points[i].time < from)
            continue;
        sum += (value + s->points[i].gauge) / 2 * seconds(from, s->points[i].time);
        from = s->points[i].time;
        value = s->points[i].gauge;
    }
    return sum + (value + gauge_at(s, to)) / 2 * seconds(from, to);
}

double raw_readings_energy(struct raw_readings *r, size_t source, uint64_t from, uint64_t to)
{
    struct source *s = &r->sources[source];
    if (s->count == 0)
        return 0;
    if (!s->counter)
        return area(s, from, to);
    size_t base = find(s, from);
    double before = counts_at(s, base, from);
    return (counts_at(s, base, to) - before) * s->per_count;
}

/* The counts per second of a counter at TIME: the slope of the segment that ends there, or else of
 * the one that contains TIME. */
static double slope_at(struct source *s, uint64_t time)
{
    size_t at = find(s, time);
    while (at > 0 && s->points[at].time >= time)
        at--;
    if (at + 1 >= s->count || time <= s->points[at].time)
        return 0;
    const struct point *p = &s->points[at];
    return (double)(p[1].counts - p[0].counts) * s->per_count / seconds(p[0].time, p[1].time);
}

double raw_readings_value_of(struct raw_readings *r, size_t source, uint64_t from, uint64_t to)
{
    struct source *s = &r->sources[source];
    if (s->count == 0)
        return 0;
    if (s->kind == PMU_CUSTOM)
        return s->points[find(s, to)].gauge;
    if (from < to)
        return raw_readings_energy(r, source, from, to) / seconds(from, to);
    return s->counter ? slope_at(s, to) : gauge_at(s, to);
}

double raw_readings_value(struct raw_readings *r, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->sources[i].part)
            sum += raw_readings_value_of(r, i, from, to);
    return sum;
}

/* The energy that power sources count while a program is metered.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/energy.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/thread.h"
#include "record/clock.h"

/* [ns] assumed for a counter that did not move before the run */
enum { UNKNOWN_PERIOD = 1000 * 1000 };

/* The energy that a channel had counted at a moment. */
struct point {
    double time; /* since the start [ns] */
    double joules;
};

struct series {
    struct point *points;
    size_t count, capacity;
    double watts; /* at the last reading; not used for counters */
};

struct energy {
    struct power *power;
    struct series *series; /* one for each channel */
    uint64_t start;        /* CLOCK_MONOTONIC [ns] */
    pthread_t thread;
    bool running, failed;
    int stop; /* eventfd */
    struct error err;
};

static void add_reading(struct series *s, const struct raw_source *source,
                        const struct raw_reading *reading)
{
    const struct point *last = s->count > 0 ? &s->points[s->count - 1] : NULL;
    double time = (double)reading->time, joules;
    if (source->kind[0] == 'e') /* energy */
        joules = (double)reading->value * source->per_count;
    else {
        double watts = double_of_bits(reading->value);
        joules =
            last != NULL ? last->joules + (s->watts + watts) / 2 * (time - last->time) * 1e-9 : 0;
        s->watts = watts;
    }
    mem_reserve(&s->points, &s->capacity, s->count + 1, sizeof *s->points);
    s->points[s->count++] = (struct point){time, joules};
}

static void take_readings(struct energy *e)
{
    size_t channels, count;
    const struct raw_source *sources = power_channels(e->power, &channels);
    const struct raw_reading *readings = power_take(e->power, &count);
    for (size_t i = 0; i < count; i++)
        if (sources[readings[i].source].role != 0)
            add_reading(&e->series[readings[i].source], &sources[readings[i].source], &readings[i]);
}

/* Waits until the sources are due, or the end is requested. Returns whether it is the end. */
static bool wait_until_due(const struct energy *e)
{
    uint64_t due = power_due(e->power, &(bool){false}), now = clock_now() - e->start;
    struct pollfd stop = {.fd = e->stop, .events = POLLIN};
    const struct timespec pause = clock_timespec(due > now ? due - now : 0);
    return ppoll(&stop, 1, due == UINT64_MAX ? NULL : &pause, NULL) > 0;
}

static void *read_sources(void *opaque)
{
    struct energy *e = opaque;
    int got = 0;
    while (got >= 0 && !wait_until_due(e)) {
        got = power_tick(e->power, clock_now() - e->start);
        take_readings(e);
    }
    uint64_t end = clock_now() - e->start;
    while (got >= 0 && (got = power_end(e->power, end)) >= 0) {
        take_readings(e);
        if (got == 0)
            return NULL;
    }
    e->failed = true;
    return NULL;
}

/* SPEC is the first of the sources, which are open if power is not NULL. Returns 0, or -1 with the
 * error of E filled. */
static int start(struct energy *e, const char *spec)
{
    size_t channels;
    if (e->power == NULL)
        return -1;
    if (power_kind(e->power) != PMU_POWER)
        return error_set(&e->err, spec, NO_OFFSET,
                         "expected a source of energy or power, found one of %s",
                         pmu_kind_name(power_kind(e->power)));
    power_channels(e->power, &channels);
    e->series = mem_zalloc(channels + 1, sizeof *e->series);
    if (power_begin(e->power) != 0)
        return -1;
    e->start = clock_now();
    if (power_tick(e->power, 0) != 0)
        return -1;
    e->running = thread_start(&e->thread, read_sources, e);
    return e->running ? 0 : error_set(&e->err, NULL, NO_OFFSET, "cannot start a thread");
}

struct energy *energy_new(const struct power_options *options, struct reporter *reporter,
                          struct error *err)
{
    struct energy *e = mem_zalloc(1, sizeof *e);
    e->stop = eventfd(0, EFD_CLOEXEC);
    e->power = power_open(options, reporter, &e->err);
    if (start(e, options->sources[0].spec) == 0)
        return e;
    *err = e->err;
    energy_delete(e);
    return NULL;
}

int energy_stop(struct energy *e, struct error *err)
{
    if (e->running) {
        eventfd_write(e->stop, 1);
        pthread_join(e->thread, NULL);
        e->running = false;
        power_warn(e->power);
    }
    if (e->failed)
        *err = e->err;
    return e->failed ? -1 : 0;
}

void energy_delete(struct energy *e)
{
    struct error unused;
    size_t channels = 0;
    if (e == NULL)
        return;
    energy_stop(e, &unused);
    if (e->power != NULL)
        power_channels(e->power, &channels);
    for (size_t i = 0; i < channels && e->series != NULL; i++)
        free(e->series[i].points);
    power_close(e->power);
    if (e->stop >= 0)
        close(e->stop);
    free(e->series);
    free(e);
}

uint64_t energy_shortest(const struct energy *e)
{
    size_t channels;
    uint64_t period = 0;
    const struct raw_source *sources = power_channels(e->power, &channels);
    for (size_t i = 0; i < channels; i++)
        if (sources[i].role != 0 && sources[i].period > period)
            period = sources[i].period;
    return ENERGY_PERIODS * (period > 0 ? period : UNKNOWN_PERIOD);
}

uint64_t energy_period(const struct energy *e)
{
    size_t channels;
    double slowest = (double)energy_shortest(e) / ENERGY_PERIODS;
    power_channels(e->power, &channels);
    for (size_t i = 0; i < channels; i++) {
        const struct series *s = &e->series[i];
        if (s->count < 2)
            continue;
        double mean = (s->points[s->count - 1].time - s->points[0].time) / (double)(s->count - 1);
        slowest = mean > slowest ? mean : slowest;
    }
    return (uint64_t)slowest;
}

char *energy_name(const struct energy *e)
{
    struct power_summary summary;
    power_summarize(e->power, &summary);
    char *name = mem_strdup(summary.value);
    power_summary_free(&summary);
    return name;
}

/* Returns the energy that a channel had counted at TIME. *UNSURE becomes the possible error: the
 * step between the readings around TIME, and half of the steps before and after it, because a value
 * may be half a step older or newer than its reading. */
static double count_at(const struct series *s, double time, double *unsure)
{
    size_t low = 0, high = s->count - 1;
    *unsure = 0;
    if (time <= s->points[0].time)
        return s->points[0].joules;
    if (time >= s->points[high].time)
        return s->points[high].joules;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->points[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    const struct point *a = &s->points[low], *b = &s->points[high];
    double step = b->joules - a->joules;
    *unsure = step + (low > 0 ? (a->joules - a[-1].joules) / 2 : 0) +
              (high + 1 < s->count ? (b[1].joules - b->joules) / 2 : 0);
    return a->joules + step * (time - a->time) / (b->time - a->time);
}

struct energy_amount energy_between(const struct energy *e, double from, double to)
{
    struct energy_amount amount = {0};
    size_t channels;
    power_channels(e->power, &channels);
    for (size_t i = 0; i < channels; i++) {
        const struct series *s = &e->series[i];
        double first, last;
        if (s->count == 0)
            continue;
        double before = count_at(s, from - (double)e->start, &first);
        amount.joules += count_at(s, to - (double)e->start, &last) - before;
        amount.error += first + last;
    }
    return amount;
}

/* Power readings of a run.
 * SPDX-License-Identifier: MIT */
#include "record/power.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "record/busy.h"
#include "record/clock.h"
#include "record/update_period.h"

#define MS UINT64_C(1000000)
static const uint64_t min_interval = MS; /* time between two readings, ... */
static const uint64_t min_step = MS / 8; /* ... and when an update is expected, as a step */
/* how long to search for the period of a counter, and for the second update of a slow one */
static const uint64_t measuring = 120 * MS, measuring_slow = 350 * MS;
static const uint64_t max_wait = SECOND;     /* for the update after the end of the run */
static const uint64_t long_gap = 2 * SECOND; /* without a value: a longer one causes a warning */
/* in a period: how precisely an update is located, and expected */
enum { STEPS = 16, FINE_STEPS = 64 };
static const uint64_t max_fine = SECOND / 20000; /* [ns] a fine step has at most this length */
enum { COST_SHARE = 20, CHANGES = 24, LATE_AT_ONCE = 65536, PROBE_NS = 100000, DOUBTFUL = 10 };

/* The state of a channel. */
struct track {
    uint32_t number; /* among all channels */
    const struct pmu_channel *channel;
    bool skip;       /* another source delivers the same channel */
    bool value;      /* it is part of the value of the run */
    bool has;        /* there was a reading ... */
    bool first;      /* ... that is not recorded yet ... */
    bool still;      /* ... and the counter had not moved when the run began */
    bool moved;      /* by the last reading */
    uint64_t raw;    /* of a counter, at the last reading that moved it */
    uint64_t counts; /* since the first reading */
    double gauge;
    uint64_t clock; /* CLOCK_MONOTONIC [ns] of the last reading with a new value */
    /* of a counter: CLOCK is the time of its update, plus or minus this time [ns] */
    double unsure;
    uint64_t seen;                /* CLOCK_MONOTONIC [ns] of the last reading */
    bool measured;                /* the period of the channel was measured ... */
    struct update_period updates; /* ... and the run corrects it */
    double rate;                  /* of a counter [counts/ns], smoothed */
    double joules;                /* since the first reading */
    /* number of events; FAST: it moved by more than half its range at once */
    uint64_t wraps, resets, fast;
    uint64_t alike;        /* number of values that had the time of another */
    uint64_t assumed, gap; /* [ns]: how long the previous power was assumed; the longest gap */
};

/* An open source. */
struct meter {
    const struct power_source *from;
    void *state;
    bool open;
    struct pmu_channels channels;
    struct track *tracks; /* one for each channel */
    bool counts;          /* it has counters */
    bool doubtful;        /* and the period of one of them was measured from few updates */
    /* they are updated at known intervals that are long enough to read each update */
    bool paced;
    uint64_t base, interval; /* [ns] between readings: minimum, and now */
    double phase;            /* 0..1: determines the intervals between readings of powers */
    unsigned search;         /* number of updates to locate in small steps before waiting for one */
    unsigned unmoved;        /* number of readings in a row that found no counter moved */
    /* CLOCK_MONOTONIC [ns] of the next update, if it is expected; how long before it is the last
     * reading that should not find it: longer if updates came early */
    uint64_t update, margin;
    uint64_t awaited; /* CLOCK_MONOTONIC [ns] of the update after the end of the run; 0: none */
    uint64_t due;     /* CLOCK_MONOTONIC [ns] */
    bool expects;     /* it expects an update at that time, give or take some steps ... */
    /* ... and is also read at a tick that is earlier by at most this time [ns] */
    uint64_t early;
    uint64_t cost; /* smoothed time of reading all channels once [ns] */
    uint64_t late; /* smoothed time from DUE to the reading, if it expected an update [ns] */
    /* time for which the machine had been suspended, at the last reading [ns] */
    uint64_t suspended;
};

struct power {
    const struct power_options *options;
    struct reporter *reporter;
    struct error *err;
    struct meter *meters;
    size_t meter_count;
    struct raw_source *sources;
    size_t source_count;
    struct busy busy;
    struct busy_history history; /* of BUSY, for late values */
    bool begun, started;         /* the first readings have been taken; START is known */
    bool failed, ended;          /* ended: END is known */
    bool closing;                /* the last readings are being taken */
    uint64_t start;              /* CLOCK_MONOTONIC [ns] of time 0 */
    /* CLOCK_MONOTONIC [ns]: when the next source is due; when one may be read */
    uint64_t next, soonest;
    bool exact; /* the source that is due is expected to be updated then */
    uint64_t end, busy_start, busy_end, reading, slept;
    double baseline_w;
    struct raw_reading *readings;
    size_t count, capacity;
    bool taken;
    uint64_t total; /* number of readings so far */
};

/* ---- which channels make up the value ----------------------------------------------------------- */

static bool fits(const struct power *p, const struct meter *meter, const struct track *track)
{
    for (size_t m = 0; m < p->meter_count; m++) {
        const struct meter *other = &p->meters[m];
        for (size_t i = 0; i < other->channels.count; i++) {
            const struct track *t = &other->tracks[i];
            if (t->value &&
                (t->channel->kind != PMU_POWER || track->channel->kind != PMU_POWER ||
                 pmu_overlap(&meter->channels, t->channel, track->channel, other == meter)))
                return false;
        }
    }
    return true;
}

static bool is_double(const struct power *p, const struct meter *meter, const struct track *track)
{
    for (const struct meter *m = p->meters; m < meter; m++)
        if (m->from->source == meter->from->source && meter->from->source->argument[0] == '[' &&
            pmu_channel_find(&m->channels, track->channel->name) > 0)
            return true;
    return false;
}

static void choose_value(struct power *p)
{
    for (size_t m = 0; m < p->meter_count; m++) {
        struct meter *meter = &p->meters[m];
        size_t chosen = meter->channels.chosen;
        for (size_t i = 0; i < meter->channels.count; i++) {
            struct track *track = &meter->tracks[i];
            track->value = (chosen == 0 || chosen == i + 1) && fits(p, meter, track);
            track->skip = !track->value && is_double(p, meter, track);
        }
    }
}

/* Returns an unused name for a channel. */
static char *unique_name(const struct power *p, const struct meter *meter, const char *channel)
{
    char *name = mem_printf("%s:%s", meter->from->source->name, channel);
    for (size_t i = 0, copy = 2; i < p->source_count; i++)
        if (strcmp(p->sources[i].name, name) == 0) {
            free(name);
            name = mem_printf("%s:%s#%zu", meter->from->source->name, channel, copy++);
            i = (size_t)-1;
        }
    return name;
}

static void describe(struct power *p)
{
    size_t all = 0;
    for (size_t m = 0; m < p->meter_count; m++)
        all += p->meters[m].channels.count;
    p->sources = mem_zalloc(all + 1, sizeof *p->sources);
    for (size_t m = 0; m < p->meter_count; m++) {
        struct meter *meter = &p->meters[m];
        for (size_t i = 0; i < meter->channels.count; i++) {
            struct track *track = &meter->tracks[i];
            const struct pmu_channel *c = track->channel;
            if (track->skip)
                continue;
            track->number = (uint32_t)p->source_count;
            char *name = unique_name(p, meter, c->name);
            p->sources[p->source_count++] = (struct raw_source){
                .name = name,
                .kind = mem_strdup(c->counter ? "energy" : pmu_kind_name(c->kind)),
                .unit = mem_strdup(c->unit),
                .scope = mem_strdup(pmu_scope_name(c->scope)),
                .per_count = c->counter ? c->per_count : 1,
                .period = c->period,
                .role = track->value,
                .help = mem_strdup(c->help),
            };
        }
    }
}

/* ---- readings ----------------------------------------------------------------------------------- */

/* Returns the fraction of the time from the last reading to CLOCK that is in the run, which may
 * have begun after that reading or ended before CLOCK. */
static double part_in_run(const struct power *p, const struct track *t, uint64_t clock)
{
    double from = t->first && !t->still ? (double)p->start : (double)t->clock;
    double to = (double)clock;
    double end = p->ended ? (double)(p->start + p->end) : to;
    if (clock <= t->clock || end <= from)
        return 0;
    return ((end < to ? end : to) - from) / (double)(clock - t->clock);
}

static void put_reading(struct power *p, const struct track *t, uint64_t clock, uint64_t busy)
{
    if (!p->begun)
        return;
    mem_reserve(&p->readings, &p->capacity, p->count + 1, sizeof *p->readings);
    p->readings[p->count++] =
        (struct raw_reading){.source = t->number,
                             .time = clock > p->start ? clock - p->start : 0,
                             .value = t->channel->counter ? t->counts : bits_of_double(t->gauge),
                             .busy = busy};
    p->total++;
}

/* The first reading was made just before the run; its value at time 0 is known only after the
 * second one. */
static void put_first(struct power *p, struct track *t)
{
    if (t->first)
        put_reading(p, t, p->start, p->busy_start);
    t->first = false;
}

static void record(struct power *p, struct track *t, uint64_t clock, uint64_t busy)
{
    if (clock - t->clock > t->gap)
        t->gap = clock - t->clock;
    t->clock = clock;
    put_reading(p, t, clock, busy);
}

/* Returns the counts from the last reading that moved the counter to RAW, DT ns later. */
static uint64_t counts_since(struct track *t, uint64_t raw, uint64_t dt, bool slept)
{
    uint64_t range = t->channel->range;
    double expected = t->rate * (double)dt;
    if (raw >= t->raw && !slept)
        return raw - t->raw;
    if (!slept && range > t->raw) {
        uint64_t wrapped = range - t->raw + raw;
        if (wrapped <= range / 4 || (double)wrapped <= 4 * expected) {
            t->wraps++;
            return wrapped;
        }
    }
    t->resets += !slept;
    t->assumed += dt;
    return (uint64_t)llrint(expected);
}

/* The counter has moved at CLOCK for the first time. If its period is known, its first reading found
 * the value of an update before the run, and the run gets its part of the energy since then; but
 * not if this update is late, so that there may have been others since the first reading. */
static void find_update_before(const struct power *p, struct track *t, uint64_t clock)
{
    uint64_t period = t->channel->period;
    if (!t->first || period == 0 || clock < period || clock - period > t->clock + period / 8)
        return;
    t->clock = clock - period < p->start ? clock - period : p->start;
    t->still = false;
}

static void take_count(struct power *p, struct track *t, uint64_t raw, uint64_t clock, bool slept,
                       uint64_t busy)
{
    if (!t->has) {
        t->raw = raw;
        t->clock = clock;
        t->has = t->first = true;
        t->still = p->started; /* a late first reading: the time before it is unknown */
        return;
    }
    if (raw == t->raw && !slept) {
        t->still = t->still || clock >= p->start;
        return;
    }
    if (t->first && !t->still && p->started && clock <= p->start) {
        t->raw = raw; /* an update is located before it is read: here, before the run */
        t->clock = clock;
        t->moved = true;
        return;
    }
    find_update_before(p, t, clock);
    uint64_t dt = clock - t->clock;
    uint64_t delta = counts_since(t, raw, dt, slept);
    t->joules += (double)delta * t->channel->per_count * part_in_run(p, t, clock);
    t->fast += t->channel->range > 0 && delta > t->channel->range / 2;
    if (dt > 0)
        t->rate = t->rate > 0 ? 0.75 * t->rate + 0.25 * (double)delta / (double)dt
                              : (double)delta / (double)dt;
    if (t->first && !t->still && dt > 0)
        delta = (uint64_t)llrint((double)delta * (double)(clock - p->start) / (double)dt);
    put_first(p, t);
    t->moved = true;
    t->raw = raw;
    t->counts += delta;
    record(p, t, clock, busy);
}

static void take_gauge(struct power *p, struct track *t, double gauge, uint64_t clock,
                       uint64_t busy)
{
    t->moved = true;
    if (!t->has) {
        t->gauge = gauge;
        t->clock = clock;
        t->has = t->first = true;
        return;
    }
    t->joules +=
        (t->gauge + gauge) / 2 * (double)(clock - t->clock) * 1e-9 * part_in_run(p, t, clock);
    put_first(p, t);
    t->gauge = gauge;
    record(p, t, clock, busy);
}

/* Takes the last reading of a channel if it has no new value: the channel has not moved. */
static void take_nothing(struct power *p, struct track *t, uint64_t clock, uint64_t busy)
{
    if (!t->channel->counter)
        t->joules += t->gauge * (double)(clock - t->clock) * 1e-9 * part_in_run(p, t, clock);
    put_first(p, t);
    record(p, t, clock, busy);
}

/* Returns for how long the machine has been suspended [ns]: CLOCK_BOOTTIME advances during that
 * time, CLOCK_MONOTONIC does not. The result is never too high, because it does not include the
 * time between the readings of the two clocks. */
static uint64_t suspended_so_far(void)
{
    struct timespec boot;
    clock_gettime(CLOCK_BOOTTIME, &boot);
    uint64_t now = clock_now(), total = (uint64_t)boot.tv_sec * SECOND + (uint64_t)boot.tv_nsec;
    return total > now ? total - now : 0;
}

/* Sets the ERR of power_open to WHY, the error of a source. Returns -1. */
static int fail(struct power *p, const struct meter *meter, const struct error *why)
{
    const char *file = why->file[0] != '\0' ? why->file : meter->from->spec;
    p->failed = true;
    if (!p->started)
        return error_set(p->err, file, NO_OFFSET, "%s", why->text);
    return error_set(p->err, file, NO_OFFSET, "%s; sampling ended %.3f s after the start",
                     why->text, (double)(clock_now() - p->start) * 1e-9);
}

/* Returns the length of the part of LOW to HIGH that is between 0 and MOST; negative if there is
 * none. */
static double overlap(double low, double high, double most)
{
    return fmin(high, most) - fmax(low, 0);
}

/* Returns when a counter that was read at CLOCK got its new value: after the previous reading, not
 * more than a period ago, and if possible a whole number of periods after the previous update. A
 * late reading alone is not precise. */
static uint64_t time_of_update(const struct power *p, struct track *t, uint64_t clock)
{
    const double slack = 1. / 256; /* of a period */
    double period = (double)t->channel->period, most = (double)(clock - t->seen);
    if (t->seen == 0 || clock < t->seen)
        return clock;
    most = period > 0 ? fmin(most, period) : most;
    if (period == 0 || t->first) {
        /* an update across the start: the run gets its part of the time and of the counts */
        bool across = period == 0 && t->first && t->seen < p->start;
        t->unsure = most / 2;
        return across ? clock : clock - (uint64_t)t->unsure;
    }
    double ago = (double)(clock - t->clock), unsure = t->unsure + slack * period;
    /* how long ago the update was due; negative: it is not due yet */
    double due = ago - fmax(1, floor(ago / period)) * period;
    if (overlap(due - period - unsure, due - period + unsure, most) >
        overlap(due - unsure, due + unsure, most))
        due -= period;
    double low = fmin(most, fmax(0, due - unsure)), high = fmin(most, fmax(0, due + unsure));
    if (due - unsure >= most) /* later than expected, perhaps much */
        low = 0;
    t->unsure = (high - low) / 2;
    return clock - (uint64_t)((low + high) / 2);
}

/* Determines how often to read METER, from the periods of its counters. If updates are irregular, the
 * program may cause them: at each change of power, for example. Time and CPU time at an update are
 * then wrong by half the time between two readings, always in the same direction. */
static void set_pace(struct meter *meter)
{
    uint64_t period = 0;
    for (size_t i = 0; i < meter->channels.count; i++) {
        const struct pmu_channel *c = meter->tracks[i].channel;
        if (!meter->tracks[i].skip && c->period > 0 && (period == 0 || c->period < period))
            period = c->period;
    }
    uint64_t least = meter->counts && period == 0 ? min_interval / 2 : min_interval;
    meter->base = period > least ? period : least;
    /* a measured period may be a little too short */
    meter->paced = meter->counts && period >= min_interval - min_interval / STEPS;
    meter->interval = meter->base;
}

/* The counter of channel INDEX had moved at CLOCK: corrects its period if this proves it wrong, or
 * sets it if it was unknown. */
static void correct_period(struct power *p, struct meter *meter, size_t index, uint64_t clock)
{
    struct track *t = &meter->tracks[index];
    uint64_t *period = &meter->channels.list[index].period, before = *period;
    update_period_moved(&t->updates, period, t->seen, clock);
    if (*period == before)
        return;
    t->measured = true;
    if (!t->skip && t->number < p->source_count)
        p->sources[t->number].period = *period;
    set_pace(meter);
}

/* Reads channel INDEX of METER. Adds the time that this took to *COST. */
static int read_track(struct power *p, struct meter *meter, size_t index, bool slept,
                      uint64_t *cost)
{
    struct track *t = &meter->tracks[index];
    struct pmu_value value = {0};
    struct error why = {0};
    uint64_t before = clock_now();
    int got = meter->from->source->read(meter->state, index, &value, &why);
    uint64_t after = clock_now();
    uint64_t clock = value.time != 0 ? value.time : before + (after - before) / 2;
    if (got < 0)
        return fail(p, meter, &why);
    *cost += after - before;
    if (got > 0 && t->channel->counter && (t->measured || t->channel->period == 0) && t->has &&
        value.count != t->raw && value.time == 0)
        correct_period(p, meter, index, clock);
    if (got > 0 && t->channel->counter && t->has && value.count != t->raw && value.time == 0)
        clock = time_of_update(p, t, clock);
    t->seen = before;
    if (clock < t->clock) /* time must not go backwards */
        clock = t->clock;
    if (p->closing && clock < p->start + p->end) /* by at most the uncertainty of the start */
        clock = p->start + p->end;
    t->moved = false;
    bool is_new = got > 0 && (!t->channel->counter || value.count != t->raw || slept);
    uint64_t busy = p->begun && (is_new || p->closing) ? busy_read(&p->busy, after) : 0;
    if (got > 0 && t->channel->counter)
        take_count(p, t, value.count, clock, slept, busy);
    else if (got > 0)
        take_gauge(p, t, value.gauge, clock, busy);
    if (p->closing && t->has && !t->moved)
        take_nothing(p, t, clock, busy);
    return 0;
}

/* Returns when the counter of METER with the shortest period should be updated next; 0: it has not
 * been updated yet. */
static uint64_t next_update(const struct meter *meter)
{
    uint64_t next = 0;
    for (size_t i = 0; i < meter->channels.count; i++) {
        const struct track *t = &meter->tracks[i];
        if (t->has && !t->first && t->channel->period == meter->base && next == 0)
            next = t->clock + meter->base;
    }
    return next;
}

/* Returns the interval from NOW to the next reading of counters whose updates are far enough apart
 * to wait for each; 0: updates are too frequent, or one is long overdue. If WAIT, the first reading
 * is some steps before an update is expected (unless steps are short: it would cost too much), the
 * next ones are just before and just after the update: how much the program uses in between is not
 * known at the update. Otherwise, and after that, readings are small steps apart. */
static uint64_t wait_for_update(struct meter *meter, bool wait, uint64_t now)
{
    uint64_t step = meter->base / STEPS, next = next_update(meter);
    uint64_t fine = meter->base / FINE_STEPS < max_fine ? meter->base / FINE_STEPS : max_fine;
    uint64_t margin = meter->margin < fine ? fine : meter->margin;
    margin = margin > 2 * step ? 2 * step : margin;
    /* readings are late themselves */
    uint64_t aim = next > 2 * step ? next - meter->late : next;
    const uint64_t looks[] = {aim - 2 * step, aim - margin,   aim + fine,
                              aim + 3 * fine, aim + 7 * fine, aim + 15 * fine};
    meter->update = next;
    meter->margin = margin;
    if (step < min_step || step < meter->cost * COST_SHARE || meter->unmoved > 2 * STEPS)
        return 0;
    for (size_t i = step < min_interval / 2;
         i < sizeof looks / sizeof looks[0] && next > 0 && meter->search == 0; i++)
        if (looks[i] > now + fine / 2)
            return looks[i] - now;
    return wait && next == 0 ? meter->base - 2 * step : step;
}

/* If the first reading for an update finds the counter already moved, it was too late, perhaps
 * because the period was measured wrongly. In this case, two consecutive updates are located, whose
 * distance shows the period. */
static void count_unmoved(struct meter *meter, bool moved)
{
    if (moved && meter->doubtful && meter->unmoved == 0)
        meter->search = 2;
    else if (moved && meter->search > 0)
        meter->search--;
    meter->unmoved = moved ? 0 : meter->unmoved + 1;
}

/* Sets when to read METER again, after NOW. */
static void pace(struct meter *meter, bool moved, uint64_t now)
{
    /* a little more often than updates: occasionally, an update has readings just before and just
     * after it */
    uint64_t base = meter->base - (meter->paced ? meter->base / STEPS : 0);
    base = base > meter->cost * COST_SHARE ? base : meter->cost * COST_SHARE;
    uint64_t update;
    count_unmoved(meter, moved);
    if (moved && meter->expects) /* a wrong time would be confirmed by each later update */
        meter->margin = now < meter->update ? 2 * meter->margin : meter->margin / 4 * 3;
    meter->expects = false;
    if (!meter->counts) {
        meter->phase = clock_phase(meter->phase);
        meter->interval = (uint64_t)((0.5 + meter->phase) * (double)base);
    } else if ((update = wait_for_update(meter, moved && meter->search == 0, now)) > 0) {
        meter->interval = update;
        meter->expects = true;
    } else
        meter->interval = base;
    for (size_t i = 0; i < meter->channels.count; i++) {
        const struct track *t = &meter->tracks[i];
        double quarter = t->rate > 0 ? (double)t->channel->range / 4 / t->rate : 0;
        if (quarter > 0 && quarter < (double)meter->interval)
            meter->interval = quarter > (double)min_interval ? (uint64_t)quarter : min_interval;
    }
}

static void pause_for(uint64_t ns)
{
    struct timespec time = clock_timespec(ns);
    nanosleep(&time, NULL);
}

static int read_meter(struct power *p, struct meter *meter)
{
    uint64_t begin = clock_now(), suspended = suspended_so_far(), cost = 0;
    bool slept = suspended > meter->suspended + 10 * MS, moved = false;
    for (size_t i = 0; i < meter->channels.count; i++) {
        if (meter->tracks[i].skip)
            continue;
        if (read_track(p, meter, i, slept, &cost) != 0)
            return -1;
        moved = moved || meter->tracks[i].moved;
    }
    uint64_t end = clock_now();
    if (p->begun && meter->from->source->late != NULL)
        busy_note(&p->history, end, busy_read(&p->busy, end));
    if (slept && meter == p->meters)
        p->slept += suspended - meter->suspended;
    if (suspended > meter->suspended)
        meter->suspended = suspended;
    /* one interrupted reading does not mean that a device is slow: increases slowly, decreases
     * fast */
    meter->cost =
        cost > meter->cost ? meter->cost + (cost - meter->cost) / 16 : (meter->cost + cost) / 2;
    p->reading += end - begin;
    if (meter->expects && begin > meter->due) {
        uint64_t late = begin - meter->due < 4 * max_fine ? begin - meter->due : 4 * max_fine;
        meter->late = (7 * meter->late + late) / 8;
    }
    pace(meter, moved, begin);
    /* the first update may be a period away: so many readings would be taken as a sign that there
     * is none */
    meter->early = meter->expects && !moved && next_update(meter) > 0 ? meter->interval : 0;
    meter->due = begin + meter->interval;
    return 0;
}

/* Drops all readings so far. */
static void forget(struct power *p)
{
    for (size_t m = 0; m < p->meter_count; m++) {
        struct meter *meter = &p->meters[m];
        meter->due = 0;
        for (size_t i = 0; i < meter->channels.count; i++) {
            struct track *t = &meter->tracks[i];
            *t = (struct track){.number = t->number,
                                .channel = t->channel,
                                .skip = t->skip,
                                .value = t->value,
                                .measured = t->measured,
                                .rate = t->rate};
        }
    }
    p->count = 0;
    p->history.count = p->history.at = 0;
    p->reading = p->slept = 0;
}

static int read_all(struct power *p)
{
    for (size_t m = 0; m < p->meter_count; m++)
        if (read_meter(p, &p->meters[m]) != 0)
            return -1;
    return 0;
}

int power_begin(struct power *p)
{
    forget(p);
    p->busy_start = busy_read(&p->busy, clock_now());
    p->start = clock_now();
    p->begun = true;
    return read_all(p);
}

int power_tick(struct power *p, uint64_t now)
{
    if (p->failed || (!p->begun && power_begin(p) != 0))
        return -1;
    /* reading right at the start excludes energy that was counted before the run */
    bool first = !p->started;
    if (first) /* NOW is relative to the start, which is determined by the engine */
        p->start = clock_now() - now;
    p->started = true;
    uint64_t clock = p->start + now;
    if (clock < p->soonest && !first)
        return 0;
    if (p->taken)
        p->count = 0;
    p->taken = false;
    p->next = p->soonest = UINT64_MAX;
    for (size_t m = 0; m < p->meter_count; m++) {
        struct meter *meter = &p->meters[m];
        if ((first || meter->due - meter->early <= clock) && read_meter(p, meter) != 0)
            return -1;
        if (meter->due < p->next) {
            p->next = meter->due;
            p->exact = meter->expects || (meter->counts && !meter->paced);
        }
        if (meter->due - meter->early < p->soonest)
            p->soonest = meter->due - meter->early;
    }
    return 0;
}

uint64_t power_due(const struct power *p, bool *exact)
{
    *exact = p->exact;
    if (p->failed || p->next == UINT64_MAX)
        return UINT64_MAX;
    return p->next > p->start ? p->next - p->start : 0;
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* Takes values that a source delivers only at the end, up to LATE_AT_ONCE. Returns 1 if there may
 * be more, otherwise 0, or -1 after a failure. */
static int take_late(struct power *p, struct meter *meter)
{
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    struct pmu_window window = {.from = p->start,
                                .to = p->start + p->end,
                                .real = (int64_t)real.tv_sec * (int64_t)SECOND + real.tv_nsec -
                                        (int64_t)clock_now()};
    struct error why = {0};
    while (p->count < LATE_AT_ONCE) {
        struct pmu_value value = {0};
        size_t channel;
        int got = meter->from->source->late(meter->state, &window, &channel, &value, &why);
        if (got <= 0)
            return got < 0 ? fail(p, meter, &why) : 0;
        struct track *t = &meter->tracks[channel];
        t->alike += value.alike;
        if (!t->skip)
            take_gauge(p, t, value.gauge, value.time, busy_at(&p->history, value.time));
    }
    return 1;
}

/* Sets which update of METER's counter with the shortest period is awaited after the end of the run:
 * the energy since the last update becomes known only then. */
static void begin_waiting(const struct power *p, struct meter *meter)
{
    uint64_t next = next_update(meter), end = p->start + p->end, step = meter->base / STEPS;
    meter->awaited = 0;
    if (!meter->paced || meter->base > max_wait)
        return;
    meter->due = next == 0 ? end : next - step; /* the first may come at any time */
    for (; next > 0 && next <= end; next += meter->base)
        meter->due = next + meter->base - step;
    meter->awaited = next == 0 ? end + meter->base : next;
}

/* Reads METER if it is due. Stops waiting if its update has come, or is late. */
static int go_on_waiting(struct power *p, struct meter *meter)
{
    uint64_t now = clock_now();
    if (meter->awaited == 0 || meter->due > now)
        return 0;
    if (read_meter(p, meter) != 0)
        return -1;
    meter->due = now + meter->base / STEPS;
    if (next_update(meter) > meter->awaited || now > meter->awaited + meter->base / 8)
        meter->awaited = 0;
    return 0;
}

/* Waits for an update of each counter after the end of the run. */
static int await_updates(struct power *p)
{
    uint64_t due = 0;
    for (size_t m = 0; m < p->meter_count; m++)
        begin_waiting(p, &p->meters[m]);
    while (due < UINT64_MAX) {
        due = UINT64_MAX;
        for (size_t m = 0; m < p->meter_count; m++) {
            struct meter *meter = &p->meters[m];
            if (go_on_waiting(p, meter) != 0)
                return -1;
            due = meter->awaited > 0 && meter->due < due ? meter->due : due;
        }
        uint64_t now = clock_now();
        if (due < UINT64_MAX && due > now)
            pause_for(due - now);
    }
    return 0;
}

int power_end(struct power *p, uint64_t now)
{
    if (p->failed)
        return -1;
    if (!p->begun && power_tick(p, 0) != 0)
        return -1;
    if (p->taken)
        p->count = 0;
    p->taken = false;
    if (!p->closing) {
        p->ended = true;
        p->end = now;
        p->busy.due = 0;
        p->busy_end = busy_read(&p->busy, clock_now());
        if (await_updates(p) != 0)
            return -1;
        p->closing = true;
        if (read_all(p) != 0)
            return -1;
    }
    for (size_t m = 0; m < p->meter_count; m++) {
        int got = p->meters[m].from->source->late != NULL ? take_late(p, &p->meters[m]) : 0;
        if (got != 0)
            return got;
    }
    return 0;
}

const struct raw_reading *power_take(struct power *p, size_t *count)
{
    *count = p->taken ? 0 : p->count;
    p->taken = true;
    return p->readings;
}

static void join(char **list, const char *separator, const char *word)
{
    mem_append(list, "%s%s", *list != NULL ? separator : "", word);
}

/* Returns whether the value of the run includes no channel of METER. */
static bool is_apart(const struct meter *meter)
{
    for (size_t i = 0; i < meter->channels.count; i++)
        if (meter->tracks[i].value)
            return false;
    return true;
}

void power_summarize(const struct power *p, struct power_summary *s)
{
    *s = (struct power_summary){.seconds = (double)p->end * 1e-9,
                                .baseline_w = p->baseline_w,
                                .reading = (double)p->reading * 1e-9,
                                .readings = p->total,
                                .busy = -1};
    if (p->busy_start > 0 && p->busy_end >= p->busy_start)
        s->busy = (double)(p->busy_end - p->busy_start) * 1e-9;
    for (size_t m = 0; m < p->meter_count; m++) {
        const struct meter *meter = &p->meters[m];
        bool apart = is_apart(meter);
        for (size_t i = 0; i < meter->channels.count; i++) {
            const struct track *t = &meter->tracks[i];
            if (apart && !t->skip)
                join(&s->apart, ", ", p->sources[t->number].name);
            if (!t->value)
                continue;
            const char *scope = pmu_scope_name(t->channel->scope);
            join(&s->value, " + ", p->sources[t->number].name);
            if (s->scope == NULL || strstr(s->scope, scope) == NULL)
                join(&s->scope, ", ", scope);
            s->has_energy = t->channel->kind == PMU_POWER;
            s->energy += t->joules;
        }
    }
}

void power_summary_free(struct power_summary *s)
{
    free(s->value);
    free(s->scope);
    free(s->apart);
}

static void warn_of(const struct power *p, const struct track *t)
{
    const char *name = p->sources[t->number].name;
    double assumed = (double)t->assumed * 1e-9;
    if (t->channel->counter && t->has && t->counts == 0 && p->end >= SECOND)
        report_warning(p->reporter, "%s did not move during the run of %.1f s: its energy is 0",
                       name, (double)p->end * 1e-9);
    if (t->resets > 0)
        report_warning(p->reporter,
                       "%s was reset %" PRIu64
                       " time%s: the previous power is assumed for %.3f s of the run",
                       name, t->resets, t->resets == 1 ? "" : "s", assumed);
    if (t->fast > 0)
        report_warning(p->reporter,
                       "%s moved by more than half its range between two readings, %" PRIu64
                       " times: energy may be missing",
                       name, t->fast);
    if (t->alike > 0)
        report_warning(p->reporter,
                       "%s has %" PRIu64 " values whose time occurs more than once: each such time "
                       "counts once, with the mean of its values",
                       name, t->alike);
    if (t->gap > long_gap && t->gap > 20 * t->channel->period)
        report_warning(p->reporter, "%s delivered no new value for %.1f s", name,
                       (double)t->gap * 1e-9);
}

void power_warn(const struct power *p)
{
    if (p->slept > 0)
        report_warning(p->reporter,
                       "the machine was suspended for %.1f s: energy of that time is left out",
                       (double)p->slept * 1e-9);
    for (size_t m = 0; m < p->meter_count; m++)
        for (size_t i = 0; i < p->meters[m].channels.count; i++)
            if (!p->meters[m].tracks[i].skip)
                warn_of(p, &p->meters[m].tracks[i]);
}

double power_baseline(const struct power *p)
{
    return p->baseline_w;
}

/* ---- the start ---------------------------------------------------------------------------------- */

/* A counter whose period is being measured. */
struct watch {
    uint64_t raw, moved;     /* last count, and when it was first seen [ns] */
    uint64_t steps[CHANGES]; /* between two changes */
    unsigned changes;        /* the first count is not a change and does not begin a step */
};

/* Reads channel INDEX once. Returns 1 if its period is now known, otherwise 0, or -1 after a
 * failure. */
static int watch(struct power *p, struct meter *meter, size_t index, struct watch *w)
{
    const struct pmu_channel *c = &meter->channels.list[index];
    struct pmu_value value = {0};
    struct error why = {0};
    if (!c->counter || c->period > 0 || w->changes == CHANGES + 2)
        return 1;
    int got = meter->from->source->read(meter->state, index, &value, &why);
    uint64_t now = clock_now();
    if (got < 0)
        return fail(p, meter, &why);
    if (got == 0 || (w->changes > 0 && value.count == w->raw))
        return 0;
    if (w->changes >= 2)
        w->steps[w->changes - 2] = now - w->moved;
    w->raw = value.count;
    w->moved = now;
    w->changes++;
    return 0;
}

/* Watches the counters of METER for some time, or until each has moved several times: if the source
 * does not specify the period, it is the usual time between two movements. */
static int measure_periods(struct power *p, struct meter *meter)
{
    struct watch *all = mem_zalloc(meter->channels.count + 1, sizeof *all);
    uint64_t begin = clock_now();
    int enough = meter->counts ? 0 : 1;
    uint64_t limit = measuring;
    while (enough == 0 && clock_now() - begin < limit) {
        enough = 1;
        limit = measuring;
        for (size_t i = 0; i < meter->channels.count && enough >= 0; i++) {
            int got = watch(p, meter, i, &all[i]);
            enough = got < enough ? got : enough;
            limit = all[i].changes == 2 ? measuring_slow : limit;
        }
        if (enough == 0)
            pause_for(PROBE_NS);
    }
    for (size_t i = 0; i < meter->channels.count; i++) {
        if (all[i].changes <= 2)
            continue;
        meter->channels.list[i].period = update_period_usual(all[i].steps, all[i].changes - 2);
        meter->tracks[i].measured = true;
        meter->doubtful = meter->doubtful || all[i].changes < DOUBTFUL;
    }
    free(all);
    return enough < 0 ? -1 : 0;
}

/* Opens one source. */
static int open_meter(struct power *p, struct meter *meter)
{
    struct pmu_channels *channels = &meter->channels;
    const struct power_source *from = meter->from;
    struct error why = {0};
    if (from->source->open(&from->request, channels, &meter->state, &why) != 0)
        return fail(p, meter, &why);
    meter->open = true;
    if (channels->chosen == 0 && from->request.sensor > 0) {
        if (from->request.sensor > channels->count)
            return error_set(p->err, from->spec, NO_OFFSET,
                             "--sensor must be a number from 1 to %zu, not %zu", channels->count,
                             from->request.sensor);
        channels->chosen = from->request.sensor;
    }
    meter->tracks = mem_zalloc(channels->count + 1, sizeof *meter->tracks);
    for (size_t i = 0; i < channels->count; i++) {
        meter->tracks[i].channel = &channels->list[i];
        meter->counts = meter->counts || channels->list[i].counter;
    }
    meter->suspended = suspended_so_far();
    return measure_periods(p, meter);
}

/* Reads all sources during the measurement of the baseline. */
static int measure_baseline(struct power *p, double seconds)
{
    uint64_t length = (uint64_t)(seconds * 1e9), now = 0;
    p->start = clock_now();
    for (; now < length; now = clock_now() - p->start) {
        for (size_t m = 0; m < p->meter_count; m++)
            if (p->meters[m].due <= p->start + now && read_meter(p, &p->meters[m]) != 0)
                return -1;
        pause_for(length - now < min_interval ? length - now : min_interval);
    }
    p->end = now;
    p->ended = p->closing = true;
    if (read_all(p) != 0)
        return -1;
    p->ended = p->closing = false;
    struct power_summary summary;
    power_summarize(p, &summary);
    if (summary.has_energy)
        p->baseline_w = summary.energy / summary.seconds;
    power_summary_free(&summary);
    return 0;
}

static int open_all(struct power *p)
{
    const struct power_options *o = p->options;
    for (size_t i = 0; i < o->count; i++) {
        p->meters[i].from = &o->sources[i];
        p->meter_count = i + 1;
        if (open_meter(p, &p->meters[i]) != 0)
            return -1;
    }
    choose_value(p);
    describe(p);
    for (size_t m = 0; m < p->meter_count; m++)
        set_pace(&p->meters[m]);
    if (o->baseline_seconds > 0 && measure_baseline(p, o->baseline_seconds) != 0)
        return -1;
    return 0;
}

struct power *power_open(const struct power_options *options, struct reporter *reporter,
                         struct error *err)
{
    struct power *p = mem_zalloc(1, sizeof *p);
    p->options = options;
    p->reporter = reporter;
    p->err = err;
    p->meters = mem_zalloc(options->count + 1, sizeof *p->meters);
    p->baseline_w = options->baseline_w > 0 ? options->baseline_w : -1;
    busy_open(&p->busy);
    if (open_all(p) == 0)
        return p;
    power_close(p);
    return NULL;
}

void power_close(struct power *p)
{
    if (p == NULL)
        return;
    for (size_t m = 0; m < p->meter_count; m++) {
        struct meter *meter = &p->meters[m];
        if (meter->open)
            meter->from->source->close(meter->state);
        pmu_channels_free(&meter->channels);
        free(meter->tracks);
    }
    for (size_t i = 0; i < p->source_count; i++) {
        free(p->sources[i].name);
        free(p->sources[i].kind);
        free(p->sources[i].unit);
        free(p->sources[i].scope);
        free(p->sources[i].help);
    }
    busy_close(&p->busy);
    busy_history_free(&p->history);
    free(p->sources);
    free(p->meters);
    free(p->readings);
    free(p);
}

const struct raw_source *power_channels(const struct power *p, size_t *count)
{
    *count = p->source_count;
    return p->sources;
}

static const struct track *first_of_value(const struct power *p)
{
    for (size_t m = 0; m < p->meter_count; m++)
        for (size_t i = 0; i < p->meters[m].channels.count; i++)
            if (p->meters[m].tracks[i].value)
                return &p->meters[m].tracks[i];
    return NULL;
}

enum pmu_kind power_kind(const struct power *p)
{
    const struct track *t = first_of_value(p);
    return t != NULL ? t->channel->kind : PMU_NONE;
}

const char *power_unit(const struct power *p)
{
    const struct track *t = first_of_value(p);
    return t == NULL ? "" : t->channel->counter ? "W" : t->channel->unit;
}

/* ---- the list ----------------------------------------------------------------------------------- */

static void list_channels(FILE *out, const struct pmu_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        const struct pmu_channel *c = &channels->list[i];
        fprintf(out, "    %2zu  %-22s %-7s %-8s %s", i + 1, c->name,
                c->counter ? "energy" : pmu_kind_name(c->kind), pmu_scope_name(c->scope), c->help);
        if (c->range > 0)
            fprintf(out, "; wraps at %.6g J", (double)c->range * c->per_count);
        if (c->period > 0)
            fprintf(out, "; new every %.4g ms", (double)c->period * 1e-6);
        fputc('\n', out);
    }
}

static void list_source(FILE *out, const struct pmu_source *source)
{
    struct power_options one = {.sources = {{.source = source, .spec = source->name}}, .count = 1};
    struct reporter silent = {.tool = "sampler", .quiet = true};
    struct error err = {0};
    char *usage = pmu_usage(source);
    one.sources[0].request.kind = -1;
    fprintf(out, "%s: %s\n", usage, source->help);
    free(usage);
    if (source->argument != NULL && source->argument[0] != '[') {
        fprintf(out, "    works here with any %s that does\n", source->argument);
        return;
    }
    struct power *p = power_open(&one, &silent, &err);
    if (p == NULL) {
        fprintf(out, "    does not work here: %s%s%s\n", err.file, err.file[0] != '\0' ? ": " : "",
                err.text);
        return;
    }
    fputs("    works here\n", out);
    list_channels(out, &p->meters[0].channels);
    power_close(p);
}

void power_list(FILE *out)
{
    for (const struct pmu_source *const *source = pmu_sources; *source != NULL; source++)
        list_source(out, *source);
}

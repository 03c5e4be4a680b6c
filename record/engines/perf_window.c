/* Windows of sightings, and the time in which no thread ran.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf_internal.h"

static const uint64_t min_length = SECOND / 100, max_length = SECOND / 10;
/* for the CPU time, unless this process has lost its CPU [ns] */
static const uint64_t max_reading = SECOND / 5000;
static const double min_idle = 0.02; /* fraction of a window: a shorter idle time counts as none */
static const double idle =
    SECOND / 200.; /* without a sighting: a shorter time is not reported separately */
/* A window lasts at least COST_SHARE times the time that ending it takes, and has MIN_SIGHTINGS sightings,
 * or one if it has its maximum length. */
enum { COST_SHARE = 50, MIN_SIGHTINGS = 8, MAX_ENTRIES = 1 << 14 };
enum {
    FEW = 4, /* number of mean intervals that show whether threads run */
    /* divisor of a window: CPU time of so short a part may be divided in proportion to time */
    SHORT = 4,
    MAX_LEFT = 2,   /* number of mean intervals of a CPU that may be left for the next window */
    MAX_OWED = 8,   /* the same for a thread */
    MIN_MARKED = 4, /* sightings per window of the sensor if those of several threads alternate */
    MIN_WEIGHT = 8, /* least part of its intervals that a thread gets in a window, as a divisor */
    MEMORY = 64     /* number of windows whose CPU time is compared with that of sightings */
};

void perf_window_free(struct perf_window *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->entries[i].total)
            perf_thread_free(w->entries[i].thread);
    free(w->entries);
    free(w->threads);
}

void perf_window_add(struct engine_run *run, const struct perf_entry *entry)
{
    struct perf_window *w = &run->window;
    mem_reserve(&w->entries, &w->capacity, w->count + 1, sizeof *w->entries);
    w->entries[w->count++] = *entry;
    w->sightings += !entry->total;
}

void perf_window_alone(struct engine_run *run)
{
    struct perf_window *w = &run->window;
    if (w->count > 0 && w->entries[w->count - 1].total)
        w->entries[w->count - 1].alone = true;
}

/* What has changed: the process PID; of it, if not NULL, THREAD only; and if SIZE is not 0, the SIZE
 * bytes at ADDRESS only. */
struct change {
    uint32_t pid;
    const struct perf_thread *thread;
    uint64_t address, size;
};

static bool concerns(const struct change *change, const struct perf_entry *entry)
{
    if (entry->total || entry->thread->pid != change->pid)
        return false;
    if (change->thread != NULL)
        return entry->thread == change->thread;
    return change->size == 0 || entry->pc - change->address < change->size ||
           (entry->caller != 0 && entry->caller - change->address < change->size);
}

/* Makes sightings up to TIME that CHANGE concerns stay before TIME, and those before them, because
 * they are delivered first. Each needs a time of its own. */
static void end_before(struct perf_window *w, const struct change *change, uint64_t time)
{
    uint64_t until = time;
    bool found = false;
    for (size_t i = w->count; i-- > 0 && (w->entries[i].total || w->entries[i].time <= time);) {
        struct perf_entry *entry = &w->entries[i];
        found |= concerns(change, entry);
        if (found && !entry->total && entry->until <= until)
            break;
        if (found)
            entry->until = until--;
    }
}

void perf_window_exec(struct perf_window *w, uint32_t pid, uint64_t time)
{
    end_before(w, &(struct change){.pid = pid}, time);
}

void perf_window_map(struct perf_window *w, uint32_t pid, uint64_t address, uint64_t size,
                     uint64_t time)
{
    if (size > 0)
        end_before(w, &(struct change){pid, NULL, address, size}, time);
}

void perf_window_rename(struct perf_window *w, struct perf_thread *thread, uint64_t time)
{
    thread->renamed = time;
    end_before(w, &(struct change){.pid = thread->pid, .thread = thread}, time);
}

/* Delivers a sample of the first COUNT waiting threads. */
static void emit(struct engine_run *run, uint64_t time, size_t count)
{
    struct perf_window *w = &run->window;
    struct engine_sample sample = {time > run->last ? time : run->last + 1, w->threads, count};
    run->last = sample.time;
    w->thread_count -= count;
    if (!run->sampling)
        return;
    if (run->hooks->sample(run->hooks->context, &sample) != 0)
        run->sampling = false;
    else
        run->result->samples++;
}

static void add_thread(struct perf_window *w, const struct perf_entry *entry, uint64_t cpu)
{
    mem_reserve(&w->threads, &w->thread_capacity, w->thread_count + 1, sizeof *w->threads);
    w->threads[w->thread_count++] =
        (struct engine_thread){.pid = entry->thread->pid,
                               .tid = entry->thread->tid,
                               .pc = entry->pc,
                               .caller = entry->caller,
                               .cpu = cpu,
                               .represented = entry->total ? (uint64_t)entry->span : 0,
                               .flags = entry->flags};
}

/* The time that belongs to a sighting [ns]: BUSY, up to a moment that should be at most LATEST, so
 * that those after it get their time, and must be at most END. */
struct slot {
    uint64_t busy, latest, end;
};

/* Delivers a sighting with a new time, at the end of its slot: if the sightings before and after it
 * permit, its original time is in the middle of the slot. Returns the length of the slot, which is
 * shorter or longer than BUSY if the mappings or names changed. */
static uint64_t emit_sighting(struct engine_run *run, struct perf_entry *entry,
                              const struct slot *slot, uint64_t cpu)
{
    struct perf_window *w = &run->window;
    uint64_t first = run->last + slot->busy;
    uint64_t time =
        perf_later(perf_earlier(entry->time + slot->busy / 2, slot->latest), entry->from);
    time = perf_earlier(perf_earlier(perf_later(time, first), slot->end), entry->until - 1);
    uint64_t idle_ns = perf_earlier(time, slot->latest);
    idle_ns = idle_ns > first ? idle_ns - first : 0;
    if (idle_ns > 1)
        emit(run, run->last + idle_ns, 0);
    uint64_t begin = run->last;
    entry->thread->nominal += cpu;
    add_thread(w, entry, entry->thread->nominal);
    emit(run, time, w->thread_count);
    return run->last - begin;
}

/* Totals are delivered with the next sighting. */
static void take_total(struct engine_run *run, struct perf_entry *entry)
{
    struct perf_window *w = &run->window;
    add_thread(w, entry, entry->cpu);
    perf_thread_free(entry->thread);
    if (entry->alone || w->thread_count >= MAX_ENTRIES)
        emit(run, run->last + 1, w->thread_count);
}

/* Adds the CPU time that the first COUNT entries represent, for each thread. Returns that of all
 * entries [ns]. */
static double add_spans(struct perf_window *w, size_t count)
{
    double all = 0;
    for (size_t i = 0; i < count; i++)
        if (!w->entries[i].total) {
            w->entries[i].thread->span = 0;
            w->entries[i].thread->sightings = 0;
        }
    for (size_t i = 0; i < count; i++)
        if (!w->entries[i].total) {
            w->entries[i].thread->span += w->entries[i].span;
            w->entries[i].thread->sightings++;
            all += w->entries[i].span;
        }
    return all;
}

/* Returns the part of the CPU time of a window that a thread should have [ns]. */
static double weight_of(const struct perf_thread *thread)
{
    return fmax(thread->span + thread->owed, thread->span / MIN_WEIGHT);
}

/* The CPU time GIVEN is divided among the first COUNT entries, whose parts have the sum ALL: notes what each thread
 * should have had. The intervals of all sightings together lag behind the CPU time of the program, so they are
 * scaled. */
static void settle(struct engine_run *run, size_t count, double given, double all)
{
    struct perf_window *w = &run->window;
    double scale = w->given / w->spans, most = MAX_OWED * run->sets.mean;
    for (size_t i = 0; i < count; i++) {
        struct perf_thread *thread = w->entries[i].thread;
        if (w->entries[i].total)
            continue;
        w->alternate = thread != w->latest ? MEMORY : w->alternate - (w->alternate > 0);
        w->latest = thread;
        double had = given * thread->part * (double)thread->sightings / all;
        if (thread->sightings > 0)
            thread->owed = fmin(fmax(thread->owed + thread->span * scale - had, -most), most);
        thread->sightings = 0; /* once */
    }
}

/* Finds the parts of the CPU time GIVEN that the sightings among the first COUNT entries get.
 * Returns the sum of these parts. */
static double find_parts(struct engine_run *run, size_t count, double given)
{
    struct perf_window *w = &run->window;
    double spans = add_spans(w, count), all = 0;
    if (run->sets.batch)
        return spans;
    for (size_t i = 0; i < count; i++) {
        struct perf_thread *thread = w->entries[i].thread;
        if (w->entries[i].total)
            continue;
        thread->part = weight_of(thread) / (double)thread->sightings;
        all += thread->part;
    }
    w->given += given - w->given / MEMORY;
    w->spans += spans - w->spans / MEMORY;
    settle(run, count, given, all);
    return all;
}

static double part_of(const struct engine_run *run, const struct perf_entry *entry)
{
    return run->sets.batch ? entry->span : entry->thread->part;
}

/* Delivers the first COUNT entries, up to UNTIL, and divides CPU and the time BUSY among their LEFT
 * sightings. */
static void emit_entries(struct engine_run *run, size_t count, size_t left, uint64_t until,
                         double cpu, double busy)
{
    struct perf_window *w = &run->window;
    bool no_idle = until > run->last && busy >= (double)(until - run->last);
    /* DUE: what the sightings so far should have of the time; SPENT: what they have */
    double all = find_parts(run, count, cpu), due = 0, spent = 0;
    for (size_t i = 0; i < count; i++) {
        struct perf_entry *entry = &w->entries[i];
        if (entry->total) {
            take_total(run, entry);
            continue;
        }
        w->sightings--;
        double part = part_of(run, entry) / all;
        due += busy * part;
        uint64_t reserved = --left > 0 && busy > due ? (uint64_t)(busy - due) : 0;
        struct slot slot = {.busy = due > spent ? (uint64_t)(due - spent) : 0,
                            .latest = until > reserved ? until - reserved : 0,
                            .end = until > left ? until - left : 0};
        if (left == 0 && no_idle && until > run->last) /* the last one ends with the window */
            slot.busy = until - run->last;
        spent += (double)emit_sighting(run, entry, &slot, (uint64_t)(cpu * part));
    }
    w->count -= count;
    if (count > 0)
        memmove(w->entries, w->entries + count, w->count * sizeof *w->entries);
}

uint64_t perf_program_cpu(const struct engine_run *run)
{
    uint64_t sum = 0, value;
    for (size_t i = 0; i < run->counter_count; i++)
        if (read(run->counters[i], &value, sizeof value) == sizeof value)
            sum += value;
    return sum > run->cpu_start ? sum - run->cpu_start : 0;
}

static bool is_over(const struct engine_run *run, uint64_t lasted)
{
    const struct perf_window *w = &run->window;
    uint64_t length = w->length > min_length ? w->length : min_length;
    if (w->every <= max_length / 2 && length < 2 * w->every) /* it ends at a new value */
        length = 2 * w->every;
    return lasted >= length &&
           (w->sightings >= MIN_SIGHTINGS || lasted >= max_length || w->count >= MAX_ENTRIES);
}

static uint64_t begin_of(const struct engine_run *run)
{
    return run->window.clock != 0 ? run->window.clock : run->start;
}

/* Reads the CPU time of the program, and notes how long that took. Sets *NOW to the time. If this
 * process has lost its CPU meanwhile, it reads again. */
static uint64_t read_cpu(struct engine_run *run, uint64_t *now)
{
    struct perf_window *w = &run->window;
    uint64_t cpu, cost;
    for (int i = 0; i < 3; i++) {
        *now = clock_now();
        cpu = perf_program_cpu(run);
        cost = clock_now() - *now;
        if (cost < max_reading)
            break;
    }
    /* one interrupted reading does not mean that reading is slow */
    w->cost = cost > w->cost && w->cost > 0 ? w->cost + (cost - w->cost) / 16 : cost;
    w->length = COST_SHARE * w->cost;
    return cpu;
}

/* Returns the CPU time of the program from the beginning of the window to *NOW, which it sets. */
static uint64_t used_so_far(struct engine_run *run, uint64_t *now)
{
    uint64_t cpu = read_cpu(run, now);
    return cpu > run->window.cpu ? cpu - run->window.cpu : 0;
}

/* Returns how many threads ran recently, according to the sightings of the LENGTH ns before UNTIL,
 * the time of the last known ones. */
static double running_lately(const struct engine_run *run, uint64_t until, double length)
{
    const struct perf_window *w = &run->window;
    double spans = 0;
    for (size_t i = w->count; i-- > 0;) {
        const struct perf_entry *entry = &w->entries[i];
        if (!entry->total && (double)entry->time + length < (double)until)
            break;
        spans += entry->total || entry->time > until ? 0 : entry->span;
    }
    return fmin(spans / length, (double)run->counter_count);
}

/* Returns how much of the CPU time USED up to NOW was used up to CLOCK. If CPU time after CLOCK was
 * included, the samples after each wait would get more than they used, and those before the next
 * wait less. The same would happen if the time of the window was divided in proportion; only if this
 * process got a CPU so late that the window is shorter than the time since CLOCK, there is nothing
 * better. */
static uint64_t used_until(const struct engine_run *run, uint64_t used, uint64_t clock,
                           uint64_t now)
{
    uint64_t until = run->delivered - run->start, begin = begin_of(run);
    double since = now > clock ? (double)(now - clock) : 0;
    double window = clock > begin ? (double)(clock - begin) : 0;
    if (since > window)
        return (uint64_t)((double)used * window / (window + since));
    double length = fmax(since, FEW * run->sets.mean);
    double after = since * running_lately(run, until, length);
    return (double)used > after ? used - (uint64_t)after : 0;
}

/* Returns how much of the CPU time USED in the window is divided among its sightings; ALL: nothing
 * is left for the next window. In a batch, it is known how much CPU time a sighting represents. A
 * window often ends shortly before a sighting that represents time before the end: if this time was
 * divided among the other sightings, the code before a wait would get too little, and the code
 * after it too much. */
static double divided(struct engine_run *run, uint64_t used, bool all)
{
    struct perf_window *w = &run->window;
    double have = w->left + (double)used, spans = 0;
    for (size_t i = 0; i < w->count && !all; i++)
        spans += w->entries[i].total ? 0 : w->entries[i].span;
    double most = MAX_LEFT * run->sets.mean * (double)run->counter_count;
    w->left = all || !run->sets.batch ? 0 : fmin(fmax(have - spans, 0), most);
    return have - w->left;
}

/* Returns the time up to UNTIL in which some thread ran, if the program USED that much CPU time. */
static double busy_time(const struct engine_run *run, uint64_t until, uint64_t used)
{
    double span = until > run->last ? (double)(until - run->last) : 0;
    return (double)used < (1 - min_idle) * span ? (double)used : span;
}

/* Fills the rest of a window, up to UNTIL, with a sample without threads. */
static void fill(struct engine_run *run, uint64_t until)
{
    if (until > run->last)
        emit(run, until, 0);
}

void perf_window_end(struct engine_run *run, uint64_t until, bool at_once)
{
    struct perf_window *w = &run->window;
    uint64_t now = clock_now();
    if (!at_once && !is_over(run, now - begin_of(run)))
        return;
    uint64_t clock = run->start + until;
    uint64_t used = used_so_far(run, &now);
    used = used_until(run, used, clock, now);
    double span = until > run->last ? (double)(until - run->last) : 0;
    double busy = busy_time(run, until, used);
    w->clock = clock;
    if (w->sightings == 0) { /* the CPU time belongs to the next sighting */
        if (span - busy > idle)
            emit(run, until - (uint64_t)busy, 0);
        return;
    }
    w->cpu += used;
    emit_entries(run, w->count, w->sightings, until, divided(run, used, at_once), busy);
    if (busy < span)
        fill(run, until);
}

/* Returns the number of entries up to TIME, and sets *SIGHTINGS to the number of sightings among
 * them. */
static size_t entries_until(const struct perf_window *w, uint64_t time, size_t *sightings)
{
    size_t count = 0;
    *sightings = 0;
    for (; count < w->count && (w->entries[count].total || w->entries[count].time <= time); count++)
        *sightings += !w->entries[count].total;
    return count;
}

/* Returns whether a window that ends at CLOCK is long enough to be worth reading CPU time for. */
static bool is_long(const struct engine_run *run, uint64_t clock)
{
    uint64_t begin = begin_of(run);
    return clock > begin && clock - begin >= run->window.length &&
           (double)(clock - begin) >= run->sets.mean / 2;
}

/* CPU time per time between two looks. */
static double rate_between(const struct perf_look *before, const struct perf_look *after)
{
    double used = after->cpu > before->cpu ? (double)(after->cpu - before->cpu) : 0;
    return after->clock > before->clock ? used / (double)(after->clock - before->clock) : 0;
}

/* Returns the CPU time used from the look before look LAST to CLOCK, before look LAST [ns]. If the
 * rate was different before, a thread is assumed to have started or stopped once in between. */
static double used_since(const struct perf_look *looks, size_t last, uint64_t clock)
{
    const struct perf_look *begin = &looks[last - 1], *end = &looks[last];
    double ns = (double)(end->clock - begin->clock), rate = rate_between(begin, end), before = rate;
    double part = (double)(clock - begin->clock) / ns;
    if (last > 1 && begin[-1].clock > 0 && ns >= (double)(begin->clock - begin[-1].clock) / 4)
        before = rate_between(&begin[-1], begin);
    double more = rate - before, step = fmax(1, fabs(more)), at = 1 - fabs(more) / step;
    double used = before * part + copysign(step, more) * fmax(part - at, 0);
    return ns * fmin(fmax(used, 0), rate);
}

/* The CPU time at CLOCK; time 0 if all looks are too far away from it. The new value may have been
 * there at the time of the last look but one, between reading power and reading CPU time. */
static struct raw_mark mark_at(const struct engine_run *run, uint64_t clock)
{
    const struct perf_look *looks = run->window.looks;
    size_t last = PERF_LOOKS - 1;
    if (clock >= looks[last].clock)
        return (struct raw_mark){0};
    while (last > 1 && clock < looks[last - 1].clock)
        last--;
    const struct perf_look *before = &looks[last - 1];
    if (before->clock < begin_of(run) || clock < before->clock)
        return (struct raw_mark){0};
    uint64_t since = clock - before->clock, until = looks[last].clock - clock;
    uint64_t nearest = since < until ? since : until;
    if (nearest > (clock - begin_of(run)) / SHORT / 2)
        return (struct raw_mark){0};
    return (struct raw_mark){clock - run->start,
                             before->cpu + (uint64_t)used_since(looks, last, clock)};
}

void perf_window_look(struct engine_run *run, uint64_t read)
{
    struct perf_window *w = &run->window;
    uint64_t now = clock_now(), clock = run->start + read;
    if (read > 0) {
        w->every = read > w->read ? read - w->read : 0;
        w->read = read;
    }
    if (w->every == 0 || !is_long(run, now))
        return;
    memmove(w->looks, w->looks + 1, (PERF_LOOKS - 1) * sizeof *w->looks);
    uint64_t cpu = read_cpu(run, &now);
    w->looks[PERF_LOOKS - 1] = (struct perf_look){now, cpu};
    if (read > 0 && is_long(run, clock))
        w->mark = mark_at(run, clock);
}

void perf_window_mark(struct engine_run *run)
{
    struct perf_window *w = &run->window;
    struct raw_mark mark = w->mark;
    size_t sightings, count = entries_until(w, mark.time, &sightings);
    uint64_t used = mark.cpu > w->cpu ? mark.cpu - w->cpu : 0;
    w->mark.time = 0;
    if (mark.time <= run->last || run->start + mark.time <= begin_of(run) ||
        (sightings == 0 && (double)used > (double)(mark.time - run->last) / 2))
        return; /* the CPU time belongs to the next sighting */
    if (w->alternate > 0 && sightings < MIN_MARKED)
        return; /* it would give threads without a sighting too little */
    w->clock = run->start + mark.time;
    if (sightings > 0) {
        w->cpu += used;
        emit_entries(run, count, sightings, mark.time, divided(run, used, false),
                     busy_time(run, mark.time, used));
    }
    fill(run, mark.time);
    run->hooks->mark(run->hooks->context, &mark);
}

void perf_window_close(struct engine_run *run, uint64_t time)
{
    emit_entries(run, run->window.count, run->window.sightings, time, 0, 0);
    emit(run, time, run->window.thread_count);
}

/* Windows of sightings, and the time in which no thread ran.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_window.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf_internal.h"

static const uint64_t shortest = SECOND / 100, longest = SECOND / 10;
static const double least = 0.02; /* part of a window: a shorter idle time counts as none */
static const double idle =
    SECOND / 200.; /* without a sighting: a shorter time is not reported for itself */
/* A window lasts at least COST_SHARE times what ending it costs, and has SOME sightings, or one at its greatest
 * length. */
enum { COST_SHARE = 50, SOME = 8, MANY = 1 << 14 };

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

void perf_window_exec(struct perf_window *w, uint32_t pid, uint64_t time)
{
    for (size_t i = w->count; i-- > 0 && (w->entries[i].total || w->entries[i].time <= time);)
        if (!w->entries[i].total && w->entries[i].thread->pid == pid &&
            w->entries[i].until == UINT64_MAX)
            w->entries[i].until = time;
}

/* Delivers the first COUNT waiting threads. */
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
    w->threads[w->thread_count++] = (struct engine_thread){.pid = entry->thread->pid,
                                                           .tid = entry->thread->tid,
                                                           .pc = entry->pc,
                                                           .caller = entry->caller,
                                                           .cpu = cpu,
                                                           .flags = entry->flags};
}

/* Delivers a sighting as near to its time as the sightings before and after it permit, at LATEST; the BUSY ns before it
 * are its own. */
static void emit_sighting(struct engine_run *run, struct perf_entry *entry, uint64_t busy,
                          uint64_t latest, uint64_t cpu)
{
    struct perf_window *w = &run->window;
    uint64_t time = entry->time < latest ? entry->time : latest;
    time = time > entry->from ? time : entry->from;
    if (time < run->last + busy)
        time = run->last + busy;
    if (time >= entry->until)
        time = entry->until - 1;
    if (time > run->last + busy + 1)
        emit(run, time - busy, 0);
    entry->thread->nominal += cpu;
    add_thread(w, entry, entry->thread->nominal);
    emit(run, time, w->thread_count);
}

/* Totals are delivered with the next sighting. */
static void take_total(struct engine_run *run, struct perf_entry *entry)
{
    struct perf_window *w = &run->window;
    add_thread(w, entry, entry->cpu);
    perf_thread_free(entry->thread);
    if (entry->alone || w->thread_count >= MANY)
        emit(run, run->last + 1, w->thread_count);
}

/* Delivers all entries; the sightings divide CPU and the time BUSY up to UNTIL. */
static void emit_all(struct engine_run *run, uint64_t until, double cpu, double busy)
{
    struct perf_window *w = &run->window;
    size_t left = w->sightings;
    uint64_t part = left > 0 ? (uint64_t)(busy / (double)left) : 0;
    uint64_t each = left > 0 ? (uint64_t)(cpu / (double)left) : 0;
    for (size_t i = 0; i < w->count; i++) {
        struct perf_entry *entry = &w->entries[i];
        if (entry->total) {
            take_total(run, entry);
            continue;
        }
        uint64_t reserved = --left * part; /* for the sightings after it */
        emit_sighting(run, entry, part, until > reserved ? until - reserved : 0, each);
    }
    w->count = w->sightings = 0;
}

uint64_t perf_program_cpu(const struct engine_run *run)
{
    uint64_t sum = 0, value;
    for (size_t i = 0; i < run->counter_count; i++)
        if (read(run->counters[i], &value, sizeof value) == sizeof value)
            sum += value;
    return sum;
}

static bool is_over(const struct perf_window *w, uint64_t lasted)
{
    uint64_t length = w->length > shortest ? w->length : shortest;
    return lasted >= length && (w->sightings >= SOME || lasted >= longest || w->count >= MANY);
}

void perf_window_end(struct engine_run *run, uint64_t until, bool at_once)
{
    struct perf_window *w = &run->window;
    uint64_t now = clock_now(), begin = w->clock != 0 ? w->clock : run->start;
    if (!at_once && !is_over(w, now - begin))
        return;
    uint64_t cpu = perf_program_cpu(run);
    double used = cpu > w->cpu ? (double)(cpu - w->cpu) : 0;
    double span = until > run->last ? (double)(until - run->last) : 0;
    double busy = used < (1 - least) * span ? used : span;
    w->clock = now;
    w->length = COST_SHARE * (clock_now() - now);
    if (w->sightings == 0) { /* what was used belongs to the next sighting */
        if (span - busy > idle)
            emit(run, until - (uint64_t)busy, 0);
        return;
    }
    w->cpu = cpu;
    emit_all(run, until, used, busy);
    if (busy < span && until > run->last)
        emit(run, until, 0);
}

void perf_window_close(struct engine_run *run, uint64_t time)
{
    emit_all(run, time, 0, 0);
    emit(run, time, run->window.thread_count);
}

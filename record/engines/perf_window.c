/* What is handed over: sightings, and the time in which nobody ran.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_window.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf.h"

static const uint64_t shortest = SECOND / 100;
static const double least = 0.02; /* part of a window: so much is not told from none */
enum {
    COST_SHARE = 50,
    MANY = 1 << 14
}; /* a window lasts for COST_SHARE times what its end costs */

void perf_window_free(struct perf_window *window)
{
    free(window->entries);
    free(window->threads);
}

void perf_window_add(struct engine_run *run, uint64_t time, const struct engine_thread *thread)
{
    struct perf_window *w = &run->window;
    mem_reserve(&w->entries, &w->capacity, w->count + 1, sizeof *w->entries);
    w->entries[w->count++] = (struct perf_entry){.time = time, .thread = *thread};
}

void perf_window_alone(struct engine_run *run)
{
    struct perf_window *w = &run->window;
    if (w->count > 0 && (w->entries[w->count - 1].thread.flags & RAW_TOTAL))
        w->entries[w->count - 1].alone = true;
}

/* Hands over the threads that are there. */
static void emit(struct engine_run *run, uint64_t time)
{
    struct perf_window *w = &run->window;
    struct engine_sample sample = {time > run->last ? time : run->last + 1, w->threads,
                                   w->thread_count};
    w->thread_count = 0;
    run->last = sample.time;
    if (!run->sampling)
        return;
    if (run->hooks->sample(run->hooks->context, &sample) != 0)
        run->sampling = false;
    else
        run->result->samples++;
}

/* The part of the time since the last sample that was idle, IDLE of it. Final CPU times wait for the next sighting. */
static void emit_idle(struct engine_run *run, uint64_t until, double idle)
{
    struct perf_window *w = &run->window;
    size_t waiting = w->thread_count;
    if (idle < least || until <= run->last + 1)
        return;
    w->thread_count = 0;
    emit(run, run->last + 1 + (uint64_t)((double)(until - run->last - 1) * idle));
    w->thread_count = waiting;
}

static void emit_all(struct engine_run *run, double idle)
{
    struct perf_window *w = &run->window;
    for (size_t i = 0; i < w->count; i++) {
        const struct perf_entry *entry = &w->entries[i];
        bool sighting = !(entry->thread.flags & RAW_TOTAL);
        mem_reserve(&w->threads, &w->thread_capacity, w->thread_count + 1, sizeof *w->threads);
        if (sighting)
            emit_idle(run, entry->time, idle);
        w->threads[w->thread_count++] = entry->thread;
        if (sighting || entry->alone || w->thread_count >= MANY)
            emit(run, entry->time);
    }
    w->count = 0;
}

uint64_t perf_program_cpu(const struct engine_run *run)
{
    uint64_t sum = 0, value;
    for (size_t i = 0; i < run->counter_count; i++)
        if (read(run->counters[i], &value, sizeof value) == sizeof value)
            sum += value;
    return sum;
}

void perf_window_end(struct engine_run *run, uint64_t until, bool at_once)
{
    struct perf_window *w = &run->window;
    uint64_t now = clock_now(), begin = w->clock != 0 ? w->clock : run->start;
    uint64_t length = w->length > shortest ? w->length : shortest;
    if (!at_once && now < begin + length && w->count < MANY)
        return;
    uint64_t cpu = perf_program_cpu(run);
    double wall = (double)(now - begin), used = cpu > w->cpu ? (double)(cpu - w->cpu) : 0;
    double idle = used < wall ? 1 - used / wall : 0;
    w->cpu = cpu;
    w->clock = now;
    w->length = COST_SHARE * (clock_now() - now);
    emit_all(run, idle);
    emit_idle(run, until, idle);
}

void perf_window_close(struct engine_run *run, uint64_t time)
{
    emit_all(run, 0);
    emit(run, time);
}

/* CPU times between marks.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/marked_times.h"

#include <stdlib.h>

#include "base/memory.h"
#include "convert/prof2pbin/division.h"

struct marked_thread {
    struct stretch *stretches;
    size_t count, capacity;
    uint64_t weight; /* in the open window */
};

struct marked_times {
    const struct raw_mark *marks;
    size_t mark_count, next;
    uint64_t cpu_ns; /* at the beginning of the open window */
    uint64_t weight; /* of all threads in it */
    struct marked_thread *threads;
    size_t count, capacity;
    uint32_t *active; /* threads in the open window */
    size_t active_count, active_capacity;
};

struct marked_times *marked_times_new(const struct raw_mark *marks, size_t count)
{
    struct marked_times *times = mem_zalloc(1, sizeof *times);
    times->marks = marks;
    times->mark_count = count;
    return times;
}

void marked_times_delete(struct marked_times *times)
{
    if (times == NULL)
        return;
    for (size_t i = 0; i < times->count; i++)
        free(times->threads[i].stretches);
    free(times->threads);
    free(times->active);
    free(times);
}

/* Divides CPU_NS in the open window. */
static void divide(struct marked_times *times, uint64_t cpu_ns)
{
    struct division division = {0};
    for (size_t i = 0; i < times->active_count; i++) {
        struct marked_thread *t = &times->threads[times->active[i]];
        *MEM_APPEND(t->stretches, t->count, t->capacity) =
            (struct stretch){t->weight, division_next(&division, cpu_ns, t->weight, times->weight)};
        t->weight = 0;
    }
    times->active_count = 0;
    times->weight = 0;
}

bool marked_times_ends(const struct marked_times *times, uint64_t time_ns)
{
    return times->next < times->mark_count && times->marks[times->next].time < time_ns;
}

void marked_times_pass(struct marked_times *times, uint64_t time_ns)
{
    while (marked_times_ends(times, time_ns)) {
        uint64_t cpu_ns = times->marks[times->next++].cpu;
        if (times->weight == 0 || cpu_ns < times->cpu_ns || cpu_ns > MAX_CPU_NS)
            continue;
        divide(times, cpu_ns - times->cpu_ns);
        times->cpu_ns = cpu_ns;
    }
}

void marked_times_add(struct marked_times *times, uint32_t thread, uint64_t weight)
{
    mem_extend(&times->threads, &times->count, &times->capacity, (size_t)thread + 1,
               sizeof *times->threads);
    struct marked_thread *t = &times->threads[thread];
    if (t->weight == 0)
        *MEM_APPEND(times->active, times->active_count, times->active_capacity) = thread;
    t->weight += weight;
    times->weight += weight;
}

void marked_times_end(struct marked_times *times)
{
    marked_times_pass(times, UINT64_MAX);
    divide(times, times->weight);
}

void marked_times_take(struct marked_times *times, uint32_t thread, struct weighed_thread *to)
{
    if (thread >= times->count)
        return;
    struct marked_thread *t = &times->threads[thread];
    to->stretches = t->stretches;
    to->count = t->count;
    to->capacity = t->capacity;
    t->stretches = NULL;
    t->count = t->capacity = 0;
}

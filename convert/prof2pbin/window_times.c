/* CPU times in windows of the power sensor.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/window_times.h"

#include <stdlib.h>

#include "base/memory.h"
#include "convert/prof2pbin/division.h"

struct window_thread {
    struct stretch *stretches;
    size_t count, capacity;
    size_t first;              /* number of stretches before the open window */
    struct stretch open, next; /* not yet closed: of the open window, and after its edge */
    bool active;               /* it has records in the open window */
    bool pooled;               /* it shares with other threads */
};

struct window_times {
    struct window_thread *threads;
    size_t count, capacity;
    uint32_t *active; /* numbers of active threads */
    size_t active_count, active_capacity;
    uint64_t little_ns;
    bool ends;  /* there was an edge, and the window before it is not settled yet */
    bool edges; /* there was any */
};

struct window_times *window_times_new(uint64_t little_ns)
{
    struct window_times *w = mem_zalloc(1, sizeof *w);
    w->little_ns = little_ns;
    return w;
}

void window_times_delete(struct window_times *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->count; i++)
        free(w->threads[i].stretches);
    free(w->threads);
    free(w->active);
    free(w);
}

static void put(struct window_thread *t, uint64_t weight, uint64_t cpu_ns)
{
    *MEM_APPEND(t->stretches, t->count, t->capacity) = (struct stretch){weight, cpu_ns};
}

static void close_open(struct window_thread *t)
{
    if (t->open.weight > 0)
        put(t, t->open.weight, t->open.cpu_ns);
    t->open = (struct stretch){0, 0};
}

void window_times_add(struct window_times *w, uint32_t thread, bool ran, bool alone,
                      uint64_t before_ns, uint64_t after_ns)
{
    mem_extend(&w->threads, &w->count, &w->capacity, (size_t)thread + 1, sizeof *w->threads);
    struct window_thread *t = &w->threads[thread];
    if (!t->active)
        *MEM_APPEND(w->active, w->active_count, w->active_capacity) = thread;
    t->active = true;
    t->open.cpu_ns += before_ns;
    struct stretch *to = w->ends ? &t->next : &t->open;
    if (alone && !w->ends)
        close_open(t);
    to->cpu_ns += after_ns;
    to->weight += ran;
    if (!w->ends && (to->weight == CPU_WINDOW || (alone && ran)))
        close_open(t);
}

void window_times_edge(struct window_times *w)
{
    w->ends = w->edges = true;
}

/* Reopens the last stretch of T in the window, so that it includes the remaining sightings. */
static void reopen(struct window_thread *t)
{
    if (t->count == t->first)
        return;
    const struct stretch *last = &t->stretches[--t->count];
    t->open.weight += last->weight;
    t->open.cpu_ns += last->cpu_ns;
}

static void add_to(struct stretch *pool, struct window_thread *t)
{
    t->pooled = true;
    pool->weight += t->open.weight;
    pool->cpu_ns += t->open.cpu_ns;
}

/* The active thread with the fewest sightings that does not share with others; NULL: there is
 * none. */
static struct window_thread *fewest_looks(const struct window_times *w)
{
    struct window_thread *best = NULL;
    for (size_t i = 0; i < w->active_count; i++) {
        struct window_thread *t = &w->threads[w->active[i]];
        if (!t->pooled && (best == NULL || t->open.weight < best->open.weight))
            best = t;
    }
    return best;
}

/* Chooses the threads that share. Returns the sum of their sightings and CPU times. */
static struct stretch make_pool(const struct window_times *w)
{
    struct stretch pool = {0, 0};
    struct window_thread *more;
    for (size_t i = 0; i < w->active_count; i++) {
        struct window_thread *t = &w->threads[w->active[i]];
        t->pooled = false;
        reopen(t);
        if (t->open.weight < MIN_LOOKS)
            add_to(&pool, t);
    }
    while (pool.weight < MIN_LOOKS && pool.weight + pool.cpu_ns > 0 &&
           (more = fewest_looks(w)) != NULL)
        add_to(&pool, more);
    return pool;
}

/* Closes the open stretches. Those of threads that share get the CPU time of POOL. */
static void close_all(struct window_times *w, const struct stretch *pool)
{
    struct division division = {0};
    for (size_t i = 0; i < w->active_count; i++) {
        struct window_thread *t = &w->threads[w->active[i]];
        if (t->pooled)
            t->open.cpu_ns = division_next(&division, pool->cpu_ns, t->open.weight, pool->weight);
        close_open(t);
    }
}

/* Goes on with what was recorded after the edge. JOINED: as part of the same window. */
static void go_on(struct window_times *w, bool joined)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->active_count; i++) {
        struct window_thread *t = &w->threads[w->active[i]];
        t->open.weight += t->next.weight;
        t->open.cpu_ns += t->next.cpu_ns;
        t->next = (struct stretch){0, 0};
        t->first = joined ? t->first : t->count;
        t->active = joined || t->open.weight + t->open.cpu_ns > 0;
        if (t->active)
            w->active[kept++] = w->active[i];
    }
    w->active_count = kept;
    w->ends = false;
}

void window_times_settle(struct window_times *w)
{
    if (!w->ends)
        return;
    struct stretch pool = make_pool(w);
    bool enough = pool.weight >= MIN_LOOKS || pool.weight + pool.cpu_ns == 0;
    bool little = pool.weight == 0 && pool.cpu_ns <= w->little_ns;
    if (enough) /* otherwise open stretches keep their CPU time */
        close_all(w, &pool);
    go_on(w, !enough && !little);
}

bool window_times_end(struct window_times *w)
{
    struct stretch pool = make_pool(w);
    close_all(w, &pool);
    return w->edges;
}

void window_times_take(struct window_times *w, uint32_t thread, struct weighed_thread *to)
{
    if (thread >= w->count)
        return;
    struct window_thread *t = &w->threads[thread];
    to->stretches = t->stretches;
    to->count = t->count;
    to->capacity = t->capacity;
    t->stretches = NULL;
    t->count = t->capacity = 0;
}

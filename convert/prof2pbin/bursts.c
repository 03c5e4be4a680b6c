/* Divides CPU time by how long threads had run since they last slept.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/bursts.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "convert/prof2pbin/division.h"
#include "convert/prof2pbin/strata.h"

/* From one sleep of a thread to the next. */
struct burst {
    uint64_t begin_ns;  /* CPU time of the thread */
    uint64_t sightings; /* before it */
};

struct bursts {
    size_t first; /* number of the first stretch from which all bursts are known */
    struct burst *list;
    size_t count, capacity;
    uint64_t *ages_ns; /* of sightings: CPU time since their burst began */
    size_t aged, age_capacity;
    uint64_t *ends_ns; /* CPU time of the thread at the ends of all stretches, as measured */
    size_t *alone, alone_count, alone_capacity; /* stretches that differ from those around them */
};

/* Ages are parts of a burst: WHOLE is all of it. */
#define WHOLE (UINT64_C(1) << 32)

/* The longest CPU time between waking up in the kernel and the first user code that is seen. */
static const uint64_t max_wake_ns = 50000;

/* Successive stretches, and the known facts about them. */
struct burst_pool {
    size_t begin, end;       /* stretches */
    size_t first_sighting;   /* in ages_ns */
    uint64_t wake_ns;        /* before bursts are seen; belongs to no age */
    uint64_t from_ns, to_ns; /* CPU time of the thread */
};

static void begin_burst(struct bursts *b, uint64_t cpu_ns)
{
    if (b->count == 0 || b->list[b->count - 1].begin_ns != cpu_ns)
        *MEM_APPEND(b->list, b->count, b->capacity) = (struct burst){cpu_ns, b->aged};
}

void bursts_sleep(struct weighed_thread *t)
{
    if (t->bursts == NULL) {
        t->bursts = mem_zalloc(1, sizeof *t->bursts);
        t->bursts->first = t->count + (t->weight > 0);
        begin_burst(t->bursts, t->total_ns - (t->weight > 0 ? 0 : t->cpu_ns));
    }
    begin_burst(t->bursts, t->total_ns);
}

void bursts_see(struct weighed_thread *t, bool alone)
{
    struct bursts *b = t->bursts;
    if (b == NULL || t->count < b->first)
        return;
    if (alone) {
        *MEM_APPEND(b->alone, b->alone_count, b->alone_capacity) = t->count;
        begin_burst(b, t->total_ns);
    }
    *MEM_APPEND(b->ages_ns, b->aged, b->age_capacity) =
        t->total_ns - b->list[b->count - 1].begin_ns;
}

void bursts_end(struct weighed_thread *t)
{
    uint64_t sum_ns = 0;
    if (t->bursts == NULL)
        return;
    t->bursts->ends_ns = mem_alloc((t->count + 1) * sizeof *t->bursts->ends_ns);
    for (size_t i = 0; i < t->count; i++)
        t->bursts->ends_ns[i] = sum_ns += t->stretches[i].cpu_ns;
}

void bursts_delete(struct weighed_thread *t)
{
    if (t->bursts == NULL)
        return;
    free(t->bursts->list);
    free(t->bursts->ages_ns);
    free(t->bursts->ends_ns);
    free(t->bursts->alone);
    free(t->bursts);
    t->bursts = NULL;
}

/* Returns the number of bursts that began after FROM_NS and at TO_NS or before. */
static size_t count_begun(const struct bursts *b, uint64_t from_ns, uint64_t to_ns)
{
    return SEARCH_AFTER(b->list, b->count, begin_ns, to_ns) -
           SEARCH_AFTER(b->list, b->count, begin_ns, from_ns);
}

static uint64_t end_of_burst(const struct weighed_thread *t, size_t number)
{
    const struct bursts *b = t->bursts;
    return number + 1 < b->count ? b->list[number + 1].begin_ns : b->ends_ns[t->count - 1];
}

/* Adds the CPU time that a burst of LENGTH_NS used from FROM_NS to TO_NS after its beginning. */
static void add_burst(struct stratum *strata, size_t count, uint64_t length_ns, uint64_t from_ns,
                      uint64_t to_ns)
{
    for (size_t i = 0; i < count && from_ns < to_ns; i++) {
        uint64_t end = strata[i].end,
                 end_ns = end < WHOLE ? division_scale(length_ns, end, WHOLE) : to_ns;
        end_ns = end_ns < to_ns ? end_ns : to_ns;
        if (end_ns > from_ns) {
            strata[i].known_ns += end_ns - from_ns;
            from_ns = end_ns;
        }
    }
}

/* Adds the parts of bursts that are in POOL to STRATA. Returns the number of bursts. */
static size_t add_bursts(const struct weighed_thread *t, const struct burst_pool *pool,
                         struct stratum *strata, size_t count)
{
    const struct bursts *b = t->bursts;
    size_t at = SEARCH_AFTER(b->list, b->count, begin_ns, pool->from_ns), bursts = 0;
    for (at -= at > 0; at < b->count && b->list[at].begin_ns < pool->to_ns; at++, bursts++) {
        uint64_t begin_ns = b->list[at].begin_ns, end_ns = end_of_burst(t, at);
        uint64_t from_ns =
            begin_ns + pool->wake_ns < pool->from_ns ? pool->from_ns : begin_ns + pool->wake_ns;
        uint64_t to_ns = end_ns < pool->to_ns ? end_ns : pool->to_ns;
        add_burst(strata, count, end_ns - begin_ns, from_ns - begin_ns, to_ns - begin_ns);
    }
    return bursts;
}

/* Returns the COUNT sightings of POOL, with the part of their burst that had passed as their age.
 * They are numbered as stretches, starting at FIRST. Caller frees. */
static struct aged_sighting *list_sightings(const struct weighed_thread *t,
                                            const struct burst_pool *pool, size_t count,
                                            size_t first)
{
    const struct bursts *b = t->bursts;
    struct aged_sighting *list = mem_zalloc(count + 1, sizeof *list);
    size_t burst = SEARCH_AFTER(b->list, b->count, sightings, pool->first_sighting) - 1;
    for (size_t i = 0; i < count; i++) {
        size_t sighting = pool->first_sighting + i;
        while (burst + 1 < b->count && b->list[burst + 1].sightings <= sighting)
            burst++;
        uint64_t length_ns = end_of_burst(t, burst) - b->list[burst].begin_ns;
        list[i].number = first + i;
        list[i].age = division_scale(WHOLE, b->ages_ns[sighting], length_ns);
    }
    return list;
}

/* Divides CPU time alternately among the strata and the stretches of POOL. TO has a stretch for
 * each sighting, starting at FIRST. */
static void fit(const struct weighed_thread *t, const struct burst_pool *pool,
                const struct aged_sighting *list, const struct stratum *strata, size_t count,
                struct weighed_thread *to, size_t first)
{
    for (int round = 0; round < STRATA_ROUNDS; round++) {
        for (size_t i = 0, at = 0; i < count; at += strata[i++].sightings)
            stratum_divide(to, list + at, &strata[i]);
        for (size_t i = pool->begin, at = first; i < pool->end; at += t->stretches[i++].weight) {
            struct weighed_thread part = {.stretches = to->stretches + at,
                                          .count = t->stretches[i].weight};
            weighed_thread_set(&part, t->stretches[i].cpu_ns);
        }
    }
}

/* Returns WAKE_NS of POOL, from the lowest age of its COUNT sightings, which is later by one part in
 * COUNT of a burst on average. */
static uint64_t find_wake(const struct weighed_thread *t, const struct burst_pool *pool,
                          size_t count)
{
    const struct bursts *b = t->bursts;
    size_t bursts = 1 + count_begun(b, pool->from_ns, pool->to_ns);
    uint64_t mean_ns = (pool->to_ns - pool->from_ns) / bursts, later_ns = mean_ns / (count + 1);
    uint64_t first_ns = max_wake_ns + later_ns;
    for (size_t i = 0; i < count; i++)
        if (b->ages_ns[pool->first_sighting + i] < first_ns)
            first_ns = b->ages_ns[pool->first_sighting + i];
    return first_ns > later_ns ? first_ns - later_ns : 0;
}

/* Appends the stretches of POOL to TO: one for each sighting, unless its bursts are too few or too short for that. */
static void settle(const struct weighed_thread *t, struct burst_pool *pool,
                   struct weighed_thread *to)
{
    size_t count = 0, first = to->count;
    for (size_t i = pool->begin; i < pool->end; i++)
        count += t->stretches[i].weight;
    struct aged_sighting *list = list_sightings(t, pool, count, first);
    struct stratum *strata = mem_alloc((count + 1) * sizeof *strata);
    strata_sort(list, count);
    pool->wake_ns = find_wake(t, pool, count);
    size_t made = strata_make(list, 0, count, strata);
    size_t bursts = add_bursts(t, pool, strata, made);
    bool fits = bursts >= MIN_BURSTS && (pool->to_ns - pool->from_ns) / bursts >= MIN_BURST_NS;
    for (size_t i = 0; fits && i < count; i++)
        *MEM_APPEND(to->stretches, to->count, to->capacity) = (struct stretch){1, 0};
    for (size_t i = pool->begin; !fits && i < pool->end; i++)
        *MEM_APPEND(to->stretches, to->count, to->capacity) = t->stretches[i];
    if (fits)
        fit(t, pool, list, strata, made, to, first);
    free(strata);
    free(list);
}

/* Divides the stretches from BEGIN to END, which have SIGHTINGS sightings, starting at number
 * FIRST,
 * into pools of equal size. */
static void settle_part(const struct weighed_thread *t, size_t begin, size_t end, size_t first,
                        size_t sightings, struct weighed_thread *to)
{
    const struct bursts *b = t->bursts;
    uint64_t from_ns = begin > 0 ? b->ends_ns[begin - 1] : 0;
    uint64_t to_ns = end > begin ? b->ends_ns[end - 1] : from_ns;
    size_t bursts = count_begun(b, from_ns, to_ns);
    size_t pools = sightings / MIN_POOL_SIGHTINGS, passed = 0;
    pools = pools < bursts / MIN_POOL_BURSTS ? pools : bursts / MIN_POOL_BURSTS;
    pools = pools > 0 ? pools : 1;
    for (size_t i = 1, at = begin; i <= pools && at < end; i++) {
        struct burst_pool pool = {
            .begin = at, .first_sighting = first + passed, .from_ns = from_ns};
        while (at < end && (i == pools || passed < sightings * i / pools))
            passed += t->stretches[at++].weight;
        pool.end = at;
        pool.to_ns = from_ns = b->ends_ns[at - 1];
        settle(t, &pool, to);
    }
}

void bursts_divide(struct weighed_thread *t, bool keep)
{
    const struct bursts *b = t->bursts;
    if (b == NULL || b->count < MIN_BURSTS || b->first >= t->count)
        return;
    struct weighed_thread to = {0};
    for (size_t i = 0; i < b->first; i++)
        *MEM_APPEND(to.stretches, to.count, to.capacity) = t->stretches[i];
    size_t seen = 0;
    for (size_t begin = b->first, next = 0; begin < t->count; next++) {
        size_t end = next < b->alone_count ? b->alone[next] : t->count, sightings = 0;
        for (size_t i = begin; i < end; i++)
            sightings += t->stretches[i].weight;
        settle_part(t, begin, end, seen, sightings, &to);
        seen += sightings + 1;
        if (end < t->count)
            *MEM_APPEND(to.stretches, to.count, to.capacity) = t->stretches[end];
        begin = end + 1;
    }
    if (keep) {
        t->equal = mem_zalloc(1, sizeof *t->equal);
        t->equal->stretches = t->stretches;
        t->equal->count = t->count;
    } else {
        free(t->stretches);
    }
    t->stretches = to.stretches;
    t->count = to.count;
    t->capacity = to.capacity;
}

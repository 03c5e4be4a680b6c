/* Divides CPU time among the sightings of short threads by their age.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/age_strata.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "convert/prof2pbin/strata.h"

struct pool_strata {
    size_t first, count; /* strata */
    uint64_t unseen_ns;  /* threads are not seen for this long before they end */
    double mean_ns;      /* CPU time per sighting */
    double represented_ns;
};

/* The part of sightings that may be later than that: in system calls at the end, for example. */
enum { FEW = 50 };

/* Lists all sightings in pools, by pool and age. Returns their number; caller frees *LIST. */
static size_t list_sightings(const struct weighed_thread *threads, size_t count,
                             const size_t *pool_of, struct aged_sighting **list)
{
    size_t listed = 0, capacity = 0;
    *list = NULL;
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = 0; pool_of[i] != SIZE_MAX && k < threads[i].sightings; k++)
            *MEM_APPEND(*list, listed, capacity) =
                (struct aged_sighting){pool_of[i], i, k, threads[i].ages_ns[k]};
    strata_sort(*list, listed);
    return listed;
}

static int compare_ns(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Finds UNSEEN_NS of the COUNT sightings of a pool. Just before it, there is one sighting in each
 *
 *     1 / (sum over sightings j of 1 / L_j),    L_j: CPU time of its thread */
static uint64_t find_unseen(const struct weighed_thread *threads, const struct aged_sighting *list,
                            size_t count)
{
    uint64_t *left_ns = mem_alloc((count + 1) * sizeof *left_ns);
    size_t few = count / FEW;
    double density = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t life_ns = threads[list[i].thread].life_ns;
        left_ns[i] = life_ns - list[i].age;
        density += life_ns > 0 ? 1 / (double)life_ns : 0;
    }
    qsort(left_ns, count, sizeof *left_ns, compare_ns);
    double later = density > 0 ? ((double)few + 1) / density : 0;
    uint64_t nearly_last_ns = count > 0 ? left_ns[few] : 0;
    free(left_ns);
    return (double)nearly_last_ns > later ? nearly_last_ns - (uint64_t)later : 0;
}

/* Returns the part of LIFE_NS in which a thread is seen. */
static uint64_t seen_part(uint64_t life_ns, uint64_t unseen_ns)
{
    return life_ns - (unseen_ns < life_ns / 2 ? unseen_ns : life_ns / 2);
}

/* Returns the CPU time between BEGIN_NS and the end of STRATUM of a thread that used
 * LIFE_NS. */
static uint64_t passed(const struct stratum *stratum, uint64_t begin_ns, uint64_t life_ns)
{
    return (stratum->end < life_ns ? stratum->end : life_ns) - begin_ns;
}

static void add_life(struct stratum *strata, size_t count, uint64_t life_ns)
{
    uint64_t begin_ns = 0;
    for (size_t i = 0; i < count && begin_ns < life_ns; i++) {
        uint64_t passed_ns = passed(&strata[i], begin_ns, life_ns);
        strata[i].known_ns += passed_ns;
        begin_ns += passed_ns;
    }
}

/* Adds a sighting of a thread of LIFE_NS: it represents 1 / (how often such a thread is seen)
 * threads. */
static void add_sighting(struct stratum *strata, size_t count, uint64_t life_ns)
{
    uint64_t begin_ns = 0;
    double whole = 0;
    for (size_t i = 0; i < count && begin_ns < life_ns; i++) {
        uint64_t passed_ns = passed(&strata[i], begin_ns, life_ns);
        whole += strata[i].seen * (double)passed_ns;
        begin_ns += passed_ns;
    }
    begin_ns = 0;
    for (size_t i = 0; i < count && begin_ns < life_ns && whole > 0; i++) {
        uint64_t passed_ns = passed(&strata[i], begin_ns, life_ns);
        strata[i].sum += (double)passed_ns / whole;
        begin_ns += passed_ns;
    }
}

/* Finds SEEN and SUM of the strata of a pool, whose sightings are LIST. Each depends on the other:
 * iterates. */
static void estimate(const struct weighed_thread *threads, const struct aged_sighting *list,
                     struct stratum *strata, size_t count, uint64_t unseen_ns)
{
    size_t sightings = 0;
    for (size_t i = 0; i < count; i++) {
        strata[i].seen = 1;
        sightings += strata[i].sightings;
    }
    for (int round = 0; round < STRATA_ROUNDS; round++) {
        for (size_t i = 0; i < count; i++)
            strata[i].sum = 0;
        for (size_t i = 0; i < sightings; i++)
            add_sighting(strata, count, seen_part(threads[list[i].thread].life_ns, unseen_ns));
        for (size_t i = 0; i < count; i++)
            if (strata[i].sum > 0)
                strata[i].seen = (double)strata[i].sightings / strata[i].sum;
    }
}

/* Sets KNOWN_NS of the strata to their parts of CPU_NS, the CPU time of the pool. */
static void divide_among_strata(struct stratum *strata, size_t count, uint64_t cpu_ns)
{
    uint64_t known_ns = 0, known_so_far_ns = 0, given_ns = 0;
    double sum = 0, missing = 0, missing_so_far = 0;
    for (size_t i = 0; i < count; i++) {
        known_ns += strata[i].known_ns;
        sum += strata[i].sum;
    }
    for (size_t i = 0; i < count; i++) {
        double due = sum > 0 ? (double)cpu_ns * strata[i].sum / sum : 0;
        strata[i].sum = fmax(due - (double)strata[i].known_ns, 0);
        missing += strata[i].sum;
    }
    uint64_t base_ns = cpu_ns < known_ns || !(missing > 0) ? cpu_ns : known_ns;
    for (size_t i = 0; i < count; i++) {
        known_so_far_ns += strata[i].known_ns;
        missing_so_far += strata[i].sum;
        uint64_t due_ns = division_scale(base_ns, known_so_far_ns, known_ns);
        if (base_ns < cpu_ns)
            due_ns += (uint64_t)((double)(cpu_ns - base_ns) * (missing_so_far / missing));
        if (i + 1 == count || due_ns > cpu_ns) /* doubles of 2^53 ns or more may be rounded up */
            due_ns = cpu_ns;
        strata[i].known_ns = due_ns - given_ns;
        given_ns = due_ns;
    }
}

/* Replaces the stretches of T by one for each sighting. */
static void open_stretches(struct weighed_thread *t)
{
    t->count = 0;
    for (uint64_t k = 0; k < t->sightings; k++)
        *MEM_APPEND(t->stretches, t->count, t->capacity) = (struct stretch){1, 0};
}

static void add_up(struct weighed_thread *t)
{
    t->total_ns = 0;
    for (size_t i = 0; i < t->count; i++)
        t->total_ns += t->stretches[i].cpu_ns;
}

/* Divides time alternately among strata and threads, until both have about their CPU times
 * (iterative proportional fitting). In a complete pool, those of threads are exact, otherwise those
 * of strata. */
static void divide(struct weighed_thread *threads, size_t count, const size_t *pool_of,
                   const struct pool *pools, const struct aged_sighting *list, size_t listed,
                   const struct stratum *strata)
{
    for (int round = 0; round < STRATA_ROUNDS; round++) {
        bool last = round + 1 == STRATA_ROUNDS;
        for (size_t at = 0, i = 0; at < listed; at += strata[i++].sightings)
            stratum_divide(threads, list + at, &strata[i]);
        for (size_t i = 0; i < count; i++)
            if (pool_of[i] != SIZE_MAX && (!last || pools[pool_of[i]].complete))
                weighed_thread_set(&threads[i], threads[i].total_ns);
    }
    for (size_t i = 0; i < count; i++)
        if (pool_of[i] != SIZE_MAX && threads[i].count > 0)
            add_up(&threads[i]);
}

/* Returns whether some threads of the pool with NUMBER were never seen; false for SIZE_MAX, no pool. */
static bool is_incomplete(const struct pool *pools, size_t number)
{
    return number != SIZE_MAX && !pools[number].complete;
}

/* Returns the CPU time that the sightings of T represent: its own, and that of threads of its
 * lifetime that were missed, if chance sees one moment in MEAN_NS. */
static double represented(const struct weighed_thread *t, const struct pool_strata *own)
{
    double life_ns = (double)seen_part(t->life_ns, own->unseen_ns);
    double chance = own->mean_ns > 0 ? -expm1(-life_ns / own->mean_ns) : 0;
    return chance > 0 ? (double)t->total_ns / chance : 0;
}

/* Divides the CPU time of each incomplete pool among its threads in proportion to what they
 * represent. */
static void represent(struct weighed_thread *threads, size_t count, const size_t *pool_of,
                      const struct pool *pools, struct pool_strata *of)
{
    for (size_t i = 0; i < count; i++)
        if (is_incomplete(pools, pool_of[i])) {
            struct pool_strata *own = &of[pool_of[i]];
            own->mean_ns += (double)seen_part(threads[i].life_ns, own->unseen_ns) /
                            (double)pools[pool_of[i]].sightings;
        }
    for (size_t i = 0; i < count; i++)
        if (is_incomplete(pools, pool_of[i]) && threads[i].count > 0)
            of[pool_of[i]].represented_ns += represented(&threads[i], &of[pool_of[i]]);
    for (size_t i = 0; i < count; i++)
        if (is_incomplete(pools, pool_of[i]) && threads[i].count > 0) {
            const struct pool_strata *own = &of[pool_of[i]];
            double part = represented(&threads[i], own), all_ns = (double)pools[pool_of[i]].cpu_ns;
            threads[i].total_ns = part > 0 ? (uint64_t)(all_ns * (part / own->represented_ns)) : 0;
        }
}

void strata_divide(struct weighed_thread *threads, size_t count, const size_t *pool_of,
                   const struct pool *pools, size_t pool_count)
{
    struct aged_sighting *list;
    size_t listed = list_sightings(threads, count, pool_of, &list);
    struct stratum *strata = mem_zalloc(listed + 1, sizeof *strata);
    struct pool_strata *of = mem_zalloc(pool_count + 1, sizeof *of);
    for (size_t begin = 0, made = 0, end; begin < listed; begin = end) {
        struct pool_strata *own = &of[list[begin].pool];
        for (end = begin; end < listed && list[end].pool == list[begin].pool;)
            end++;
        *own = (struct pool_strata){
            .first = made,
            .count = strata_make(list, begin, end, strata + made),
            .unseen_ns = find_unseen(threads, list + begin, end - begin),
        };
        if (!pools[list[begin].pool].complete)
            estimate(threads, list + begin, strata + made, own->count, own->unseen_ns);
        made += own->count;
    }
    for (size_t i = 0; i < count; i++)
        if (pool_of[i] != SIZE_MAX) {
            const struct pool_strata *own = &of[pool_of[i]];
            add_life(strata + own->first, own->count,
                     seen_part(threads[i].life_ns, own->unseen_ns));
            open_stretches(&threads[i]);
        }
    for (size_t pool = 0; pool < pool_count; pool++)
        divide_among_strata(strata + of[pool].first, of[pool].count, pools[pool].cpu_ns);
    represent(threads, count, pool_of, pools, of);
    divide(threads, count, pool_of, pools, list, listed, strata);
    free(of);
    free(strata);
    free(list);
}

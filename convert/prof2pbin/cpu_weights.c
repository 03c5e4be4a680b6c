/* The CPU time represented by each sighting of a thread.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/cpu_weights.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "convert/prof2pbin/age_strata.h"
#include "convert/prof2pbin/bursts.h"
#include "convert/prof2pbin/division.h"

bool cpu_weights_open(struct weighed_thread *t)
{
    if (t->at >= t->count)
        return false;
    const struct stretch *stretch = &t->stretches[t->at++];
    t->left = t->weight = stretch->weight;
    t->each_ns = stretch->cpu_ns / stretch->weight;
    t->rest = stretch->cpu_ns % stretch->weight;
    t->odd = 0;
    return true;
}

uint64_t cpu_weights_divide(struct weighed_thread *t, uint64_t weight)
{
    uint64_t part = weight < t->left ? weight : t->left, odd;
    t->left -= part;
    if (__builtin_mul_overflow(t->rest, part, &odd) || __builtin_add_overflow(odd, t->odd, &odd)) {
        unsigned __int128 whole = (unsigned __int128)t->rest * part + t->odd;
        t->odd = (uint64_t)(whole % t->weight);
        return t->each_ns * part + (uint64_t)(whole / t->weight);
    }
    t->odd = odd % t->weight;
    return t->each_ns * part + odd / t->weight;
}

/* Divides CPU time among sightings of equal weight. */
static void divide_equally(struct weighed_thread *t, const struct steady *s, size_t seat,
                           uint64_t *cpu_ns)
{
    uint64_t left = t->left, odd = t->odd;
    for (size_t i = seat; i < s->count; i += s->each) {
        uint64_t ran = s->flags[i] & RAW_RAN;
        if (left == 0 && ran && cpu_weights_open(t)) {
            left = t->left;
            odd = t->odd;
        }
        ran = left > 0 ? ran : 0;
        odd += t->rest & -ran;
        uint64_t more = odd >= t->weight ? ran : 0;
        odd -= t->weight & -more;
        left -= ran;
        cpu_ns[i] = (t->each_ns & -ran) + more;
    }
    t->left = left;
    t->odd = odd;
}

static void divide_nominal(struct weighed_thread *thread, const struct steady *s, size_t seat,
                           uint64_t known_ns, uint64_t *cpu_ns)
{
    struct weighed_thread t = *thread;
    for (size_t i = seat; i < s->count; i += s->each) {
        uint64_t used_ns = s->thread_samples[i].cpu_ns - known_ns, share_ns = 0;
        known_ns = s->thread_samples[i].cpu_ns;
        if (s->flags[i] & RAW_RAN)
            share_ns = cpu_weights_take_nominal(&t, used_ns);
        cpu_ns[i] = share_ns;
    }
    *thread = t;
}

void cpu_weights_take_steady(struct cpu_weights *w, uint32_t thread, const struct steady *s,
                             size_t seat, uint64_t known_ns, uint64_t *cpu_ns, uint64_t *equal_ns)
{
    struct weighed_thread *t = &w->threads[thread];
    t->records -= s->count / s->each;
    if (w->nominal)
        divide_nominal(t, s, seat, known_ns, cpu_ns);
    else
        divide_equally(t, s, seat, cpu_ns);
    if (equal_ns == NULL)
        return;
    for (size_t i = seat; i < s->count; i += s->each)
        equal_ns[i] = cpu_ns[i];
    if (t->equal != NULL && w->nominal)
        divide_nominal(t->equal, s, seat, known_ns, equal_ns);
    else if (t->equal != NULL)
        divide_equally(t->equal, s, seat, equal_ns);
}

static void close_stretch(struct weighed_thread *t)
{
    *MEM_APPEND(t->stretches, t->count, t->capacity) = (struct stretch){t->weight, t->cpu_ns};
    t->weight = t->cpu_ns = 0;
}

static struct weighed_thread *thread_at(struct cpu_weights *w, uint32_t number)
{
    mem_extend(&w->threads, &w->count, &w->capacity, (size_t)number + 1, sizeof *w->threads);
    return &w->threads[number];
}

/* Returns the part of USED_NS, the CPU time of T since its last record, that it used before the last
 * edge, if that is later. RAN: it is seen running now. A thread that was seen running before, and
 * waits now, is assumed to have run first; one that waited and runs now, last. Otherwise, CPU time
 * is assumed to be used evenly. */
static uint64_t used_before_edge(const struct cpu_weights *w, struct weighed_thread *t, bool ran,
                                 uint64_t used_ns)
{
    uint64_t passed_ns = w->last_ns - t->seen_ns, before_ns = w->edge_ns - t->seen_ns;
    bool passed = t->edge < w->edges && t->records > 1, ran_before = t->ran;
    t->edge = w->edges;
    t->seen_ns = w->last_ns;
    t->ran = ran;
    if (!passed)
        return 0;
    if (ran == ran_before)
        return division_scale(used_ns, before_ns, passed_ns);
    uint64_t part_ns = ran ? passed_ns - before_ns : before_ns;
    part_ns = used_ns < part_ns ? used_ns : part_ns;
    return ran ? used_ns - part_ns : part_ns;
}

/* Maximum number of records of a short thread, whose few sightings do not represent its CPU time
 * well, or of mean intervals in its CPU time. SHORT_AGED: if they are compared by age, with sightings
 * of threads of the same name. */
enum { SHORT = 16, SHORT_AGED = 64 };

/* Counts a record of T. RAN: it was seen running. */
static void note_age(struct weighed_thread *t, bool ran)
{
    if (t->records > SHORT_AGED) {
        free(t->ages_ns);
        t->ages_ns = NULL;
    } else if (ran) {
        mem_reserve(&t->ages_ns, &t->age_capacity, t->sightings + 1, sizeof *t->ages_ns);
        t->ages_ns[t->sightings++] = t->total_ns;
    }
}

/* CPU time is exact at every record. A sighting that is only assumed to have run gets the CPU time
 * used before it, as does the first sighting after a gap. */
static void add_exact(const struct cpu_weights *w, struct weighed_thread *t, uint8_t flags,
                      uint64_t used_ns)
{
    bool ran = (flags & (RAW_RAN | RAW_TOTAL)) == RAW_RAN;
    bool assumed = ran && (flags & RAW_ASSUMED) != 0;
    t->in_gap |= used_ns > w->gap_ns && w->last_ns - t->seen_ns > w->gap_ns;
    bool gap = t->in_gap, alone = gap || assumed, passed = t->edge < w->edges && t->records > 1;
    t->total_ns += used_ns;
    note_age(t, ran);
    uint64_t before_ns = used_before_edge(w, t, ran, used_ns);
    if (w->windows != NULL)
        window_times_add(w->windows, (uint32_t)(t - w->threads), ran, assumed, before_ns,
                         used_ns - before_ns);
    if (passed && t->weight >= EDGE_WINDOW) {
        t->cpu_ns += before_ns;
        close_stretch(t);
        used_ns -= before_ns;
    }
    if (alone && t->weight > 0)
        close_stretch(t);
    t->cpu_ns += used_ns;
    if (w->by_bursts && (flags & (RAW_RAN | RAW_ASLEEP)) == RAW_ASLEEP)
        bursts_sleep(t);
    if (!ran)
        return;
    bursts_see(t, alone);
    t->in_gap = false;
    if (++t->weight == CPU_WINDOW || alone)
        close_stretch(t);
    if (gap)
        t->after_gap = t->count;
}

/* Notes a total of T, of process PID: CPU_NS, SWITCHED_NS of it in switches. */
static void note_total(struct cpu_weights *w, const struct weighed_thread *t, uint32_t pid,
                       uint64_t cpu_ns, uint64_t switched_ns)
{
    uint32_t thread = (uint32_t)(t - w->threads);
    uint64_t known_ns = t->known_ns, used_ns = cpu_ns > known_ns ? cpu_ns - known_ns : 0,
             nominal_ns = t->last_ns > known_ns ? t->last_ns - known_ns : 0;
    switched_ns = switched_ns < used_ns ? switched_ns : used_ns;
    switch_share_total(&w->switches, thread, used_ns, switched_ns);
    if (w->user != NULL)
        user_share_total(w->user, thread, pid, used_ns, switched_ns, nominal_ns);
}

/* CPU time is exact at totals; after the last total, it is the sum of nominal intervals. */
static void add_nominal(const struct cpu_weights *w, struct weighed_thread *t, uint8_t flags,
                        uint64_t used_ns, uint64_t cpu_ns)
{
    if ((flags & (RAW_RAN | RAW_TOTAL)) == RAW_RAN) {
        uint64_t weight = used_ns > 0 ? used_ns : 1;
        t->weight += weight;
        t->sightings++;
        if (w->marked != NULL)
            marked_times_add(w->marked, (uint32_t)(t - w->threads), weight);
    }
    t->last_ns = cpu_ns;
    if (flags & RAW_TOTAL) {
        uint64_t exact_ns = cpu_ns > t->known_ns ? cpu_ns - t->known_ns : 0;
        t->cpu_ns += exact_ns;
        if (__builtin_add_overflow(t->total_ns, exact_ns, &t->total_ns))
            t->total_ns = UINT64_MAX; /* will be rejected */
        t->known_ns = cpu_ns;
        if (t->weight > 0)
            close_stretch(t);
    }
}

/* SWITCHED_NS: of a total, see switch_share.h. */
static int add_thread_sample(struct cpu_weights *w, const struct tracked *tracked, uint8_t flags,
                             uint64_t used_ns, uint64_t switched_ns)
{
    struct weighed_thread *t = thread_at(w, tracked->thread);
    t->task = tracked->task;
    t->image = tracked->image;
    t->records++;
    if (w->nominal) {
        if (flags & RAW_TOTAL)
            note_total(w, t, tracked->pid, tracked->cpu_ns, switched_ns);
        add_nominal(w, t, flags, used_ns, tracked->cpu_ns);
    } else {
        add_exact(w, t, flags, used_ns);
    }
    if ((t->total_ns | t->weight | used_ns) > MAX_CPU_NS)
        return -1;
    if (t->image != RAW_NO_IMAGE)
        w->by_image[t->image] += used_ns;
    return 0;
}

/* The same as add_exact for each record; none is in a gap or after an edge. */
static void add_steady_records(const struct cpu_weights *w, struct weighed_thread *t,
                               const struct steady *s, size_t seat, uint64_t known_ns)
{
    t->seen_ns = w->last_ns;
    for (size_t i = seat; i < s->count; i += s->each) {
        add_exact(w, t, s->flags[i], s->thread_samples[i].cpu_ns - known_ns);
        known_ns = s->thread_samples[i].cpu_ns;
    }
}

static bool sleeps(const struct steady *s, size_t seat)
{
    uint8_t any = 0;
    for (size_t i = seat; i < s->count && (s->any & RAW_ASLEEP) != 0; i += s->each)
        any |= s->flags[i];
    return (any & RAW_ASLEEP) != 0;
}

/* Adds thread samples of a thread whose CPU time was counted up to KNOWN_NS. */
static void add_steady_exact(const struct cpu_weights *w, struct weighed_thread *t,
                             const struct steady *s, size_t seat, uint64_t known_ns)
{
    size_t last = s->count - s->each + seat;
    uint64_t weight = t->weight, last_ns = s->thread_samples[last].cpu_ns;
    if (w->windows != NULL || t->bursts != NULL || (w->by_bursts && sleeps(s, seat))) {
        add_steady_records(w, t, s, seat, known_ns);
        return;
    }
    t->total_ns += last_ns - known_ns;
    t->seen_ns = w->last_ns;
    t->ran = (s->flags[last] & RAW_RAN) != 0;
    for (size_t i = seat; i < s->count; i += s->each) {
        weight += s->flags[i] & RAW_RAN;
        if (weight == CPU_WINDOW) {
            t->cpu_ns += s->thread_samples[i].cpu_ns - known_ns;
            t->weight = weight;
            close_stretch(t);
            known_ns = s->thread_samples[i].cpu_ns;
            weight = 0;
        }
    }
    t->weight = weight;
    t->cpu_ns += last_ns - known_ns;
}

static void add_steady_nominal(const struct cpu_weights *w, struct weighed_thread *t,
                               const struct steady *s, size_t seat, uint64_t known_ns)
{
    uint64_t weight = 0;
    for (size_t i = seat; i < s->count; i += s->each) {
        uint64_t used_ns = s->thread_samples[i].cpu_ns - known_ns;
        if (s->flags[i] & RAW_RAN) {
            weight += used_ns > 0 ? used_ns : 1;
            t->sightings++;
        }
        known_ns = s->thread_samples[i].cpu_ns;
    }
    t->weight += weight;
    t->last_ns = known_ns;
    if (w->marked != NULL && weight > 0)
        marked_times_add(w->marked, (uint32_t)(t - w->threads), weight);
}

/* The same as add_thread_sample for each thread sample. */
static int add_steady(struct cpu_weights *w, struct tracker *tracker, const struct steady *s)
{
    for (size_t seat = 0; seat < s->each; seat++) {
        const struct tracked *tracked = tracker_seat(tracker, seat);
        struct weighed_thread *t = &w->threads[tracked->thread];
        uint64_t known_ns = tracked->cpu_ns;
        uint64_t used_ns = s->thread_samples[s->count - s->each + seat].cpu_ns - known_ns;
        if (used_ns > MAX_CPU_NS)
            return -1;
        t->records += s->count / s->each;
        if (w->nominal) {
            add_steady_nominal(w, t, s, seat, known_ns);
        } else {
            add_steady_exact(w, t, s, seat, known_ns);
        }
        if ((t->total_ns | t->weight) > MAX_CPU_NS)
            return -1;
        if (t->image != RAW_NO_IMAGE)
            w->by_image[t->image] += used_ns;
    }
    tracker_pass(tracker, s);
    return 0;
}

/* Notes record AT of S, for kernel_share. */
static void note_record(struct cpu_weights *w, const struct tracked *tracked,
                        const struct raw_samples *s, size_t at)
{
    struct sighting seen;
    kernel_share_sighting(&seen, tracked, s, at, w->last_ns);
    kernel_share_note(w->kernel, &seen);
}

/* A sample without threads: the sensor was updated. If there are several in a row, windows without
 * threads follow the first one. */
static void add_edge(struct cpu_weights *w)
{
    if (w->at_edge)
        return;
    w->at_edge = true;
    w->edges++;
    w->edge_ns = w->last_ns;
    if (w->windows != NULL)
        window_times_edge(w->windows);
}

/* Adds sample I of S, whose first record is AT. */
static int add_sample(struct cpu_weights *w, struct tracker *tracker, const struct raw_samples *s,
                      size_t i, size_t at)
{
    w->last_ns = s->time_ns[i] > w->last_ns ? s->time_ns[i] : w->last_ns;
    if (s->threads[i] == 0 && !w->nominal)
        add_edge(w);
    if (w->marked != NULL)
        marked_times_pass(w->marked, w->last_ns);
    for (size_t seat = 0; seat < s->threads[i]; seat++, at++) {
        uint64_t used_ns;
        uint8_t flags = s->flags != NULL ? s->flags[at] : RAW_RAN;
        const struct tracked *tracked =
            tracker_follow(tracker, &s->thread_samples[at], flags, w->last_ns, seat, &used_ns);
        bool counts =
            s->callers != NULL && (flags & (RAW_TOTAL | RAW_CALLER)) == (RAW_TOTAL | RAW_CALLER);
        if (add_thread_sample(w, tracked, flags, used_ns, counts ? s->callers[at] : 0) != 0)
            return -1;
        if (w->kernel != NULL && s->flags != NULL)
            note_record(w, tracked, s, at);
    }
    w->at_edge &= s->threads[i] == 0;
    if (w->windows != NULL && s->threads[i] > 0)
        window_times_settle(w->windows);
    return 0;
}

static int add_samples(struct cpu_weights *w, struct tracker *tracker, const struct raw_samples *s)
{
    uint64_t last_ns = w->last_ns;
    struct steady steady;
    bool edges = w->at_edge;
    bool gaps = false;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t now_ns = s->time_ns[i] > last_ns ? s->time_ns[i] : last_ns;
        gaps |= now_ns - last_ns > w->gap_ns;
        last_ns = now_ns;
        edges |= s->threads[i] == 0 && !w->nominal;
    }
    edges |= w->marked != NULL && marked_times_ends(w->marked, last_ns);
    if (s->flags != NULL && w->kernel == NULL && !edges && !gaps && s->count > SHORT_AGED &&
        tracker_is_steady(tracker, s, 0, s->count, 0, last_ns, &steady)) {
        w->last_ns = last_ns;
        return add_steady(w, tracker, &steady);
    }
    for (size_t i = 0, at = 0; i < s->count; at += s->threads[i++])
        if (add_sample(w, tracker, s, i, at) != 0)
            return -1;
    return 0;
}

/* Ends each thread: an open stretch joins the last one, or becomes a separate stretch after a
 * gap. Returns 0, or -1 if there is too much CPU time. */
static int end_threads(struct cpu_weights *w)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct weighed_thread *t = &w->threads[i];
        if (w->nominal && t->last_ns > t->known_ns) { /* it has no total at the end */
            t->cpu_ns += t->last_ns - t->known_ns;
            if (__builtin_add_overflow(t->total_ns, t->last_ns - t->known_ns, &t->total_ns))
                return -1;
        }
        t->life_ns = t->total_ns;
        bool after_gap = t->weight > 0 && t->after_gap == t->count;
        if (t->count > 0 && !after_gap) {
            t->stretches[t->count - 1].cpu_ns += t->cpu_ns;
            t->stretches[t->count - 1].weight += t->weight;
        } else if (t->weight > 0) {
            close_stretch(t);
        }
        bursts_end(t);
        if (__builtin_add_overflow(sum_ns, t->total_ns, &sum_ns) || sum_ns > MAX_CPU_NS)
            return -1;
    }
    return 0;
}

/* Shorter processes [ns] are divided together, with the rest of the run: for a process that did
 * little more than begin and end, the error of event counts, in either direction, is as large as
 * its time. */
static const uint64_t min_known_ns = 10000000;

/* Threads that can represent one another. */
struct group {
    uint64_t time_ns, seen;   /* of threads that were seen running, and their number */
    uint64_t sightings;       /* of short ones among them */
    uint64_t orphan_ns;       /* of threads that were not, still to be placed */
    bool crowd;               /* many short threads are pooled even if none is an orphan */
    struct division shares;   /* of orphan_ns */
    size_t first_pool, pools; /* numbers of its pools */
    uint64_t passed;          /* sightings in its pools so far */
};

enum { BY_NAME, BY_PROCESS, BY_BEGINNING, BY_PROGRAM, LEVELS };

struct groups {
    struct numbers keys, names;
    struct group *groups;
    size_t count, capacity;
    uint32_t *group_of; /* [thread]: number of its group */
    struct pool *pools;
    size_t pool_count;
    size_t *pool_of; /* [thread]: number of its pool, SIZE_MAX */
};

struct process_times {
    uint32_t *process; /* [image]: number of its process */
    uint64_t *cpu_ns;  /* [process]: CPU time of its threads; the sum is at most MAX_CPU_NS */
};

/* Threads of a process with the same name, and processes of a program that began in the same way. */
static bool is_level_of_crowds(int level)
{
    return level == BY_NAME || level == BY_BEGINNING;
}

/* All sightings of a pool of the perf engine get the same CPU time. Chance must not choose the
 * threads in it: if those with few sightings were pooled, and others of the same lifetime were not,
 * threads of a shorter lifetime would get some of their CPU time. */
static bool is_short(const struct cpu_weights *w, const struct weighed_thread *t, int level)
{
    if (t->count == 0)
        return false;
    if (w->nominal)
        return t->life_ns <= w->short_ns && t->records <= POOL; /* never fills two pools */
    return t->records <= (is_level_of_crowds(level) ? SHORT_AGED : SHORT);
}

/* Returns whether T represents all threads of a process that were never seen. No thread has such an
 * ID. */
static bool is_collective(const struct weighed_thread *t, const struct raw_extension *ext)
{
    return t->task != NO_TASK && ext->tasks[t->task].tid >> 30 != 0;
}

/* Returns whether T belongs to a process whose CPU time is not well known. */
static bool is_of_short_process(const struct process_times *p, const struct weighed_thread *t)
{
    return t->image != RAW_NO_IMAGE && p->cpu_ns[p->process[t->image]] < min_known_ns;
}

/* Returns a number for the properties that threads have in common on LEVEL. Texts are interned:
 * equal pointers mean equal texts. A process whose CPU time is well known keeps it: no other
 * process represents it. Processes of a program that began in the same way come first: forked
 * processes often behave differently, and are missed more often or less often. */
static uint64_t key_of(struct numbers *names, const struct raw_extension *ext,
                       const struct process_times *p, const struct weighed_thread *t, int level)
{
    const char *name = t->task != NO_TASK ? ext->tasks[t->task].name : "";
    bool known = t->image != RAW_NO_IMAGE;
    uint64_t pid = t->task != NO_TASK ? ext->tasks[t->task].pid : 0;
    /* without images, pids identify processes */
    uint64_t number = known ? p->process[t->image] : UINT64_C(1) << 31 | (pid & 0x7fffffff);
    if (level == BY_NAME &&
        is_collective(t, ext)) /* its name is that of the process, not of the threads */
        return number << 32 | UINT32_MAX;
    if (level == BY_NAME)
        return number << 32 | numbers_intern(names, (uintptr_t)name);
    if (level == BY_PROCESS)
        return number;
    if (!known)
        return UINT64_MAX;
    if (!is_of_short_process(p, t))
        return UINT64_C(1) << 32 | number;
    const struct raw_image *image = &ext->images[t->image];
    uint64_t program = numbers_intern(names, (uintptr_t)image->path);
    return level == BY_BEGINNING ? program * RAW_HOWS + image->how : program;
}

/* Returns whether T is in a group of LEVEL that is a crowd if it has enough sightings. */
static bool may_crowd(const struct process_times *p, const struct weighed_thread *t, int level)
{
    return level == BY_NAME || (level == BY_BEGINNING && is_of_short_process(p, t));
}

static void group_threads(const struct cpu_weights *w, const struct raw_extension *ext,
                          const struct process_times *p, int level, struct groups *g)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct weighed_thread *t = &w->threads[i];
        uint32_t number = numbers_intern(&g->keys, key_of(&g->names, ext, p, t, level));
        g->group_of[i] = number;
        mem_extend(&g->groups, &g->count, &g->capacity, (size_t)number + 1, sizeof *g->groups);
        struct group *group = &g->groups[number];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): mem_extend made room for the number */
        group->time_ns += t->count > 0 ? t->total_ns : 0;
        group->seen += t->count > 0;
        group->sightings += is_short(w, t, level) ? t->sightings : 0;
        group->orphan_ns += t->orphan ? t->total_ns : 0;
        group->crowd = may_crowd(p, t, level);
    }
}

/* Divides CPU_NS, of threads of GROUP that may have run at any time, among its pools in proportion
 * to their sightings. */
static void spread(const struct group *group, struct pool *pools, uint64_t cpu_ns)
{
    struct division division = {0};
    for (size_t i = 0; i < group->pools; i++) {
        struct pool *pool = &pools[group->first_pool + i];
        pool->cpu_ns += division_next(&division, cpu_ns, pool->sightings, group->sightings);
    }
}

static uint64_t pool_size(const struct cpu_weights *w)
{
    return w->nominal ? POOL : POOL_AGED;
}

/* Without orphans, only a crowd with POOL sightings needs pools. */
static void set_pool_counts(const struct cpu_weights *w, struct groups *g)
{
    size_t pools = 0;
    for (size_t i = 0; i < g->keys.count; i++) {
        struct group *group = &g->groups[i];
        uint64_t full = group->sightings / pool_size(w);
        group->first_pool = pools;
        if (group->sightings > 0 &&
            (group->orphan_ns > 0 || (group->crowd && group->sightings >= POOL)))
            group->pools = full > 0 ? full : 1;
        pools += group->pools;
    }
    g->pool_count = pools;
    g->pools = mem_zalloc(pools + 1, sizeof *g->pools);
}

/* Divides the short threads and the orphans of each group into pools of at least pool_size
 * sightings, in order of creation. */
static void make_pools(const struct cpu_weights *w, const struct raw_extension *ext,
                       struct groups *g, int level)
{
    set_pool_counts(w, g);
    for (size_t i = 0; i < w->count; i++) {
        const struct weighed_thread *t = &w->threads[i];
        struct group *group = &g->groups[g->group_of[i]];
        g->pool_of[i] = SIZE_MAX;
        if (group->pools == 0 || is_collective(t, ext) || (!is_short(w, t, level) && !t->orphan))
            continue;
        uint64_t full = group->passed / pool_size(w);
        g->pool_of[i] = group->first_pool + (full < group->pools ? full : group->pools - 1);
        struct pool *pool = &g->pools[g->pool_of[i]];
        pool->cpu_ns += t->total_ns;
        pool->sightings += t->sightings;
        pool->complete = group->orphan_ns == 0;
        group->passed += t->sightings;
    }
    for (size_t i = 0; i < w->count; i++)
        if (w->threads[i].orphan && is_collective(&w->threads[i], ext))
            spread(&g->groups[g->group_of[i]], g->pools, w->threads[i].total_ns);
}

/* Gives T its part of POOL, in place of its own CPU time. */
static void share_pool(struct weighed_thread *t, struct pool *pool)
{
    t->total_ns = division_next(&pool->shares, pool->cpu_ns, t->sightings, pool->sightings);
    t->stretches[0] = (struct stretch){t->sightings, t->total_ns};
    t->count = 1;
    t->alike = true;
}

/* Gives T, which was seen, its part of the CPU time of the orphans of GROUP. */
static void share_time(struct weighed_thread *t, struct group *group)
{
    bool timed = group->time_ns > 0;
    weighed_thread_add(t, division_next(&group->shares, group->orphan_ns, timed ? t->total_ns : 1,
                                        timed ? group->time_ns : group->seen));
}

/* Gives the CPU time of orphans to the threads of their groups that were seen running. */
static void share_orphans(struct cpu_weights *w, struct groups *g)
{
    if (!w->nominal)
        strata_divide(w->threads, w->count, g->pool_of, g->pools, g->pool_count);
    for (size_t i = 0; i < w->count; i++) {
        struct weighed_thread *t = &w->threads[i];
        struct group *group = &g->groups[g->group_of[i]];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each thread has a group */
        if (group->seen > 0 && t->count == 0)
            t->orphan = false;
        else if (w->nominal && g->pool_of[i] != SIZE_MAX && t->count > 0)
            share_pool(t, &g->pools[g->pool_of[i]]);
        else if (group->orphan_ns > 0 && group->pools == 0 && t->count > 0)
            share_time(t, group);
    }
}

/* Returns the CPU time that is sampled COUNT times on average [ns]; MAX_CPU_NS if it is unknown. */
static uint64_t mean_intervals(const struct raw_facts *facts, unsigned count)
{
    double rate = facts->reached > 0 ? facts->reached : facts->frequency;
    double ns = rate > 0 ? count * 1e9 / rate : 0;
    return ns > 0 && ns < (double)MAX_CPU_NS ? (uint64_t)ns : MAX_CPU_NS;
}

static struct process_times process_times_find(const struct cpu_weights *w,
                                               const struct raw_extension *ext,
                                               const struct tracker *tracker)
{
    struct process_times p = {tracker_processes(tracker),
                              mem_zalloc(ext->image_count + 1, sizeof *p.cpu_ns)};
    for (size_t i = 0; i < w->count; i++)
        if (w->threads[i].image != RAW_NO_IMAGE)
            p.cpu_ns[p.process[w->threads[i].image]] +=
                w->threads[i].total_ns + w->threads[i].own_ns;
    return p;
}

static void place_orphans(struct cpu_weights *w, const struct raw_extension *ext,
                          const struct tracker *tracker)
{
    size_t orphans = 0;
    uint64_t most_ns = mean_intervals(&ext->facts, MISSED); /* otherwise, it was not chance */
    for (size_t i = 0; i < w->count; i++) {
        struct weighed_thread *t = &w->threads[i];
        t->orphan = t->count == 0 && t->total_ns > 0;
        if (t->orphan && t->total_ns > most_ns && !is_collective(t, ext)) {
            t->orphan = false;
            t->own_ns += t->total_ns;
            w->missed++;
            w->missed_ns += t->total_ns;
        }
        orphans += t->orphan;
    }
    struct process_times times = process_times_find(w, ext, tracker);
    for (int level = 0; level < LEVELS; level++) {
        if (orphans == 0 && !is_level_of_crowds(level))
            continue;
        struct groups g = {.group_of = mem_alloc((w->count + 1) * sizeof *g.group_of),
                           .pool_of = mem_alloc((w->count + 1) * sizeof *g.pool_of)};
        group_threads(w, ext, &times, level, &g);
        make_pools(w, ext, &g, level);
        share_orphans(w, &g);
        numbers_free(&g.keys);
        numbers_free(&g.names);
        free(g.groups);
        free(g.group_of);
        free(g.pools);
        free(g.pool_of);
    }
    free(times.cpu_ns);
    free(times.process);
}

/* Replaces the CPU times counted by the engine with those that the kernel counted for processes and
 * the run.
 *
 * The events of the perf engine count nothing while a thread is created, ends, or is switched to
 * and from: programs that switch 80000 times a second lack a quarter of their time. They also count
 * time that the host of a virtual machine takes from a thread. The kernel's counts for a process,
 * and for the run (from wait4), are exact:
 *
 *   a process that ended, of 10 ms or more:
 *                         the kernel counts the time of a thread up to the last tick or switch
 *                         before its end, so that up to a tick of each thread may be missing, or
 *                         all of a short one. If the threads exceed the count by more than that
 *                         together, all are reduced in proportion, to the count and that (or to as
 *                         much of it as the run has left); if they exceed it by less, the count is
 *                         not used. If they have less than the count, they get equal parts
 *                         of the rest as unsampled, except for the first thread of the program if
 *                         there are others: it exists until the program is waited for, so that its
 *                         kernel count is known
 *   other processes:      the same with the rest of the run, but nothing is reduced if there are
 *                         several, because the program may not have waited for all of them. If
 *                         there are no other processes, all threads get equal parts of the rest:
 *                         the kernel counts a process before its memory is freed */

#define UNKNOWN UINT64_MAX

/* A process, by the number of its first image; the last element is all threads whose kernel count
 * is unknown. */
struct process {
    uint64_t kernel_ns;     /* UNKNOWN */
    uint64_t counted_ns;    /* by the engine */
    uint64_t late_ns;       /* CPU time that the kernel may not have counted yet */
    struct division shares; /* of kernel_ns */
    uint64_t shared_ns;     /* unsampled, so far */
    uint64_t left, exact;   /* threads: those that may lack CPU time, and others */
};

/* Returns whether the CPU time of T may be less than the kernel's count. */
static bool may_lack(const struct weighed_thread *t, const struct raw_extension *ext)
{
    return t->task == NO_TASK || ext->image_count == 0 ||
           ext->tasks[t->task].pid != ext->images[0].pid ||
           ext->tasks[t->task].tid != ext->images[0].pid;
}

struct record_order {
    uint32_t pid;
    size_t index;
};

static int compare_records(const void *left, const void *right)
{
    const struct record_order *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct record_order *records_by_pid(const struct raw_extension *ext)
{
    struct record_order *order = mem_alloc((ext->cpu_count + 1) * sizeof *order);
    for (size_t i = 0; i < ext->cpu_count; i++)
        order[i] = (struct record_order){ext->cpus[i].pid, i};
    if (ext->cpu_count > 0)
        qsort(order, ext->cpu_count, sizeof *order, compare_records);
    return order;
}

static uint64_t time_of(const struct raw_cpu *cpu)
{
    uint64_t sum_ns;
    bool sane = !__builtin_add_overflow(cpu->user, cpu->system, &sum_ns) && sum_ns <= MAX_CPU_NS;
    return sane ? sum_ns : MAX_CPU_NS;
}

/* Both the processes of a pid and its records are in order of time. If their numbers differ, some
 * process did not end or has no record, and it is unknown which: then none gets a record. */
static void assign_records(const struct tracker *t, const uint32_t *process, struct process *all)
{
    const struct raw_extension *ext = t->ext;
    struct record_order *records = records_by_pid(ext);
    size_t at = 0;
    for (size_t i = 0, end; i < ext->image_count; i = end) {
        uint32_t pid = ext->images[t->images[i]].pid;
        size_t processes = 0, count = 0;
        for (end = i; end < ext->image_count && ext->images[t->images[end]].pid == pid; end++)
            processes += process[t->images[end]] == t->images[end];
        while (at < ext->cpu_count && records[at].pid < pid)
            at++;
        while (at + count < ext->cpu_count && records[at + count].pid == pid)
            count++;
        for (size_t k = i, next = at; k < end && count == processes; k++)
            if (process[t->images[k]] == t->images[k]) {
                uint64_t kernel_ns = time_of(&ext->cpus[records[next++].index]);
                all[t->images[k]].kernel_ns = kernel_ns >= min_known_ns ? kernel_ns : UNKNOWN;
            }
        at += count;
    }
    free(records);
}

static struct process *kernel_process(const struct weighed_thread *t, const uint32_t *process,
                                      struct process *all, struct process *others)
{
    struct process *own = t->image != RAW_NO_IMAGE ? &all[process[t->image]] : others;
    return own->kernel_ns != UNKNOWN ? own : others;
}

/* Returns the CPU time of the run that is left for the processes whose kernel count is unknown;
 * UNKNOWN if it cannot be used. */
static uint64_t rest_of_run(const struct tracker *t, bool nominal, const struct process *all,
                            const struct process *others)
{
    const struct raw_extension *ext = t->ext;
    uint64_t left_ns = ext->facts.cpu_ns;
    bool alone = nominal && ext->image_count > 0;
    if (left_ns == 0 || left_ns > MAX_CPU_NS)
        return UNKNOWN;
    for (size_t i = 0; i < ext->image_count; i++) {
        uint64_t known_ns = all[i].kernel_ns != UNKNOWN ? all[i].kernel_ns : 0;
        left_ns = left_ns > known_ns ? left_ns - known_ns : 0;
        alone &= ext->images[i].pid == ext->images[0].pid;
    }
    return alone || left_ns >= others->counted_ns ? left_ns : UNKNOWN;
}

/* Gives T, of process P, its part of the CPU time that the kernel counted. LACKS: may_lack. */
static void give(struct weighed_thread *t, struct process *p, bool lacks)
{
    if (p->kernel_ns < p->counted_ns) {
        weighed_thread_set(t, division_next(&p->shares, p->kernel_ns, t->total_ns, p->counted_ns));
    } else if (p->kernel_ns != UNKNOWN && (lacks || p->exact == 0)) {
        t->own_ns = (p->kernel_ns - p->counted_ns - p->shared_ns) / p->left--;
        p->shared_ns += t->own_ns;
    }
}

/* Divides LEFT_NS equally among all threads that may lack CPU time, or among all threads if there
 * are none. */
static void give_all(struct cpu_weights *w, const struct raw_extension *ext, uint64_t left_ns)
{
    uint64_t threads = 0, others = 0;
    for (size_t i = 0; i < w->count; i++) {
        bool lacks = may_lack(&w->threads[i], ext);
        threads += w->threads[i].records > 0 && lacks;
        others += w->threads[i].records > 0 && !lacks;
    }
    bool all = threads == 0;
    threads = all ? others : threads;
    for (size_t i = 0; i < w->count; i++)
        if (w->threads[i].records > 0 && (all || may_lack(&w->threads[i], ext))) {
            w->threads[i].own_ns += left_ns / threads;
            left_ns -= left_ns / threads--;
        }
}

static bool is_sane(const struct cpu_weights *w)
{
    uint64_t sum_ns = 0;
    bool sane = true;
    for (size_t i = 0; i < w->count && sane; i++) {
        const struct weighed_thread *t = &w->threads[i];
        sane = !__builtin_add_overflow(sum_ns, t->total_ns, &sum_ns) &&
               !__builtin_add_overflow(sum_ns, t->own_ns, &sum_ns) && sum_ns <= MAX_CPU_NS;
    }
    return sane;
}

/* [ns] */
static const uint64_t default_tick_ns = 4000000, max_tick_ns = 10000000;

static uint64_t tick_of(const struct raw_facts *facts)
{
    return facts->tick_ns > 0 && facts->tick_ns <= max_tick_ns ? facts->tick_ns : default_tick_ns;
}

/* Adds the CPU times counted by the engine. */
static void count_processes(const struct cpu_weights *w, const struct raw_extension *ext,
                            const uint32_t *number, struct process *all)
{
    uint64_t tick_ns = tick_of(&ext->facts);
    for (size_t i = 0; i < w->count; i++) {
        const struct weighed_thread *t = &w->threads[i];
        struct process *p = kernel_process(t, number, all, &all[ext->image_count]);
        bool lacks = may_lack(t, ext);
        p->counted_ns += t->total_ns;
        p->late_ns += t->total_ns < tick_ns ? t->total_ns : tick_ns;
        p->left += t->records > 0 && lacks;
        p->exact += t->records > 0 && !lacks;
    }
}

/* If the engine counted more for a process, by no more than the kernel's count may lack, treats the
 * process as one without a kernel count. */
static void settle_late(struct process *all, size_t count)
{
    struct process *others = &all[count];
    for (size_t i = 0; i < count; i++) {
        struct process *p = &all[i];
        if (p->kernel_ns == UNKNOWN || p->counted_ns <= p->kernel_ns ||
            p->counted_ns - p->kernel_ns > p->late_ns)
            continue;
        p->kernel_ns = UNKNOWN;
        others->counted_ns += p->counted_ns;
        others->left += p->left;
        others->exact += p->exact;
    }
}

/* If the engine counted even more, adds to the kernel's count what it may lack, but together no
 * more than what is left of the time RUN_NS of the run (0: unknown). */
static void add_late(struct process *all, size_t count, uint64_t run_ns)
{
    uint64_t late_ns = 0, known_ns = all[count].counted_ns;
    for (size_t i = 0; i < count; i++) {
        known_ns += all[i].kernel_ns != UNKNOWN ? all[i].kernel_ns : 0;
        late_ns += all[i].kernel_ns < all[i].counted_ns ? all[i].late_ns : 0;
    }
    uint64_t left_ns = run_ns > known_ns ? run_ns - known_ns : 0;
    left_ns = run_ns == 0 || left_ns > late_ns ? late_ns : left_ns;
    for (size_t i = 0; i < count; i++)
        if (all[i].kernel_ns < all[i].counted_ns)
            all[i].kernel_ns += division_scale(all[i].late_ns, left_ns, late_ns);
}

static int apply_kernel_times(struct cpu_weights *w, const struct tracker *tracker)
{
    size_t count = tracker->ext->image_count;
    uint32_t *number = tracker_processes(tracker);
    struct process *all = mem_zalloc(count + 1, sizeof *all), *others = &all[count];
    for (size_t i = 0; i <= count; i++)
        all[i].kernel_ns = UNKNOWN;
    if (w->nominal)
        assign_records(tracker, number, all);
    count_processes(w, tracker->ext, number, all);
    settle_late(all, count);
    add_late(all, count, tracker->ext->facts.cpu_ns);
    uint64_t rest_ns = rest_of_run(tracker, w->nominal, all, others);
    bool are_known = others->left + others->exact == 0;
    others->kernel_ns = rest_ns;
    for (size_t i = 0; i <= count; i++)
        if (all[i].left == 0) { /* no thread may lack CPU time */
            all[i].left = all[i].exact;
            all[i].exact = 0;
        }
    for (size_t i = 0; i < w->count; i++)
        if (w->threads[i].records > 0)
            give(&w->threads[i], kernel_process(&w->threads[i], number, all, others),
                 may_lack(&w->threads[i], tracker->ext));
    if (are_known && rest_ns != UNKNOWN) /* the cost of exits, after the kernel's count */
        give_all(w, tracker->ext, rest_ns);
    free(all);
    free(number);
    return is_sane(w) ? 0 : -1;
}

/* Returns the mean, over sightings, of the number of sightings in the same stretch. */
static uint64_t mean_stretch(const struct cpu_weights *w)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->threads[i].count; k++) {
            double weight = (double)w->threads[i].stretches[k].weight;
            sum += weight;
            squares += weight * weight;
        }
    return sum > 0 ? (uint64_t)ceil(squares / sum) : 0;
}

/* The equal CPU times of all threads are those of windows. They also get what the kernel counted in
 * addition, or did not count. */
static void take_windows(struct cpu_weights *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct weighed_thread *t = &w->threads[i];
        t->equal = mem_zalloc(1, sizeof *t->equal);
        window_times_take(w->windows, (uint32_t)i, t->equal);
        for (size_t k = 0; k < t->equal->count; k++) {
            struct stretch *s = &t->equal->stretches[k];
            if (t->life_ns > 0)
                s->cpu_ns = division_scale(s->cpu_ns, t->total_ns, t->life_ns);
        }
    }
}

/* The CPU times between marks are the equal CPU times of all threads. */
static void take_marked(struct cpu_weights *w)
{
    marked_times_end(w->marked);
    for (size_t i = 0; i < w->count; i++) {
        w->threads[i].equal = mem_zalloc(1, sizeof *w->threads[i].equal);
        marked_times_take(w->marked, (uint32_t)i, w->threads[i].equal);
    }
}

static int measure(struct cpu_weights *w, struct raw_profile *raw, struct tracker *tracker,
                   struct error *err)
{
    struct raw_samples samples;
    int got;
    bool sane = true;
    while (sane && (got = raw_next(raw, &samples, err)) > 0)
        sane = add_samples(w, tracker, &samples) == 0;
    if (sane && got < 0)
        return -1;
    if (!sane || end_threads(w) != 0 || apply_kernel_times(w, tracker) != 0)
        return error_set(err, stream_name(raw->stream), NO_OFFSET,
                         "the CPU times of its threads are too large: more than 292 years");
    if (w->windows != NULL && window_times_end(w->windows))
        take_windows(w);
    if (w->marked != NULL)
        take_marked(w);
    place_orphans(w, &raw->ext, tracker);
    w->divided = w->nominal ? 0 : mean_stretch(w);
    for (size_t i = 0; i < w->count; i++) {
        struct weighed_thread *t = &w->threads[i];
        if (t->records > SHORT_AGED) /* others may have been pooled */
            bursts_divide(t, w->keeps_equal && t->equal == NULL);
        w->any_equal |= t->equal != NULL;
        bursts_delete(t);
    }
    raw_rewind(raw);
    return 0;
}

/* Counts a sighting of WEIGHT, record AT of S. */
static void count_sighting(struct cpu_weights *w, const struct tracked *t,
                           const struct raw_samples *s, size_t at, double weight)
{
    struct sighting seen;
    if (!kernel_share_sighting(&seen, t, s, at, w->last_ns))
        return;
    if (w->user != NULL)
        user_share_count(w->user, t->thread, t->pid, w->last_ns, weight);
    else
        kernel_share_count(w->kernel, &seen, weight);
}

/* Counts the sightings of S for kernel_share or user_share. Their mean CPU time is MEAN_NS. */
static void count_sightings(struct cpu_weights *w, struct tracker *tracker,
                            const struct raw_samples *s, double mean_ns)
{
    for (size_t i = 0, at = 0; i < s->count; i++) {
        w->last_ns = s->time_ns[i] > w->last_ns ? s->time_ns[i] : w->last_ns;
        for (size_t seat = 0; seat < s->threads[i]; seat++, at++) {
            uint64_t used_ns;
            const struct tracked *t = tracker_follow(tracker, &s->thread_samples[at], s->flags[at],
                                                     w->last_ns, seat, &used_ns);
            struct cpu_share share = cpu_weights_take(w, t->thread, s->flags[at], used_ns);
            count_sighting(w, t, s, at, (double)share.cpu_ns / mean_ns);
        }
    }
}

/* Returns the mean CPU time of sightings [ns], at least 1. */
static double mean_weight(const struct cpu_weights *w)
{
    double cpu_ns = 0, sightings = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct weighed_thread *t = &w->threads[i];
        sightings += w->nominal ? (double)t->sightings : 0;
        for (size_t k = 0; k < t->count; k++) {
            cpu_ns += (double)t->stretches[k].cpu_ns;
            sightings += w->nominal ? 0 : (double)t->stretches[k].weight;
        }
    }
    return sightings > 0 && cpu_ns > sightings ? cpu_ns / sightings : 1;
}

/* CPU time will be taken from the first stretch of T again. */
static void start_again(struct weighed_thread *t)
{
    t->at = 0;
    t->left = 0;
}

/* Determines the sightings that are wrong, in the kernel or instead of it. Ticks show the kernel's part of the CPU
 * time, so that each sighting counts by its CPU time. */
static int measure_kernel(struct cpu_weights *w, struct raw_profile *raw, struct tracker *tracker,
                          struct error *err)
{
    struct raw_samples samples;
    uint64_t *records = mem_alloc((w->count + 1) * sizeof *records);
    double mean_ns = mean_weight(w);
    int got;
    for (size_t i = 0; i < w->count; i++)
        records[i] = w->threads[i].records;
    w->last_ns = 0;
    while ((got = raw_next(raw, &samples, err)) > 0)
        if (samples.flags != NULL)
            count_sightings(w, tracker, &samples, mean_ns);
    for (size_t i = 0; i < w->count; i++) {
        w->threads[i].records = records[i];
        start_again(&w->threads[i]);
        if (w->threads[i].equal != NULL)
            start_again(w->threads[i].equal);
    }
    free(records);
    w->misplaced = w->user != NULL ? user_share_settle(w->user) : kernel_share_settle(w->kernel);
    raw_rewind(raw);
    return got < 0 ? -1 : 0;
}

/* Returns the interval above which there is a gap [ns]. At the wanted rate, chance makes no
 * interval that long. If the sampler is slower than wanted, or the program does not get a CPU for a
 * while, shorter intervals are common, and better divided as part of a stretch. */
static uint64_t least_gap(const struct raw_facts *facts)
{
    static const double min_ns = 50e6;
    double wanted = facts->frequency, reached = facts->reached > 0 ? facts->reached : wanted;
    if (!(wanted > 0 && reached > 0))
        return UINT64_MAX;
    double ns = fmax(min_ns, 1e9 * fmax(GAP_WANTED / wanted, GAP_MEAN / reached));
    return ns < (double)MAX_CPU_NS ? (uint64_t)ns : UINT64_MAX;
}

/* CPU time that is too short to require a sighting [ns]. */
static uint64_t little_time(const struct raw_facts *facts)
{
    const double part = 0.125;
    return facts->frequency > 1 ? (uint64_t)(part * 1e9 / facts->frequency) : 0;
}

int cpu_weights_measure(struct cpu_weights *w, struct raw_profile *raw, struct error *err)
{
    struct tracker tracker;
    *w = (struct cpu_weights){.nominal = raw_facts_engine(&raw->ext.facts, "perf")};
    w->by_bursts = !w->nominal;
    w->keeps_equal = w->by_bursts && raw->ext.source_count > 0;
    if (w->keeps_equal)
        w->windows = window_times_new(little_time(&raw->ext.facts));
    if (w->nominal && raw->ext.mark_count > 0)
        w->marked = marked_times_new(raw->ext.marks, raw->ext.mark_count);
    w->gap_ns = w->nominal ? UINT64_MAX : least_gap(&raw->ext.facts);
    w->short_ns = w->nominal ? mean_intervals(&raw->ext.facts, SHORT) : 0;
    w->by_image = mem_zalloc(raw->ext.image_count + 1, sizeof *w->by_image);
    w->kernel = kernel_share_new(&raw->ext);
    w->user = user_share_new(&raw->ext, w->short_ns, mean_intervals(&raw->ext.facts, 1));
    tracker_init(&tracker, &raw->ext);
    int result = measure(w, raw, &tracker, err);
    tracker_free(&tracker);
    if (result == 0 && (w->kernel != NULL || w->user != NULL)) {
        tracker_init(&tracker, &raw->ext);
        result = measure_kernel(w, raw, &tracker, err);
        tracker_free(&tracker);
    }
    w->switched = switch_share_any(&w->switches);
    return result;
}

void cpu_weights_free(struct cpu_weights *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->threads[i].stretches);
        free(w->threads[i].ages_ns);
        if (w->threads[i].equal != NULL)
            free(w->threads[i].equal->stretches);
        free(w->threads[i].equal);
        bursts_delete(&w->threads[i]);
    }
    free(w->threads);
    free(w->by_image);
    window_times_delete(w->windows);
    marked_times_delete(w->marked);
    kernel_share_delete(w->kernel);
    user_share_delete(w->user);
    switch_share_free(&w->switches);
}

const char *cpu_weights_target(const struct cpu_weights *w, const struct raw_profile *raw)
{
    const struct raw_extension *ext = &raw->ext;
    struct numbers paths = {0};
    uint64_t *sums = mem_zalloc(ext->image_count + 1, sizeof *sums);
    const char *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < ext->image_count; i++) {
        uint32_t number = numbers_intern(&paths, (uintptr_t)ext->images[i].path);
        sums[number] += w->by_image[i];
        if (best == NULL || sums[number] > most) {
            best = ext->images[i].path;
            most = sums[number];
        }
    }
    numbers_free(&paths);
    free(sums);
    return best;
}

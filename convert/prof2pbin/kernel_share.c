/* Which sightings in the kernel are true.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/kernel_share.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"

enum { NEARBY = 32 };            /* sightings in user code */
enum { FEW = 6 };                /* ticks */
static const double certain = 2; /* standard errors */
/* Page faults are worth a warning from this part of the CPU time on, if they are so many standard errors. */
static const double notable = 0.1, sure = 4;
/* [ns] of a huge page. Timers signal in the very tick, which then finds the kernel stopping the program. */
static const double longest_fault = 3e5;
static const double usual_tick = 4e6, least_tick = 1e5, most_tick = 1e8; /* [ns] */

/* A process between two records of its ticks. */
struct window {
    uint64_t until; /* [ns] */
    bool last;      /* of its process */
    uint32_t program;
    double user, system;  /* ticks */
    uint64_t ran, kernel; /* sightings; those in the kernel */
    double excess;        /* of them */
};

/* The locations last seen, and whose turn it is. */
struct nearby {
    uint32_t image; /* of a thread */
    uint32_t locations[NEARBY];
    uint32_t count, next, turn;
};

/* Of a thread: what the second pass takes in place of the kernel. */
struct user_code {
    uint32_t image; /* of the first PCs */
    uint64_t first[NEARBY];
    size_t firsts;
    struct nearby nearby;
};

struct thread_share {
    uint32_t odd;           /* how near the next sighting that goes is, in 2^-32 */
    struct user_code *code; /* NULL: never seen in user code */
};

struct program {
    double user, system; /* ticks */
    double ran, kernel, excess;
    double suggested; /* by the windows */
    struct nearby nearby;
};

struct kernel_share {
    const struct raw_extension *ext;
    struct window *windows; /* by process and time */
    size_t window_count, window_capacity;
    struct numbers pids;
    size_t *first, *now; /* [number of a pid]: windows */
    size_t first_capacity, now_capacity;
    struct numbers paths; /* of programs */
    struct program *programs;
    size_t program_capacity;
    struct thread_share *threads;
    size_t thread_count, thread_capacity;
};

static int compare_ticks(const void *left, const void *right)
{
    const struct raw_ticks *const *a = left, *const *b = right;
    if ((*a)->pid != (*b)->pid)
        return (*a)->pid < (*b)->pid ? -1 : 1;
    if ((*a)->time != (*b)->time)
        return (*a)->time < (*b)->time ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static void add_window(struct kernel_share *share, uint64_t until, double user, double system)
{
    mem_reserve(&share->windows, &share->window_capacity, share->window_count + 1,
                sizeof *share->windows);
    share->windows[share->window_count++] = (struct window){.until = until,
                                                            .last = until == UINT64_MAX,
                                                            .program = INTERN_NONE,
                                                            .user = user,
                                                            .system = system};
}

/* The number of PID; its windows follow. */
static uint32_t add_pid(struct kernel_share *share, uint32_t pid)
{
    uint32_t number = numbers_intern(&share->pids, pid);
    mem_reserve(&share->first, &share->first_capacity, (size_t)number + 1, sizeof *share->first);
    mem_reserve(&share->now, &share->now_capacity, (size_t)number + 1, sizeof *share->now);
    share->first[number] = share->now[number] = share->window_count;
    return number;
}

/* Without what being stopped cost it [ns]. */
static double own_system(const struct raw_ticks *ticks)
{
    return ticks->system > ticks->stops ? (double)(ticks->system - ticks->stops) : 0;
}

/* Each process ends with a window without ticks, for what is seen after the last record. */
static void add_windows(struct kernel_share *share, const struct raw_ticks **order, size_t count)
{
    double tick = (double)share->ext->facts.tick_ns;
    tick = tick >= least_tick && tick <= most_tick ? tick : usual_tick;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i]->pid != order[i - 1]->pid)
            add_pid(share, order[i]->pid);
        if (order[i]->time < UINT64_MAX)
            add_window(share, order[i]->time, (double)order[i]->user / tick,
                       own_system(order[i]) / tick);
        if (i + 1 == count || order[i + 1]->pid != order[i]->pid)
            add_window(share, UINT64_MAX, 0, 0);
    }
}

struct kernel_share *kernel_share_new(const struct raw_extension *ext)
{
    if (ext->tick_count == 0)
        return NULL;
    struct kernel_share *share = mem_zalloc(1, sizeof *share);
    const struct raw_ticks **order = mem_alloc(ext->tick_count * sizeof(struct raw_ticks *));
    share->ext = ext;
    for (size_t i = 0; i < ext->tick_count; i++)
        order[i] = &ext->ticks[i];
    qsort(order, ext->tick_count, sizeof *order, compare_ticks);
    add_windows(share, order, ext->tick_count);
    free(order);
    return share;
}

void kernel_share_delete(struct kernel_share *share)
{
    if (share == NULL)
        return;
    for (size_t i = 0; i < share->thread_count; i++)
        free(share->threads[i].code);
    numbers_free(&share->pids);
    numbers_free(&share->paths);
    free(share->windows);
    free(share->first);
    free(share->now);
    free(share->programs);
    free(share->threads);
    free(share);
}

static struct window *window_at(struct kernel_share *share, uint32_t pid, uint64_t time_ns)
{
    uint32_t number = numbers_find(&share->pids, pid);
    if (number == INTERN_NONE) {
        number = add_pid(share, pid);
        add_window(share, UINT64_MAX, 0, 0);
    }
    size_t *now = &share->now[number];
    while (time_ns > share->windows[*now].until && !share->windows[*now].last)
        ++*now;
    return &share->windows[*now];
}

/* Threads that are seen only a few times must not all round in the same direction. */
static struct thread_share *thread_at(struct kernel_share *share, uint32_t number)
{
    mem_reserve(&share->threads, &share->thread_capacity, (size_t)number + 1,
                sizeof *share->threads);
    while (share->thread_count <= number) {
        size_t i = share->thread_count++;
        share->threads[i] = (struct thread_share){.odd = (uint32_t)i * UINT32_C(0x9E3779B1)};
    }
    return &share->threads[number];
}

/* Texts of the extension are interned: equal ones are one pointer. */
static uint32_t program_of(struct kernel_share *share, uint32_t image)
{
    const char *path = image < share->ext->image_count ? share->ext->images[image].path : NULL;
    uint32_t known = share->paths.count,
             number = numbers_intern(&share->paths, (uint64_t)(uintptr_t)path);
    if (number == known) {
        mem_reserve(&share->programs, &share->program_capacity, (size_t)number + 1,
                    sizeof *share->programs);
        share->programs[number] = (struct program){0};
    }
    return number;
}

static struct user_code *code_of(struct kernel_share *share, uint32_t thread, uint32_t image)
{
    struct thread_share *t = thread_at(share, thread);
    if (t->code == NULL) {
        t->code = mem_zalloc(1, sizeof *t->code);
        t->code->image = t->code->nearby.image = image;
    }
    return t->code;
}

void kernel_share_count(struct kernel_share *share, uint32_t thread, uint32_t pid, uint32_t image,
                        uint64_t time_ns, bool called, uint64_t pc)
{
    struct window *window = window_at(share, pid, time_ns);
    if (window->program == INTERN_NONE)
        window->program = program_of(share, image);
    window->ran++;
    window->kernel += called;
    if (called)
        return;
    struct user_code *code = code_of(share, thread, image);
    if (code->image == image && code->firsts < NEARBY)
        code->first[code->firsts++] = pc;
}

/* The share of the kernel in P's time: that of its ticks. */
static double share_of(const struct program *p)
{
    return (p->system + 0.5) / (p->user + p->system + 1);
}

static double excess_of(const struct program *p)
{
    double ticks = p->user + p->system, seen = (p->kernel + 0.5) / (p->ran + 1);
    double more = seen - share_of(p);
    if (ticks < 1 || more <= 0 ||
        more * more <= certain * certain * seen * (1 - seen) * (1 / p->ran + 1 / ticks))
        return 0;
    double excess = p->kernel - share_of(p) * p->ran;
    return excess > 0 ? excess : 0;
}

/* How many sightings of W its own ticks make too many. */
static double suggest(const struct window *w, const struct program *p)
{
    double ticks = w->user + w->system, ran = (double)w->ran, kernel = (double)w->kernel;
    double excess = kernel - (w->system + FEW * share_of(p)) / (ticks + FEW) * ran;
    return excess < 0 ? 0 : excess < kernel ? excess : kernel;
}

/* Makes the excesses of the windows add up to that of their program: a part of what they suggest, or all of that and a
 * part of the other sightings in the kernel. */
static void divide(struct window *w, const struct program *p)
{
    double others = p->kernel - p->suggested;
    if (p->suggested >= p->excess)
        w->excess *= p->suggested > 0 ? p->excess / p->suggested : 0;
    else if (others > 0)
        w->excess += ((double)w->kernel - w->excess) * (p->excess - p->suggested) / others;
}

uint64_t kernel_share_settle(struct kernel_share *share)
{
    double all = 0;
    for (size_t i = 0; i < share->window_count; i++) {
        const struct window *w = &share->windows[i];
        if (w->ran == 0)
            continue;
        struct program *p = &share->programs[w->program];
        p->user += w->user;
        p->system += w->system;
        p->ran += (double)w->ran;
        p->kernel += (double)w->kernel;
    }
    for (uint32_t i = 0; i < share->paths.count; i++)
        all += share->programs[i].excess = excess_of(&share->programs[i]);
    for (size_t i = 0; i < share->window_count; i++) {
        struct window *w = &share->windows[i];
        if (w->ran == 0)
            continue;
        w->excess = suggest(w, &share->programs[w->program]);
        share->programs[w->program].suggested += w->excess;
    }
    for (size_t i = 0; i < share->window_count; i++)
        if (share->windows[i].ran > 0)
            divide(&share->windows[i], &share->programs[share->windows[i].program]);
    memcpy(share->now, share->first, share->pids.count * sizeof *share->now);
    return (uint64_t)(all + 0.5);
}

bool kernel_share_faults(const struct kernel_share *share, double *seen, double *ticked)
{
    struct program all = {0};
    for (uint32_t i = 0; i < share->paths.count; i++) {
        all.user += share->programs[i].user;
        all.system += share->programs[i].system;
        all.ran += share->programs[i].ran;
        all.kernel += share->programs[i].kernel - share->programs[i].excess;
    }
    double ticks = all.user + all.system;
    *seen = all.ran > 0 ? all.kernel / all.ran : 0;
    *ticked = share_of(&all);
    double less = *ticked - *seen, spread = *ticked * (1 - *ticked);
    double faults = (double)share->ext->facts.page_faults;
    return ticks > 0 && all.ran > 0 && less > notable &&
           less * (double)share->ext->facts.cpu_ns <= longest_fault * faults &&
           less * less > sure * sure * spread * (1 / all.ran + 1 / ticks);
}

bool kernel_share_excess(struct kernel_share *share, uint32_t thread, uint32_t pid,
                         uint64_t time_ns)
{
    const struct window *w = window_at(share, pid, time_ns);
    double part = w->kernel > 0 ? w->excess / (double)w->kernel : 0;
    struct thread_share *t = thread_at(share, thread);
    uint64_t odd = t->odd + (uint64_t)(part * 4294967296.0);
    t->odd = (uint32_t)odd;
    return odd >> 32 != 0;
}

static void put_nearby(struct nearby *nearby, uint32_t location)
{
    nearby->locations[nearby->next++ % NEARBY] = location;
    nearby->count += nearby->count < NEARBY;
}

void kernel_share_seen(struct kernel_share *share, uint32_t thread, uint32_t image,
                       uint32_t location)
{
    struct nearby *nearby = &code_of(share, thread, image)->nearby;
    if (nearby->image != image)
        *nearby = (struct nearby){.image = image};
    put_nearby(nearby, location);
    put_nearby(&share->programs[program_of(share, image)].nearby, location);
}

const uint64_t *kernel_share_first(struct kernel_share *share, uint32_t thread, uint32_t image,
                                   size_t *count)
{
    const struct user_code *code = thread_at(share, thread)->code;
    bool seen = code == NULL || code->image != image || code->nearby.image != image ||
                code->nearby.count > 0;
    *count = seen ? 0 : code->firsts;
    return seen ? NULL : code->first;
}

uint32_t kernel_share_instead(struct kernel_share *share, uint32_t thread, uint32_t image)
{
    struct user_code *code = thread_at(share, thread)->code;
    bool known = code != NULL && code->nearby.image == image && code->nearby.count > 0;
    struct nearby *nearby =
        known ? &code->nearby : &share->programs[program_of(share, image)].nearby;
    return nearby->count > 0 ? nearby->locations[nearby->turn++ % nearby->count] : UINT32_MAX;
}

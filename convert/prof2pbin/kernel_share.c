/* Determines which sightings in the kernel are correct.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/kernel_share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "convert/prof2pbin/call_places.h"
#include "convert/prof2pbin/code_blocks.h"
#include "convert/prof2pbin/first_remainder.h"
#include "convert/prof2pbin/missing_places.h"
#include "formats/raw/raw_ticks.h"

/* ticks of the program's share that are added to those of a window */
enum { FEW = 6 };
static const double min_sightings = 100; /* least number of sightings on a side for a comparison */

/* Sightings on the CPU of the sampler, or on another CPU. */
struct cpu_sightings {
    struct raw_share seen;
    double faults;                /* of those in the kernel: page faults */
    double excess;                /* of those in the kernel */
    double call_part, fault_part; /* of a program: excess of each kind, relative to the average */
    double suggested;             /* of a program: its excess according to the windows */
    double lack;                  /* of a program: sightings in user code, of page faults */
};

/* A process between two records of its ticks. */
struct window {
    uint64_t until; /* [ns] */
    bool last;      /* of its process */
    uint32_t program;
    struct raw_share ticks;
    struct cpu_sightings sides[FAULT_SIDES];
};

/* The sightings of a process that were counted last. */
struct recent {
    struct missing_period period;
    size_t window;    /* all of them are in this window ... */
    uint32_t program; /* ... and in this program */
};

enum { MAX_PERIOD = 1024 }; /* sightings */

struct thread_share {
    /* the part of a moved sighting that has accumulated, in 2^-32: in a system call, in a page
     * fault, in user code */
    uint32_t odd, odd_fault, odd_user;
    uint32_t odd_missing; /* the same for a place that is missing */
    uint32_t image;       /* of the following */
    bool has_lost;
    uint32_t lost; /* the location of the last sighting that stands for missing ones */
};

struct program {
    struct raw_share ticks;
    struct cpu_sightings sides[FAULT_SIDES];
    struct fault_places faults;
    struct call_places calls;
    struct missing_places missing;
    bool placed; /* each place of its system calls on other CPUs has its own excess */
};

struct kernel_share {
    const struct raw_extension *ext;
    struct window *windows; /* by process and time */
    size_t window_count, window_capacity;
    struct numbers pids;
    size_t *first, *now;   /* [by number of a pid]: windows */
    struct recent *recent; /* [by number of a pid] */
    size_t first_capacity, now_capacity, recent_count, recent_capacity;
    struct numbers paths; /* of programs */
    struct program *programs;
    size_t program_count, program_capacity;
    struct thread_share *threads;
    size_t thread_count, thread_capacity;
    struct user_places places;
    struct code_blocks *blocks;
    float *missing; /* [location]: the part of it that is missing from other CPUs, 0: unknown */
    size_t location_count, location_capacity;
};

static void add_window(struct kernel_share *share, uint64_t until, struct raw_share ticks)
{
    *MEM_APPEND(share->windows, share->window_count, share->window_capacity) = (struct window){
        .until = until, .last = until == UINT64_MAX, .program = INTERN_NONE, .ticks = ticks};
}

/* Adds PID, whose windows are added next. Returns its number. */
static uint32_t add_pid(struct kernel_share *share, uint32_t pid)
{
    uint32_t number = numbers_intern(&share->pids, pid);
    mem_reserve(&share->first, &share->first_capacity, (size_t)number + 1, sizeof *share->first);
    mem_reserve(&share->now, &share->now_capacity, (size_t)number + 1, sizeof *share->now);
    mem_extend(&share->recent, &share->recent_count, &share->recent_capacity, (size_t)number + 1,
               sizeof *share->recent);
    share->first[number] = share->now[number] = share->window_count;
    return number;
}

static struct raw_share ticks_of(const struct raw_ticks *ticks, double tick)
{
    double kernel = raw_ticks_system(ticks) / tick;
    return (struct raw_share){(double)ticks->user / tick + kernel, kernel};
}

/* Each process ends with a window without ticks, for sightings after the last record. */
static void add_windows(struct kernel_share *share, const struct raw_ticks **order, size_t count)
{
    double tick = raw_ticks_length(&share->ext->facts);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || order[i]->pid != order[i - 1]->pid)
            add_pid(share, order[i]->pid);
        if (order[i]->time < UINT64_MAX)
            add_window(share, order[i]->time, ticks_of(order[i], tick));
        if (i + 1 == count || order[i + 1]->pid != order[i]->pid)
            add_window(share, UINT64_MAX, (struct raw_share){0});
    }
}

struct kernel_share *kernel_share_new(const struct raw_extension *ext)
{
    if (ext->tick_count == 0 || raw_facts_engine(&ext->facts, "perf"))
        return NULL;
    struct kernel_share *share = mem_zalloc(1, sizeof *share);
    const struct raw_ticks **order = raw_ticks_in_order(ext);
    share->ext = share->places.ext = ext;
    share->blocks = code_blocks_new(ext);
    add_windows(share, order, ext->tick_count);
    free(order);
    return share;
}

void kernel_share_delete(struct kernel_share *share)
{
    if (share == NULL)
        return;
    for (uint32_t i = 0; i < share->paths.count; i++) {
        fault_places_free(&share->programs[i].faults);
        call_places_free(&share->programs[i].calls);
        missing_places_free(&share->programs[i].missing);
    }
    for (size_t i = 0; i < share->recent_count; i++)
        missing_period_free(&share->recent[i].period);
    free(share->recent);
    free(share->missing);
    code_blocks_delete(share->blocks);
    user_places_free(&share->places);
    numbers_free(&share->pids);
    numbers_free(&share->paths);
    free(share->windows);
    free(share->first);
    free(share->now);
    free(share->programs);
    free(share->threads);
    free(share);
}

static uint32_t number_of(struct kernel_share *share, uint32_t pid)
{
    uint32_t number = numbers_find(&share->pids, pid);
    if (number == INTERN_NONE) {
        number = add_pid(share, pid);
        add_window(share, UINT64_MAX, (struct raw_share){0});
    }
    return number;
}

/* Returns the window of the process with this NUMBER at TIME_NS. */
static struct window *window_at(struct kernel_share *share, uint32_t number, uint64_t time_ns)
{
    size_t *now = &share->now[number];
    while (time_ns > share->windows[*now].until && !share->windows[*now].last)
        ++*now;
    return &share->windows[*now];
}

static struct thread_share *thread_at(struct kernel_share *share, uint32_t number)
{
    mem_reserve(&share->threads, &share->thread_capacity, (size_t)number + 1,
                sizeof *share->threads);
    while (share->thread_count <= number) {
        size_t i = share->thread_count++;
        uint32_t odd = first_remainder((uint32_t)i);
        share->threads[i] = (struct thread_share){
            .odd = odd, .odd_fault = odd, .odd_user = odd, .odd_missing = odd};
    }
    return &share->threads[number];
}

/* Returns the program that IMAGE is of, which the next call may move. Texts of the extension are
 * interned: equal ones are one pointer. */
static struct program *program_at(struct kernel_share *share, uint32_t image)
{
    const char *path = image < share->ext->image_count ? share->ext->images[image].path : NULL;
    uint32_t number = numbers_intern(&share->paths, (uint64_t)(uintptr_t)path);
    mem_extend(&share->programs, &share->program_count, &share->program_capacity,
               (size_t)number + 1, sizeof *share->programs);
    return &share->programs[number];
}

bool kernel_share_sighting(struct sighting *seen, const struct tracked *tracked,
                           const struct raw_samples *s, size_t at, uint64_t time_ns)
{
    uint8_t flags = s->flags != NULL ? s->flags[at] : RAW_RAN;
    bool called = s->callers != NULL && (flags & RAW_CALLER) != 0;
    *seen = (struct sighting){
        .owner = {tracked->thread, tracked->image, tracked->task},
        .pid = tracked->pid,
        .time_ns = time_ns,
        .preempted = (flags & (RAW_RAN | RAW_TOTAL | RAW_CALLER | RAW_PREEMPTED)) == RAW_PREEMPTED,
        .ran = (flags & (RAW_RAN | RAW_TOTAL)) == RAW_RAN,
        .called = called,
        .faulted = called && (flags & RAW_FAULT) != 0,
        .side = flags & RAW_SAME_CPU ? FAULT_SAME_CPU : FAULT_OTHER_CPU,
        .pc = called ? s->callers[at] : s->thread_samples[at].pc};
    return seen->ran;
}

void kernel_share_note(struct kernel_share *share, const struct sighting *seen)
{
    user_places_count(&share->places, &seen->owner, seen->ran);
    if (seen->preempted || (seen->ran && !seen->called))
        user_places_note(&share->places, &seen->owner, seen->ran ? OWN_RAN : OWN_PREEMPTED,
                         seen->pc, seen->time_ns);
}

static void end_period(struct kernel_share *share, struct recent *recent)
{
    if (recent->program < share->paths.count)
        missing_places_add(&share->programs[recent->program].missing, &recent->period);
}

/* Returns the period of the process with this NUMBER to which the next sighting of P in WINDOW belongs. */
static struct missing_period *period_at(struct kernel_share *share, uint32_t number,
                                        const struct window *window, const struct program *p)
{
    struct recent *recent = &share->recent[number];
    size_t at = (size_t)(window - share->windows);
    uint32_t program = (uint32_t)(p - share->programs);
    if (recent->window != at || recent->program != program || recent->period.count >= MAX_PERIOD)
        end_period(share, recent);
    recent->window = at;
    recent->program = program;
    return &recent->period;
}

void kernel_share_count(struct kernel_share *share, const struct sighting *seen, double weight)
{
    uint32_t number = number_of(share, seen->pid);
    struct window *window = window_at(share, number, seen->time_ns);
    struct program *p = program_at(share, seen->owner.image);
    if (window->program == INTERN_NONE)
        window->program = (uint32_t)(p - share->programs);
    struct cpu_sightings *side = &window->sides[seen->side];
    side->seen.all += weight;
    side->seen.kernel += seen->called ? weight : 0;
    side->faults += seen->faulted ? weight : 0;
    struct missing_period *period = period_at(share, number, window, p);
    missing_period_count(period, seen->side, weight);
    enum fault_sight sight = seen->faulted ? FAULT_SEEN : seen->called ? FAULT_KERNEL : FAULT_USER;
    fault_places_count(&p->faults, seen->side, seen->pc, sight, weight);
    if (sight == FAULT_KERNEL)
        call_places_count(&p->calls, seen->side, seen->pc, weight);
    else
        missing_places_count(&p->missing, period, seen->side,
                             code_blocks_at(share->blocks, seen->owner.image, seen->pc), weight);
}

/* Returns whether page faults can explain LACK, the missing kernel time as a part of the CPU time
 * of P. */
static bool is_credible(const struct kernel_share *share, const struct program *p, double lack)
{
    return fault_places_explain(share->ext->facts.page_faults, lack,
                                p->ticks.all * raw_ticks_length(&share->ext->facts));
}

/* Divides the excess on other CPUs into system calls and page faults. On the CPU of the sampler,
 * system calls are seen correctly: those on other CPUs that exceed this rate are removed first, so
 * that page faults are not moved to user code in their place. */
static void part_kinds(struct program *p)
{
    struct cpu_sightings *side = &p->sides[FAULT_OTHER_CPU];
    const struct cpu_sightings *same = &p->sides[FAULT_SAME_CPU];
    double calls = side->seen.kernel - side->faults, excess = side->excess;
    for (int k = 0; k < FAULT_SIDES; k++)
        p->sides[k].call_part = p->sides[k].fault_part = 1;
    if (same->seen.all < min_sightings || calls < 1 || side->faults < 1 || excess <= 0)
        return;
    double right = (same->seen.kernel - same->faults) / same->seen.all * side->seen.all;
    double wrong = calls > right ? calls - right : 0;
    wrong = wrong < excess ? wrong : excess;
    wrong = excess - wrong < side->faults ? wrong : excess - side->faults;
    side->call_part = wrong / calls * (side->seen.kernel / excess);
    side->fault_part = (excess - wrong) / side->faults * (side->seen.kernel / excess);
}

/* The kernel often keeps the CPU until a page fault is over. Meanwhile, the sampler moves to
 * another CPU, and sees there the page faults that are missing on its own. This number of page
 * faults is correct. */
static void pair_faults(struct program *p)
{
    struct cpu_sightings *side = &p->sides[FAULT_OTHER_CPU], *same = &p->sides[FAULT_SAME_CPU];
    if (side->excess <= 0 || same->lack <= 0)
        return;
    double per_kernel = side->excess / side->seen.kernel;
    double calls = side->call_part * per_kernel * (side->seen.kernel - side->faults);
    double faults = side->fault_part * per_kernel * side->faults;
    double paired = fmin(fmin(faults, same->lack), side->excess);
    same->lack -= paired;
    side->excess -= paired;
    if (side->excess <= 0)
        return;
    per_kernel = side->excess / side->seen.kernel;
    if (side->seen.kernel > side->faults)
        side->call_part = calls / (side->seen.kernel - side->faults) / per_kernel;
    if (side->faults > 0)
        side->fault_part = (faults - paired) / side->faults / per_kernel;
}

/* Divides the excess of system calls on other CPUs among their places. */
static void place_calls(struct program *p)
{
    const struct cpu_sightings *side = &p->sides[FAULT_OTHER_CPU],
                               *same = &p->sides[FAULT_SAME_CPU];
    p->placed = same->seen.all >= min_sightings && side->seen.kernel > 0;
    if (!p->placed)
        return;
    double calls = side->seen.kernel - side->faults;
    call_places_settle(&p->calls, side->call_part * calls * (side->excess / side->seen.kernel),
                       side->seen.all / same->seen.all);
}

/* Determines the excess or lack of each program. Returns the sum over all programs. */
static double settle_programs(struct kernel_share *share)
{
    double all = 0;
    for (uint32_t i = 0; i < share->paths.count; i++) {
        struct program *p = &share->programs[i];
        for (int k = 0; k < FAULT_SIDES; k++) {
            struct cpu_sightings *side = &p->sides[k];
            double surplus = raw_ticks_surplus(side->seen, p->ticks);
            side->excess = surplus > 0 ? surplus : 0;
            side->lack =
                surplus < 0 && is_credible(share, p, -surplus / side->seen.all) ? -surplus : 0;
        }
        part_kinds(p);
        pair_faults(p);
        for (int k = 0; k < FAULT_SIDES; k++) {
            fault_places_settle(&p->faults, (enum fault_side)k, p->sides[k].lack);
            all += p->sides[k].excess + p->sides[k].lack;
        }
        place_calls(p);
        if (p->sides[FAULT_SAME_CPU].seen.all >= min_sightings)
            missing_places_settle(&p->missing);
    }
    return all;
}

/* Returns the kernel's part of W according to its own ticks and MORE of P. */
static double part_of(const struct window *w, const struct program *p, int more)
{
    return (w->ticks.kernel + more * raw_share_kernel(p->ticks)) / (w->ticks.all + more);
}

/* Returns the excess of SIDE of W according to its own ticks. */
static double suggest(const struct window *w, const struct cpu_sightings *side,
                      const struct program *p)
{
    double excess = side->seen.kernel - part_of(w, p, FEW) * side->seen.all;
    return excess < 0 ? 0 : excess < side->seen.kernel ? excess : side->seen.kernel;
}

/* Scales the excess of window W so that those of all windows add up to that of their program P: to
 * a part of the suggested excess, or to all of it and a part of the other sightings in the
 * kernel. */
static void divide(struct cpu_sightings *w, const struct cpu_sightings *p)
{
    double others = p->seen.kernel - p->suggested;
    if (p->suggested >= p->excess)
        w->excess *= p->suggested > 0 ? p->excess / p->suggested : 0;
    else if (others > 0)
        w->excess += (w->seen.kernel - w->excess) * (p->excess - p->suggested) / others;
}

static void settle_windows(struct kernel_share *share)
{
    for (size_t i = 0; i < share->window_count; i++) {
        struct window *w = &share->windows[i];
        struct program *p = w->program != INTERN_NONE ? &share->programs[w->program] : NULL;
        for (int k = 0; k < FAULT_SIDES && p != NULL; k++)
            p->sides[k].suggested += w->sides[k].excess = suggest(w, &w->sides[k], p);
    }
    for (size_t i = 0; i < share->window_count; i++) {
        struct window *w = &share->windows[i];
        for (int k = 0; k < FAULT_SIDES && w->program != INTERN_NONE; k++)
            divide(&w->sides[k], &share->programs[w->program].sides[k]);
    }
}

static void add_share(struct raw_share *sum, struct raw_share share)
{
    sum->all += share.all;
    sum->kernel += share.kernel;
}

static void add_seen(struct cpu_sightings *sum, const struct cpu_sightings *side)
{
    add_share(&sum->seen, side->seen);
    sum->faults += side->faults;
}

uint64_t kernel_share_settle(struct kernel_share *share)
{
    for (size_t i = 0; i < share->window_count; i++) {
        const struct window *w = &share->windows[i];
        if (w->program == INTERN_NONE)
            continue;
        struct program *p = &share->programs[w->program];
        add_share(&p->ticks, w->ticks);
        for (int k = 0; k < FAULT_SIDES; k++)
            add_seen(&p->sides[k], &w->sides[k]);
    }
    for (size_t i = 0; i < share->recent_count; i++)
        end_period(share, &share->recent[i]);
    double all = settle_programs(share);
    settle_windows(share);
    memcpy(share->now, share->first, share->pids.count * sizeof *share->now);
    return (uint64_t)(all + 0.5);
}

/* Returns whether this sighting is moved, if a PART of all is. ODD is the remainder so far. */
static bool goes(uint32_t *odd, double part)
{
    uint64_t sum = *odd + (uint64_t)(part * 4294967296.0);
    *odd = (uint32_t)sum;
    return sum >> 32 != 0;
}

bool kernel_share_moves(struct kernel_share *share, const struct sighting *seen)
{
    struct thread_share *t = thread_at(share, seen->owner.thread);
    const struct program *p = program_at(share, seen->owner.image);
    if (seen->called && !seen->faulted && seen->side == FAULT_OTHER_CPU && p->placed)
        return goes(&t->odd, call_places_part(&p->calls, seen->pc));
    if (seen->called) {
        const struct cpu_sightings *side =
            &window_at(share, number_of(share, seen->pid), seen->time_ns)->sides[seen->side];
        const struct cpu_sightings *of = &p->sides[seen->side];
        double part = side->seen.kernel > 0 ? side->excess / side->seen.kernel : 0;
        return goes(seen->faulted ? &t->odd_fault : &t->odd,
                    fmin(part * (seen->faulted ? of->fault_part : of->call_part), 1));
    }
    return p->sides[seen->side].lack > 0 &&
           goes(&t->odd_user, fault_places_part(&p->faults, seen->side, seen->pc));
}

void kernel_share_place(struct kernel_share *share, const struct sighting *seen, uint64_t pc,
                        uint32_t location)
{
    mem_extend(&share->missing, &share->location_count, &share->location_capacity,
               (size_t)location + 1, sizeof *share->missing);
    float *missing = &share->missing[location];
    if (*missing > 0)
        return;
    const struct program *p = program_at(share, seen->owner.image);
    uint64_t block = code_blocks_at(share->blocks, seen->owner.image, pc);
    *missing = (float)fmax(missing_places_part(&p->missing, block), 1e-9);
}

/* Returns whether to assume that the thread of SEEN was also interrupted at LOCATION without being
 * seen there. */
static bool misses(struct kernel_share *share, const struct sighting *seen, uint32_t location)
{
    struct thread_share *t = thread_at(share, seen->owner.thread);
    double part = location < share->location_count ? share->missing[location] : 0;
    if (!goes(&t->odd_missing, part))
        return false;
    t->image = seen->owner.image;
    t->has_lost = true;
    t->lost = location;
    return true;
}

bool kernel_share_compares(struct kernel_share *share, const struct sighting *seen)
{
    return program_at(share, seen->owner.image)->placed &&
           user_places_is_busy(&share->places, &seen->owner);
}

void kernel_share_seen(struct kernel_share *share, const struct sighting *seen, uint32_t location)
{
    kernel_share_place(share, seen, seen->pc, location);
    bool compared = kernel_share_compares(share, seen);
    if (compared && seen->side != FAULT_SAME_CPU)
        return;
    user_places_put(&share->places, &seen->owner, location);
    if (compared)
        misses(share, seen, location);
}

size_t kernel_share_own(struct kernel_share *share, const struct sighting *seen,
                        struct own_place *own)
{
    return user_places_own(&share->places, &seen->owner, seen->time_ns, own);
}

/* Returns the last place of the thread of SEEN that is missing from other CPUs, or UINT32_MAX. */
static uint32_t last_lost(struct kernel_share *share, const struct sighting *seen)
{
    const struct thread_share *t = thread_at(share, seen->owner.thread);
    return t->has_lost && t->image == seen->owner.image ? t->lost : UINT32_MAX;
}

uint32_t kernel_share_instead(struct kernel_share *share, const struct sighting *seen,
                              const uint32_t *later, size_t count)
{
    bool compared = kernel_share_compares(share, seen);
    for (int i = 0; i < SEEN_NEARBY; i++) {
        uint32_t location = user_places_get(&share->places, &seen->owner, later, count);
        if (location == UINT32_MAX || (!seen->faulted && !compared) ||
            misses(share, seen, location))
            return location;
    }
    return seen->faulted ? UINT32_MAX : last_lost(share, seen);
}

/* The part of CPU time that was used in user code, if the kernel was not sampled.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/user_share.h"

#include <math.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/memory.h"
#include "convert/prof2pbin/first_remainder.h"
#include "formats/raw/raw_ticks.h"

enum {
    MAX_BINS = 1 << 16,
    MORE = 1,      /* ticks of the run's share that are added to those of a bin */
    LENGTHS = 8,   /* of short threads, each half of the previous one */
    INTERVALS = 2, /* mean intervals without kernel time that are added to those of a thread */
    STEPS = 50     /* of bisection */
};
static const double least_bin = 1e8; /* the engine reads ticks every 0.1 s */
/* There may be more user code than sightings in a bin, by chance: then fewer are moved later. */
static const double least_due = -64;
/* of the part in user code according to sightings: their share is wrong by up to 0.1 */
static const double found_variance = 0.05 * 0.05;
/* Standard errors of the kernel's part besides chance: by samples; and by both as multiples of the
 * part used in switches, around which the kernel accepts interrupts late. */
static const double sampled_error = 0.01, sampled_late = 0.2, ticks_late = 0.8;

/* CPU time: all of it, and what sightings represent before they are scaled to it [ns]. */
struct represented {
    double cpu, nominal;
};

struct user_process {
    struct represented brief[LENGTHS]; /* its short threads, by their CPU time */
    struct raw_share ticks;
    double seen, user; /* sums over its threads, see there; USER: scaled */
};

struct user_thread {
    struct represented own;
    uint32_t process; /* number of its process; INTERN_NONE: its ticks are unknown */
    double seen;      /* sum of the weights of its sightings ... */
    double user;      /* ... and of the parts in user code, by the ticks alone */
    double factor;    /* for these parts */
    double due;       /* part of a moved sighting that has accumulated */
};

struct user_share {
    const struct raw_extension *ext;
    uint64_t short_ns, mean_ns;
    struct numbers pids;            /* with ticks */
    struct user_process *processes; /* [by number of a pid, last: all others] */
    bool others;                    /* the ticks of all others are known */
    size_t totals;                  /* records so far */
    double cpu, switched;           /* their sums [ns] */
    double bin;                     /* [ns] */
    size_t bins;
    double *kernel;         /* [bins]: the kernel's part of the CPU time */
    struct raw_share ticks; /* of the run */
    struct user_thread *threads;
    size_t thread_count, thread_capacity;
};

/* ---- ticks -------------------------------------------------------------------------------------- */

/* Returns when process PID began [ns]. */
static uint64_t start_of(const struct raw_extension *ext, uint32_t pid)
{
    for (size_t i = 0; i < ext->image_count; i++)
        if (ext->images[i].pid == pid)
            return ext->images[i].start;
    return 0;
}

/* Spreads TICKS evenly from BEGIN to END. ADDED: in each bin; CHANGE: in each of a run of bins, as
 * its differences. Both have room for one bin more. */
static void spread(const struct user_share *share, double begin, double end, double ticks,
                   double *added, double *change)
{
    double first = begin / share->bin, last = end / share->bin, most = (double)share->bins;
    first = fmin(fmax(first, 0), most);
    last = fmin(fmax(last, first), most);
    size_t from = (size_t)first, to = (size_t)last;
    if (!(last > first)) {
        added[from < share->bins ? from : share->bins - 1] += ticks;
        return;
    }
    double each = ticks / (last - first);
    if (from == to) {
        added[from] += ticks;
        return;
    }
    added[from] += each * ((double)from + 1 - first);
    added[to] += each * (last - (double)to);
    change[from + 1] += each;
    change[to] -= each;
}

static void add_ticks(struct raw_share *to, double user, double system)
{
    to->all += user + system;
    to->kernel += system;
}

/* Sets KERNEL from the records in ORDER, COUNT of them. */
static void fill_bins(struct user_share *share, const struct raw_ticks **order, size_t count)
{
    size_t n = share->bins + 1;
    double tick = raw_ticks_length(&share->ext->facts);
    double *user = mem_zalloc(4 * n, sizeof *user), *user_change = user + n, *kernel = user + 2 * n,
           *kernel_change = user + 3 * n;
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || order[i]->pid != order[i - 1]->pid;
        double begin = (double)(first ? start_of(share->ext, order[i]->pid) : order[i - 1]->time);
        double end = (double)order[i]->time, system = raw_ticks_system(order[i]) / tick;
        double own = (double)order[i]->user / tick;
        spread(share, begin, end, own, user, user_change);
        spread(share, begin, end, system, kernel, kernel_change);
        struct user_process *p = &share->processes[numbers_find(&share->pids, order[i]->pid)];
        add_ticks(&share->ticks, own, system);
        add_ticks(&p->ticks, own, system);
    }
    double part = raw_share_kernel(share->ticks), users = 0, kernels = 0;
    for (size_t b = 0; b < share->bins; b++) {
        users += user_change[b];
        kernels += kernel_change[b];
        double k = fmax(kernel[b] + kernels, 0), u = fmax(user[b] + users, 0);
        share->kernel[b] = (k + MORE * part) / (k + u + MORE);
    }
    free(user);
}

/* The others used what those with ticks did not use of the CPU time of the run. */
static void find_others(struct user_share *share)
{
    const struct raw_facts *facts = &share->ext->facts;
    double tick = raw_ticks_length(&share->ext->facts),
           all = (double)facts->cpu_ns / tick - share->ticks.all,
           kernel = (double)facts->system_ns / tick - share->ticks.kernel;
    share->others = facts->system_ns > 0 && all > 0;
    if (!share->others)
        return;
    kernel = fmin(fmax(kernel, 0), all);
    add_ticks(&share->processes[share->pids.count].ticks, all - kernel, kernel);
    add_ticks(&share->ticks, all - kernel, kernel);
}

static void choose_bins(struct user_share *share, const struct raw_ticks **order, size_t count)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++)
        last = order[i]->time < UINT64_MAX && order[i]->time > last ? order[i]->time : last;
    share->bin = fmax(least_bin, ceil((double)last / (MAX_BINS - 1)));
    share->bins = (size_t)((double)last / share->bin) + 1;
    share->kernel = mem_zalloc(share->bins, sizeof *share->kernel);
}

struct user_share *user_share_new(const struct raw_extension *ext, uint64_t short_ns,
                                  uint64_t mean_ns)
{
    if ((ext->tick_count == 0 && ext->facts.system_ns == 0) ||
        !raw_facts_engine(&ext->facts, "perf"))
        return NULL;
    struct user_share *share = mem_zalloc(1, sizeof *share);
    const struct raw_ticks **order = raw_ticks_in_order(ext);
    *share = (struct user_share){.ext = ext, .short_ns = short_ns, .mean_ns = mean_ns};
    for (size_t i = 0; i < ext->tick_count; i++)
        numbers_intern(&share->pids, ext->ticks[i].pid);
    share->processes = mem_zalloc((size_t)share->pids.count + 1, sizeof *share->processes);
    choose_bins(share, order, ext->tick_count);
    fill_bins(share, order, ext->tick_count);
    find_others(share);
    free(order);
    return share;
}

void user_share_delete(struct user_share *share)
{
    if (share == NULL)
        return;
    numbers_free(&share->pids);
    free(share->processes);
    free(share->kernel);
    free(share->threads);
    free(share);
}

/* ---- threads ------------------------------------------------------------------------------------ */

static struct user_thread *thread_at(struct user_share *share, uint32_t number)
{
    mem_reserve(&share->threads, &share->thread_capacity, (size_t)number + 1,
                sizeof *share->threads);
    while (share->thread_count <= number) {
        size_t i = share->thread_count++;
        share->threads[i] = (struct user_thread){
            .process = INTERN_NONE, .factor = 1, .due = first_remainder((uint32_t)i) * 0x1p-32};
    }
    return &share->threads[number];
}

/* Returns the number of process PID; INTERN_NONE: its ticks are unknown. */
static uint32_t process_of(const struct user_share *share, uint32_t pid)
{
    uint32_t number = numbers_find(&share->pids, pid);
    return number == INTERN_NONE && share->others ? share->pids.count : number;
}

/* The part of the CPU time of PROCESS in user code, by the ticks alone. */
static double user_part(const struct user_share *share, uint32_t process, uint64_t time_ns)
{
    if (process == share->pids.count)
        return 1 - raw_share_kernel(share->processes[process].ticks);
    double bin = (double)time_ns / share->bin;
    return 1 - share->kernel[bin < (double)share->bins ? (size_t)bin : share->bins - 1];
}

void user_share_total(struct user_share *share, uint32_t thread, uint32_t pid, uint64_t cpu_ns,
                      uint64_t switched_ns, uint64_t nominal_ns)
{
    const struct raw_extension *ext = share->ext;
    size_t at = share->totals++;
    struct user_thread *t = thread_at(share, thread);
    t->process = process_of(share, pid);
    share->cpu += (double)cpu_ns;
    share->switched += (double)switched_ns;
    t->own.cpu += (double)(cpu_ns - switched_ns);
    t->own.nominal += (double)(at < ext->nominal_count ? ext->nominal_ns[at] : nominal_ns);
}

void user_share_count(struct user_share *share, uint32_t thread, uint32_t pid, uint64_t time_ns,
                      double weight)
{
    struct user_thread *t = thread_at(share, thread);
    t->process = process_of(share, pid);
    if (t->process == INTERN_NONE)
        return;
    t->seen += weight;
    t->user += weight * user_part(share, t->process, time_ns);
}

static bool is_short(const struct user_share *share, const struct user_thread *t)
{
    return t->own.cpu < (double)share->short_ns;
}

/* Short threads of about the same CPU time are counted together: those that start a program, for
 * example, are in the kernel for the same time, whether it then runs for 5 or 12 ms. */
static struct represented *brief_of(struct user_share *share, const struct user_thread *t)
{
    int halvings = (int)log2((double)share->short_ns / fmax(t->own.cpu, 1));
    return &share->processes[t->process].brief[halvings < LENGTHS - 1 ? halvings : LENGTHS - 1];
}

static double factor_of(const struct user_share *share, const struct represented *r)
{
    double more = INTERVALS * (double)share->mean_ns;
    return (r->nominal + more) / (r->cpu + more);
}

static void find_factors(struct user_share *share)
{
    for (size_t i = 0; i < share->thread_count; i++) {
        const struct user_thread *t = &share->threads[i];
        if (t->process == INTERN_NONE || !is_short(share, t))
            continue;
        struct represented *brief = brief_of(share, t);
        brief->cpu += t->own.cpu;
        brief->nominal += t->own.nominal;
    }
    for (size_t i = 0; i < share->thread_count; i++) {
        struct user_thread *t = &share->threads[i];
        if (t->process != INTERN_NONE)
            t->factor = factor_of(share, is_short(share, t) ? brief_of(share, t) : &t->own);
    }
}

/* Returns the weight of sightings in user code if all factors are multiplied by SCALE. */
static double all_user(const struct user_share *share, double scale)
{
    double sum = 0;
    for (size_t i = 0; i < share->thread_count; i++) {
        const struct user_thread *t = &share->threads[i];
        sum += fmin(scale * t->factor * t->user, t->seen);
    }
    return sum;
}

/* Scales all factors so that the weight of sightings in user code is USER. */
static void scale_to(struct user_share *share, double user)
{
    double low = 0, high = 2;
    while (all_user(share, high) < user && high < 0x1p20)
        high *= 2;
    for (int i = 0; i < STEPS; i++) {
        double middle = (low + high) / 2;
        if (all_user(share, middle) < user)
            low = middle;
        else
            high = middle;
    }
    for (size_t i = 0; i < share->thread_count; i++) {
        struct user_thread *t = &share->threads[i];
        if (t->user > 0)
            t->factor = fmin(t->factor * high, t->seen / t->user);
    }
}

static double squared(double x)
{
    return x * x;
}

/* The variance of the kernel's part KERNEL according to COUNT ticks. */
static double ticks_variance(const struct user_share *share, double kernel, double count)
{
    double late = share->cpu > 0 ? ticks_late * share->switched / share->cpu : 0;
    return kernel * (1 - kernel) / count + squared(late);
}

/* The number of the SEEN sightings that represent time in the kernel. */
static double all_kernel(const struct user_share *share, double seen)
{
    double user = share->ext->facts.user_part, ticks = raw_share_kernel(share->ticks);
    if (!(user > 0 && user <= 1) || !(share->cpu > 0))
        return -raw_ticks_surplus((struct raw_share){.all = seen}, share->ticks);
    double late = sampled_late * share->switched / share->cpu;
    /* the lengths of intervals are random, as well as which ones end in the kernel */
    double by_samples = 2 * user * (1 - user) / seen + squared(sampled_error) + squared(late);
    double by_ticks = ticks_variance(share, ticks, share->ticks.all + MORE);
    return seen * ((1 - user) * by_ticks + ticks * by_samples) / (by_ticks + by_samples);
}

/* Returns the mean of FOUND, the part of P in user code according to its sightings, and of what its
 * ticks show, weighted by their variances. */
static double with_ticks(const struct user_share *share, const struct user_process *p, double found)
{
    double more = p->ticks.kernel + MORE * raw_share_kernel(share->ticks), n = p->ticks.all + MORE,
           kernel = more / n;
    double variance = ticks_variance(share, kernel, n);
    return (found * variance + (1 - kernel) * found_variance) / (variance + found_variance);
}

/* Corrects the factors by the ticks of each process. */
static void correct_processes(struct user_share *share)
{
    for (size_t i = 0; i < share->thread_count; i++) {
        const struct user_thread *t = &share->threads[i];
        if (t->process == INTERN_NONE)
            continue;
        share->processes[t->process].seen += t->seen;
        share->processes[t->process].user += fmin(t->factor * t->user, t->seen);
    }
    for (size_t i = 0; i < share->thread_count; i++) {
        struct user_thread *t = &share->threads[i];
        const struct user_process *p =
            t->process != INTERN_NONE ? &share->processes[t->process] : NULL;
        if (p != NULL && p->user > 0)
            t->factor *= with_ticks(share, p, p->user / p->seen) * p->seen / p->user;
    }
}

uint64_t user_share_settle(struct user_share *share)
{
    double seen = 0;
    for (size_t i = 0; i < share->thread_count; i++)
        seen += share->threads[i].seen;
    double lack = all_kernel(share, seen);
    if (!(lack > 0))
        return 0;
    find_factors(share);
    scale_to(share, seen - lack);
    correct_processes(share);
    scale_to(share, seen - lack);
    return (uint64_t)(lack + 0.5);
}

bool user_share_moves(struct user_share *share, uint32_t thread, uint64_t time_ns)
{
    struct user_thread *t = thread_at(share, thread);
    if (t->process == INTERN_NONE)
        return false;
    t->due = fmax(t->due + 1 - t->factor * user_part(share, t->process, time_ns), least_due);
    bool moves = t->due >= 1;
    t->due -= moves;
    return moves;
}

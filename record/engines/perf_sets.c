/* Determines when the next sample is taken.
 * SPDX-License-Identifier: MIT */
#include "record/engines/perf_sets.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/process.h"

/* [ns] A sample costs up to 20 us on virtual machines: at shorter intervals nothing else would run. */
static const double min_mean = 100000, min_batch = 30000;
/* [ns] The period that threads inherit. The kernel does not allow changing it while their creator
 * is in clone: at 10 us, where a sample takes 25 us, clone did not end for seconds. */
static const double min_creation = 50000;
static const double prompt = 0.05, slow = 0.25,
                    max_intervals = 20;           /* means: of exponential intervals */
static const double narrow = 0.5, wide = 1.5;     /* means: of the periods of batches */
static const uint64_t batch_time = SECOND / 1000; /* minimum duration of a batch */
/* means: until then, the thread has hardly done anything new */
static const double soon = 0.25;
static const double soonest = 250000; /* [ns] this process hardly ever reads a sample earlier */
/* number of batches that make up for a deviation of the rate */
static const double balance = 32;
static const double max_balance = 0.2;
static const double overdue = 16;            /* number of batches without a new period */
static const uint64_t retry = SECOND / 1000; /* between checks of a thread that waits */
/* At high rates, opening samplers costs a thread as much as some tens of samples. */
static const unsigned max_firings = 32;
static const uint64_t short_life = SECOND / 100;
enum { MAX_ADOPTED = 16 }; /* threads for which samplers are opened at once, see is_crowded */
/* [ns] CPU time that the kernel typically needs before the code of a new process or thread runs */
static const double process_start = 35000, thread_start = 10000;
static const double seed_life =
    64; /* means: a thread that has created no thread for this long is sampled like others */
/* If a period that is kept is longer than the mean, samples are missing. Therefore more samples
 * count if it is shorter, so that overall there is one per mean. Found by simulation. */
static const double dense = 0.67;

void perf_sets_init(struct perf_sets *sets, const struct perf_setup *setup, const int *outputs,
                    double frequency, bool random, bool prompt_reaction)
{
    *sets = (struct perf_sets){.setup = setup,
                               .prompt = prompt_reaction,
                               .outputs = mem_zalloc(setup->cpu_count, sizeof *outputs),
                               .mean = (double)SECOND / frequency,
                               .exact = (double)SECOND / frequency,
                               .random = random,
                               .batch = frequency > RAW_PERF_EACH,
                               .least = prompt_reaction ? prompt : slow};
    memcpy(sets->outputs, outputs, setup->cpu_count * sizeof *outputs);
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = clock_now();
    random_start(&sets->numbers, seed);
    sets->phase = random_uniform(&sets->numbers);
}

void perf_sets_rate(struct perf_sets *sets, double mean, double exact)
{
    sets->mean = fmax(mean, min_batch);
    sets->exact = fmax(exact, min_batch);
}

void perf_sets_turn(struct perf_sets *sets, bool on)
{
    unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    for (struct perf_set *set = sets->list; set != NULL; set = set->chain)
        for (size_t i = 0; i < sets->setup->cpu_count; i++)
            if (set->samplers[i].fd >= 0)
                ioctl(set->samplers[i].fd, request, 0);
    sets->off = !on;
}

/* Returns how long a period is used [ns]. */
static double batch_length(const struct perf_sets *sets)
{
    return fmax((double)batch_time, PERF_BATCH * sets->mean);
}

static double floor_of(const struct perf_sets *sets, bool creation)
{
    if (creation && (sets->batch || sets->prompt))
        return sets->mean >= 2 * min_creation ? min_creation : min_batch;
    return sets->batch ? min_batch : min_mean;
}

/* Returns the length of one of several equal intervals [ns], for AT in 0..1. It varies around MEAN
 * in such a way that there is one sample per mean overall. */
static double equal_at(double mean, double at)
{
    return mean * (narrow + (wide - narrow) * at) * log(wide / narrow);
}

static double draw_equal(struct perf_sets *sets, double mean)
{
    return equal_at(mean, random_uniform(&sets->numbers));
}

/* The same for consecutive batches. Their lengths are evenly spread: if these were independent, the
 * rate in one second would be wrong by one percent. After a creation, they must be independent. */
static double draw_even(struct perf_sets *sets)
{
    sets->phase = clock_phase(sets->phase);
    return equal_at(sets->mean, sets->phase);
}

/* Draws the interval from one sample that counts to the next [ns]. */
static double draw(struct perf_sets *sets)
{
    if (!sets->random)
        return sets->mean;
    if (sets->batch)
        return draw_equal(sets, sets->mean);
    return sets->mean *
           fmin(sets->least - (1 - sets->least) * log(random_even(&sets->numbers)), max_intervals);
}

/* Sets the next period of SAMPLER. */
static void set_period(struct perf_sets *sets, struct perf_sampler *sampler, double period,
                       double interval, bool creation)
{
    memmove(sampler->past + 1, sampler->past, sizeof sampler->past - sizeof sampler->past[0]);
    sampler->past[0] = sampler->period;
    sampler->period.length = sampler->due = (uint64_t)fmax(period, floor_of(sets, creation));
    sampler->period.interval = (uint64_t)interval;
    sampler->born = sampler->creation;
    sampler->creation = creation;
    sampler->seed = false;
    sampler->since = sampler->used = sampler->gone = sampler->latest = 0;
    sampler->whole = false;
    sampler->length = sets->each ? 0 : (uint64_t)batch_length(sets);
}

/* Sets the period from a random moment to the next sample that counts. In batches, the same
 * interval follows. */
static void set_first(struct perf_sets *sets, struct perf_sampler *sampler)
{
    double interval = sets->batch ? draw_equal(sets, sets->exact) : 0;
    double period = sets->batch
                        ? interval * random_uniform(&sets->numbers)
                        : sets->exact * fmin(-log(random_uniform(&sets->numbers)), max_intervals);
    set_period(sets, sampler, sets->random ? period : sets->mean, sets->random ? interval : 0,
               true);
}

/* Returns how long SAMPLER has counted: the CPU time of its thread on its CPU [ns]; 0: unknown. */
static uint64_t counted(const struct perf_sampler *sampler)
{
    uint64_t ns;
    return read(sampler->fd, &ns, sizeof ns) == sizeof ns ? ns : 0;
}

/* Begins the period of SAMPLER. */
static void restart(const struct perf_sets *sets, struct perf_sampler *sampler)
{
    perf_set_period(sets->setup, sampler->fd, sampler->period.length);
    sampler->period.armed = clock_now();
    sampler->began = sets->batch ? 0 : counted(sampler); /* batches make up for delays */
}

static void arm(struct perf_sets *sets, struct perf_sampler *sampler, double period,
                double interval, bool creation)
{
    if (sampler->fd < 0)
        return;
    set_period(sets, sampler, period, interval, creation);
    restart(sets, sampler);
}

/* Returns the CPU time that the thread has used on its CPU since the last sample of SAMPLER, at
 * TIME [ns]. If this process is late because all CPUs are in use, this is less than the elapsed
 * time. */
static double gone_since(const struct perf_sampler *sampler, uint64_t time)
{
    double passed = (double)(clock_now() - time);
    uint64_t now = sampler->at > 0 ? counted(sampler) : 0;
    return now > 0 ? fmin(passed, fmax(0, (double)now - (double)sampler->at))
                   : fmin(passed, (double)sampler->period.length);
}

/* Begins the next period after a sample of SAMPLER at TIME: the rest of INTERVAL, of which a part
 * has passed. */
static void arm_rest(struct perf_sets *sets, struct perf_sampler *sampler, double interval,
                     uint64_t time)
{
    double gone = gone_since(sampler, time);
    arm(sets, sampler, interval - fmod(gone, interval), 0, false);
    sampler->next = sampler->at + (uint64_t)interval;
    sampler->gone = (uint64_t)gone;
}

/* Returns the interval after a sample in a period of INTERVAL. */
static double next_interval(struct perf_sets *sets, uint64_t interval)
{
    return interval > 0 ? (double)interval : draw(sets);
}

static void close_set(struct perf_sets *sets, struct perf_set *set)
{
    struct perf_set **link = &sets->list;
    while (*link != set)
        link = &(*link)->chain;
    *link = set->chain;
    for (size_t i = 0; i < sets->setup->cpu_count; i++)
        if (set->samplers[i].fd >= 0)
            close(set->samplers[i].fd);
    if (set->mark >= 0)
        close(set->mark);
    free(set);
}

void perf_sets_free(struct perf_sets *sets)
{
    while (sets->list != NULL)
        close_set(sets, sets->list);
    free(sets->outputs);
}

static void unlink_heir(struct perf_thread *thread)
{
    if (thread->from == NULL)
        return;
    *thread->heir_link = thread->heir_next;
    if (thread->heir_next != NULL)
        thread->heir_next->heir_link = thread->heir_link;
    thread->from = NULL;
}

static void link_heir(struct perf_set *set, struct perf_thread *thread)
{
    thread->from = set;
    thread->heir_next = set->heirs;
    thread->heir_link = &set->heirs;
    if (set->heirs != NULL)
        set->heirs->heir_link = &thread->heir_next;
    set->heirs = thread;
}

/* Closes SET if no thread uses it. */
static void close_unused(struct perf_sets *sets, struct perf_set *set)
{
    if (set != NULL && set->owner == NULL && set->heirs == NULL)
        close_set(sets, set);
}

/* Opens one sampler. Returns 0, or -1 with errno set. A CPU that has gone offline needs none. */
static int open_one(struct perf_sets *sets, struct perf_sampler *sampler, size_t cpu, pid_t tid,
                    bool on_exec)
{
    sampler->born = true;
    sampler->fd = perf_open_sampler(sets->setup, tid, sets->setup->cpus[cpu], on_exec,
                                    sampler->period.length);
    if (sampler->fd < 0)
        return errno == ENODEV ? 0 : -1;
    if (sets->off)
        ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
    return ioctl(sampler->fd, PERF_EVENT_IOC_SET_OUTPUT, sets->outputs[cpu]);
}

/* Called when the old samplers of the owners of all sets opened since SINCE have been closed: all
 * later samples come from the new ones. */
static void replace_old(struct perf_sets *sets, uint64_t since)
{
    uint64_t now = clock_now();
    for (struct perf_set *set = sets->list; set != NULL && set->opened >= since; set = set->chain)
        for (size_t i = 0; i < sets->setup->cpu_count; i++)
            set->samplers[i].period.armed = now;
}

/* Opens the samplers of SET, whose periods have been set, for THREAD. Takes SET. Returns 0, or -1
 * with errno set. */
static int open_set(struct perf_sets *sets, struct perf_set *set, struct perf_thread *thread,
                    bool on_exec)
{
    set->chain = sets->list;
    sets->list = set;
    set->mark = perf_open_mark((pid_t)thread->tid);
    int result = set->mark >= 0 ? 0 : -1;
    for (size_t i = 0; i < sets->setup->cpu_count && result == 0; i++)
        result = open_one(sets, &set->samplers[i], i, (pid_t)thread->tid, on_exec);
    if (result != 0) {
        int errnum = errno;
        close_set(sets, set);
        errno = errnum;
        return -1;
    }
    set->opened = clock_now();
    perf_set_leave(sets, thread);
    replace_old(sets, set->opened);
    set->owner = thread;
    thread->own = set;
    return 0;
}

static struct perf_set *new_set(struct perf_sets *sets)
{
    size_t count = sets->setup->cpu_count;
    struct perf_set *set = mem_zalloc(1, sizeof *set + count * sizeof set->samplers[0]);
    for (size_t i = 0; i < count; i++) {
        set->samplers[i].fd = -1;
        set_first(sets, &set->samplers[i]);
    }
    return set;
}

int perf_set_open(struct perf_sets *sets, struct perf_thread *thread, bool on_exec)
{
    if (sets->closed)
        return 0;
    return open_set(sets, new_set(sets), thread, on_exec);
}

void perf_set_leave(struct perf_sets *sets, struct perf_thread *thread)
{
    struct perf_set *own = thread->own, *from = thread->from;
    unlink_heir(thread);
    close_unused(sets, from);
    if (own == NULL)
        return;
    thread->own = NULL;
    own->owner = NULL;
    close_unused(sets, own);
}

static bool used_up(int errnum)
{
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

void perf_set_open_late(struct perf_sets *sets, struct perf_thread *thread)
{
    if (!sets->full && perf_set_open(sets, thread, false) != 0)
        sets->full = used_up(errno);
}

void perf_sets_close(struct perf_sets *sets)
{
    while (sets->list != NULL) {
        struct perf_set *set = sets->list;
        while (set->heirs != NULL)
            unlink_heir(set->heirs);
        if (set->owner != NULL)
            set->owner->own = NULL;
        close_set(sets, set);
    }
    sets->fired = sets->off = false;
    sets->closed = true;
}

void perf_sets_reopen(struct perf_sets *sets)
{
    sets->closed = sets->full = false;
}

double perf_sets_draw(struct perf_sets *sets)
{
    return fmax(draw_even(sets), min_batch);
}

/* Returns whether the first period of SAMPLER, which was shorter than possible, would have ended in
 * the first START ns of a thread. */
static bool is_lost(struct perf_sets *sets, const struct perf_sampler *sampler, double start)
{
    double least = floor_of(sets, true);
    return (double)sampler->period.length <= least &&
           random_uniform(&sets->numbers) * least < start;
}

/* Draws the period that the next child inherits. It must not depend on whether the creator was
 * sampled: a period that the creator has not used up is long on average, and the period after a
 * sample is never short. Samples in the kernel in the first START ns of the child, which are not
 * reported to ordinary users, must not be counted to the code that follows. */
static void sow(struct perf_sets *sets, struct perf_sampler *sampler, double start)
{
    if (sampler->fd < 0)
        return;
    set_first(sets, sampler);
    if (!sets->setup->kernel && is_lost(sets, sampler, start))
        sampler->period.length += sampler->period.interval;
    restart(sets, sampler);
    sampler->seed = true;
    sampler->sown = sampler->period.armed;
}

void perf_set_inherit(struct perf_sets *sets, struct perf_thread *child,
                      const struct perf_thread *parent, uint64_t time)
{
    struct perf_set *set = parent->own != NULL ? parent->own : parent->from;
    if (sets->closed)
        return;
    if (set == NULL || time < set->opened) { /* the inherited samplers have been closed */
        perf_set_open_late(sets, child);
        return;
    }
    link_heir(set, child);
    uint64_t now = clock_now();
    for (size_t i = 0; sets->random && i < sets->setup->cpu_count; i++)
        if ((double)(now - set->samplers[i].sown) >= sets->mean)
            sow(sets, &set->samplers[i], child->pid == child->tid ? process_start : thread_start);
}

/* Opens samplers for THREAD, which has inherited its samplers. If these have had a sample, the rest
 * of the thread's interval continues; the thread usually runs while samplers are opened. Returns 0,
 * or -1 with errno set. */
static int open_heir(struct perf_sets *sets, struct perf_thread *thread)
{
    if (thread->seen == 0)
        return perf_set_open(sets, thread, false);
    uint64_t begin = clock_now();
    struct perf_set *set = new_set(sets);
    double gone = fmin((double)(begin - thread->seen), (double)thread->former) + sets->opening;
    double since = (double)thread->since - (thread->interval > 0 ? (double)thread->former / 2 : 0);
    set_period(sets, &set->samplers[thread->seen_on], (double)thread->due - since - gone,
               (double)thread->interval, true);
    int result = open_set(sets, set, thread, false);
    sets->opening += ((double)(clock_now() - begin) - sets->opening) / 16;
    return result;
}

/* Opens samplers for the owner of OLD again. A child was sampled on CPU, which does not depend on
 * the owner: the period may therefore be drawn again, for the next child as well. Returns 0, or -1
 * with errno set. */
static int open_again(struct perf_sets *sets, const struct perf_set *old, size_t cpu)
{
    struct perf_set *set = new_set(sets);
    const struct perf_sampler *last = &old->samplers[cpu];
    old->owner->former = last->period.length;
    old->owner->interval = last->period.interval;
    old->owner->since = last->since;
    old->owner->due = last->due;
    for (size_t i = 0; i < sets->setup->cpu_count; i++)
        if (old->samplers[i].seed) {
            set->samplers[i].seed = true;
            set->samplers[i].sown = old->samplers[i].sown;
        }
    return open_set(sets, set, old->owner, false);
}

/* Returns whether opening samplers for all threads that use SET would take too long: a process
 * without real-time priority would have to share the CPUs with all of them. For 200 busy threads on
 * two CPUs, it took 0.3 s, in which no samples were read. */
static bool is_crowded(const struct perf_sets *sets, const struct perf_set *set)
{
    const struct perf_thread *heir = set->heirs;
    for (int i = 0; i < MAX_ADOPTED && heir != NULL; i++)
        heir = heir->heir_next;
    return sets->batch && !sets->prompt && heir != NULL;
}

/* Opens samplers for all threads that use SET, and closes it, because an inherited event ends only
 * with its original. A thread whose samplers cannot be opened has ended, or has more privileges
 * than this process. */
static void adopt(struct perf_sets *sets, struct perf_set *set)
{
    struct perf_thread *heir;
    size_t cpu = set->fired_on;
    bool owned = set->owner != NULL;
    set->fired = false;
    if (is_crowded(sets, set))
        return;
    while (!sets->full && (heir = set->heirs) != NULL) {
        bool last = heir->heir_next == NULL && !owned; /* SET is closed with it */
        if (open_heir(sets, heir) != 0) {
            sets->full = used_up(errno);
            if (sets->full)
                return;
            perf_set_leave(sets, heir);
        }
        if (last)
            return;
    }
    if (owned && !sets->full && open_again(sets, set, cpu) != 0)
        sets->full = used_up(errno);
}

void perf_sets_adopt(struct perf_sets *sets)
{
    while (sets->fired) {
        struct perf_set *set = sets->list;
        while (set != NULL && !set->fired)
            set = set->chain;
        sets->fired = set != NULL;
        if (set == NULL)
            break;
        uint64_t begin = clock_now();
        adopt(sets, set);
        replace_old(sets, begin);
    }
}

static bool is_shared(const struct perf_set *set)
{
    return set->heirs != NULL && set->heirs->heir_next != NULL;
}

bool perf_sets_share(const struct perf_sets *sets)
{
    const struct perf_set *set = sets->batch || !sets->random || sets->full ? NULL : sets->list;
    while (set != NULL && !is_shared(set))
        set = set->chain;
    return set != NULL;
}

void perf_sets_part(struct perf_sets *sets, uint64_t born)
{
    if (!perf_sets_share(sets))
        return;
    for (struct perf_set *set = sets->list; set != NULL; set = set->chain)
        for (const struct perf_thread *heir = set->heirs;
             is_shared(set) && heir != NULL && !set->fired; heir = heir->heir_next)
            set->fired = heir->born < born;
    sets->fired = true;
    perf_sets_adopt(sets);
}

/* Returns whether the period of SAMPLER remains after a sample, because it was drawn for the next
 * child. */
static bool keeps_period(const struct perf_sets *sets, const struct perf_sampler *sampler)
{
    return sampler->seed && (double)sampler->used < seed_life * sets->mean;
}

/* Returns the period of SAMPLER at TIME, which may have been replaced several times since. */
static const struct perf_period *period_at(const struct perf_sampler *sampler, uint64_t time)
{
    const struct perf_period *period = &sampler->period;
    for (size_t i = 0; i < PERF_PAST && time < period->armed && sampler->past[i].length > 0; i++)
        period = &sampler->past[i];
    return period;
}

/* Draws the CPU time after which the next sample of SAMPLER counts [ns]. */
static double draw_due(struct perf_sets *sets, const struct perf_sampler *sampler)
{
    if (sampler->period.interval > 0)
        return (double)sampler->period.interval;
    return draw(sets) * (keeps_period(sets, sampler) ? dense : 1);
}

/* Decides whether a sample of SAMPLER counts. Each sample represents one period of CPU time.
 * Returns the same as perf_set_sampled. */
static double count_due(struct perf_sets *sets, struct perf_sampler *sampler)
{
    sampler->since += sampler->period.length;
    sampler->used += sampler->period.length;
    sampler->at = sampler->began > 0 ? sampler->began + sampler->used : 0;
    sampler->gone += sampler->period.length;
    if (sampler->since < sampler->due)
        return 0;
    double span = sampler->period.interval > 0 ? (double)sampler->period.interval : sets->mean;
    if (sampler->whole)
        span = (double)sampler->gone;
    sampler->whole = true;
    sampler->gone = 0;
    sampler->since -= sampler->due;
    sampler->due = (uint64_t)draw_due(sets, sampler);
    if (sampler->since > sampler->due) /* one sample cannot count twice */
        sampler->since = sampler->due;
    return span;
}

/* Decides whether a sample of SAMPLER at TIME, in a period that has been replaced since, counts.
 * Returns the same as perf_set_sampled. */
static double count_before(struct perf_sets *sets, struct perf_sampler *sampler, uint64_t time)
{
    sampler->at += period_at(sampler, time)->length;
    if (sampler->at < sampler->next)
        return 0;
    sampler->due = (uint64_t)draw(sets);
    return sets->mean;
}

/* Returns whether the event of SAMPLER is counting now. */
static bool counts_now(const struct perf_sampler *sampler)
{
    uint64_t first = counted(sampler);
    return first > 0 && counted(sampler) > first;
}

/* Draws a period for a batch [ns]. How much CPU time is lost until it begins, and whether batches
 * of long periods last longer, depends on how fast this process reacts: the next batches make up
 * for deviations. */
static double draw_batch(struct perf_sets *sets)
{
    double part = sets->ahead / (balance * batch_length(sets));
    return draw_even(sets) * (1 + fmin(fmax(part, -max_balance), max_balance));
}

/* Begins equal periods after the last sample of SAMPLER, at TIME. The CPU time of the thread since
 * the sample that counted (SINCE [ns], and if it RUNS, the time after TIME) belongs to the interval
 * of the next sample. */
static void arm_equal(struct perf_sets *sets, struct perf_sampler *sampler, double period,
                      uint64_t since, bool runs, uint64_t time)
{
    uint64_t old = sampler->period.length;
    arm(sets, sampler, period, 0, false);
    uint64_t passed = sampler->period.armed - time;
    /* if there was no sample for longer than a period, the thread has waited, at a random point of
     * the period */
    sampler->since = since + (!runs ? 0 : passed < old ? passed : old / 2);
}

/* Draws the period of the next batch after the last sample, at TIME on CPU. Does not do so while
 * THREAD waits, nor so late that it may have waited and may now wait for a CPU: the period would
 * begin with the code that the thread runs next, which would never be sampled. Instead, the old
 * period continues from the point at which the thread began to wait, until the batch is overdue:
 * then the next sample comes at a random moment of a period. A sample on the CPU of this process
 * has just stopped the thread, which has therefore done nothing since. */
static void renew(struct perf_sets *sets, const struct perf_thread *thread,
                  struct perf_sampler *sampler, size_t cpu, uint64_t time)
{
    uint64_t now = clock_now();
    bool here = sets->prompt && sched_getcpu() == sets->setup->cpus[cpu];
    bool late = (double)(now - time) > (here ? soonest : soon * sets->mean);
    double age = (double)(now - sampler->period.armed), length = batch_length(sets);
    if (age < (double)sampler->length || now - sampler->tried < retry ||
        (late && age < overdue * length))
        return;
    sampler->tried = now;
    bool counts = counts_now(sampler);
    if (!counts && !process_thread_runs((pid_t)thread->pid, (pid_t)thread->tid))
        return;
    double period = draw_batch(sets);
    if (counts || !late)
        arm_equal(sets, sampler, period, 0, counts, time);
    else
        arm(sets, sampler, period * random_uniform(&sets->numbers), period, true);
}

/* The first batch begins right after a sample, and continues as if it had begun at a random moment
 * before the thread. */
static void begin_batch(struct perf_sets *sets, struct perf_sampler *sampler, uint64_t time)
{
    double passed = (double)(clock_now() - time);
    bool counts = counts_now(sampler);
    if (!counts && passed > fmax(soon * sets->mean, soonest))
        return;
    arm_equal(sets, sampler, (double)sampler->due, sampler->since, counts, time);
    sampler->length = (uint64_t)((double)sampler->length * random_uniform(&sets->numbers));
}

void perf_sets_renew(struct perf_sets *sets)
{
    for (struct perf_set *set = sets->read ? sets->list : NULL; set != NULL; set = set->chain) {
        for (size_t i = 0; set->read && i < sets->setup->cpu_count; i++) {
            struct perf_sampler *sampler = &set->samplers[i];
            uint64_t latest = sampler->latest;
            sampler->latest = 0;
            if (latest > 0 && sampler->creation)
                begin_batch(sets, sampler, latest);
            else if (latest > 0 && set->owner != NULL)
                renew(sets, set->owner, sampler, i, latest);
        }
        set->read = false;
    }
    sets->read = false;
}

/* Notes that a batch may begin after a sample of SAMPLER, of SET, at TIME. */
static void renew_after(struct perf_sets *sets, struct perf_set *set, struct perf_sampler *sampler,
                        uint64_t time)
{
    sampler->latest = time;
    set->read = sets->read = true;
}

/* Handles a sample of SAMPLER at TIME in one of several equal periods. Returns the same as
 * perf_set_sampled. */
static double sampled_equal(struct perf_sets *sets, struct perf_set *set,
                            struct perf_sampler *sampler, uint64_t time)
{
    /* in this case, its period is included in SINCE */
    bool replaced = time < sampler->period.armed;
    uint64_t period = period_at(sampler, time)->length, since = sampler->since;
    uint64_t span = replaced ? period : period + since;
    sampler->since = replaced && since > period ? since - period : 0;
    sets->ahead += sets->mean - (double)span;
    if (!replaced)
        renew_after(sets, set, sampler, time);
    return (double)span;
}

static double sampled(struct perf_sets *sets, struct perf_thread *thread,
                      struct perf_sampler *sampler, uint64_t time)
{
    bool replaced = time < sampler->period.armed;
    if (sets->batch && (replaced || !sampler->creation))
        return sampled_equal(sets, thread->own, sampler, time);
    bool before = replaced && sampler->at > 0;
    double span = before ? count_before(sets, sampler, time) : count_due(sets, sampler);
    if (sampler->latest > 0) /* other samples may follow the one that counts */
        sampler->latest = time;
    if (span <= 0 || keeps_period(sets, sampler))
        return span;
    thread->former = sampler->period.length;
    thread->interval = sampler->period.interval;
    thread->since = 0;
    thread->due = sampler->due;
    if (sets->batch)
        renew_after(sets, thread->own, sampler, time);
    else
        arm_rest(sets, sampler, (double)sampler->due, time);
    sampler->whole = !sets->batch;
    return span;
}

/* Decides whether a sample from before the samplers of THREAD were armed counts. Returns the same
 * as perf_set_sampled. */
static double count_overdue(struct perf_sets *sets, struct perf_thread *thread)
{
    bool first = thread->last == 0;
    thread->since += thread->former;
    if (!first && thread->since < thread->due)
        return 0;
    if (thread->interval == 0)
        thread->since = 0;
    else if (first) /* the next one is not always late */
        thread->since = (uint64_t)((double)thread->former * random_uniform(&sets->numbers));
    else
        thread->since -= thread->due;
    thread->due = (uint64_t)next_interval(sets, thread->interval);
    return thread->interval > 0 ? (double)thread->interval : sets->mean;
}

/* Notes a sample of samplers that THREAD inherited, after PERIOD counts. These are replaced when all
 * samples have been read; at high rates, only those of a thread that lives long. */
static void inherited_sample(struct perf_sets *sets, struct perf_thread *thread, size_t cpu,
                             uint64_t time, uint64_t period)
{
    if (thread->seen == 0)
        thread->interval = period_at(&thread->from->samplers[cpu], thread->born)->interval;
    thread->former = (uint64_t)((double)period / sets->setup->per_ns);
    thread->seen = time;
    thread->seen_on = cpu;
    thread->firings++;
    if (sets->full ||
        (sets->batch && thread->firings < max_firings && time - thread->born < short_life))
        return;
    thread->from->fired = sets->fired = true;
    thread->from->fired_on = cpu;
}

double perf_set_sampled(struct perf_sets *sets, struct perf_thread *thread, size_t cpu,
                        uint64_t time, uint64_t period)
{
    struct perf_sampler *sampler = thread->own != NULL ? &thread->own->samplers[cpu] : NULL;
    double span = sets->mean;
    if (sets->random && sampler == NULL && thread->from != NULL)
        inherited_sample(sets, thread, cpu, time, period);
    if (sets->random && sampler != NULL && (time >= sampler->period.armed || !sampler->born))
        span = sampled(sets, thread, sampler, time);
    else if (sets->random)
        span = count_overdue(sets, thread);
    if (span > 0)
        thread->last = time;
    return span;
}

/* Samplers of whole CPUs, for programs that create threads faster than these can inherit samplers.
 *
 * For each sampler that a thread inherits, the kernel needs a few us at the beginning and at the
 * end of the thread; in addition, this process opens samplers for the thread at its first sample.
 * If the cost exceeds half of --max-overhead, and the kernel permits it (CAP_PERFMON, or
 * perf_event_paranoid below 1), the samplers of all threads are closed. Instead, one sampler for
 * each CPU takes samples of all code that runs there; those of other programs are dropped. Threads
 * then cost only as much as their inherited counters, and all of a thread is sampled at the same
 * rate, however short the thread is.
 *
 * The timers of these samplers also run while other programs run, and on idle CPUs: therefore
 * threads get samplers again when few are created. Periods are random, and change at moments that
 * do not depend on the program: this process then reads the rings at times of its own choice, not
 * when they contain new records.
 *
 * If whole CPUs may not be sampled, threads inherit samplers for only part of the time:
 * perf_switch.c closes the samplers of all threads, and opens them again, at random moments. The
 * threads that are seen represent all threads.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf_internal.h"

/* minimum number of creations from which their cost can be estimated */
static const uint64_t some = 16;
/* creations are counted at least this often, which is enough for a check */
static const uint64_t max_unchecked = SECOND / 5;
/* time without many creations before threads get samplers again */
static const uint64_t calm = SECOND;
static const uint64_t change_every = SECOND / 500; /* between draws of a period, at least */
/* fraction of what --max-overhead allows that is too much */
static const double much = 0.5;
/* fraction of the rate of creations at which sampling of whole CPUs began */
static const double few = 0.25;
static const double memory = 0.9; /* factor for the counts of earlier checks */
static const double min_part = 1. / 16;
enum { FIRST = 4 }; /* number of measurements, checks */

/* Measures the time that the kernel needs to create an event and to end it: the minimum, because
 * any measurement may be interrupted [ns]. */
static double measure(const struct engine_run *run)
{
    uint64_t least = 0;
    for (int i = 0; i < FIRST; i++) {
        uint64_t begin = clock_now();
        int fd = perf_open_probe(&run->setup, SECOND);
        if (fd < 0)
            return 0;
        close(fd);
        uint64_t cost = clock_now() - begin;
        least = i == 0 || cost < least ? cost : least;
    }
    return (double)least;
}

void perf_wide_start(struct engine_run *run)
{
    run->wide = (struct perf_wide){.event = measure(run),
                                   .until = UINT64_MAX,
                                   .since = UINT64_MAX,
                                   .part = 1,
                                   .own = clock_thread(),
                                   .checked = run->start};
}

void perf_wide_free(struct engine_run *run)
{
    for (size_t i = 0; run->wide.cpus != NULL && i < run->setup.cpu_count; i++)
        if (run->wide.cpus[i].fd >= 0)
            close(run->wide.cpus[i].fd);
    free(run->wide.cpus);
    run->wide.cpus = NULL;
}

/* Draws the next period of a CPU, and how long it is used. The new period starts from zero, which
 * loses half a period. */
static void draw(struct engine_run *run, struct perf_wide_cpu *cpu, uint64_t now)
{
    struct perf_wide *w = &run->wide;
    double mean = run->sets.mean;
    double length = fmax((double)change_every, PERF_BATCH * mean), period = mean;
    if (run->sets.random) {
        w->phase = clock_phase(w->phase);
        length *= 0.5 + w->phase;
        period = perf_sets_draw(&run->sets) * (1 - 0.5 * mean / length);
    }
    perf_set_period(&run->setup, cpu->fd, (uint64_t)period);
    cpu->period = period;
    cpu->until = now + (uint64_t)length;
}

/* Opens the samplers, turned off. Returns whether each CPU that is online has one. */
static bool open_all(struct engine_run *run)
{
    struct perf_wide *w = &run->wide;
    if (w->cpus != NULL)
        return true;
    w->cpus = mem_zalloc(run->setup.cpu_count, sizeof *w->cpus);
    for (size_t i = 0; i < run->setup.cpu_count; i++)
        w->cpus[i].fd = -1;
    for (size_t i = 0; i < run->setup.cpu_count; i++) {
        int fd = perf_open_wide(&run->setup, run->setup.cpus[i], (uint64_t)run->sets.mean);
        w->cpus[i].fd = fd;
        if (fd < 0 && errno == ENODEV) /* the CPU has gone offline */
            continue;
        if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, run->counters[i]) != 0) {
            perf_wide_free(run);
            return false;
        }
    }
    return true;
}

static void turn_all(struct engine_run *run, bool on)
{
    for (size_t i = 0; i < run->setup.cpu_count; i++) {
        struct perf_wide_cpu *cpu = &run->wide.cpus[i];
        if (cpu->fd < 0)
            continue;
        if (on)
            draw(run, cpu, clock_now());
        ioctl(cpu->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    }
}

/* Restores the rate, which may have been reduced because of the cost of threads. */
static void restore_rate(struct engine_run *run)
{
    double mean = (double)SECOND / run->options->frequency;
    if (run->gave_way)
        perf_sets_rate(&run->sets, mean, mean);
    run->gave_way = false;
}

static void start_wide(struct engine_run *run)
{
    struct perf_wide *w = &run->wide;
    w->refused = !open_all(run);
    if (w->refused)
        return;
    perf_sets_close(&run->sets);
    restore_rate(run);
    w->on = run->result->wide = true;
    w->since = clock_now();
    w->until = UINT64_MAX;
    turn_all(run, true);
}

static void stop_wide(struct engine_run *run)
{
    turn_all(run, false);
    run->wide.on = false;
    run->wide.until = clock_now();
    perf_reopen(run);
}

/* Returns the cost of inherited events for a thread [ns] if the fraction PART of the threads
 * inherit samplers. */
static double cost_of_creation(const struct engine_run *run, double part)
{
    return run->wide.event * (double)run->setup.cpu_count * (1 + part);
}

/* Returns the CPU time that sampling threads has cost since the last check, as a fraction of the
 * allowed time. */
static double worth(struct engine_run *run, uint64_t creations)
{
    struct perf_wide *w = &run->wide;
    uint64_t own = clock_thread(), program = perf_program_cpu(run);
    double cost = (double)creations * (cost_of_creation(run, 1) - cost_of_creation(run, 0));
    double allowed = run->options->max_overhead * (double)(program - w->program);
    w->asked = memory * w->asked + cost;
    w->allowed = memory * w->allowed + allowed - (double)(own - w->own);
    cost += w->on ? 0 : (double)(own - w->own);
    w->own = own;
    w->program = program;
    return allowed > 0 ? cost / allowed : 0;
}

/* Determines the fraction of the time in which threads inherit samplers. */
static void set_part(struct perf_wide *w)
{
    double part = w->sparse && w->asked > 0 ? w->allowed / w->asked : 1;
    w->part = fmin(fmax(part, min_part), 1);
}

/* Many threads are created, RATE per ns: samples CPUs, or if that is not possible, samples threads
 * only in a part of the time. */
static void give_way(struct engine_run *run, double rate, uint64_t now)
{
    struct perf_wide *w = &run->wide;
    w->rate = rate;
    w->crowded = now;
    if (!w->refused)
        start_wide(run);
    w->sparse = !w->on;
    if (!w->sparse)
        return;
    restore_rate(run);
    run->result->sparse = true;
}

void perf_wide_work(struct engine_run *run, uint64_t now)
{
    struct perf_wide *w = &run->wide;
    for (size_t i = 0; w->on && run->sets.random && i < run->setup.cpu_count; i++)
        if (w->cpus[i].fd >= 0 && now >= w->cpus[i].until)
            draw(run, &w->cpus[i], now);
    uint64_t creations = run->creations - w->creations, time = now - w->checked;
    if (creations < some && time < max_unchecked)
        return;
    double part = worth(run, creations), rate = (double)creations / fmax((double)time, 1);
    w->cost += (double)creations * cost_of_creation(run, w->on ? 0 : w->part);
    w->creations = run->creations;
    w->checked = now;
    if (rate > few * w->rate)
        w->crowded = now;
    if (!w->on && !w->sparse && creations >= some && part > much)
        give_way(run, rate, now);
    else if (w->on && now - w->crowded > calm)
        stop_wide(run);
    else if (w->sparse && now - w->crowded > calm)
        w->sparse = false;
    set_part(w);
}

bool perf_wide_covers(const struct perf_wide *wide, uint64_t time)
{
    return time >= wide->since && time < wide->until;
}

void perf_wide_result(const struct engine_run *run, struct engine_result *result)
{
    result->creations = run->creations;
    result->creation = (uint64_t)run->wide.cost;
}

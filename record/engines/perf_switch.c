/* Measures the cost of switches between threads, and limits it with pauses of sampling.
 *
 * At each switch between two threads, the kernel takes the events of one off the CPU and puts those
 * of the other on it. A sampler has a timer, which is stopped and started again; on a virtual
 * machine this takes up to 12 us, more than the switch itself. Threads that pass a byte to each
 * other all the time would take four times as long as without samplers. This is CPU time of the
 * program, not of this process.
 *
 * The cost of a switch is measured by turning events of this process on and off; the scheduler
 * counts the switches. If the cost of samplers at switches exceeds --max-overhead, the samplers of
 * all threads are on for only a part of the time: on for a few ms, then off for longer. The lengths
 * of both are random, and a sampler that is turned on again continues its period where it stopped,
 * so that all code is sampled at the same rate. The counters remain on: they cost 1 to 2 us per
 * switch.
 * SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/engines/perf_internal.h"
#include "record/process.h"

/* SPARED_CHECK: times the cost of a check */
static const uint64_t check_every = SECOND / 50, spared_check = 100;
static const double memory = 0.75; /* factor for the counts of earlier checks */
static const double weight = 0.1;  /* of a single measurement in the mean cost */
/* [ns] a measurement that took longer was interrupted */
static const double max_cost = 30000;
/* of what a sampler adds to the cost of a switch, the part that events count: its timer is started
 * while they count, and stopped when they no longer do */
static const double within = 0.5;
static const double min_timer = 50000; /* [ns] the timer must not fire while it is measured */
static const double min_part = 1. / 16, max_part = 0.9;
static const double min_on = 2e6; /* [ns] mean */
static const double min_open =
    4e6; /* [ns] the same if samplers are closed when off: opening them costs more */
/* turning samplers on or off may take one part in this many of a turn */
static const double spared = 20;
enum {
    LOOKS = 16,
    FIRST = 8,
    CALM = 50
}; /* threads in a check; measurements at the start; checks */

/* Measures the time in which the kernel puts an event on the CPU and takes it off [ns]. */
static double measure(int fd)
{
    uint64_t begin = clock_now();
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    return fmin((double)(clock_now() - begin), max_cost);
}

/* The timer of a sampler is in the middle of its period, on average. */
static void measure_both(struct engine_run *run)
{
    struct perf_switch *s = &run->switches;
    if (s->sampler < 0 || s->counter < 0)
        return;
    s->phase = clock_phase(s->phase);
    perf_set_period(&run->setup, s->sampler,
                    (uint64_t)fmax(min_timer, 2 * s->phase * run->sets.mean));
    s->sampled += (measure(s->sampler) - s->sampled) * (s->sampled > 0 ? weight : 1);
    s->counted += (measure(s->counter) - s->counted) * (s->counted > 0 ? weight : 1);
}

void perf_switch_start(struct engine_run *run)
{
    struct perf_switch *s = &run->switches;
    *s = (struct perf_switch){.sampler = perf_open_probe(&run->setup, SECOND),
                              .counter = perf_open_probe(&run->setup, 0),
                              .allowed = 1,
                              .part = 1,
                              .batch = run->sets.batch,
                              .wakeup = run->setup.wakeup,
                              .turn = UINT64_MAX,
                              .check = run->start + check_every};
    for (int i = 0; i < FIRST; i++)
        measure_both(run);
}

void perf_switch_free(struct perf_switch *s)
{
    if (s->sampler > 0)
        close(s->sampler);
    if (s->counter > 0)
        close(s->counter);
}

/* Returns the cost of a switch if samplers are on for the fraction PART of the time [ns]. */
static double cost_at(const struct perf_switch *s, double part)
{
    return s->counted + part * fmax(s->sampled - s->counted, 0);
}

/* Counts the switches of some threads since these were last looked at. */
static void count(struct engine_run *run)
{
    struct perf_switch *s = &run->switches;
    double switches = (double)s->fresh;
    const struct perf_thread *first = NULL;
    for (int i = 0; i < LOOKS; i++) {
        struct perf_thread *thread = id_map_next(&run->threads.threads, &s->place);
        if (thread == NULL) { /* starts again with the first thread */
            s->place = 0;
            thread = id_map_next(&run->threads.threads, &s->place);
        }
        if (thread == NULL || thread == first)
            break;
        first = first == NULL ? thread : first;
        struct process_run now;
        if (thread->ended || !process_thread_run((pid_t)thread->pid, (pid_t)thread->tid, &now))
            continue;
        if (now.turns > thread->run.turns)
            switches += (double)(now.turns - thread->run.turns);
        thread->run = now;
        thread->looked = clock_now();
    }
    uint64_t cpu = perf_program_cpu(run);
    s->switches = memory * s->switches + switches;
    s->cpu = memory * s->cpu + (double)(cpu - s->cpu_before);
    s->cpu_before = cpu;
    s->fresh = 0;
    s->all += switches;
    s->cost += switches * cost_at(s, run->wide.on ? 0 : s->part);
}

/* Returns the fraction of the time in which samplers can be on without exceeding the allowed cost
 * of switches. The cost of the counters cannot be avoided. */
static double part_allowed(const struct engine_run *run)
{
    const struct perf_switch *s = &run->switches;
    double allowed = run->options->max_overhead, more = s->sampled - s->counted;
    if (allowed <= 0 || s->switches <= 0 || more <= 0)
        return 1;
    double program = fmax(s->cpu - s->switches * cost_at(s, s->part), s->cpu / 4);
    double part = allowed * program / s->switches / more;
    return part < max_part ? fmax(part, min_part) : 1;
}

/* With pauses, there are few samples, so that a batch of them would have the same period for long.
 * Therefore, each sample sets the next period if the thread still runs when it is read. Samplers
 * that cannot be opened again wake this process less often. */
static void set_each(struct engine_run *run, bool each)
{
    size_t place = 0;
    if (run->sets.each == each)
        return;
    run->sets.each = each;
    run->setup.wakeup = each ? 1 : run->switches.wakeup;
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;)
        if (t->own != NULL && !t->ended)
            perf_set_open(&run->sets, t, false);
}

static bool is_off(const struct engine_run *run)
{
    return run->sets.off || run->sets.closed;
}

/* Turns samplers on or off. Samplers that are off are still inherited: if this costs too much, they
 * are closed. */
static void turn(struct engine_run *run, bool on)
{
    uint64_t begin = clock_now(), cpu = perf_program_cpu(run);
    if (on && is_off(run))
        run->switches.off += cpu - run->switches.cpu_off;
    if (!on && !is_off(run))
        run->switches.cpu_off = cpu;
    if (on && run->sets.closed)
        perf_reopen(run);
    if (!on && run->wide.part < 1)
        perf_sets_close(&run->sets);
    else
        perf_sets_turn(&run->sets, on);
    run->switches.turning = clock_now() - begin;
}

/* Turns samplers on or off if it is time, and determines when it is time again. */
static void take_turns(struct engine_run *run, uint64_t now)
{
    struct perf_switch *s = &run->switches;
    if (s->part >= 1) {
        if (run->sets.off || (run->sets.closed && !run->wide.on))
            turn(run, true);
        s->turn = UINT64_MAX;
        if (s->calm >= CALM && s->batch)
            set_each(run, false);
        return;
    }
    run->result->gave_way = true;
    if (s->allowed < 1)
        set_each(run, s->batch);
    if (s->turn != UINT64_MAX && now < s->turn)
        return;
    turn(run, is_off(run));
    s->phase = clock_phase(s->phase);
    double on = fmax(run->wide.part < 1 ? min_open : min_on, spared * (double)s->turning);
    double length = (0.5 + s->phase) * (is_off(run) ? on * (1 - s->part) / s->part : on);
    s->turn = clock_now() + (uint64_t)length;
}

void perf_switch_work(struct engine_run *run, uint64_t now)
{
    struct perf_switch *s = &run->switches;
    if (now >= s->check) {
        measure_both(run);
        count(run);
        s->allowed = part_allowed(run);
        s->calm = s->allowed < 1 ? 0 : s->calm + 1;
        uint64_t cost = clock_now() - now;
        s->check = now + (check_every > spared_check * cost ? check_every : spared_check * cost);
    }
    s->part = run->wide.on ? 1 : fmin(s->allowed, run->wide.part);
    take_turns(run, now);
}

uint64_t perf_switch_sampled(const struct engine_run *run, uint64_t cpu)
{
    const struct perf_switch *s = &run->switches;
    uint64_t off = s->off + (is_off(run) && cpu > s->cpu_off ? cpu - s->cpu_off : 0);
    return cpu > off ? cpu - off : 0;
}

/* A turn takes X while samplers are off, and MORE longer while they are on: TURNS = ON / (X + MORE) +
 * OFF / X, where ON and OFF are parts of the CPU time. What is found in the kernel while they are on
 * is too much by MORE / (X + MORE). */
double perf_switch_dilution(const struct engine_run *run, double turns, double cpu)
{
    const struct perf_switch *s = &run->switches;
    double more = within * fmax(s->sampled - s->counted, 0);
    if ((s->off == 0 && !is_off(run)) || !(turns >= 1) || !(cpu > 0) || !(more > 0))
        return 1;
    uint64_t all = perf_program_cpu(run);
    double part = all > 0 ? (double)perf_switch_sampled(run, all) / (double)all : 1;
    double off = (1 - part) * cpu, b = cpu - turns * more;
    double x = (b + sqrt(b * b + 4 * turns * off * more)) / (2 * turns);
    return part + (1 - part) * (x + more) / x;
}

void perf_switch_ended(struct perf_switch *s, const struct perf_thread *thread)
{
    s->fresh += thread->run.turns == 0;
}

void perf_switch_result(const struct perf_switch *s, uint64_t switches,
                        struct engine_result *result)
{
    double each = s->all > 0 ? s->cost / s->all : s->sampled;
    result->switches = switches > 0 ? switches : (uint64_t)s->all;
    result->switching = (uint64_t)(each * (double)result->switches);
}

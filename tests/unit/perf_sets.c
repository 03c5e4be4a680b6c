/* The beginning of new threads is sampled at the same rate as everything else: perf_sets.c with a
 * simulated kernel.
 *
 * There is one CPU. A creator starts threads that run alone, one after the other. Children inherit
 * an event with a complete period. Its samples are read some time later, as from a ring, while the
 * thread continues to run.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#include "tests/unit/check.h"

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf_sets.h"

enum { EVENTS = 64, BINS = 5, FIRST_FD = 1000, CREATOR = 1 };

struct event {
    bool open;
    uint32_t tid;
    uint64_t period;
    double left; /* until the next sample in its own thread [ns] */
    /* the same in the running thread, which has inherited the event; negative: it has not */
    double inherited;
    double period_inherited;
};

enum { PENDING = 1024 };

/* The simulated kernel; the code under test has no context parameter. */
static struct simulated {
    double now;
    double opening; /* how long it takes to open an event [ns] */
    uint32_t running;
    uint64_t random;
    struct event events[EVENTS];
    /* samples that have not been read */
    struct {
        uint64_t time, period;
    } pending[PENDING];
    size_t pending_count;
} kernel;

/* Returns the time until the next sample of the running thread, at most LIMIT. If it is before
 * LIMIT, sets *LEFT to its counter and *PERIOD to its period. */
static double next_sample(double limit, double **left, double *period)
{
    for (int i = 0; i < EVENTS; i++) {
        struct event *e = &kernel.events[i];
        double *own = e->tid == kernel.running ? &e->left : &e->inherited;
        if (!e->open || *own < 0 || *own > limit)
            continue;
        limit = *own;
        *left = own;
        *period = own == &e->left ? (double)e->period : e->period_inherited;
    }
    return limit;
}

static void pass(double ns)
{
    kernel.now += ns;
    for (int i = 0; i < EVENTS; i++) {
        struct event *e = &kernel.events[i];
        if (e->open && e->tid == kernel.running)
            e->left -= ns;
        else if (e->open && e->inherited >= 0)
            e->inherited -= ns;
    }
}

/* The running thread continues for NS, and has samples. */
static void run_for(double ns)
{
    double end = kernel.now + ns;
    while (kernel.now < end) {
        double *left = NULL, period = 0;
        pass(next_sample(end - kernel.now, &left, &period));
        if (left == NULL)
            break;
        *left = period;
        if (kernel.pending_count < PENDING) {
            kernel.pending[kernel.pending_count].time = (uint64_t)kernel.now;
            kernel.pending[kernel.pending_count++].period = (uint64_t)period;
        }
    }
}

static uint64_t sim_now(void)
{
    return (uint64_t)kernel.now;
}

static struct event *event_of(int fd)
{
    return &kernel.events[fd - FIRST_FD];
}

static int sim_open(uint32_t tid, uint64_t period)
{
    int i = 0;
    while (i < EVENTS && kernel.events[i].open)
        i++;
    if (i == EVENTS)
        return -1;
    run_for(kernel.opening);
    kernel.events[i] = (struct event){true, tid, period, (double)period, -1, 0};
    return FIRST_FD + i;
}

static void sim_close(int fd)
{
    event_of(fd)->open = false;
}

static int sim_ioctl(int fd)
{
    return event_of(fd)->open ? 0 : -1;
}

static void sim_set_period(int fd, uint64_t period)
{
    event_of(fd)->period = period;
    event_of(fd)->left = (double)period;
}

/* An event counts while its own thread runs. */
static ssize_t sim_read(int fd, uint64_t *value)
{
    kernel.now += event_of(fd)->tid == kernel.running;
    *value = event_of(fd)->tid == kernel.running ? (uint64_t)kernel.now : 0;
    return sizeof *value;
}

#define clock_now sim_now
#define perf_open_sampler(setup, tid, cpu, on_exec, period)                                        \
    ((void)(setup), (void)(cpu), (void)(on_exec), sim_open((uint32_t)(tid), period))
#define perf_open_mark(tid)                sim_open((uint32_t)(tid), UINT64_MAX / 4)
#define perf_set_period(setup, fd, period) ((void)(setup), sim_set_period(fd, period))
#define process_thread_runs(pid, tid)      ((uint32_t)(tid) == kernel.running)
#define ioctl(fd, request, argument)       ((void)(request), sim_ioctl(fd))
#define close                              sim_close
#define read(fd, value, size)              sim_read(fd, value)
/* renamed, because the libraries contain the real functions */
#define perf_sets_init     sim_sets_init
#define perf_sets_free     sim_sets_free
#define perf_sets_rate     sim_sets_rate
#define perf_sets_turn     sim_sets_turn
#define perf_sets_adopt    sim_sets_adopt
#define perf_sets_renew    sim_sets_renew
#define perf_sets_share    sim_sets_share
#define perf_sets_part     sim_sets_part
#define perf_set_open      sim_set_open
#define perf_set_leave     sim_set_leave
#define perf_set_open_late sim_set_open_late
#define perf_set_inherit   sim_set_inherit
#define perf_set_sampled   sim_set_sampled
void sim_sets_init(struct perf_sets *sets, const struct perf_setup *setup, const int *outputs,
                   double frequency, bool random, bool prompt);
void sim_sets_free(struct perf_sets *sets);
void sim_sets_rate(struct perf_sets *sets, double mean, double exact);
void sim_sets_turn(struct perf_sets *sets, bool on);
void sim_sets_adopt(struct perf_sets *sets);
void sim_sets_renew(struct perf_sets *sets);
bool sim_sets_share(const struct perf_sets *sets);
void sim_sets_part(struct perf_sets *sets, uint64_t born);
int sim_set_open(struct perf_sets *sets, struct perf_thread *thread, bool on_exec);
void sim_set_leave(struct perf_sets *sets, struct perf_thread *thread);
void sim_set_open_late(struct perf_sets *sets, struct perf_thread *thread);
void sim_set_inherit(struct perf_sets *sets, struct perf_thread *child,
                     const struct perf_thread *parent, uint64_t time);
double sim_set_sampled(struct perf_sets *sets, struct perf_thread *thread, size_t cpu,
                       uint64_t time, uint64_t period);
#include "record/engines/perf_sets.c" /* NOLINT(bugprone-suspicious-include): with another kernel */

static double uniform_now(void)
{
    kernel.random = kernel.random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return ((double)(kernel.random >> 11) + 0.5) * 0x1p-53;
}

/* Reads the samples of THREAD, which began at BEGIN. Counts accepted ones in COUNTS, in bins that
 * end at ENDS. */
static void read_samples(struct perf_sets *sets, struct perf_thread *thread, double begin,
                         const double *ends, uint64_t *counts)
{
    size_t count = kernel.pending_count;
    for (size_t i = 0; i < count; i++) {
        uint64_t time = kernel.pending[i].time;
        bool counted = perf_set_sampled(sets, thread, 0, time, kernel.pending[i].period) > 0;
        size_t bin = 0;
        while (bin < BINS && (double)time - begin > ends[bin])
            bin++;
        counts[bin] += counted;
    }
    memmove(kernel.pending, kernel.pending + count,
            (kernel.pending_count - count) * sizeof kernel.pending[0]);
    kernel.pending_count -= count;
    perf_sets_renew(sets);
    perf_sets_adopt(sets);
}

/* THREAD runs for LIFE; samples are read after DELAY, or when the thread has ended. */
static void run_thread(struct perf_sets *sets, struct perf_thread *thread, double life,
                       double delay, const double *ends, uint64_t *counts)
{
    double begin = kernel.now, end = begin + life;
    kernel.pending_count = 0;
    while (kernel.now < end) {
        double *left, period, rest = end - kernel.now;
        if (kernel.pending_count == 0) {
            run_for(fmin(next_sample(rest, &left, &period) + 1, rest));
            continue;
        }
        run_for(fmin(delay * (0.5 + uniform_now()), rest));
        if (kernel.now < end)
            read_samples(sets, thread, begin, ends, counts);
    }
    read_samples(sets, thread, begin, ends, counts);
}

/* A new thread inherits the events of its creator, with their periods. */
static void inherit_events(void)
{
    for (int i = 0; i < EVENTS; i++) {
        struct event *e = &kernel.events[i];
        e->period_inherited = (double)e->period;
        e->inherited = e->open && e->tid == CREATOR ? (double)e->period : -1;
    }
}

/* How fast this process is. */
struct speed {
    double delay, opening; /* from a sample to its reading; to open an event [ns] */
    bool prompt;
};

static const struct speed as_root = {20000, 0, true}, as_user = {600000, 50000, false};

/* Sets RATES to the rate in each bin, relative to HERTZ, over many threads. By chance alone, rates
 * differ from 1 by 0.005 to 0.015. */
static void measure(double hertz, size_t threads, struct speed speed, double *rates)
{
    const double mean = 1e9 / hertz, life = 8 * mean;
    const double ends[BINS + 1] = {0.25 * mean, 0.5 * mean, mean, 2 * mean, 4 * mean, INFINITY};
    uint64_t counts[BINS + 1] = {0}, none[BINS + 1] = {0};
    double lives = 0;
    int cpu = 0, output = 0;
    struct perf_setup setup = {.cpus = &cpu, .cpu_count = 1, .kernel = true, .per_ns = 1};
    struct perf_sets sets;
    struct perf_thread creator = {.pid = CREATOR, .tid = CREATOR};
    kernel =
        (struct simulated){.now = 1e9, .opening = speed.opening, .running = CREATOR, .random = 1};
    perf_sets_init(&sets, &setup, &output, hertz, true, speed.prompt);
    random_start(&sets.numbers, 12345);
    perf_set_open(&sets, &creator, false);
    for (size_t i = 0; i < threads; i++) {
        struct perf_thread child = {.pid = CREATOR, .tid = (uint32_t)(2 + i)};
        run_thread(&sets, &creator, (0.5 + uniform_now()) * 0.1 * mean, speed.delay, ends, none);
        child.born = (uint64_t)kernel.now;
        kernel.running = child.tid;
        inherit_events();
        kernel.now += 1; /* a creation is reported afterwards */
        perf_set_inherit(&sets, &child, &creator, child.born);
        run_thread(&sets, &child, life, speed.delay, ends, counts);
        lives += kernel.now - (double)child.born;
        perf_set_leave(&sets, &child);
        kernel.running = CREATOR;
        for (int e = 0; e < EVENTS; e++)
            kernel.events[e].inherited = -1;
        kernel.now += 1e5;
    }
    perf_sets_free(&sets);
    for (int i = 0; i <= BINS; i++) {
        double end = i < BINS ? ends[i] : lives / (double)threads;
        double width = (end - (i > 0 ? ends[i - 1] : 0)) / mean * (double)threads;
        rates[i] = (double)counts[i] / width;
    }
}

static void check_rates(struct check *check, double hertz, size_t threads, struct speed speed)
{
    double rates[BINS + 1];
    measure(hertz, threads, speed, rates);
    for (int i = 0; i <= BINS; i++) {
        if (fabs(rates[i] - 1) > 0.06)
            CHECK_FAIL("at %g Hz, part %d of the life of threads has %.3f of its samples", hertz, i,
                       rates[i]);
    }
}

static void batches(struct check *check)
{
    check_rates(check, 1000, 20000, as_root);
}

static void single(struct check *check)
{
    check_rates(check, 100, 20000, as_root);
}

/* An ordinary user's process gets a CPU late. */
static void late(struct check *check)
{
    check_rates(check, 1000, 20000, as_user);
    check_rates(check, 4000, 20000, as_user);
}

/* Over a second, the periods of batches give the requested rate. */
static void even(struct check *check)
{
    const struct perf_setup setup = {.cpu_count = 1, .per_ns = 1};
    const int output = 0;
    struct perf_sets sets;
    perf_sets_init(&sets, &setup, &output, 1000, true, true);
    for (int run = 0; run < 100; run++) {
        double samples = 0;
        for (int batch = 0; batch < 125; batch++)
            samples += PERF_BATCH * sets.mean / perf_sets_draw(&sets);
        if (fabs(samples / 1000 - 1) > 0.02)
            CHECK_FAIL("%.0f samples in place of 1000", samples);
    }
    perf_sets_free(&sets);
}

CHECK_MAIN({"batches", batches}, {"single", single}, {"late", late}, {"even", even})

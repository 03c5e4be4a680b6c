/* A sample: each thread that runs is stopped, read and let go; those that wait are only read.
 *
 * To stop a thread that waits would wake it: the CPU time of that would be counted as the program's, and some system
 * calls would end with EINTR. The kernel shows where it waits.
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/ptrace.h"

/* The PC of code in the kernel of which no more is known: the start of the kernel's half of the addresses, which is
 * nobody's code. */
#define KERNEL_PC UINT64_C(0xffff800000000000)

/* A thread that waits for a CPU stops late, one in an uninterruptible wait (a dead file server) does not stop: the
 * others must not wait for them longer than half an interval. */
static const uint64_t least_patience = SECOND / 5000, most_patience = SECOND / 100;
/* Between the moment at which the scheduler takes a thread off a CPU in favour of the sampler, and the sampler's first
 * look at the clock, at most. */
static const uint64_t switch_time = SECOND / 100000;

enum { LOOKS = 256 };
enum { MOVE = 32 };  /* samples */
enum { STEADY = 4 }; /* sightings on a CPU in a row: it is expected there */

void ptrace_add_row(struct engine_run *run, const struct engine_thread *row)
{
    mem_reserve(&run->rows, &run->row_capacity, run->row_count + 1, sizeof *run->rows);
    run->rows[run->row_count++] = *row;
}

static void add_sighting(struct engine_run *run, struct tracee *tracee)
{
    bool ran = tracee->ran, in_kernel = ran && tracee->in_kernel;
    tracee->ran = tracee->late = false; /* a sighting counts once */
    if (tracee->pc == 0)                /* did not stop yet: its time comes with its next row */
        return;
    ptrace_add_row(run, &(struct engine_thread){.pid = (uint32_t)tracee->process->pid,
                                                .tid = (uint32_t)tracee->tid,
                                                .pc = in_kernel ? KERNEL_PC : tracee->pc,
                                                .caller = in_kernel ? tracee->pc : 0,
                                                .cpu = tracee_cpu(tracee),
                                                .flags = (uint8_t)((ran ? RAW_RAN : 0) |
                                                                   (in_kernel ? RAW_CALLER : 0))});
}

void ptrace_add_total(struct engine_run *run, const struct tracee *tracee)
{
    if (tracee->timed)
        ptrace_add_row(run, &(struct engine_thread){.pid = (uint32_t)tracee->process->pid,
                                                    .tid = (uint32_t)tracee->tid,
                                                    .pc = tracee->pc,
                                                    .cpu = tracee_cpu(tracee),
                                                    .flags = RAW_TOTAL});
}

/* Must it be stopped to see where it is? One that was on no CPU since it was last looked at is still where it was; one
 * that stopped after the sample before this one was over has been seen for this one. Of one that was last seen on a CPU
 * the times then are good enough to see whether it has been there since. */
static bool look(struct engine_run *run, struct tracee *tracee)
{
    struct run_time time;
    if (tracee->state != TRACEE_RUNNING)
        return false;
    bool steady = tracee->steady >= STEADY;
    if (steady && !tracee_waits(tracee))
        return true;
    if (!tracee_read_time(tracee, &time)) {
        run->result->blind++;
        return false;
    }
    bool same = tracee->timed && tracee->pc != 0 && time.cpu == tracee->run.cpu &&
                time.slices == tracee->run.slices;
    tracee->run = time;
    tracee->timed = true;
    if (tracee->late)
        return false;
    bool waits = same || steady || tracee_waits(tracee);
    tracee->slept = waits && !same ? LOOKS : tracee->slept - (tracee->slept > 0);
    tracee->steady = waits ? 0 : tracee->steady;
    return !waits;
}

/* They need not be held until the last has stopped: all are asked at once, and one that waits for a CPU meanwhile stays
 * where it is. */
static void interrupt_all(struct engine_run *run)
{
    run->awaited = 0;
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        if (!look(run, tracee))
            continue;
        tracee_interrupt(tracee);
        tracee->interrupted = run->woken;
        run->awaited += tracee->state == TRACEE_AWAITED;
    }
}

/* Was it on a CPU until the sampler woke for this sample? If not, it has waited for one since before that: it had been
 * preempted, or had just been woken and is where it slept. Neither has used CPU time there. The times are from the start
 * of this sample, or from when a steady one was seen last: it may have waited at any time since then.
 *
 * The interrupt that wakes the sampler also wakes those threads on this CPU whose sleep may end 50 us later as well
 * (timer slack), more often than chance would have it. They look like one that the sampler took off the CPU in a system
 * call: of a thread that sleeps now and then, a call that has done its work does not count if the thread had to wait. */
static bool was_on_cpu(const struct tracee *tracee, const struct run_time *now)
{
    uint64_t waited = now->delay - tracee->run.delay;
    if (waited > switch_time && tracee->completed && tracee->slept > 0)
        return false;
    return waited <= clock_now() - tracee->interrupted + switch_time;
}

void ptrace_see(struct engine_run *run, struct tracee *tracee)
{
    struct run_time now;
    tracee->late = tracee->stuck;
    run->awaited -= !tracee->stuck;
    if (!tracee_read_pc(tracee) || !tracee_read_time(tracee, &now)) {
        run->result->blind++;
        return;
    }
    tracee->ran = was_on_cpu(tracee, &now);
    tracee->steady = tracee->ran && !tracee->late ? tracee->steady + 1 : 0;
    tracee->process->seen |= tracee->ran;
    tracee->run = now;
    if (tracee->ran)
        run->resumed = clock_now();
}

/* Waits until all that were interrupted have stopped and go on, or patience is over. */
static void wait_for_stops(struct engine_run *run)
{
    uint64_t patience = (uint64_t)(run->pace.mean / 2), now;
    patience = patience < least_patience ? least_patience : patience;
    uint64_t limit = run->begin + (patience < most_patience ? patience : most_patience);
    while (run->awaited > 0 && (now = clock_now()) < limit) {
        signals_wait_child(limit - now);
        run->woken = clock_now();
        while (run->awaited > 0 && (ptrace_take_stop(run) || ptrace_take_event(run)))
            ;
    }
    for (size_t i = 0; i < run->tracees.count && run->awaited > 0; i++)
        ptrace_give_up(run, run->tracees.list[i]);
}

void ptrace_give_up(struct engine_run *run, struct tracee *tracee)
{
    if (tracee->state == TRACEE_AWAITED && !tracee->stuck) {
        tracee->stuck = true;
        run->awaited--;
    }
}

static void hand_over(struct engine_run *run, uint64_t time)
{
    if (time <= run->last)
        time = run->last + 1;
    run->last = time;
    struct engine_sample sample = {time, run->rows, run->row_count};
    run->row_count = 0;
    if (run->hooks->sample(run->hooks->context, &sample) != 0)
        run->sampling = false;
    else
        run->result->samples++;
}

static void move_to(struct engine_run *run, const cpu_set_t *cpus)
{
    cpu_set_t usable;
    CPU_AND(&usable, cpus, &run->cpus);
    if (CPU_COUNT(&usable) == 0)
        usable = run->cpus;
    if (!CPU_EQUAL(&usable, &run->used) && sched_setaffinity(0, sizeof usable, &usable) == 0)
        run->used = usable;
}

/* Threads of the machine that run or wait for a CPU, this one among them; 0: not known. The fourth word of the file is
 * "2/345". */
static int runnable(void)
{
    char text[128], *at = text;
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    for (int word = 1; word < 4 && at != NULL; word++)
        at = strchr(at + 1, ' ');
    return at != NULL ? (int)strtol(at, NULL, 10) : 0;
}

/* While a CPU is idle, the sampler works there. When all are busy, it is best on one on which a thread of the program
 * runs: no other CPU has to be interrupted then, nor given back by somebody else. But threads that sleep now and then
 * are better left alone there: the timer of the sampler would wake them. */
static void choose_cpu(struct engine_run *run)
{
    bool sleepers = false;
    cpu_set_t busy, others = run->cpus;
    CPU_ZERO(&busy);
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        int cpu = tracee->ran ? tracee_cpu_number(tracee) : -1;
        if (cpu < 0 || cpu >= CPU_SETSIZE)
            continue;
        sleepers |= tracee->slept > 0;
        CPU_SET((size_t)cpu, &busy);
        CPU_CLR((size_t)cpu, &others);
    }
    bool is_idle = runnable() <= CPU_COUNT(&run->cpus);
    move_to(run, sleepers || is_idle ? &others : &busy);
}

static uint64_t own_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND + (uint64_t)used.tv_nsec;
}

/* To be stopped and woken costs the threads together about what it costs the sampler. */
void ptrace_sample(struct engine_run *run)
{
    uint64_t used = own_time();
    ptrace_tick(run);
    run->begin = run->resumed = clock_now();
    for (size_t i = 0; i < run->tracees.process_count; i++)
        if (run->tracees.processes[i]->crowded)
            ptrace_find_threads(run, run->tracees.processes[i]);
    interrupt_all(run);
    uint64_t time = ptrace_time(run);
    wait_for_stops(run);
    uint64_t stopped = clock_now();
    if (run->pace.taken % MOVE == 0)
        choose_cpu(run);
    for (size_t i = 0; i < run->tracees.count; i++)
        if (run->tracees.list[i]->state >= TRACEE_RUNNING &&
            run->tracees.list[i]->state < TRACEE_DYING)
            add_sighting(run, run->tracees.list[i]);
    hand_over(run, time);
    /* who waits for a CPU before it can stop is not held up */
    uint64_t end = clock_now(), idle = stopped - run->resumed;
    latency_add(&run->latency, end - run->begin - idle, 1);
    pace_taken(&run->pace, end, 2 * (own_time() - used));
}

static void add_unseen_so_far(struct engine_run *run, struct process *process)
{
    uint64_t total = process_cpu(process->pid), live = 0;
    for (size_t i = 0; i < run->tracees.count; i++)
        live += run->tracees.list[i]->process == process ? run->tracees.list[i]->run.cpu : 0;
    ptrace_add_unseen(run, process, total, live);
}

void ptrace_last_sample(struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        tracee->timed |= tracee_read_time(tracee, &tracee->run);
        ptrace_add_total(run, tracee);
    }
    for (size_t i = 0; i < run->tracees.process_count; i++)
        add_unseen_so_far(run, run->tracees.processes[i]);
    if (run->sampling)
        hand_over(run, run->result->wall);
}

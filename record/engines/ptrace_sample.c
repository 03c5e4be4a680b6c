/* A sample: each thread that runs is stopped, read and let go; those that wait are only read.
 *
 * To stop a thread that waits would wake it: the CPU time of that would be counted as the program's, and some system
 * calls would end with EINTR. The kernel shows where it waits.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

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
static const uint64_t switch_time = 50 * SECOND / 1000000;

static void add_row(struct engine_run *run, const struct engine_thread *row)
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
    add_row(run, &(struct engine_thread){
                     .pid = (uint32_t)tracee->process->pid,
                     .tid = (uint32_t)tracee->tid,
                     .pc = in_kernel ? KERNEL_PC : tracee->pc,
                     .caller = in_kernel ? tracee->pc : 0,
                     .cpu = tracee_cpu(tracee),
                     .flags = (uint8_t)((ran ? RAW_RAN : 0) | (in_kernel ? RAW_CALLER : 0))});
}

void ptrace_add_total(struct engine_run *run, const struct tracee *tracee)
{
    if (tracee->timed)
        add_row(run, &(struct engine_thread){.pid = (uint32_t)tracee->process->pid,
                                             .tid = (uint32_t)tracee->tid,
                                             .pc = tracee->pc,
                                             .cpu = tracee_cpu(tracee),
                                             .flags = RAW_TOTAL});
}

/* Must it be stopped to see where it is? One that was on no CPU since it was last looked at is still where it was; one
 * that stopped after the sample before this one was over has been seen for this one. */
static bool look(struct engine_run *run, struct tracee *tracee)
{
    struct run_time time;
    if (tracee->state != TRACEE_RUNNING)
        return false;
    if (!tracee_read_time(tracee, &time)) {
        run->result->blind++;
        return false;
    }
    bool same = tracee->timed && tracee->pc != 0 && time.cpu == tracee->run.cpu &&
                time.slices == tracee->run.slices;
    tracee->run = time;
    tracee->timed = true;
    if (same || tracee->late)
        return false;
    return !tracee_waits(tracee);
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
        tracee->interrupted = run->begin;
        run->awaited += tracee->state == TRACEE_AWAITED;
    }
}

/* Was it on a CPU when the sample began? If not, it has waited for one since before that: it had been preempted, or had
 * just been woken and is where it slept. Neither has used CPU time there. */
static bool was_on_cpu(const struct tracee *tracee, const struct run_time *now)
{
    return now->delay - tracee->run.delay <= clock_now() - tracee->interrupted + switch_time;
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
    while (run->awaited > 0 && !run->ended) {
        if (ptrace_take_event(run))
            continue;
        if ((now = clock_now()) >= limit)
            break;
        signals_wait_child(limit - now);
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

void ptrace_sample(struct engine_run *run)
{
    run->hooks->tick(run->hooks->context, ptrace_time(run));
    run->begin = run->resumed = clock_now();
    interrupt_all(run);
    uint64_t time = ptrace_time(run);
    wait_for_stops(run);
    uint64_t stopped = clock_now();
    for (size_t i = 0; i < run->tracees.count; i++)
        if (run->tracees.list[i]->state >= TRACEE_RUNNING &&
            run->tracees.list[i]->state < TRACEE_DYING)
            add_sighting(run, run->tracees.list[i]);
    hand_over(run, time);
    /* who waits for a CPU before it can stop is not held up */
    uint64_t end = clock_now(), idle = stopped - run->resumed;
    latency_add(&run->latency, end - run->begin - idle, 1);
    pace_taken(&run->pace, end, end - run->begin - idle);
}

void ptrace_last_sample(struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        tracee->timed |= tracee_read_time(tracee, &tracee->run);
        ptrace_add_total(run, tracee);
    }
    run->hooks->tick(run->hooks->context, run->result->wall);
    if (run->sampling)
        hand_over(run, run->result->wall);
}

/* Takes a sample: each running thread is stopped, read and resumed; waiting threads are only read.
 *
 * Stopping a waiting thread would wake it: its CPU time for that would be counted as the program's,
 * and some system calls would end with EINTR. The kernel shows where it waits.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <sched.h>
#include <signal.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/ptrace_internal.h"
#include "record/process.h"

/* A thread that waits for a CPU stops late; one in an uninterruptible wait (a dead file server)
 * does not stop. A sample waits for such threads for at most half an interval, within these
 * limits. */
static const uint64_t min_patience = SECOND / 5000, max_patience = SECOND / 100;
/* The longest time from the moment at which the scheduler preempts a thread for the sampler to the
 * sampler's first reading of the clock. */
static const uint64_t switch_time = SECOND / 100000;

static const uint64_t soon =
    SECOND / 10000; /* within this time, a running thread stops, and a timer wakes the sampler */

/* Most threads on another CPU stop within this time. */
static const uint64_t poll_time = SECOND / 20000;

/* A thread that did not stop within POLL_TIME waited for a CPU, and then took about this time. */
static const uint64_t stop_time = SECOND / 50000;

/* Includes some kernel ticks, at 100 to 1000 Hz. */
static const uint64_t ticks_every = SECOND / 10;

enum { PASSES = 8 }; /* over the threads of processes that create many threads */
enum { LOOKS = 256 };
enum { FAULTS = 5 }; /* page faults within ticks_every: a huge page takes 0.1 ms */
enum { MOVE = 32, MOVE_CALLING = 8, MOVE_FAULTING = 2 }; /* choose a CPU every so many samples */
enum { AVOID_FAULTING = 8 };
enum { CALLS = 32 };   /* one sighting in this many in a system call is frequent */
enum { LATELY = 256 }; /* samples for which several busy CPUs, and creations, are remembered */
/* New values of power are marked if they are at least NEW_WINDOW mean intervals apart, until they are
 * less than MIN_WINDOW apart, on average over about VALUES of them. */
enum { MIN_WINDOW = 2, NEW_WINDOW = 3, VALUES = 128 };
enum { STEADY = 4 }; /* sightings on a CPU in a row, after which another is expected */

void ptrace_add_row(struct engine_run *run, const struct engine_thread *row)
{
    mem_reserve(&run->rows, &run->row_capacity, run->row_count + 1, sizeof *run->rows);
    run->rows[run->row_count++] = *row;
}

/* A thread that waits for a CPU before it stops, or that stopped late, may have used CPU time since
 * its times were read. Windows of the power sensor must include this time. The other counts are
 * left unchanged, because was_on_cpu still has to find out whether the thread has been on a CPU
 * since then. */
static void renew_cpu(struct tracee *tracee)
{
    struct run_time time;
    if (tracee_read_time(tracee, &time) && time.cpu > tracee->run.cpu)
        tracee->run.cpu = time.cpu;
}

static void add_sighting(struct engine_run *run, struct tracee *tracee)
{
    if ((tracee->late || tracee->state == TRACEE_AWAITED) && run->divides)
        renew_cpu(tracee);
    bool ran = tracee->ran, in_kernel = ran && tracee->in_kernel;
    bool faulted = in_kernel && tracee->faulted;
    bool preempted = tracee->preempted;
    tracee->ran = tracee->late = tracee->preempted = false; /* a sighting counts once */
    if (tracee->pc == 0) /* it has not stopped yet: its next row includes the time */
        return;
    ptrace_add_row(
        run,
        &(struct engine_thread){
            .pid = (uint32_t)tracee->process->pid,
            .tid = (uint32_t)tracee->tid,
            .pc = in_kernel ? RAW_KERNEL_PC : tracee->pc,
            .caller = in_kernel ? tracee->pc : 0,
            .cpu = tracee_cpu(tracee),
            .flags = (uint8_t)((ran ? RAW_RAN : 0) | (ran && tracee->same_cpu ? RAW_SAME_CPU : 0) |
                               (in_kernel ? RAW_CALLER : 0) | (faulted ? RAW_FAULT : 0) |
                               (preempted ? RAW_PREEMPTED : 0) |
                               (!ran && tracee->asleep ? RAW_ASLEEP : 0))});
}

/* Returns whether the thread was seen on a CPU, in a process for which the CPU number is
 * recorded. */
static bool ran_on_known_cpu(const struct tracee *tracee)
{
    return tracee->ran && !tracee->late && tracee->cpu >= 0 && tracee->cpu < CPU_SETSIZE;
}

/* When a thread of a crowded process has stopped, its CPU runs other threads, even some that were
 * created after the sample began. Only the thread that was interrupted first was on the CPU at the
 * moment of the sample. */
static void keep_first_on_cpus(struct engine_run *run)
{
    uint64_t first[CPU_SETSIZE];
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        first[i] = UINT64_MAX;
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        if (ran_on_known_cpu(tracee) && tracee->turn < first[tracee->cpu])
            first[tracee->cpu] = tracee->turn;
    }
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        if (!ran_on_known_cpu(tracee) || tracee->turn == first[tracee->cpu])
            continue;
        tracee->ran = false;
        tracee->preempted = !tracee->in_kernel;
    }
}

static void add_sightings(struct engine_run *run)
{
    run->any_late = false;
    for (size_t i = 0; i < run->tracees.count; i++)
        if (run->tracees.list[i]->state >= TRACEE_RUNNING &&
            run->tracees.list[i]->state < TRACEE_DYING)
            add_sighting(run, run->tracees.list[i]);
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

/* Returns whether the thread must be stopped to read its PC. A thread that was just found in a
 * crowded process is stopped in any case, as soon as possible, because most of these do not live
 * long. A thread that has been on no CPU since its last look is still where it was. A thread that
 * stopped after the end of the previous sample has already been seen for this one. If a thread was
 * on a CPU at its last sighting, the times read then are sufficient for was_on_cpu. */
static bool look(struct engine_run *run, struct tracee *tracee)
{
    struct run_time time;
    run->sleepers |= tracee->slept > 0; /* even while it waits for a CPU */
    if (tracee->state != TRACEE_RUNNING)
        return false;
    tracee->late = false; /* it waited for a CPU then, and may run now */
    tracee->hasty = tracee->process->crowded && !tracee->timed;
    bool steady = tracee->steady >= STEADY && tracee->slept == 0;
    if (steady && !tracee_waits(tracee)) {
        tracee->asleep = false;
        return true;
    }
    if (!tracee_read_time(tracee, &time)) {
        run->result->blind++;
        return false;
    }
    bool same = tracee->timed && tracee->pc != 0 && time.cpu == tracee->run.cpu &&
                time.slices == tracee->run.slices;
    tracee->run = time;
    tracee->timed = true;
    bool waits = same || steady || (!tracee->hasty && tracee_waits(tracee));
    if (!same)
        tracee->asleep =
            waits && tracee_read_time(tracee, &tracee->run); /* it may have run in between */
    tracee->slept = waits && !same ? LOOKS : tracee->slept - (tracee->slept > 0);
    run->sleepers |= tracee->slept > 0;
    tracee->steady = waits ? 0 : tracee->steady;
    return !waits;
}

/* A thread on the CPU of the sampler is preempted by the sampler: after the page fault, if it is in
 * one, unless the kernel is preemptible; otherwise exactly where it was. In contrast, a thread on
 * another CPU may continue to the end of its next system call. */
static void watch(struct tracee *tracee)
{
    int cpu = -1;
    const struct process *process = tracee->process;
    bool known = (process->faulting || process->calling || process->crowded) &&
                 tracee_read_faults(tracee, &tracee->faults, &cpu);
    tracee->watched = known && process->faulting;
    tracee->cpu = known && process->crowded ? cpu : -1;
    tracee->same_cpu = known && cpu >= 0 && cpu == sched_getcpu();
}

/* The kernel counts a page fault after handling it, and stops the thread only then. */
static bool has_faulted(struct tracee *tracee)
{
    uint64_t faults;
    int cpu;
    return tracee->watched && tracee_read_faults(tracee, &faults, &cpu) && faults > tracee->faults;
}

static void interrupt(struct engine_run *run, struct tracee *tracee)
{
    if (!look(run, tracee))
        return;
    bool first =
        /* otherwise its page faults must be known before */
        tracee->hasty && !tracee->process->faulting;
    if (!first)
        watch(tracee);
    tracee_interrupt(tracee);
    if (first)
        watch(tracee);
    tracee->interrupted = run->moment;
    tracee->turn = run->turns++;
    tracee->at_once = run->at_once;
    tracee->prompt = run->late < soon;
    run->awaited += tracee->state == TRACEE_AWAITED;
}

static void find_threads(struct engine_run *run)
{
    run->crowded = false;
    for (size_t i = 0; i < run->tracees.process_count; i++) {
        struct process *process = run->tracees.processes[i];
        run->crowded |= process->crowded;
        if (process->crowded)
            ptrace_find_threads(run, process);
    }
}

/* Threads are not held until the last one has stopped: all are interrupted at the same time, and a
 * thread that waits for a CPU meanwhile does not move. While some threads of a crowded process are
 * looked at, others start. These must be seen as well; otherwise, what threads do first would be
 * seen too rarely. */
static void interrupt_all(struct engine_run *run)
{
    size_t done = 0;
    run->awaited = 0;
    for (int pass = 0; pass < PASSES && done < run->tracees.count; pass++) {
        size_t count = run->tracees.count;
        for (size_t i = count; i-- > done;) /* the threads found last are at the end */
            interrupt(run, run->tracees.list[i]);
        done = count;
        find_threads(run);
    }
}

/* Without a real-time priority, the sampler itself may wait for a CPU. If it got one late, the
 * thread that had this CPU would have been preempted anyway, often in a system call, so the moment
 * was not random. If the sampler waited after the thread had stopped, or was busy for long, the
 * time at which the thread stopped is unknown. */
static bool was_prompt(const struct engine_run *run, const struct tracee *tracee,
                       const struct run_time *self, uint64_t now)
{
    return run->priority > 0 ||
           (tracee->prompt && self->delay - run->self.run.delay <= switch_time &&
            (!tracee->stuck || now < run->woken + soon));
}

/* The interrupt that wakes the sampler also wakes threads on its CPU whose sleep ends up to 50 us
 * later (timer slack), more often than chance. They look like a thread that the sampler preempted
 * in a system call, except for the times counted by the scheduler: a thread that the sampler
 * preempts as soon as it wakes waits exactly as long as the sampler runs. If another thread was
 * woken together with the sampler, either the thread or the sampler waited longer than that. How
 * long the thread should have waited is unknown only if a third thread got the CPU before it. */
static bool was_preempted(const struct engine_run *run, const struct tracee *tracee,
                          uint64_t waited, const struct run_time *self)
{
    uint64_t ran = self->cpu - run->self.run.cpu;
    return tracee->at_once && (waited == ran || waited > ran + soon);
}

/* Returns whether a thread that sometimes sleeps, and runs on a CPU other than that of the sampler, was woken
 * on the CPU of the sampler after the sample was due: the scheduler moved it because the sampler was
 * there. It would be seen for this reason, always at its beginning. It has used less CPU time since
 * the look than has passed since the sample was due. */
static bool was_moved(const struct engine_run *run, const struct tracee *tracee,
                      const struct run_time *now)
{
    return run->priority > 0 && tracee->slept > 0 && CPU_COUNT(&run->used) == 1 &&
           tracee->home >= 0 && tracee->home < CPU_SETSIZE &&
           CPU_ISSET((size_t)tracee->home, &run->used) &&
           now->cpu - tracee->run.cpu < clock_now() - run->pace.next;
}

/* Returns whether the thread was on a CPU until the sampler woke for this sample. It certainly was
 * if it has not been given a CPU since the look. Otherwise it has waited for one, either since the
 * sampler preempted it, or since an earlier moment, at which it was preempted or woken. A thread
 * that was woken is still where it slept. After these earlier moments it has used no CPU time
 * there. The times are from the start of this sample, or from the last sighting of a steady thread.
 * Because a steady thread may have waited at any time since its last sighting, it counts as on a
 * CPU if it stopped soon: a thread that waits for a CPU does not stop soon.
 *
 * For a thread that sometimes sleeps, the counts of the scheduler must agree with that exactly, in
 * user code as well as in system calls, so that both are seen equally often. If they never agree,
 * because the kernel counts interrupts separately, completed system calls do not count. */
static bool was_on_cpu(struct engine_run *run, const struct tracee *tracee,
                       const struct run_time *now)
{
    struct run_time self;
    uint64_t waited = now->delay - tracee->run.delay;
    if (tracee->hasty && tracee->in_kernel && !tracee->completed)
        return false; /* it slept */
    if (now->slices == tracee->run.slices)
        return !was_moved(run, tracee, now);
    if (!tracee_read_time(&run->self, &self))
        return false;
    uint64_t present = clock_now(), passed = present - tracee->interrupted;
    bool likely = (waited <= passed + switch_time || (tracee->steady >= STEADY && passed < soon)) &&
                  was_prompt(run, tracee, &self, present);
    if (tracee->slept == 0 || !likely)
        return likely;
    bool exact = was_preempted(run, tracee, waited, &self);
    run->likely += !tracee->in_kernel;
    run->exact += exact && !tracee->in_kernel;
    return exact || (!tracee->completed && run->exact < run->likely / 4);
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
    tracee->ran = was_on_cpu(run, tracee, &now);
    tracee->faulted = !tracee->in_kernel && has_faulted(tracee);
    tracee->in_kernel |= tracee->faulted;
    /* a thread that has just been woken, or created, is still in a system call */
    tracee->preempted = !tracee->ran && !tracee->in_kernel;
    tracee->steady = tracee->ran && !tracee->late ? tracee->steady + 1 : 0;
    tracee->process->seen |= tracee->ran;
    tracee->process->active |= tracee->ran;
    tracee->process->sightings += tracee->ran;
    tracee->process->calls += tracee->ran && tracee->in_kernel && !tracee->faulted;
    tracee->run = now;
    run->any_late |= tracee->late && tracee->ran;
    if (tracee->ran)
        run->resumed = clock_now();
}

static void take_stops(struct engine_run *run)
{
    run->woken = clock_now();
    while (run->awaited > 0 && (ptrace_take_stop(run) || ptrace_take_event(run)))
        ;
}

/* A sampler without a real-time priority polls. If it slept until a thread on another CPU stops, it
 * might then wait for its own CPU for milliseconds: it has just used this CPU, and another thread
 * has begun to. */
static void poll_stops(struct engine_run *run)
{
    uint64_t limit = clock_now() + poll_time;
    while (run->awaited > 0 && clock_now() < limit)
        take_stops(run);
}

/* Waits until all interrupted threads have stopped and been resumed, or the time limit is reached.
 * Returns for how long no thread was delayed: one that stops late has waited for a CPU [ns]. */
static uint64_t wait_for_stops(struct engine_run *run)
{
    uint64_t patience = (uint64_t)(run->pace.mean / 2), now, idle = 0;
    patience = patience < min_patience ? min_patience : patience;
    uint64_t limit = run->begin + (patience < max_patience ? patience : max_patience);
    if (run->away)
        poll_stops(run);
    while (run->awaited > 0 && (now = clock_now()) < limit) {
        signals_wait_child(limit - now);
        uint64_t waited = clock_now() - now, before = run->resumed;
        take_stops(run);
        idle += run->resumed != before && waited > poll_time ? waited - stop_time : 0;
    }
    for (size_t i = 0; i < run->tracees.count && run->awaited > 0; i++)
        ptrace_give_up(run, run->tracees.list[i]);
    return idle + clock_now() - run->resumed;
}

void ptrace_give_up(struct engine_run *run, struct tracee *tracee)
{
    if (tracee->state == TRACEE_AWAITED && !tracee->stuck) {
        tracee->stuck = true;
        run->awaited--;
    }
}

/* Delivers a sample with the first COUNT rows, which are all rows or none. */
static void hand_over(struct engine_run *run, uint64_t time, size_t count)
{
    if (time <= run->last)
        time = run->last + 1;
    run->last = time;
    struct engine_sample sample = {time, run->rows, count};
    run->row_count -= count;
    if (run->hooks->sample(run->hooks->context, &sample) != 0)
        run->sampling = false;
    else
        run->result->samples++;
}

void ptrace_mark(struct engine_run *run, uint64_t read)
{
    double every = read > run->read ? (double)(read - run->read) : 0;
    double share = fmax(1. / VALUES, 1 / (double)++run->values);
    run->every += (every - run->every) * share;
    int least = run->divides ? MIN_WINDOW : NEW_WINDOW;
    run->divides = run->every >= least * run->pace.mean;
    run->read = read;
    bool late = read <= run->last; /* samples after it would seem to be before it */
    if (run->sampling && !late && run->divides)
        hand_over(run, read, 0);
}

void ptrace_late(struct engine_run *run)
{
    if (!run->any_late || !run->sampling)
        return;
    add_sightings(run);
    if (run->row_count > 0) /* a sample without rows would be an update of the power sensor */
        hand_over(run, ptrace_time(run), run->row_count);
}

void ptrace_outrank(struct engine_run *run, pid_t tid)
{
    struct sched_param theirs, ours;
    if (run->priority == 0 || sched_getparam(tid, &theirs) != 0 ||
        theirs.sched_priority < run->priority)
        return;
    ours.sched_priority = theirs.sched_priority + 1;
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &ours) == 0)
        run->priority = ours.sched_priority;
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

/* Keeps only the CPU with number TURN of CPUS, counted cyclically. */
static void keep_one(cpu_set_t *cpus, uint64_t turn)
{
    uint64_t left = turn % (uint64_t)CPU_COUNT(cpus);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus) && left-- != 0)
            CPU_CLR(cpu, cpus);
}

/* Returns whether threads were created recently. */
static bool has_creations(struct engine_run *run)
{
    if (run->tracees.added != run->born)
        run->creations_for = LATELY;
    else if (run->creations_for > 0)
        run->creations_for--;
    run->born = run->tracees.added;
    return run->creations_for > 0;
}

/* Returns whether the sampler can avoid the CPUs of the threads, because some CPUs have not been
 * BUSY for long. A sampler without a real-time priority that moves to the CPU of a thread often has
 * to wait until the thread has used its time slice: the first milliseconds after a thread has slept
 * would lack samples. */
static bool can_avoid(struct engine_run *run, const cpu_set_t *busy)
{
    int count = CPU_COUNT(busy);
    run->widest = count >= run->widest || run->widest_for == 0 ? count : run->widest;
    run->widest_for = count >= run->widest ? LATELY : run->widest_for - 1;
    return run->priority == 0 && run->sleepers && run->creations_for == 0 &&
           run->widest < CPU_COUNT(&run->cpus);
}

/* If TRACEE ran, outranks it, and adds its CPU to BUSY. Returns the CPU; -1: unknown. */
static int add_cpu(struct engine_run *run, struct tracee *tracee, cpu_set_t *busy)
{
    if (!tracee->ran)
        return -1;
    ptrace_outrank(run, tracee->tid);
    int cpu = tracee->home = tracee_cpu_number(tracee);
    if (cpu < 0 || cpu >= CPU_SETSIZE)
        return -1;
    CPU_SET((size_t)cpu, busy);
    return cpu;
}

/* Adds the CPU of the thread that was seen running last, which sleeps, to BUSY: it may have woken on
 * another CPU since. */
static void add_last_cpu(struct engine_run *run, cpu_set_t *busy)
{
    struct tracee *last = NULL;
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        if (tracee->slept > 0 && (last == NULL || tracee->interrupted > last->interrupted))
            last = tracee;
    }
    int cpu = last != NULL ? last->home = tracee_cpu_number(last) : -1;
    if (cpu >= 0 && cpu < CPU_SETSIZE)
        CPU_SET((size_t)cpu, busy);
}

/* The sampler runs on a CPU that runs a thread of the program: there, the thread stops at once,
 * whereas a thread on another CPU runs until it is interrupted, often to the end of its next system
 * call. This also avoids disturbing another CPU or program. There are three exceptions.
 *
 * Page faults: for one sample in AVOID_FAULTING, the sampler avoids the CPUs of threads with page
 * faults. A kernel that is not preemptible would run the sampler only after the page fault has been
 * counted; from another CPU, the sampler sees page faults. For the others, it often moves to the
 * CPUs of these threads, because a thread that loses its CPU to the sampler moves to another CPU
 * that is idle; after that, more than half of all samples are still taken from another CPU.
 *
 * Threads that sleep may wake on any CPU. With a real-time priority, the sampler follows them with
 * each sample. Otherwise, it avoids them if it can, or else leaves the choice of its CPU to the
 * scheduler. It also does the latter if threads were created recently, because these begin on any
 * idle CPU.
 *
 * Where threads often call the kernel on several CPUs, the sampler moves from one of these CPUs to
 * the next, so that each thread is also seen where it was (prof2pbin compares the two). */
static void choose_cpu(struct engine_run *run)
{
    bool creations = has_creations(run), faulting = false, calling = false;
    cpu_set_t busy, others = run->cpus;
    CPU_ZERO(&busy);
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        int cpu = add_cpu(run, tracee, &busy);
        if (cpu < 0)
            continue;
        faulting |= tracee->process->faulting;
        calling |= tracee->process->calling;
        CPU_CLR((size_t)cpu, &others);
    }
    if (CPU_COUNT(&busy) == 0 && run->priority > 0 && run->sleepers)
        add_last_cpu(run, &busy);
    if (CPU_COUNT(&busy) == 0)
        return;
    run->away = can_avoid(run, &busy);
    if (run->priority == 0 && (creations || (run->sleepers && !run->away && !calling))) {
        move_to(run, &run->cpus);
        return;
    }
    if (calling && !run->away)
        keep_one(&busy, run->pace.taken / MOVE_CALLING);
    bool avoid = faulting && run->pace.taken / MOVE_CALLING % AVOID_FAULTING == 0;
    move_to(run, run->away || avoid ? &others : &busy);
}

/* Decides whether to watch the page faults of threads, which costs a few microseconds for each
 * sample. */
static void look_for_faults(struct engine_run *run, struct process *process)
{
    uint64_t faults = process_faults(process->pid),
             news = faults > process->faults ? faults - process->faults : 0;
    process->faulting = news >= FAULTS;
    process->faults = faults;
    if (run->command == NULL) /* otherwise the kernel reports the sum */
        run->result->faults += news;
}

/* Decides whether to watch the CPUs of threads, which costs as much. */
static void look_for_calls(struct engine_run *run, struct process *process)
{
    if (process->sightings >= CALLS)
        process->calling = process->calls >= process->sightings / CALLS;
    if (process->sightings >= CALLS)
        process->sightings = process->calls = 0;
    run->calling |= process->calling;
}

static void read_ticks(struct engine_run *run)
{
    if (run->begin < run->next_ticks)
        return;
    run->next_ticks = run->begin + ticks_every;
    run->calling = run->faulting = false;
    for (size_t i = 0; i < run->tracees.process_count; i++) {
        if (!run->tracees.processes[i]->active)
            continue;
        look_for_faults(run, run->tracees.processes[i]);
        run->faulting |= run->tracees.processes[i]->faulting;
        look_for_calls(run, run->tracees.processes[i]);
        ptrace_read_ticks(run, run->tracees.processes[i]);
    }
}

/* The sampler has woken for a sample: determines how late it is, and whether it got a CPU at once,
 * regardless of what was running there. */
static void wake(struct engine_run *run)
{
    struct run_time before = run->self.run, *now = &run->self.run;
    run->moment = run->woken > run->pace.next ? run->woken : run->pace.next;
    bool timed = (run->sleepers || run->priority == 0) && tracee_read_time(&run->self, now);
    run->late =
        pace_late(&run->pace, run->woken, clock_now(), timed ? now->delay - before.delay : 0);
    run->at_once =
        timed && run->sleepers && now->slices == before.slices + 1 && now->delay == before.delay;
    run->sleepers = false;
}

void ptrace_rest(struct engine_run *run)
{
    if (run->sleepers || run->priority == 0)
        tracee_read_time(&run->self, &run->self.run);
}

void ptrace_sample(struct engine_run *run)
{
    bool limited = run->pace.most > 0;
    run->pending_for++;
    wake(run); /* first, because the next calls update the counts of the scheduler */
    uint64_t used = limited ? clock_thread() : 0; /* a system call */
    ptrace_tick(run);
    run->begin = run->resumed = clock_now();
    run->result->late += run->priority == 0 && run->late >= soon;
    read_ticks(run);
    find_threads(run);
    interrupt_all(run);
    nudge_resume(&run->nudge); /* only now, because the sampler has not waited so far */
    uint64_t time = ptrace_time(run);
    uint64_t idle = wait_for_stops(run);
    if (run->crowded)
        keep_first_on_cpus(run);
    int every = run->faulting ? MOVE_FAULTING : run->calling ? MOVE_CALLING : MOVE;
    if (run->pace.taken % (uint64_t)every == 0 || run->sleepers)
        choose_cpu(run);
    add_sightings(run);
    hand_over(run, time, run->row_count);
    uint64_t end = clock_now();
    uint64_t delay = end - run->begin - idle;
    latency_add(&run->latency, delay, 1);
    /* The program loses the time in which its threads are stopped, and about half as much until
     * they are at full speed again. If it uses all CPUs, one of them also runs the sampler, and the
     * threads on the others are stopped for about as long. If its threads wait for CPUs, they lose
     * the CPU time that the sampler uses. */
    uint64_t lost = delay + delay / 2;
    used = limited ? clock_thread() - used : 0;
    pace_taken(&run->pace, end, lost > used ? lost : used);
    nudge_pause(&run->nudge);
}

static void add_unseen_so_far(struct engine_run *run, struct process *process)
{
    uint64_t total = process_cpu(process->pid), live = 0;
    for (size_t i = 0; i < run->tracees.count; i++)
        live += run->tracees.list[i]->process == process ? run->tracees.list[i]->run.cpu : 0;
    ptrace_add_unseen(run, process, total, live);
}

/* Threads and processes that still run are no longer observed: this is the last chance to read the
 * names of the threads, and the mappings. */
static void report_living(struct engine_run *run)
{
    const struct engine_hooks *hooks = run->hooks;
    uint64_t now = ptrace_time(run);
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        hooks->task_end(hooks->context, (uint32_t)tracee->process->pid, (uint32_t)tracee->tid, now);
    }
    for (size_t i = 0; i < run->tracees.process_count; i++)
        if (run->tracees.processes[i]->seen)
            hooks->maps_changed(hooks->context, (uint32_t)run->tracees.processes[i]->pid, now);
}

void ptrace_last_sample(struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        tracee->timed |= tracee_read_time(tracee, &tracee->run);
        ptrace_add_total(run, tracee);
    }
    for (size_t i = 0; i < run->tracees.process_count; i++) {
        run->result->left += run->command != NULL && run->tracees.processes[i]->threads > 0;
        add_unseen_so_far(run, run->tracees.processes[i]);
        ptrace_read_ticks(run, run->tracees.processes[i]);
    }
    report_living(run);
    if (run->sampling)
        hand_over(run, run->result->wall, run->row_count);
}

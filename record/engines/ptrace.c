/* The ptrace engine: starts or attaches, then samples at random moments until the program ends.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/launch.h"
#include "record/engines/ptrace_internal.h"

enum { MAX_PENDING = 8, FIRST = 16 };             /* MAX_PENDING: samples; FIRST: events */
static const uint64_t tick_room = SECOND / 10000; /* from a tick to the next sample */
static const uint64_t last_events = SECOND / 100; /* time for events after the end of the command */
/* After the end of the sampling: time for calls that go on to end by themselves, and then for threads
 * to leave them. The latter is long, because a thread that waits for a CPU must not be left with the
 * result of a part of its call. */
static const uint64_t last_calls = SECOND, cut_calls = 10 * SECOND, retry_calls = SECOND / 1000;

uint64_t ptrace_time(const struct engine_run *run)
{
    return run->start > 0 ? clock_now() - run->start : 0;
}

void ptrace_tick(struct engine_run *run)
{
    bool exact = false;
    uint64_t read = 0, due = run->hooks->tick(run->hooks->context, ptrace_time(run), &read, &exact);
    uint64_t now = clock_now(), soonest = now + (uint64_t)(run->pace.mean / 2);
    run->next_tick = due < UINT64_MAX ? now + ENGINE_TICK : UINT64_MAX;
    if (read > 0)
        ptrace_mark(run, read);
    if (due < UINT64_MAX && (exact || run->divides) && run->start + due < run->next_tick)
        run->next_tick = run->start + due < soonest && !exact ? soonest : run->start + due;
}

/* A tick between two samples. */
static void tick_apart(struct engine_run *run)
{
    bool limited = run->pace.most > 0;
    uint64_t begin = limited ? clock_thread() : 0; /* a system call */
    ptrace_tick(run);
    if (limited)
        pace_spend(&run->pace, clock_thread() - begin);
}

/* No PTRACE_O_EXITKILL: the program must not die with the sampler. If the sampler is killed, the kernel detaches all
 * threads. Only the leader stops at its exit, if its process was seen; for other threads, that stop would be
 * useless. */
unsigned long ptrace_options(const struct engine_run *run, const struct tracee *tracee)
{
    unsigned long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
    if (tracee->announces)
        options |= PTRACE_O_TRACECLONE;
    if (run->options->follow)
        options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    bool stops = tracee->tid == tracee->process->pid && tracee->process->stops_at_end;
    return stops ? options | PTRACE_O_TRACEEXIT : options;
}

/* At the end of the duration, terminates a started program, and kills it later; detaches from
 * attached ones. */
static void expire(struct engine_run *run, uint64_t now)
{
    if (run->expires == 0 || now < run->expires)
        return;
    run->result->expired = true;
    if (run->command == NULL) {
        run->ended = true;
        return;
    }
    run->expires = now + signals_end(run->pid, run->asked_to_end);
    run->asked_to_end = true;
}

static bool program_is_stopped(const struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        if (tracee->process->pid == run->pid && tracee->state != TRACEE_LISTENING &&
            tracee->state != TRACEE_DYING)
            return false;
    }
    return true;
}

/* The shell treats the program and the sampler as one job: if the terminal stops the program, the
 * sampler stops as well. */
static void follow_job(struct engine_run *run, uint64_t now)
{
    if (run->stop_signal == 0)
        return;
    if (!program_is_stopped(run)) {
        run->stop_signal = now < run->stop_until ? run->stop_signal : 0;
        return;
    }
    signals_stop_self(run->stop_signal);
    run->stop_signal = 0;
}

/* An attached program has its own terminal and job: a signal that ends the sampler detaches it. The sampler never
 * stops, because the program would stop with it. */
static void on_signal(struct engine_run *run, const siginfo_t *info)
{
    if (run->command == NULL)
        run->ended |= signals_ends(info->si_signo);
    else if (signals_stop(info->si_signo)) {
        run->stop_signal = info->si_signo;
        run->stop_until = clock_now() + SECOND;
    } else if (info->si_signo == SIGCONT)
        run->stop_signal = 0;
    else if (signals_passed_on(info))
        kill(run->pid, info->si_signo);
}

/* Handles pending events until the next sample is due. If samples waited for events, the code that
 * threads run just before they end and just after they begin would be seen too often. If events
 * have been pending for many samples, some are handled before the sample. */
static void take_events(struct engine_run *run, uint64_t until)
{
    int first = run->pending_for > MAX_PENDING ? FIRST : 0;
    while (!run->ended && (clock_now() < until || first-- > 0))
        if (!ptrace_take_event(run)) {
            run->pending_for = 0;
            return;
        }
}

/* Handles events before each wait, because SIGCHLD may have been consumed during a sample. */
static void step(struct engine_run *run)
{
    siginfo_t info;
    uint64_t due = run->sampling ? run->pace.next : UINT64_MAX;
    /* a sample reads power, too; and a thread that has just waited for the sampler would not count as
     * running */
    bool apart = run->next_tick < due && due - run->next_tick > tick_room;
    take_events(run, due);
    ptrace_late(run);
    uint64_t now = clock_now();
    follow_job(run, now);
    uint64_t until = run->expires != 0 && run->expires < due ? run->expires : due;
    until = apart && run->next_tick < until ? run->next_tick : until;
    if (run->ended)
        return;
    if (now < until) {
        ptrace_rest(run);
        int number = signals_wait(&run->signals, until - now, &info);
        run->woken = now = clock_now();
        if (number != 0)
            on_signal(run, &info);
    }
    if (now >= due && !run->ended)
        ptrace_sample(run);
    else if (apart && now >= run->next_tick)
        tick_apart(run);
    expire(run, now);
}

/* A started program waits until the sampler has read its image; attaching reports the existing
 * processes and threads. */
static void report_start(struct engine_run *run)
{
    const struct engine_hooks *hooks = run->hooks;
    for (size_t i = 0; i < run->tracees.process_count; i++)
        ptrace_new_image(run, run->tracees.processes[i], RAW_FIRST, RAW_NO_IMAGE);
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        hooks->task(hooks->context, (uint32_t)tracee->process->pid, (uint32_t)tracee->tid, 0, NULL);
    }
    ptrace_tick(run);
}

static void fill_result(struct engine_run *run)
{
    const struct pace *pace = &run->pace;
    struct engine_result *result = run->result;
    result->missed = pace->missed;
    result->gave_way = pace->slowed > pace->taken / 10;
    latency_result(&run->latency, result);
    result->reached =
        result->wall > 0 ? (double)pace->taken * (double)SECOND / (double)result->wall : 0;
}

/* The ends of processes are not reported in order: that of the command may come before those of
 * others that it has waited for. */
static void take_last_events(struct engine_run *run)
{
    uint64_t until = clock_now() + last_events;
    while (clock_now() < until && ptrace_take_event(run))
        ;
}

/* Returns whether any thread is about to stop, or makes a call that goes on after a stop. */
static bool any_unfinished(const struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        if (tracee->rest.active || tracee->state == TRACEE_AWAITED || tracee->probed > 0)
            return true;
    }
    return false;
}

/* Stops the threads whose calls go on. Returns whether there are any. */
static bool stop_calls(struct engine_run *run)
{
    bool any = false;
    for (size_t i = 0; i < run->tracees.count; i++) {
        const struct tracee *tracee = run->tracees.list[i];
        any |= tracee->rest.active && ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0;
    }
    return any;
}

static void take_next_events(struct engine_run *run)
{
    signals_wait_child(retry_calls);
    while (ptrace_take_event(run))
        ;
}

/* Lets calls end that a stop has cut short, before the threads are no longer traced. Those that take long return what
 * they have transferred. */
static void end_calls(struct engine_run *run)
{
    uint64_t until = clock_now() + last_calls;
    while (clock_now() < until && any_unfinished(run))
        take_next_events(run);
    run->cuts = true;
    until = clock_now() + cut_calls;
    while (clock_now() < until && stop_calls(run))
        take_next_events(run);
}

static void trace(struct engine_run *run)
{
    const struct engine_options *options = run->options;
    report_start(run);
    run->start = clock_now();
    pace_start(&run->pace, options->frequency, options->random, options->max_overhead, run->start);
    if (options->duration > 0)
        run->expires = run->start + (uint64_t)(options->duration * (double)SECOND);
    if (run->command != NULL)
        tracee_resume(run->tracees.list[0]);
    while (!run->ended)
        step(run);
    run->result->wall = clock_now() - run->start;
    if (run->command != NULL && !run->result->expired)
        take_last_events(run);
    end_calls(run);
    fill_result(run);
    ptrace_last_sample(run);
}

/* A tracer that gets its CPU late sees the program waiting instead of computing. A real-time
 * priority is harmless: the tracer uses little time, and its children do not inherit the priority.
 * Returns the priority, which is the lowest one unless the sampler was started with another; 0:
 * none. */
static int be_prompt(void)
{
    struct sched_param own = {.sched_priority = 0};
    prctl(PR_SET_TIMERSLACK, 1UL);
    sched_getparam(0, &own);
    own.sched_priority = own.sched_priority > 0 ? own.sched_priority : 1;
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &own) == 0)
        return own.sched_priority;
    nudge_short_slice();
    return 0;
}

static int start_program(struct engine_run *run)
{
    struct tracee model = {.process = &(struct process){.folder = -1, .stops_at_end = true},
                           .announces = true};
    pid_t pid =
        launch(run->command, ptrace_options(run, &model), &run->signals, run->failure, run->err);
    if (pid < 0)
        return -1;
    run->pid = pid;
    struct tracee *leader =
        tracees_add(&run->tracees, tracees_add_process(&run->tracees, pid), pid);
    leader->process->stops_at_end = true;
    leader->state = TRACEE_HELD;
    leader->announces = true;
    leader->timed = tracee_read_time(leader, &leader->run);
    if (leader->timed)
        return 0;
    return error_set(run->err, NULL, NO_OFFSET,
                     "no CPU time of threads: /proc/PID/task/TID/schedstat is missing");
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static void *tracer(void *opaque)
{
    struct engine_run *run = opaque;
    struct process sampler = {.pid = getpid(), .folder = -1};
    mem_allow_exit();
    run->self = (struct tracee){.tid = (pid_t)syscall(SYS_gettid),
                                .process = &sampler,
                                .schedstat = -1,
                                .syscall = -1,
                                .stat = -1};
    int failed = run->command != NULL ? start_program(run) : ptrace_attach(run);
    run->cancelled = failed != 0;
    if (!run->cancelled) {
        /* this and the priority only after the fork: the program would inherit them */
        descriptors_raise();
        run->priority = be_prompt();
        if (run->priority == 0)
            nudge_start(&run->nudge);
        if (run->pid > 0)
            ptrace_outrank(run, run->pid);
        if (sched_getaffinity(0, sizeof run->cpus, &run->cpus) != 0)
            CPU_ZERO(&run->cpus);
        run->used = run->cpus;
    }
    sem_post(&run->started);
    wait_for(&run->go);
    if (!run->cancelled)
        trace(run);
    nudge_end(&run->nudge);
    tracee_close(&run->self);
    return NULL;
}

static void finish(struct engine_run *run)
{
    if (!run->traced)
        return;
    sem_post(&run->go);
    pthread_join(run->tracer, NULL);
    run->traced = false;
}

static void ptrace_run(struct engine_run *run, const struct engine_hooks *hooks,
                       struct engine_result *result)
{
    run->hooks = hooks;
    run->result = result;
    *result = (struct engine_result){0};
    finish(run);
}

static void ptrace_delete(struct engine_run *run)
{
    if (run == NULL)
        return;
    bool unused = run->command != NULL && run->pid > 0 && !run->ended;
    if (unused)
        kill(run->pid, SIGKILL);
    run->cancelled = true;
    finish(run);
    if (unused)
        waitpid(run->pid, NULL, __WALL);
    tracees_free(&run->tracees);
    signals_restore(&run->signals);
    sem_destroy(&run->started);
    sem_destroy(&run->go);
    free(run->rows);
    free(run);
}

static struct engine_run *ptrace_start(char *const *command, const struct engine_options *options,
                                       int *status, struct error *err)
{
    struct engine_run *run = mem_zalloc(1, sizeof *run);
    run->command = options->attach_count > 0 ? NULL : command;
    run->options = options;
    run->err = err;
    run->failure = status;
    run->sampling = true;
    *status = 1;
    sem_init(&run->started, 0, 0);
    sem_init(&run->go, 0, 0);
    signals_take(&run->signals, options->held ? &options->mask : NULL);
    int errnum = pthread_create(&run->tracer, NULL, tracer, run);
    run->traced = errnum == 0;
    if (run->traced)
        wait_for(&run->started);
    else
        error_set_errno(err, NULL, errnum, "cannot start a thread");
    if (run->traced && !run->cancelled)
        return run;
    ptrace_delete(run);
    return NULL;
}

static int ptrace_available(struct error *why)
{
    (void)why; /* missing permissions are reported at the start */
    return 0;
}

static pid_t ptrace_pid(const struct engine_run *run)
{
    return run->pid;
}

const struct engine engine_ptrace = {
    .name = "ptrace",
    .help = "stops the threads that run for each sample; works without privileges",
    .available = ptrace_available,
    .start = ptrace_start,
    .pid = ptrace_pid,
    .run = ptrace_run,
    .delete = ptrace_delete,
};

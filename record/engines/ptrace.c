/* The ptrace engine: at every tick all threads that run are stopped, read and let go; those that wait are only read.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/ptrace.h"
#include "record/engines/launch.h"

/* No PTRACE_O_EXITKILL: a program that is measured must not die because its observer does. The
 * kernel lets all threads go when the sampler is killed. fork is not followed: children are
 * nobody's tracees. */
static const unsigned long trace_options =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

/* A thread in an uninterruptible wait (a vfork parent, a dead file server) does not stop; the
 * others must not stand still for it. */
static const uint64_t patience = 10 * SECOND / 1000;
static const uint64_t grace = 5 * SECOND; /* between SIGTERM and SIGKILL */

/* To stop a thread that waits would wake it: the time of that would be counted as the program's, and some system calls
 * would end with EINTR. The kernel tells where it waits. */
static void interrupt_all(struct tracees *tracees)
{
    for (size_t i = 0; i < tracees->count; i++) {
        struct tracee *tracee = tracees->list[i];
        tracee->asleep = tracee->state == TRACEE_RUNNING && tracee_sleeps(tracees, tracee);
        if (tracee->state == TRACEE_RUNNING && !tracee->asleep)
            tracee_interrupt(tracees, tracee);
    }
}

/* Interrupts all that run and waits until none is awaited any more, or patience is over. */
static void stop_all(struct engine_run *run)
{
    struct tracees *tracees = &run->tracees;
    uint64_t limit = clock_now() + patience;
    run->in_sample = true;
    interrupt_all(tracees);
    while (tracees->awaited > 0 && !run->ended) {
        if (engine_take_event(run))
            continue;
        uint64_t now = clock_now();
        if (now >= limit)
            break;
        signals_wait_child(limit - now);
    }
    for (size_t i = 0; i < tracees->count && tracees->awaited > 0; i++)
        tracee_give_up(tracees, tracees->list[i]);
}

static void read_all(struct engine_run *run)
{
    for (size_t i = 0; i < run->tracees.count; i++) {
        struct tracee *tracee = run->tracees.list[i];
        if (tracee->state == TRACEE_DYING)
            continue;
        if (tracee->state == TRACEE_HELD)
            tracee->sampled = tracee_read_pc(tracee);
        else
            tracee->sampled |= tracee->asleep;
        run->result->blind += !tracee_read_cpu(&run->tracees, tracee);
        if (tracee->pc != 0) /* stuck before it was ever seen: its time comes with its next row */
            engine_add_row(run, tracee, tracee->asleep ? 0 : RAW_RAN);
    }
}

/* The first that goes on gets a processor: if there are more threads than those, each is first in its turn, or the
 * others would wait until it ends. */
static void resume_all(struct engine_run *run)
{
    struct tracees *tracees = &run->tracees;
    run->in_sample = false;
    run->turn++;
    for (size_t i = 0; i < tracees->count; i++) {
        struct tracee *tracee = tracees->list[(run->turn + i) % tracees->count];
        if (tracee->state == TRACEE_HELD)
            tracee_resume(tracees, tracee);
    }
}

static void hand_over(struct engine_run *run, uint64_t now)
{
    uint64_t time = now - run->start;
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

static void take_sample(struct engine_run *run)
{
    uint64_t begin = clock_now();
    run->hooks->tick(run->hooks->context, engine_time(run));
    stop_all(run);
    uint64_t now = clock_now();
    if (!run->ended)
        read_all(run);
    resume_all(run);
    if (!run->ended) /* otherwise what is left belongs to the final sample */
        hand_over(run, now);
    run->result->latency += clock_now() - begin;
}

/* The schedule is absolute: ticks that are over are skipped, never queued. */
static void tick(struct engine_run *run, uint64_t now)
{
    if (now < run->next)
        return;
    if (run->sampling)
        take_sample(run);
    run->row_count = run->sampling ? run->row_count : 0;
    uint64_t passed = (clock_now() - run->next) / run->period;
    run->next += (passed + 1) * run->period;
    run->result->missed += passed;
}

static void expire(struct engine_run *run, uint64_t now)
{
    if (run->expires == 0 || now < run->expires)
        return;
    kill(run->tracees.pid, run->told ? SIGKILL : SIGTERM);
    kill(run->tracees.pid, SIGCONT); /* stopped, it would not notice */
    run->expires = now + grace;
    run->told = run->result->expired = true;
}

/* A job that the terminal has stopped is one as a whole for the shell: stops along with the
 * program. */
static void follow_job(struct engine_run *run, uint64_t now)
{
    if (run->stop_signal == 0)
        return;
    for (size_t i = 0; i < run->tracees.count; i++) {
        enum tracee_state state = run->tracees.list[i]->state;
        if (state != TRACEE_LISTENING && state != TRACEE_DYING) {
            run->stop_signal = now < run->stop_until ? run->stop_signal : 0;
            return;
        }
    }
    signals_stop_self(run->stop_signal);
    run->stop_signal = 0;
}

static void on_signal(struct engine_run *run, const siginfo_t *info)
{
    if (signals_stop(info->si_signo)) {
        run->stop_signal = info->si_signo;
        run->stop_until = clock_now() + SECOND;
    } else if (info->si_signo == SIGCONT) {
        run->stop_signal = 0;
    } else if (signals_passed_on(info)) {
        kill(run->tracees.pid, info->si_signo);
    }
}

/* Takes in what has come, but no flood of it keeps a tick from its time. */
static void take_events(struct engine_run *run, uint64_t until)
{
    for (int i = 0; !run->ended && (i < 16 || clock_now() < until); i++)
        if (!engine_take_event(run))
            return;
}

/* Events are taken in before each wait: a SIGCHLD may have been used up while a sample was taken.
 */
static void step(struct engine_run *run)
{
    siginfo_t info;
    take_events(run, run->next);
    follow_job(run, clock_now());
    uint64_t now = clock_now();
    uint64_t until = run->expires != 0 && run->expires < run->next ? run->expires : run->next;
    if (run->ended)
        return;
    if (now < until && signals_wait(&run->signals, until - now, &info) != 0)
        on_signal(run, &info);
    now = clock_now();
    tick(run, now);
    expire(run, now);
}

static void ptrace_run(struct engine_run *run, const struct engine_hooks *hooks,
                       struct engine_result *result)
{
    run->hooks = hooks;
    run->result = result;
    *result = (struct engine_result){0};
    engine_new_image(run, RAW_FIRST);
    hooks->task(hooks->context, (uint32_t)run->tracees.pid, (uint32_t)run->tracees.pid, 0, NULL);
    hooks->tick(hooks->context, 0);
    run->start = clock_now();
    run->next = run->start + run->period;
    if (run->options->duration > 0)
        run->expires = run->start + (uint64_t)(run->options->duration * (double)SECOND);
    resume_all(run);
    while (!run->ended)
        step(run);
    result->wall = clock_now() - run->start;
    hooks->tick(hooks->context, result->wall);
    if (run->sampling)
        hand_over(run, run->start + result->wall);
}

/* Two file descriptors per thread: as many as are to be had. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void ptrace_delete(struct engine_run *run)
{
    if (run == NULL)
        return;
    if (run->tracees.pid > 0 && !run->ended) {
        kill(run->tracees.pid, SIGKILL);
        while (waitpid(run->tracees.pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    tracees_free(&run->tracees);
    signals_restore(&run->signals);
    free(run->rows);
    free(run);
}

static struct engine_run *ptrace_start(char *const *command, const struct engine_options *options,
                                       int *status, struct error *err)
{
    struct engine_run *run = mem_zalloc(1, sizeof *run);
    run->options = options;
    run->period = (uint64_t)((double)SECOND / options->frequency);
    run->sampling = true;
    signals_take(&run->signals);
    run->tracees.pid = launch(command, trace_options, &run->signals, status, err);
    if (run->tracees.pid > 0) {
        struct tracee *leader = tracees_add(&run->tracees, run->tracees.pid);
        tracee_set_state(&run->tracees, leader, TRACEE_HELD);
        raise_file_limit(); /* these two not before the fork: the program would inherit them */
        prctl(PR_SET_TIMERSLACK, 1UL);
        if (tracee_read_cpu(&run->tracees, leader))
            return run;
        error_set(err, NULL, NO_OFFSET,
                  "no CPU time of threads: /proc/PID/task/TID/schedstat is missing");
        *status = 1;
    }
    ptrace_delete(run);
    return NULL;
}

static int ptrace_available(struct error *why)
{
    (void)why; /* what is forbidden shows when it starts */
    return 0;
}

static pid_t ptrace_pid(const struct engine_run *run)
{
    return run->tracees.pid;
}

const struct engine engine_ptrace = {
    .name = "ptrace",
    .help = "stops all threads that run together for each sample",
    .available = ptrace_available,
    .start = ptrace_start,
    .pid = ptrace_pid,
    .run = ptrace_run,
    .delete = ptrace_delete,
};

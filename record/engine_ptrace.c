/* The ptrace engine: at every tick all threads are stopped, read and let go.
 *
 * Whatever stops a thread - our interrupt, a signal, a clone - answers the interrupt, because any
 * trap clears a pending one; so every stop counts, in any order, and keeps its signal until the
 * thread is resumed. SPDX-License-Identifier: MIT */
#include "record/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/launch.h"
#include "record/signals.h"
#include "record/tracee.h"

/* No PTRACE_O_EXITKILL: a program that is measured must not die because its observer does. The
 * kernel lets all threads go when the sampler is killed. fork is not followed: children are
 * nobody's tracees. */
static const unsigned long trace_options =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

/* A thread in an uninterruptible wait (a vfork parent, a dead file server) does not stop; the
 * others must not stand still for it. */
static const uint64_t patience = 10 * SECOND / 1000;
static const uint64_t grace = 5 * SECOND; /* between SIGTERM and SIGKILL */

struct engine_run {
    const struct engine_options *options;
    const struct engine_hooks *hooks;
    struct engine_result *result;
    struct signals signals;
    struct tracees tracees;
    struct engine_thread *rows; /* of the sample being taken: the departed first */
    size_t row_count, row_capacity;
    size_t dying; /* threads on their way out, not reaped yet */
    uint64_t start, last, next,
        period;          /* [ns], absolute but period; last: time of the last sample */
    uint64_t expires;    /* 0: never */
    int stop_signal;     /* the terminal asked the job to stop ... */
    uint64_t stop_until; /* ... which holds until then */
    bool sampling, in_sample, told, ended;
};

static void add_row(struct engine_run *run, const struct tracee *tracee)
{
    mem_reserve(&run->rows, &run->row_capacity, run->row_count + 1, sizeof *run->rows);
    run->rows[run->row_count++] =
        (struct engine_thread){.tid = (uint32_t)tracee->tid, .pc = tracee->pc, .cpu = tracee->cpu};
}

static void on_clone(struct engine_run *run, pid_t parent)
{
    unsigned long tid;
    if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &tid) == 0 &&
        tracees_find(&run->tracees, (pid_t)tid) == NULL && tracees_own(&run->tracees, (pid_t)tid))
        tracees_add(&run->tracees, (pid_t)tid);
}

/* Its row of the next sample is its last one. */
static void retire(struct engine_run *run, struct tracee *tracee)
{
    if (tracee->pc != 0)
        add_row(run, tracee);
    run->dying -= tracee->exiting;
    tracee->exiting = false;
}

/* The thread that called exec has become the leader; of the old leader there is no other word. */
static void on_exec(struct engine_run *run, struct tracee *leader)
{
    struct tracees *tracees = &run->tracees;
    for (size_t i = tracees->count; i-- > 0;) {
        if (tracees->list[i]->exiting)
            retire(run, tracees->list[i]);
        if (tracees->list[i] != leader)
            tracees_remove(tracees, tracees->list[i]);
    }
    tracee_forget_cpu(leader);
    leader->sampled = false;
    run->hooks->maps(run->hooks->context, tracees->pid, true);
}

static void on_thread_exit(struct engine_run *run, struct tracee *tracee)
{
    struct tracees *tracees = &run->tracees;
    run->result->blind += !tracee_read_cpu(tracees, tracee);
    if (!tracee->sampled)
        tracee_read_pc(tracee);
    run->dying += !tracee->exiting;
    tracee->exiting = true;
    run->hooks->thread_end(run->hooks->context, tracees->pid, tracee->tid);
    tracee_set_state(tracees, tracee, TRACEE_DYING);
    if (tracees->alive == 0)
        run->hooks->maps(run->hooks->context, tracees->pid, false);
}

static void on_stop(struct engine_run *run, struct tracee *tracee, int status)
{
    int event = status >> 16, number = WSTOPSIG(status);
    bool dying = tracee->state == TRACEE_DYING;
    tracee->group_stop = event == PTRACE_EVENT_STOP && (number == SIGSTOP || signals_stop(number));
    tracee->signal = event == 0 ? number : 0;
    if (!dying || event == PTRACE_EVENT_EXEC)
        tracee_set_state(&run->tracees, tracee, TRACEE_HELD);
    if (event == PTRACE_EVENT_CLONE)
        on_clone(run, tracee->tid);
    else if (event == PTRACE_EVENT_EXEC)
        on_exec(run, tracee);
    else if (event == PTRACE_EVENT_EXIT)
        on_thread_exit(run, tracee);
    if (tracee->group_stop)
        tracee_read_pc(tracee); /* cannot be asked any more once it listens */
    if (!run->in_sample || tracee->state == TRACEE_DYING)
        tracee_resume(&run->tracees, tracee);
}

static void on_end(struct engine_run *run, pid_t tid, int status)
{
    struct tracee *tracee = tracees_find(&run->tracees, tid);
    if (tracee != NULL) {
        retire(run, tracee);
        tracees_remove(&run->tracees, tracee);
    }
    if (tid == run->tracees.pid) {
        run->result->status = status;
        run->ended = true;
    }
}

/* The way out of a thread costs CPU time too. Until it is reaped the counter can be read: look
 * before that. */
static pid_t read_dead(struct engine_run *run)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) != 0 || info.si_pid == 0)
        return -1;
    struct tracee *tracee = tracees_find(&run->tracees, info.si_pid);
    if (tracee != NULL && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
        tracee_read_cpu(&run->tracees, tracee);
    return info.si_pid;
}

/* Takes in one report of the kernel, if there is one. */
static bool take_event(struct engine_run *run)
{
    int status;
    pid_t which = run->dying > 0 ? read_dead(run) : -1;
    pid_t tid = waitpid(which, &status, __WALL | WNOHANG);
    if (tid <= 0)
        return false;
    if (!WIFSTOPPED(status)) {
        on_end(run, tid, status);
        return true;
    }
    struct tracee *tracee = tracees_find(&run->tracees, tid);
    if (tracee == NULL && !tracees_own(&run->tracees, tid))
        ptrace(PTRACE_DETACH, tid, 0, 0); /* a process made by clone() without SIGCHLD */
    else
        on_stop(run, tracee != NULL ? tracee : tracees_add(&run->tracees, tid), status);
    return true;
}

/* Interrupts all that run and waits until none is awaited any more, or patience is over. */
static void stop_all(struct engine_run *run)
{
    struct tracees *tracees = &run->tracees;
    uint64_t limit = clock_now() + patience;
    run->in_sample = true;
    for (size_t i = 0; i < tracees->count; i++)
        if (tracees->list[i]->state == TRACEE_RUNNING)
            tracee_interrupt(tracees, tracees->list[i]);
    while (tracees->awaited > 0 && !run->ended) {
        if (take_event(run))
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
        run->result->blind += !tracee_read_cpu(&run->tracees, tracee);
        if (tracee->pc != 0) /* stuck before it was ever seen: its time comes with its next row */
            add_row(run, tracee);
    }
}

static void resume_all(struct engine_run *run)
{
    run->in_sample = false;
    for (size_t i = 0; i < run->tracees.count; i++)
        if (run->tracees.list[i]->state == TRACEE_HELD)
            tracee_resume(&run->tracees, run->tracees.list[i]);
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
    run->hooks->tick(run->hooks->context);
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
        if (!take_event(run))
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
    hooks->maps(hooks->context, run->tracees.pid, true);
    run->start = clock_now();
    run->next = run->start + run->period;
    if (run->options->duration > 0)
        run->expires = run->start + (uint64_t)(run->options->duration * (double)SECOND);
    resume_all(run);
    while (!run->ended)
        step(run);
    result->wall = clock_now() - run->start;
    hooks->tick(hooks->context);
    if (run->sampling)
        hand_over(run, run->start + result->wall);
}

/* One file descriptor per thread: as many as are to be had. */
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

static pid_t ptrace_pid(const struct engine_run *run)
{
    return run->tracees.pid;
}

const struct engine engine_ptrace = {
    .name = "ptrace",
    .help = "stops all threads together for each sample",
    .start = ptrace_start,
    .pid = ptrace_pid,
    .run = ptrace_run,
    .delete = ptrace_delete,
};

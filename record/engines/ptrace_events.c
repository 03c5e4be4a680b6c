/* What the kernel reports about threads: stops, clones, execs, ends.
 *
 * Whatever stops a thread - our interrupt, a signal, a clone - answers the interrupt, because any
 * trap clears a pending one; so every stop counts, in any order, and keeps its signal until the
 * thread is resumed. SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/ptrace.h"

uint64_t engine_time(const struct engine_run *run)
{
    return run->start > 0 ? clock_now() - run->start : 0;
}

void engine_new_image(struct engine_run *run, enum raw_how how)
{
    const struct engine_hooks *hooks = run->hooks;
    uint32_t pid = (uint32_t)run->tracees.pid;
    uint64_t time = engine_time(run);
    struct raw_image image = {
        .pid = pid, .start = time, .parent = RAW_NO_IMAGE, .how = (uint8_t)how};
    hooks->image(hooks->context, &image);
    hooks->maps_changed(hooks->context, pid, time);
}

void engine_add_row(struct engine_run *run, const struct tracee *tracee, uint8_t flags)
{
    mem_reserve(&run->rows, &run->row_capacity, run->row_count + 1, sizeof *run->rows);
    run->rows[run->row_count++] = (struct engine_thread){.pid = (uint32_t)run->tracees.pid,
                                                         .tid = (uint32_t)tracee->tid,
                                                         .pc = tracee->pc,
                                                         .cpu = tracee->cpu,
                                                         .flags = flags};
}

static void on_clone(struct engine_run *run, pid_t parent)
{
    unsigned long tid;
    if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &tid) == 0 &&
        tracees_find(&run->tracees, (pid_t)tid) == NULL && tracees_own(&run->tracees, (pid_t)tid)) {
        tracees_add(&run->tracees, (pid_t)tid);
        run->hooks->task(run->hooks->context, (uint32_t)run->tracees.pid, (uint32_t)tid,
                         engine_time(run), NULL);
    }
}

/* Its row of the next sample is its last one. */
static void retire(struct engine_run *run, struct tracee *tracee)
{
    if (tracee->pc != 0)
        engine_add_row(run, tracee, tracee->sampled ? RAW_TOTAL : RAW_RAN);
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
    tracee_close(leader);
    leader->sampled = false;
    engine_new_image(run, RAW_EXEC);
}

static void on_thread_exit(struct engine_run *run, struct tracee *tracee)
{
    struct tracees *tracees = &run->tracees;
    run->result->blind += !tracee_read_cpu(tracees, tracee);
    if (!tracee->sampled)
        tracee_read_pc(tracee);
    run->dying += !tracee->exiting;
    tracee->exiting = true;
    run->hooks->task_end(run->hooks->context, (uint32_t)tracees->pid, (uint32_t)tracee->tid,
                         engine_time(run));
    tracee_set_state(tracees, tracee, TRACEE_DYING);
    if (tracees->alive == 0)
        run->hooks->process_end(run->hooks->context, (uint32_t)tracees->pid, engine_time(run),
                                NULL);
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

bool engine_take_event(struct engine_run *run)
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

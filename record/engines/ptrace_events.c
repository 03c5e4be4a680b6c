/* Handles the events that the kernel reports about threads: stops, forks, clones, execs, ends.
 *
 * Any stop - our interrupt, a signal, a clone - answers a pending interrupt, because any trap
 * clears it. Therefore every stop counts, in any order. Its signal is kept until the thread is
 * resumed, which is immediately.
 * SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/clock.h"
#include "record/engines/ptrace_internal.h"
#include "record/engines/redirect.h"
#include "record/engines/restart.h"
#include "record/process.h"

/* Children of this thread only: other children of the sampler (a power source) are waited for elsewhere. */
enum { ANY_CHILD = __WALL | __WNOTHREAD };
enum { CALL_STOP = -1 }; /* the beginning or end of a system call */
enum { PROBE = 64 };     /* number of stops from one measured stop to the next */
static const uint64_t max_cost = SECOND / 10000;
enum { CROWD = 64 }; /* number of creations from one reading of the clock to the next */
/* The unseen threads of a process share the thread ID UNSEEN | PID: PIDs are smaller than
 * UNSEEN. */
#define UNSEEN UINT32_C(0x40000000)

void ptrace_new_image(struct engine_run *run, struct process *process, enum raw_how how,
                      uint32_t parent)
{
    struct raw_image image = {.pid = (uint32_t)process->pid,
                              .ppid = (uint32_t)process->maker,
                              .start = ptrace_time(run),
                              .parent = parent,
                              .how = (uint8_t)how,
                              .path = how == RAW_FORK ? (char *)"" : NULL}; /* that of its parent */
    process->image = run->hooks->image(run->hooks->context, &image);
    process->seen = false;
    if (how != RAW_FORK)
        run->hooks->maps_changed(run->hooks->context, image.pid, image.start);
}

void ptrace_add_unseen(struct engine_run *run, struct process *process, uint64_t total,
                       uint64_t live)
{
    uint32_t tid = UNSEEN | (uint32_t)process->pid;
    char name[32];
    if (!process->crowded || total <= process->gone + live)
        return;
    process->unseen += total - process->gone - live;
    process->gone = total - live;
    process_name(process->pid, name, sizeof name);
    run->hooks->task(run->hooks->context, (uint32_t)process->pid, tid, ptrace_time(run), name);
    ptrace_add_row(run, &(struct engine_thread){.pid = (uint32_t)process->pid,
                                                .tid = tid,
                                                .cpu = process->unseen,
                                                .flags = RAW_TOTAL});
}

static void add_thread(struct engine_run *run, struct process *process, pid_t tid)
{
    tracees_add(&run->tracees, process, tid);
    run->hooks->task(run->hooks->context, (uint32_t)process->pid, (uint32_t)tid, ptrace_time(run),
                     NULL);
}

/* PARENT has created process PID by any kind of fork. */
static void add_process(struct engine_run *run, pid_t pid, const struct process *parent)
{
    struct process *process = tracees_add_process(&run->tracees, pid);
    process->maker = parent != NULL ? parent->pid : 0;
    ptrace_new_image(run, process, parent != NULL ? RAW_FORK : RAW_FIRST,
                     parent != NULL ? parent->image : RAW_NO_IMAGE);
    add_thread(run, process, pid);
}

/* A program that creates threads this fast would spend half of its time on the stops at their
 * creations. Other programs, and these stops, slow it down, so its CPU time is what decides. */
static void count_creation(struct process *process)
{
    static const uint64_t fast = CROWD * SECOND / 2500, slow = CROWD * SECOND / 500;
    if (process->creations++ % CROWD != 0)
        return;
    uint64_t now = clock_now(), cpu = process_cpu(process->pid);
    process->crowded |= process->creations > 1 && now - process->creations_at < slow &&
                        cpu - process->creations_cpu < fast;
    process->creations_at = now;
    process->creations_cpu = cpu;
}

/* The kernel traces new threads and processes from their first instruction. A clone event may
 * announce either. */
static void on_creation(struct engine_run *run, const struct tracee *maker, int event)
{
    unsigned long message;
    if (ptrace(PTRACE_GETEVENTMSG, maker->tid, 0, &message) != 0)
        return;
    pid_t tid = (pid_t)message;
    if (tracees_find(&run->tracees, tid) != NULL)
        return;
    if (event == PTRACE_EVENT_CLONE && process_has(maker->process->pid, tid)) {
        add_thread(run, maker->process, tid);
        count_creation(maker->process);
    } else if (run->options->follow)
        add_process(run, tid, maker->process);
}

/* Handles a new thread that stopped before its creator did. Returns NULL if it is not followed, or
 * has ended. */
static struct tracee *on_stranger(struct engine_run *run, pid_t tid)
{
    pid_t parent = 0, pid = process_of(tid, &parent);
    struct process *process = pid > 0 ? tracees_process(&run->tracees, pid) : NULL;
    if (process != NULL)
        add_thread(run, process, tid);
    else if (pid == tid && run->options->follow)
        add_process(run, tid, tracees_process(&run->tracees, parent));
    else {
        ptrace(PTRACE_DETACH, tid, 0, 0); /* a process made by clone without SIGCHLD */
        return NULL;
    }
    return tracees_find(&run->tracees, tid);
}

static void let_go(struct engine_run *run, struct tracee *tracee)
{
    ptrace_give_up(run, tracee);
    tracees_remove(&run->tracees, tracee);
}

/* Retires TRACEE: its row in the next sample is its last one. */
static void retire(struct engine_run *run, struct tracee *tracee)
{
    tracee->timed |= tracee_read_time(tracee, &tracee->run);
    tracee->process->gone += tracee->run.cpu;
    ptrace_add_total(run, tracee);
    run->hooks->task_end(run->hooks->context, (uint32_t)tracee->process->pid, (uint32_t)tracee->tid,
                         ptrace_time(run));
}

static void set_options(struct engine_run *run, struct tracee *tracee)
{
    tracee->announces = !tracee->process->crowded;
    ptrace(PTRACE_SETOPTIONS, tracee->tid, 0, ptrace_options(run, tracee));
}

/* Makes a process stop at its end once it was seen running, or has had several threads. */
static void follow_to_its_end(struct engine_run *run, struct tracee *tracee, int event)
{
    struct process *process = tracee->process;
    if (process->stops_at_end || tracee->tid != process->pid ||
        (!process->seen && event != PTRACE_EVENT_CLONE))
        return;
    process->stops_at_end = true;
    set_options(run, tracee);
}

/* The thread that called exec has become the leader, with its own CPU time; the kernel does not
 * report the end of the old leader. The CPU time of the old leader is that of the process minus
 * that of all other threads. The count of the leader continues from there. */
static void become_leader(struct engine_run *run, struct tracee *caller, struct tracee *leader)
{
    struct process *process = leader->process;
    struct run_time time;
    tracee_close(leader); /* the files belong to the old leader */
    if (!tracee_read_time(leader, &time))
        return;
    uint64_t all = process_cpu(process->pid), others = process->gone + time.cpu;
    uint64_t last = leader->run.cpu, before = tracee_cpu(leader);
    if (!process->crowded && all > others && all - others > last) {
        before += all - others - last;
        last = all - others;
    }
    process->gone += last;
    caller->run = time;
    caller->timed = true;
    ptrace_add_total(run, caller);
    leader->run = time;
    leader->timed = true;
    leader->uncounted = time.cpu - before;
}

/* Some threads of a process may not be traced, but its ticks include all threads. */
void ptrace_read_ticks(struct engine_run *run, struct process *process)
{
    uint64_t user, system;
    process->active = false;
    if (process->partial ||
        !process_new_ticks(process->pid, process->user, process->system, &user, &system))
        return;
    uint64_t cost = run->probes > 0 ? run->probed / run->probes : 0;
    const struct raw_ticks ticks = {.pid = (uint32_t)process->pid,
                                    .time = ptrace_time(run),
                                    .user = user - process->user,
                                    .system = system - process->system,
                                    .stops = process->stops * cost};
    run->hooks->ticks(run->hooks->context, &ticks);
    process->stops = 0;
    process->user = user;
    process->system = system;
}

static void on_exec(struct engine_run *run, struct tracee *leader)
{
    struct tracees *tracees = &run->tracees;
    struct process *process = leader->process;
    unsigned long message = 0;
    ptrace(PTRACE_GETEVENTMSG, leader->tid, 0, &message);
    ptrace_read_ticks(run, process); /* those of the old image */
    struct tracee *caller = tracees_find(tracees, (pid_t)message);
    for (size_t i = tracees->count; i-- > 0;) {
        struct tracee *tracee = tracees->list[i];
        if (tracee->process != process || tracee == leader || tracee == caller)
            continue;
        retire(run, tracee);
        let_go(run, tracee);
    }
    if (caller != NULL && caller != leader) {
        become_leader(run, caller, leader);
        let_go(run, caller);
    }
    if (process->crowded && tracee_read_time(leader, &leader->run))
        ptrace_add_unseen(run, process, process_cpu(process->pid), leader->run.cpu);
    process->crowded = false;
    process->faulting = true; /* it has no memory yet */
    ptrace_outrank(run, leader->tid);
    set_options(run, leader);
    leader->pc = 0; /* it belonged to the old image */
    ptrace_new_image(run, process, RAW_EXEC, RAW_NO_IMAGE);
}

/* The leader is about to end, usually with the process: this is the last chance to read its
 * mappings. */
static void on_leader_exit(struct engine_run *run, struct tracee *tracee)
{
    ptrace_give_up(run, tracee);
    tracee->state = TRACEE_DYING;
    if (tracee->process->seen)
        run->hooks->maps_changed(run->hooks->context, (uint32_t)tracee->process->pid,
                                 ptrace_time(run));
}

/* The cost of a stop is part of the thread's CPU time in the kernel. A thread that is interrupted
 * while it is stopped stops again before it leaves the kernel: the CPU time between the two stops
 * is the cost of one. */
static void probe(struct engine_run *run, struct tracee *tracee, bool awaited)
{
    struct run_time time;
    tracee->process->stops++;
    if (tracee->probed > 0 && !awaited && tracee_read_time(tracee, &time)) {
        uint64_t cost = time.cpu - tracee->probed;
        run->probed += cost < max_cost ? cost : max_cost;
        run->probes++;
    }
    tracee->probed = 0;
    if (awaited && tracee->ran && !run->ended && run->stops++ % PROBE == 0 &&
        ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0)
        tracee->probed = tracee->run.cpu;
}

/* Returns whether a thread would fault forever: while the first process of a PID namespace is
 * traced, its own faults do not kill it, but are repeated. */
static bool faults_forever(const struct tracee *tracee)
{
    siginfo_t info;
    switch (tracee->signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
        break;
    default:
        return false;
    }
    return ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 && info.si_code > 0 &&
           process_is_init(tracee->process->pid, tracee->signal);
}

/* Stops tracing a thread that is about to die with its process: the kernel then reports the end
 * only to the parent. */
static void abandon(struct engine_run *run, struct tracee *tracee)
{
    struct process *process = tracee->process;
    bool is_last = process->threads == 1; /* otherwise, the end of the others will be reported */
    retire(run, tracee);
    if (is_last) {
        ptrace_add_unseen(run, process, process_cpu(process->pid), 0);
        ptrace_read_ticks(run, process);
        run->hooks->maps_changed(run->hooks->context, (uint32_t)process->pid, ptrace_time(run));
    }
    ptrace(PTRACE_DETACH, tracee->tid, 0, tracee->signal);
    let_go(run, tracee);
    if (is_last) {
        run->hooks->process_end(run->hooks->context, (uint32_t)process->pid, ptrace_time(run),
                                NULL);
        tracees_remove_process(&run->tracees, process);
    }
    run->ended |= run->tracees.count == 0;
}

/* The system call of a thread goes on as if the thread had not stopped, unless it handles a signal. If its registers
 * have been read, because the stop was AWAITED, it is known whether the thread is in a call. */
static void go_on(const struct engine_run *run, struct tracee *tracee, int event, bool awaited)
{
    bool interrupted = event == PTRACE_EVENT_STOP && !tracee->group_stop;
    bool in_call = !awaited || tracee->in_kernel;
    if (event == PTRACE_EVENT_EXEC)
        tracee->rest.active = false;
    restart_follow(tracee, event == CALL_STOP, !run->cuts);
    if ((interrupted || event == 0) && in_call && !run->cuts)
        restart_call(tracee);
}

/* EVENT is one of ptrace(2), 0 for the signal NUMBER, or CALL_STOP. */
static void on_stop(struct engine_run *run, struct tracee *tracee, int number, int event)
{
    bool awaited = tracee->state == TRACEE_AWAITED;
    bool newborn = tracee->state == TRACEE_BORN;
    bool interrupted = event == PTRACE_EVENT_STOP;
    tracee->group_stop = interrupted && (number == SIGSTOP || signals_stop(number));
    tracee->signal = event == 0 ? number : 0;
    if (tracee->state != TRACEE_DYING || event == PTRACE_EVENT_EXEC)
        tracee->state = TRACEE_HELD;
    if (awaited)
        ptrace_see(run, tracee);
    else if (tracee->group_stop)
        tracee_read_pc(tracee); /* no longer possible while it listens */
    if (newborn)                /* it has the ptrace options of its creator */
        set_options(run, tracee);
    else
        follow_to_its_end(run, tracee, event);
    switch (event) {
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
        on_creation(run, tracee, event);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(run, tracee);
        break;
    case PTRACE_EVENT_EXIT:
        on_leader_exit(run, tracee);
        break;
    default:
        break;
    }
    if (event == 0 && faults_forever(tracee)) {
        abandon(run, tracee);
        return;
    }
    if (tracee->signal != 0) {
        redirect_arrived(tracee);
        redirect_to_leader(tracee, tracees_find(&run->tracees, tracee->process->pid));
    }
    if (tracee->announces && tracee->process->crowded)
        set_options(run, tracee);
    go_on(run, tracee, event, awaited);
    probe(run, tracee, awaited && interrupted && !tracee->group_stop);
    tracee_resume(tracee);
}

static uint64_t time_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_usec * 1000;
}

/* Returns the CPU time of PROCESS without its children. The kernel includes the children that were
 * waited for, usually all. */
static struct raw_cpu own_time(const struct process *process, uint64_t total,
                               const struct rusage *usage)
{
    static const uint64_t rounding = SECOND / 1000;
    uint64_t user = time_of(&usage->ru_utime), system = time_of(&usage->ru_stime);
    struct raw_cpu own = {(uint32_t)process->pid, user - process->children_user,
                          system - process->children_system};
    if (user >= process->children_user && system >= process->children_system &&
        own.user + own.system <= total + rounding && total <= own.user + own.system + rounding)
        return own;
    double share = user + system > 0 ? (double)user / (double)(user + system) : 0;
    own.user = (uint64_t)(share * (double)total);
    own.system = total - own.user;
    return own;
}

/* A leader is reaped after all its threads. */
static void on_process_end(struct engine_run *run, struct process *process, uint64_t total,
                           const struct rusage *usage)
{
    struct raw_cpu own = own_time(process, total, usage);
    struct process *maker = tracees_process(&run->tracees, process->maker);
    if (maker != NULL) {
        maker->children_user += time_of(&usage->ru_utime);
        maker->children_system += time_of(&usage->ru_stime);
    }
    run->hooks->process_end(run->hooks->context, own.pid, ptrace_time(run),
                            process->attached ? NULL : &own);
    tracees_remove_process(&run->tracees, process);
}

/* Returns whether PROCESS ends with its last traced thread: it was attached to after its leader had
 * ended. */
static bool is_leaderless(const struct engine_run *run, const struct process *process)
{
    return process->threads == 1 && tracees_find(&run->tracees, process->pid) == NULL &&
           process_thread_ended(process->pid, process->pid);
}

static void on_end(struct engine_run *run, struct tracee *tracee)
{
    struct process *process = tracee->process;
    struct rusage usage = {0};
    pid_t tid = tracee->tid;
    int status = 0;
    bool is_last = tid == process->pid || is_leaderless(run, process);
    uint64_t total = is_last ? process_cpu(process->pid) : 0;
    retire(run, tracee);
    if (is_last) {
        ptrace_add_unseen(run, process, total, 0);
        ptrace_read_ticks(run, process);
    }
    let_go(run, tracee);
    wait4(tid, &status, ANY_CHILD, &usage);
    if (is_last)
        on_process_end(run, process, total, &usage);
    if (tid == run->pid && run->command != NULL) {
        run->result->status = status;
        run->result->user = time_of(&usage.ru_utime);
        run->result->system = time_of(&usage.ru_stime);
        run->result->faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
        run->ended = true;
    }
    run->ended |= run->tracees.count == 0;
}

/* Handles a stop of the thread selected by WHICH and ID; false: no stop is pending. */
static bool take_stop(struct engine_run *run, idtype_t which, pid_t id)
{
    siginfo_t info = {0};
    if (waitid(which, (id_t)id, &info, WSTOPPED | WNOHANG | ANY_CHILD) != 0 || info.si_pid == 0)
        return false;
    struct tracee *tracee = tracees_find(&run->tracees, info.si_pid);
    if (tracee == NULL)
        tracee = on_stranger(run, info.si_pid);
    if (tracee != NULL)
        on_stop(run, tracee, info.si_status & 0x7f,
                info.si_status == (SIGTRAP | 0x80) ? CALL_STOP : info.si_status >> 8);
    tracees_sweep(&run->tracees);
    return true;
}

bool ptrace_take_stop(struct engine_run *run)
{
    return take_stop(run, P_ALL, 0);
}

/* A thread also uses CPU time when it exits. Its times can be read until it is reaped, so they are
 * read just before. */
bool ptrace_take_event(struct engine_run *run)
{
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | ANY_CHILD) != 0 ||
        info.si_pid == 0)
        return false;
    struct tracee *tracee = tracees_find(&run->tracees, info.si_pid);
    if (info.si_code == CLD_TRAPPED)
        take_stop(run, P_PID, info.si_pid);
    else if (tracee != NULL)
        on_end(run, tracee);
    else
        waitpid(info.si_pid, NULL, ANY_CHILD);
    tracees_sweep(&run->tracees);
    return true;
}

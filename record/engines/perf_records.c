/* The perf engine: from the kernel's records to the hooks.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>

#include "record/clock.h"
#include "record/engines/perf_internal.h"
#include "record/process.h"

/* the time after the creation of a thread at which to check that it is sampled */
static const uint64_t first_check = SECOND / 20;
/* a thread that ended longer ago than this is no longer in /proc */
static const uint64_t gone = SECOND / 10000;
/* mean intervals without a sample: their probability is less than 10^-8 */
static const double unlucky = 20;
static const uint64_t processes_every = SECOND / 200; /* between readings of their CPU times */
static const uint64_t ticks_every = SECOND / 10;
static const uint64_t patience = SECOND / 5; /* for the counters of a thread that has ended */

static const uint64_t max_switch = 10000; /* what a switch costs at most [ns] */
/* the same for a thread that goes to sleep, and wakes */
static const uint64_t max_switching = 20000;

/* Bodies of records, which follow the header. */
struct sample_body {
    uint64_t ip;
    uint32_t pid, tid;
    /* the period with which the event was opened or inherited [counts]; the last two only if
     * samples in the kernel are permitted */
    uint64_t time, period, abi, user_ip;
};
struct task_body { /* fork and exit */
    uint32_t pid, ppid, tid, ptid;
};
struct comm_body {
    uint32_t pid, tid;
    char comm[];
};
struct mmap_body {
    uint32_t pid, tid;
    uint64_t address, size, offset;
    uint32_t major, minor;
    uint64_t inode, generation;
    uint32_t protection, flags;
    char path[];
};
struct read_body {
    uint32_t pid, tid;
    uint64_t value;
};
struct lost_body {
    uint64_t id, lost;
};

static uint64_t used(const struct perf_thread *thread)
{
    return process_thread_cpu((pid_t)thread->pid, (pid_t)thread->tid);
}

/* ---- the end of threads ------------------------------------------------------------------------- */

/* Counters of a thread run from when its events are put on the CPU until these are taken off, not
 * while the kernel switches from one thread to another. Returns how much of the CPU time of THREAD
 * its counters, which show CPU, lack for that reason: according to the scheduler when it was last
 * looked at, and at most what so many switches can cost. */
static uint64_t uncounted(const struct perf_thread *thread, uint64_t cpu)
{
    if (thread->born == 0 || thread->looked <= thread->born || thread->end <= thread->looked ||
        thread->base > 0 || thread->before > 0)
        return 0;
    double part = (double)(thread->looked - thread->born) / (double)(thread->end - thread->born);
    double lack = (double)thread->run.cpu - (double)cpu * part;
    return (uint64_t)fmin(fmax(lack, 0), (double)(thread->run.turns * max_switch));
}

/* Returns how often THREAD has got a CPU in the run, as far as is known when it was last looked at. */
static double turns_of(const struct engine_run *run, const struct perf_thread *thread)
{
    uint64_t begin = thread->born > 0 ? thread->born : run->start;
    uint64_t end = thread->end > thread->looked ? thread->end : thread->looked;
    if (thread->looked <= begin)
        return 0;
    return (double)(thread->run.turns - thread->turns) * (double)(end - begin) /
           (double)(thread->looked - begin);
}

/* Returns how much of the CPU time CPU of THREAD was used in switches, during which no event counts:
 * its counters show COUNTED. More than so many switches can cost may be something else. Less what
 * samplers add to the kernel's part while they are on, if they pause. */
static uint64_t switching(const struct engine_run *run, const struct perf_thread *thread,
                          uint64_t cpu, uint64_t counted)
{
    if (counted == 0 || cpu <= counted)
        return 0;
    double turns = turns_of(run, thread);
    double lack = fmin((double)(cpu - counted), turns * (double)max_switching);
    if (run->setup.kernel) /* otherwise, samples do not show the kernel's part */
        lack -= (double)counted * (perf_switch_dilution(run, turns, (double)counted) - 1);
    return (uint64_t)fmax(lack, 0);
}

/* Adds the total of THREAD to the window. Takes THREAD, which has been removed from the table. */
static void add_total(struct engine_run *run, struct perf_thread *thread)
{
    uint64_t cpu = thread->exact, all = thread->used, counted;
    cpu += thread->final ? 0 : perf_thread_counted(thread);
    counted = cpu = cpu > thread->before ? cpu - thread->before : 0;
    /* the CPU time of the leader can be read until the process is waited for */
    if (!thread->final && (!thread->ended || (thread->tid == thread->pid && !thread->outlived)))
        all = perf_later(all, used(thread));
    /* ALL includes the time spent in exit; counters include CPU time that the host of a virtual
     * machine took */
    if (thread->final ? all > thread->base : all > thread->base + cpu)
        cpu = all - thread->base;
    else if (all == 0)
        cpu += uncounted(thread, cpu);
    run->counted += cpu;
    uint64_t switched = switching(run, thread, cpu, counted);
    perf_window_add(
        run, &(struct perf_entry){.time = perf_time(run, thread->end),
                                  .total = true,
                                  .thread = thread,
                                  .pc = thread->pc,
                                  .cpu = cpu,
                                  .caller = switched,
                                  .span = thread->spans,
                                  .flags = (uint8_t)(RAW_TOTAL | (switched > 0 ? RAW_CALLER : 0))});
}

/* Finishes THREAD, whose CPU time is complete. */
static void finish(struct engine_run *run, struct perf_thread *thread)
{
    for (struct perf_thread **link = &run->ended; *link != NULL; link = &(*link)->ended_next)
        if (*link == thread) {
            *link = thread->ended_next;
            break;
        }
    perf_thread_remove(&run->threads, thread);
    add_total(run, thread);
}

void perf_finish_ended(struct engine_run *run, uint64_t now)
{
    for (struct perf_thread *thread = run->ended, *next; thread != NULL; thread = next) {
        next = thread->ended_next;
        bool is_waited_for = !run->attached && thread->tid == (uint32_t)run->pid;
        if (now >= thread->end + patience && !is_waited_for)
            finish(run, thread);
    }
}

/* A thread inherits events some time before its creation is recorded. If the owner of these events
 * gets new ones meanwhile, the inherited ones are closed, and the thread has none. */
void perf_check_threads(struct engine_run *run, uint64_t now)
{
    size_t place = 0;
    if (now < run->next_check)
        return;
    run->next_check = now + first_check;
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;) {
        if (t->last != 0 || t->own != NULL || t->ended || t->check == 0 || now < t->check)
            continue;
        if ((double)used(t) > unlucky * run->sets.mean / run->switches.part)
            perf_set_open_late(&run->sets, t);
        t->check = now + (now - t->born);
    }
}

void perf_reopen(struct engine_run *run)
{
    size_t place = 0;
    perf_sets_reopen(&run->sets);
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;)
        if (!t->ended)
            perf_set_open_late(&run->sets, t);
}

static void read_process(struct perf_process *process)
{
    if (process->whole)
        process->cpu = perf_later(process->cpu, process_cpu((pid_t)process->pid));
}

static void read_processes(struct engine_run *run)
{
    size_t place = 0;
    for (struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;)
        read_process(p);
}

void perf_read_processes(struct engine_run *run, uint64_t now)
{
    if (!run->attached || now < run->processes_read + processes_every)
        return;
    run->processes_read = now;
    read_processes(run);
}

/* Reports the ticks of PROCESS since the last report. A process that is never read again would
 * show only the kernel's part of its beginning, so that its first ticks are not reported until then.
 * ENDED: they are final, if they can still be read. */
static void report_ticks(struct engine_run *run, struct perf_process *process, uint64_t clock,
                         bool ended)
{
    uint64_t user, system;
    if (run->setup.kernel || (run->attached && !process->whole) ||
        !process_new_ticks((pid_t)process->pid, process->user, process->system, &user, &system))
        return;
    bool first = !process->looked_at;
    process->looked_at = true;
    if (first && !ended)
        return;
    const struct raw_ticks ticks = {.pid = process->pid,
                                    .time = perf_time(run, clock),
                                    .user = user - process->user,
                                    .system = system - process->system};
    run->hooks->ticks(run->hooks->context, &ticks);
    process->user = user;
    process->system = system;
}

void perf_report_ticks(struct engine_run *run, uint64_t now)
{
    size_t place = 0;
    if (run->setup.kernel || now < run->ticks_read + ticks_every)
        return;
    run->ticks_read = now;
    for (struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;)
        report_ticks(run, p, now, false);
}

uint64_t perf_read_all(struct engine_run *run)
{
    uint64_t first = clock_now();
    size_t place = 0;
    if (run->attached)
        read_processes(run);
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;) {
        if (t->ended)
            continue;
        t->used = perf_later(t->used, used(t));
        t->exact += perf_thread_counted(t);
        t->final = true;
    }
    return first + (clock_now() - first) / 2;
}

void perf_finish_all(struct engine_run *run)
{
    size_t place = 0;
    for (struct perf_thread *thread; (thread = id_map_next(&run->threads.threads, &place)) != NULL;)
        add_total(run, thread);
    id_map_free(&run->threads.threads);
    run->ended = NULL;
    perf_window_close(run, run->result->wall);
}

uint64_t perf_attached_cpu(const struct engine_run *run)
{
    uint64_t cpu = run->ended_cpu;
    size_t place = 0;
    for (const struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;)
        cpu += p->cpu - p->base;
    return perf_later(run->counted, cpu);
}

static void end_process(struct engine_run *run, struct perf_process *process)
{
    if (run->attached)
        read_process(process); /* possible until its parent has waited for it */
    run->ended_cpu += process->cpu - process->base;
    perf_process_remove(&run->threads, process);
}

static void end_thread(struct engine_run *run, struct perf_thread *thread, uint64_t clock)
{
    const struct engine_hooks *hooks = run->hooks;
    uint64_t time = perf_time(run, clock);
    hooks->task_end(hooks->context, thread->pid, thread->tid, time);
    perf_set_leave(&run->sets, thread);
    perf_switch_ended(&run->switches, thread);
    thread->end = run->ended_at = clock;
    if (perf_thread_end(&run->threads, thread)) {
        report_ticks(run, perf_process_find(&run->threads, thread->pid), clock, true);
        hooks->process_end(hooks->context, thread->pid, time, NULL);
        end_process(run, perf_process_find(&run->threads, thread->pid));
    } else if (thread->tid == thread->pid) {
        thread->outlived = true;
        thread->used = 0;
    }
    thread->ended_next = run->ended;
    run->ended = thread;
}

static bool exists(const struct perf_thread *thread)
{
    return tgkill((pid_t)thread->pid, (pid_t)thread->tid, 0) == 0 || errno != ESRCH;
}

void perf_end_missed(struct engine_run *run, uint64_t now, bool all_read)
{
    size_t place = 0;
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;) {
        if (t->ended || exists(t))
            continue;
        if (all_read || t->missed)
            end_thread(run, t, now);
        t->missed = true;
    }
}

/* TID is about to be reused: finishes the thread that had it. */
static void make_room(struct engine_run *run, uint32_t tid, uint64_t clock)
{
    struct perf_thread *thread = perf_thread_find(&run->threads, tid);
    if (thread == NULL)
        return;
    if (!thread->ended)
        end_thread(run, thread, clock);
    if ((thread = perf_thread_find(&run->threads, tid)) != NULL)
        finish(run, thread);
    perf_window_alone(run);
}

/* ---- records ------------------------------------------------------------------------------------ */

static bool is_wanted(const struct engine_run *run, uint32_t pid)
{
    return run->options->follow || perf_process_find(&run->threads, pid) != NULL;
}

/* Finds process PID, or adds it if this is its first record. */
static struct perf_process *find_process(struct engine_run *run, uint32_t pid, uint64_t time)
{
    const struct engine_hooks *hooks = run->hooks;
    struct perf_process *process = perf_process_find(&run->threads, pid);
    if (process != NULL)
        return process;
    struct raw_image image = {.pid = pid, .start = time, .parent = RAW_NO_IMAGE, .how = RAW_FIRST};
    process = perf_process_add(&run->threads, pid, hooks->image(hooks->context, &image), time);
    hooks->maps_changed(hooks->context, pid, time);
    return process;
}

static struct perf_thread *find_thread(struct engine_run *run, uint32_t pid, uint32_t tid,
                                       uint64_t time)
{
    struct perf_thread *thread = perf_thread_find(&run->threads, tid);
    if (thread != NULL || pid == 0 || tid == 0 || pid == UINT32_MAX)
        return thread;
    find_process(run, pid, time);
    run->hooks->task(run->hooks->context, pid, tid, time, NULL);
    return perf_thread_add(&run->threads, pid, tid, "");
}

/* Returns the thread of a sample, or NULL if the sample does not count. *SPAN: the CPU time that
 * the sample represents [ns]. */
static struct perf_thread *find_sampled(struct engine_run *run, const struct perf_record *record,
                                        const struct sample_body *body, double *span)
{
    struct perf_thread *thread;
    if (record->time < run->start || !is_wanted(run, body->pid)) /* seen while attaching */
        return NULL;
    if (perf_wide_covers(&run->wide, record->time)) {
        thread = perf_thread_find(&run->threads, body->tid);
        if (thread == NULL || thread->ended) /* of another program */
            return NULL;
        thread->last = record->time;
        *span = run->wide.cpus[record->ring].period;
        return thread;
    }
    thread = find_thread(run, body->pid, body->tid, perf_time(run, record->time));
    if (thread == NULL)
        return NULL;
    *span = record->known
                ? record->span
                : perf_set_sampled(&run->sets, thread, record->ring, record->time, body->period);
    return *span > 0 ? thread : NULL;
}

static void on_sample(struct engine_run *run, const struct perf_record *record,
                      const struct perf_event_header *header)
{
    const struct sample_body *body = (const struct sample_body *)(header + 1);
    bool is_long = header->size >= sizeof *header + sizeof *body;
    uint64_t time = perf_time(run, record->time);
    double span;
    struct perf_thread *thread = find_sampled(run, record, body, &span);
    if (thread == NULL)
        return;
    bool in_kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    uint64_t caller = 0;
    if (in_kernel && run->setup.kernel && is_long && body->abi != PERF_SAMPLE_REGS_ABI_NONE)
        caller = body->user_ip;
    thread->pc = body->ip;
    run->sightings++;
    run->spans += span;
    thread->spans += span / run->switches.part; /* as if there were no pauses */
    uint64_t changed = find_process(run, body->pid, time)->changed;
    perf_window_add(
        run, &(struct perf_entry){.time = time,
                                  .from = changed > thread->renamed ? changed : thread->renamed,
                                  .until = UINT64_MAX,
                                  .thread = thread,
                                  .pc = body->ip,
                                  .caller = caller,
                                  .span = span,
                                  .flags = RAW_RAN | (caller != 0 ? RAW_CALLER : 0)});
}

static void on_fork(struct engine_run *run, const struct task_body *body, uint64_t clock)
{
    const struct engine_hooks *hooks = run->hooks;
    uint64_t time = perf_time(run, clock);
    if (body->pid != body->ppid && !run->options->follow)
        return;
    run->born = clock;
    run->creations++;
    make_room(run, body->tid, clock);
    struct perf_thread *parent = find_thread(run, body->ppid, body->ptid, time);
    if (parent == NULL)
        return;
    if (body->pid != body->ppid) {
        struct raw_image image = {.pid = body->pid,
                                  .ppid = body->ppid,
                                  .start = time,
                                  .parent = find_process(run, body->ppid, time)->image,
                                  .how = RAW_FORK,
                                  .path = (char *)"",
                                  .comm = parent->comm};
        perf_process_add(&run->threads, body->pid, hooks->image(hooks->context, &image), time)
            ->whole = run->attached;
    }
    struct perf_thread *child = perf_thread_add(&run->threads, body->pid, body->tid, parent->comm);
    hooks->task(hooks->context, body->pid, body->tid, time, parent->comm);
    child->born = clock;
    child->known = clock_now();
    if (clock < run->start) { /* created while attaching */
        child->base = used(child);
        child->before = child->base;
    }
    child->check = clock + first_check;
    perf_set_inherit(&run->sets, child, parent, clock);
}

static void on_end(struct engine_run *run, const struct task_body *body, uint64_t clock)
{
    struct perf_thread *thread = perf_thread_find(&run->threads, body->tid);
    if (thread != NULL && !thread->ended)
        end_thread(run, thread, clock);
}

/* Returns the only thread of process PID that has not ended, unless it is the leader; NULL: there
 * is none, or are several. */
static struct perf_thread *find_heir(struct engine_run *run, uint32_t pid)
{
    size_t place = 0;
    for (struct perf_thread *thread; (thread = id_map_next(&run->threads.threads, &place)) != NULL;)
        if (thread->pid == pid && thread->tid != pid && !thread->ended)
            return thread;
    return NULL;
}

/* A thread that calls exec replaces the leader of its process, with the ID of the leader; all other
 * threads have ended. Its counters continue from CPU, the time that it had used before [ns]. */
static void replace_leader(struct engine_run *run, uint32_t pid, uint64_t cpu, uint64_t clock)
{
    struct perf_process *process = perf_process_find(&run->threads, pid);
    struct perf_thread *leader = perf_thread_find(&run->threads, pid), *heir;
    if (process == NULL || (leader != NULL && !leader->ended && process->threads == 1))
        return;
    uint64_t counted = cpu;
    int counter = -1;
    process->threads++; /* the thread continues to run */
    if (leader != NULL && !leader->ended)
        end_thread(run, leader, clock);
    while ((heir = find_heir(run, pid)) != NULL) {
        counter = heir->clock;
        counted = heir->before + (cpu > heir->base ? cpu - heir->base : 0);
        heir->clock = -1;
        heir->used = cpu;
        end_thread(run, heir, clock);
        finish(run, heir);
    }
    make_room(run, pid, clock);
    leader = perf_thread_add(&run->threads, pid, pid, "");
    leader->clock = counter;
    leader->base = cpu;
    leader->before = counted;
    process->threads = 1;
    perf_set_open(&run->sets, leader, false);
}

static void on_comm(struct engine_run *run, const struct perf_record *record,
                    const struct perf_event_header *header)
{
    const struct comm_body *body = (const struct comm_body *)(header + 1);
    const struct engine_hooks *hooks = run->hooks;
    uint64_t time = perf_time(run, record->time);
    if (!is_wanted(run, body->pid))
        return;
    if (header->misc & PERF_RECORD_MISC_COMM_EXEC) {
        bool first = find_process(run, body->pid, time)->image == RAW_NO_IMAGE;
        struct raw_image image = {.pid = body->pid,
                                  .start = time,
                                  .parent = RAW_NO_IMAGE,
                                  .how = first ? RAW_FIRST : RAW_EXEC,
                                  .path = (char *)"",
                                  .comm = (char *)(uintptr_t)body->comm};
        replace_leader(run, body->pid, record->cpu, record->time);
        struct perf_process *process = perf_process_find(&run->threads, body->pid);
        process->image = hooks->image(hooks->context, &image);
        process->changed = time;
        perf_window_exec(&run->window, body->pid, time);
    }
    struct perf_thread *thread = find_thread(run, body->pid, body->tid, time);
    if (thread == NULL)
        return;
    perf_thread_name(thread, body->comm);
    perf_window_rename(&run->window, thread, time);
    hooks->task(hooks->context, body->pid, body->tid, time, body->comm);
}

static void on_mmap(struct engine_run *run, const struct mmap_body *body, uint64_t clock)
{
    uint64_t time = perf_time(run, clock);
    if (body->pid == UINT32_MAX || !is_wanted(run, body->pid)) /* the kernel itself */
        return;
    struct perf_process *process = find_process(run, body->pid, time);
    struct raw_mapx map = {.image = process->image,
                           .from = time,
                           .address = body->address,
                           .size = body->size,
                           .offset = body->offset,
                           .inode = body->inode,
                           .path = (char *)(uintptr_t)body->path};
    if (!run->hooks->mapping(run->hooks->context, &map))
        return; /* a JIT changes permissions again and again */
    process->changed = time;
    perf_window_map(&run->window, body->pid, body->address, body->size, time);
}

/* A record that two CPUs wrote at once (perf_ring.c) may show more CPU time than the lifetime of
 * the thread. */
static void on_read(struct engine_run *run, const struct read_body *body, uint64_t clock)
{
    struct perf_thread *thread = perf_thread_find(&run->threads, body->tid);
    if (thread == NULL)
        return;
    if (body->value <= clock - thread->born + gone)
        thread->exact += body->value;
    if (++thread->reads >= run->setup.cpu_count && thread->ended)
        finish(run, thread);
}

static void on_record(struct engine_run *run, const struct perf_record *record,
                      const struct perf_event_header *header)
{
    const void *body = header + 1;
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        on_sample(run, record, header);
        break;
    case PERF_RECORD_FORK:
        on_fork(run, body, record->time);
        break;
    case PERF_RECORD_EXIT:
        on_end(run, body, record->time);
        break;
    case PERF_RECORD_COMM:
        on_comm(run, record, header);
        break;
    case PERF_RECORD_MMAP2:
        on_mmap(run, body, record->time);
        break;
    case PERF_RECORD_READ:
        on_read(run, body, record->time);
        break;
    case PERF_RECORD_LOST:
        run->result->lost += ((const struct lost_body *)body)->lost;
        break;
    case PERF_RECORD_THROTTLE:
        run->result->throttled = true;
        break;
    default:
        break;
    }
}

/* Returns the CPU time that a thread had used when it called exec at TIME [ns], on the assumption
 * that it has run since. */
static uint64_t used_at(uint32_t pid, uint64_t time)
{
    uint64_t cpu = process_thread_cpu((pid_t)pid, (pid_t)pid), now = clock_now();
    uint64_t since = now > time ? now - time : 0;
    return cpu > since ? cpu - since : 0;
}

/* Draws the next period as soon as a sample is read, although earlier records of other CPUs may
 * still follow. Reads the CPU time of a thread that is exiting, or calls exec, while this is
 * possible. */
static void look(void *context, struct perf_record *record, const struct perf_event_header *header)
{
    struct engine_run *run = context;
    const struct sample_body *sample = (const struct sample_body *)(header + 1);
    const struct task_body *task = (const struct task_body *)(header + 1);
    bool ends = header->type == PERF_RECORD_EXIT;
    if (header->type == PERF_RECORD_COMM) {
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            record->cpu = used_at(((const struct comm_body *)(header + 1))->pid, record->time);
        return;
    }
    struct perf_thread *thread = perf_thread_find(&run->threads, ends ? task->tid : sample->tid);
    if (thread == NULL || thread->ended)
        return;
    if (ends && thread->tid != thread->pid && clock_now() > record->time + gone)
        return;
    if (ends) {
        thread->used = used(thread);
        return;
    }
    if (perf_wide_covers(&run->wide, record->time))
        return;
    /* an earlier sample may have been read before the thread was known */
    if (run->delivered < thread->known)
        return;
    record->known = true;
    record->span = perf_set_sampled(&run->sets, thread, record->ring, record->time, sample->period);
}

void perf_take(struct engine_run *run)
{
    perf_rings_read(run->rings, clock_now(), look, run);
    perf_sets_renew(&run->sets);
    perf_sets_adopt(&run->sets);
}

void perf_deliver(struct engine_run *run, uint64_t until)
{
    const struct perf_event_header *header;
    const struct perf_record *record;
    uint64_t known = perf_rings_known(run->rings);
    if (until < UINT64_MAX && until > known)
        until = known;
    while ((record = perf_rings_next(run->rings, until, &header)) != NULL)
        on_record(run, record, header);
    run->delivered = until;
    perf_sets_adopt(&run->sets);
}

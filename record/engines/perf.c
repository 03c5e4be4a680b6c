/* The perf engine: the kernel interrupts running threads and writes their PCs into rings, which
 * this process reads.
 *
 * No thread is stopped, and no system call ends with EINTR. Each thread is sampled in its own CPU
 * time (perf_sets.h); the kernel counts its CPU time (perf_open.h). If this process is killed, the
 * kernel closes its events and the program continues.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/memory.h"
#include "record/clock.h"
#include "record/engines/perf_internal.h"
#include "record/process.h"

static const uint64_t settling = SECOND / 10000; /* another CPU may still be writing a record */
static const uint64_t rate_every = SECOND / 4;   /* between checks of the rate */
static const double min_brake = 1.25,
                    max_brake = 4; /* factors by which intervals grow at a check */
static const uint64_t enough =
    500; /* sightings that show the rate well: the first check is earlier */
/* CPU time in mean intervals that shows the part in user code */
static const double intervals = 100;
/* after the creation of a thread, read the rings often */
static const uint64_t thread_start = SECOND / 50;
/* at low rates, the time until new threads are looked at again */
static const uint64_t soon = SECOND / 1000;
/* between readings of the rings when at least ... */
static const uint64_t crowd_pause = SECOND / 500;
static const uint64_t wide_pause = SECOND / 200; /* the same while whole CPUs are sampled */
static const uint64_t crowd = 4;                 /* ... this many threads are created meanwhile */
static const double min_pause = SECOND / 4000.;
static const double gentlest = 100; /* [Hz] lowest rate that adaptation chooses */

/* ---- start -------------------------------------------------------------------------------------- */

/* Returns how many bytes in a ring wake this process; with random intervals, a number of samples
 * also does. At low rates, the records of the creation of four threads are enough: threads that
 * were created together must not be sampled together. */
static uint32_t watermark(const struct engine_options *options)
{
    const double record = 64;
    if (options->random && options->frequency <= RAW_PERF_EACH)
        return 192;
    return options->random ? 2048 : (uint32_t)fmax(options->frequency * record / 1000, 16384);
}

/* With random intervals, each sample or batch of samples sets the next period. */
static uint32_t wakeup(const struct engine_options *options)
{
    if (!options->random)
        return 0;
    return options->frequency <= RAW_PERF_EACH
               ? 1
               : (uint32_t)fmax(PERF_BATCH, options->frequency / 1000);
}

/* Opens the counters of a thread that has inherited none. The first counters own the rings. */
static int open_counters(struct engine_run *run, pid_t tid, bool on_exec)
{
    size_t first = run->counter_count, count = run->setup.cpu_count;
    bool failed = false;
    mem_reserve(&run->counters, &run->counter_capacity, first + count, sizeof run->counters[0]);
    for (size_t i = 0; i < count && !failed; i++) {
        int fd = perf_open_counter(&run->setup, tid, run->setup.cpus[i], on_exec,
                                   watermark(run->options));
        failed = fd < 0;
        if (failed)
            break;
        run->counters[run->counter_count++] = fd;
        failed = first > 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, run->counters[i]) != 0;
    }
    if (!failed && first == 0)
        run->rings = perf_rings_new(run->counters, count, process_clock_offset());
    if (!failed && run->rings != NULL)
        return 0;
    int errnum = errno;
    while (run->counter_count > first)
        close(run->counters[--run->counter_count]);
    errno = errnum;
    return -1;
}

/* Starts observing thread TID of process PID. Returns 0, or -1 with errno set. */
static int watch(struct engine_run *run, pid_t pid, pid_t tid, bool on_exec)
{
    if (open_counters(run, tid, on_exec) != 0)
        return -1;
    if (run->sets.setup == NULL)
        perf_sets_init(&run->sets, &run->setup, run->counters, run->options->frequency,
                       run->options->random, run->prompt);
    perf_process_add(&run->threads, (uint32_t)pid, RAW_NO_IMAGE, 0);
    struct perf_thread *thread = perf_thread_add(&run->threads, (uint32_t)pid, (uint32_t)tid, "");
    thread->clock = perf_open_clock(tid);
    if (thread->clock >= 0 && perf_set_open(&run->sets, thread, on_exec) == 0)
        return 0;
    int errnum = errno;
    perf_thread_remove(&run->threads, thread);
    perf_thread_free(thread);
    errno = errnum;
    return -1;
}

static int start_command(struct engine_run *run, char *const *command, int *status,
                         struct error *err)
{
    struct spawn child;
    if (spawn(&child, command, &run->signals, err) != 0)
        return -1;
    descriptors_raise(); /* only after the fork: the program would inherit the limit */
    if (watch(run, child.pid, child.pid, true) != 0) {
        error_set_errno(err, NULL, errno, "cannot open perf events for '%s'", command[0]);
        spawn_cancel(&child);
        return -1;
    }
    int errnum = 0;
    if (spawn_go(&child, command[0], err) == 0 && (errnum = spawn_failure(&child)) == 0) {
        run->pid = child.pid;
        return 0;
    }
    spawn_cancel(&child);
    return errnum == 0 ? -1 : spawn_explain(command[0], errnum, status, err);
}

static bool set_priority(int policy, int priority)
{
    struct sched_param param = {.sched_priority = priority};
    return sched_setscheduler(0, policy, &param) == 0;
}

/* Returns whether this process may use a real-time priority. Its children must not inherit this
 * priority. */
static bool can_be_prompt(void)
{
    bool can = sched_getscheduler(0) == SCHED_OTHER && set_priority(SCHED_RR, 1);
    if (can)
        set_priority(SCHED_OTHER, 0);
    return can;
}

/* ---- attaching ---------------------------------------------------------------------------------- */

static int cannot_attach(pid_t pid, pid_t tid, struct error *err)
{
    return error_set_errno(err, NULL, errno, "cannot attach to thread %d of process %d", (int)tid,
                           (int)pid);
}

/* Returns 0, or -1 with errno set. */
static int attach_thread(struct engine_run *run, pid_t pid, pid_t tid)
{
    if (perf_thread_find(&run->threads, (uint32_t)tid) != NULL)
        return 0;
    if (watch(run, pid, tid, false) != 0)
        return -1;
    char comm[PERF_COMM + 1];
    process_name(tid, comm, sizeof comm);
    perf_thread_name(perf_thread_find(&run->threads, (uint32_t)tid), comm);
    perf_take(run); /* attaching to many threads takes seconds: the rings would overflow */
    return 0;
}

/* Attaches to the threads that PID has now, and leaves out threads that end meanwhile. */
static int attach_present(struct engine_run *run, pid_t pid, struct error *err)
{
    pid_t *tids;
    int result = 0;
    ssize_t count = process_threads(pid, &tids);
    if (count < 0)
        return error_set_errno(err, NULL, errno, "cannot attach to process %d", (int)pid);
    for (ssize_t i = 0; i < count && result == 0; i++)
        if (attach_thread(run, pid, tids[i]) != 0 && errno != ESRCH)
            result = cannot_attach(pid, tids[i], err);
    free(tids);
    return result;
}

/* Attaches to all threads: those created meanwhile are found in the next round, or inherit
 * events. */
static int attach_process(struct engine_run *run, pid_t pid, struct error *err)
{
    for (size_t before = SIZE_MAX; before != run->threads.threads.count;) {
        before = run->threads.threads.count;
        if (attach_present(run, pid, err) != 0)
            return -1;
    }
    struct perf_process *process = perf_process_find(&run->threads, (uint32_t)pid);
    if (process != NULL)
        process->whole = true;
    return 0;
}

static int attach_to(struct engine_run *run, pid_t pid, pid_t tid, struct error *err)
{
    if (pid == tid)
        return attach_process(run, pid, err);
    return attach_thread(run, pid, tid) == 0 ? 0 : cannot_attach(pid, tid, err);
}

static int attach_all(struct engine_run *run, struct error *err)
{
    for (size_t i = 0; i < run->options->attach_count; i++) {
        pid_t tid = run->options->attach[i], pid = process_of(tid, NULL);
        if (pid < 0 && run->options->attach_some)
            continue;
        if (pid < 0)
            return error_set(err, NULL, NO_OFFSET, "cannot attach to %d: no such process",
                             (int)tid);
        if (attach_to(run, pid, tid, err) != 0)
            return -1;
        if (run->pid == 0)
            run->pid = pid;
    }
    if (run->pid == 0)
        return error_set(err, NULL, NO_OFFSET, "cannot attach: all processes have ended");
    return 0;
}

/* Attaches with a real-time priority: a process with many busy threads would leave this one little
 * CPU time. */
static int attach(struct engine_run *run, struct error *err)
{
    run->attached = true;
    descriptors_raise();
    if (run->prompt)
        set_priority(SCHED_RR, 1);
    int result = attach_all(run, err);
    if (run->prompt)
        set_priority(SCHED_OTHER, 0);
    return result;
}

static void perf_delete(struct engine_run *run)
{
    if (run == NULL)
        return;
    if (run->pid > 0 && !run->attached && !run->ran) {
        kill(run->pid, SIGKILL);
        while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    perf_switch_free(&run->switches);
    perf_wide_free(run);
    if (run->sets.setup != NULL)
        perf_sets_free(&run->sets);
    perf_rings_delete(run->rings);
    perf_threads_free(&run->threads);
    for (size_t i = 0; i < run->counter_count; i++)
        close(run->counters[i]);
    if (run->signal_fd >= 0)
        close(run->signal_fd);
    signals_restore(&run->signals);
    perf_setup_free(&run->setup);
    free(run->counters);
    perf_window_free(&run->window);
    free(run);
}

static struct engine_run *perf_start(char *const *command, const struct engine_options *options,
                                     int *status, struct error *err)
{
    struct engine_run *run = mem_zalloc(1, sizeof *run);
    run->options = options;
    run->signal_fd = -1;
    run->sampling = true;
    *status = 1;
    signals_take(&run->signals, options->held ? &options->mask : NULL);
    if (perf_setup(&run->setup, options, err) == 0) {
        run->setup.wakeup = wakeup(options);
        run->prompt = can_be_prompt();
        run->start = clock_now();
        run->signal_fd = signalfd(-1, &run->signals.taken, SFD_NONBLOCK | SFD_CLOEXEC);
        if (run->signal_fd < 0)
            error_set_errno(err, NULL, errno, "cannot wait for signals");
        else if ((command != NULL ? start_command(run, command, status, err) : attach(run, err)) ==
                 0)
            return run;
    }
    perf_delete(run);
    return NULL;
}

/* ---- the rate ----------------------------------------------------------------------------------- */

static uint64_t own_cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Adjusts the mean interval to reach the requested rate, and lowers the rate when this process and
 * the interrupts use more than their share of CPU time. If samples in the kernel are not permitted,
 * a low rate proves nothing, because time in the kernel is not sampled. */
static void adapt(struct engine_run *run, uint64_t now)
{
    uint64_t own = own_cpu(), cpu = perf_program_cpu(run), sightings = run->sightings;
    double used = (double)(cpu - run->cpu_before),
           taken = (double)(sightings - run->sightings_before);
    double cost = (double)(own - run->own_before) + taken * run->interrupt;
    double asked = (double)SECOND / run->options->frequency;
    double allowed = run->options->max_overhead * used + 0.02 * (double)(now - run->checked);
    double mean = run->sets.mean;
    /* if threads cost more than samples, lower rates save little */
    bool saves = (!run->wide.on && !run->wide.sparse) ||
                 taken > (double)(run->creations - run->creations_before);
    run->checked = now;
    run->creations_before = run->creations;
    run->own_before = own;
    run->cpu_before = cpu;
    run->sightings_before = sightings;
    if (run->options->max_overhead > 0 && cost > allowed && saves) {
        run->result->gave_way = run->gave_way = true;
        double excess = fmin(fmax(cost / allowed, min_brake), max_brake);
        mean = fmin(mean * excess, fmax(asked, (double)SECOND / gentlest));
        perf_sets_rate(&run->sets, mean, mean);
    } else if (run->gave_way) {
        run->gave_way = mean > asked;
        mean = cost < allowed / 2 ? fmax(mean / 1.1, asked) : mean;
        perf_sets_rate(&run->sets, mean, mean);
    } else if (run->setup.kernel && run->switches.part >= 1 && used / asked >= 50 && taken > 0) {
        double ratio =
            taken / (used / asked); /* the reaction of this process is part of an interval */
        perf_sets_rate(&run->sets, fmin(fmax(mean * sqrt(ratio), 0.5 * asked), 1.2 * asked), asked);
    }
}

/* ---- signals and the end ------------------------------------------------------------------------ */

static void on_signal(struct engine_run *run, int number, int code)
{
    siginfo_t info = {.si_signo = number, .si_code = code};
    if (signals_stop(number)) {
        run->stop_signal = number;
        run->stop_until = clock_now() + SECOND;
    } else if (number == SIGCONT) {
        run->stop_signal = 0;
    } else if (number == SIGCHLD) {
        return;
    } else if (run->attached) {
        run->over = true;
    } else if (signals_passed_on(&info)) {
        kill(run->pid, number);
    }
}

static void take_signals(struct engine_run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signal_fd, &info, sizeof info) == sizeof info)
        on_signal(run, (int)info.ssi_signo, info.ssi_code);
}

/* The shell treats the program and this process as one job: if the terminal stops the program, this
 * process stops as well. */
static void look_at_program(struct engine_run *run)
{
    siginfo_t info = {0};
    if (run->attached) {
        run->over |= run->threads.processes.count == 0;
        return;
    }
    if (waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        info.si_pid == run->pid) {
        run->over = true;
        return;
    }
    if (run->stop_signal == 0)
        return;
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)run->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == run->pid) {
        signals_stop_self(run->stop_signal);
        run->stop_signal = 0;
    } else if (clock_now() >= run->stop_until) {
        run->stop_signal = 0;
    }
}

static void expire(struct engine_run *run, uint64_t now)
{
    if (run->expires == 0 || now < run->expires)
        return;
    run->result->expired = true;
    if (run->attached) {
        run->over = true;
        return;
    }
    run->expires = now + signals_end(run->pid, run->sigterm_sent);
    run->sigterm_sent = true;
}

/* Returns the switches of the program and of all processes it has waited for. */
static uint64_t reap(struct engine_run *run)
{
    struct rusage used = {0};
    while (wait4(run->pid, &run->result->status, 0, &used) < 0 && errno == EINTR)
        ;
    run->result->user =
        (uint64_t)used.ru_utime.tv_sec * SECOND + (uint64_t)used.ru_utime.tv_usec * 1000;
    run->result->system =
        (uint64_t)used.ru_stime.tv_sec * SECOND + (uint64_t)used.ru_stime.tv_usec * 1000;
    run->result->faults = (uint64_t)used.ru_minflt + (uint64_t)used.ru_majflt;
    return (uint64_t)used.ru_nvcsw + (uint64_t)used.ru_nivcsw;
}

/* ---- the run ------------------------------------------------------------------------------------ */

/* a low rate of samples must not make power less precise */
static const uint64_t max_unread = SECOND / 500;

/* Reads power when it is due, not when samples arrive: these arrive only while the program
 * computes. */
static void tick(struct engine_run *run)
{
    bool exact = false;
    uint64_t read = 0, now = clock_now(),
             due = run->hooks->tick(run->hooks->context, perf_time(run, now), &read, &exact);
    run->phase = clock_phase(run->phase);
    uint64_t soonest =
        now + (uint64_t)((0.5 + run->phase) * fmin(run->sets.mean, (double)max_unread));
    run->next_tick = now + ENGINE_TICK;
    if (due < UINT64_MAX && run->start + due < run->next_tick)
        run->next_tick = run->start + due;
    if (run->next_tick < soonest && !exact)
        run->next_tick = soonest;
    perf_window_look(run, read);
}

/* Returns when all records before the latest new value of power have arrived; UINT64_MAX: the window
 * need not end there. */
static uint64_t mark_due(const struct engine_run *run)
{
    uint64_t time = run->window.mark.time;
    return time > 0 ? run->start + time + settling : UINT64_MAX;
}

/* Ends the window at the latest new value of power, if that is due. */
static void mark(struct engine_run *run)
{
    uint64_t due = mark_due(run);
    if (clock_now() < due)
        return;
    perf_take(run);
    perf_deliver(run, due - settling);
    perf_window_mark(run);
}

static void attend_to_power(struct engine_run *run)
{
    if (clock_now() >= run->next_tick)
        tick(run);
    mark(run);
}

static void work(struct engine_run *run)
{
    uint64_t begin = clock_now(), before = run->sightings, creations = run->creations;
    run->worked = begin;
    attend_to_power(run); /* first, because no window may end between a new value and now */
    perf_take(run);
    perf_deliver(run, begin - settling);
    perf_window_end(run, perf_time(run, begin - settling), false);
    bool early = run->checked == run->start && run->sightings >= enough;
    if (begin - run->checked >= (early ? rate_every / 4 : rate_every)) {
        perf_finish_ended(run, begin);
        if (run->attached) /* a program that was started is waited for */
            perf_end_missed(run, begin, false);
        adapt(run, begin);
    }
    perf_sets_part(&run->sets, begin - soon);
    perf_check_threads(run, begin);
    perf_read_processes(run, begin);
    perf_report_ticks(run, begin);
    perf_switch_work(run, begin);
    perf_wide_work(run, begin);
    run->crowded = run->creations - creations >= crowd;
    latency_add(&run->latency, clock_now() - begin, run->sightings - before);
}

/* Like ppoll, with a timeout at WAKE [CLOCK_MONOTONIC]. */
static int wait_for(struct pollfd *polls, size_t count, uint64_t wake)
{
    uint64_t now = clock_now();
    struct timespec timeout = clock_timespec(wake > now ? wake - now : 0);
    return ppoll(polls, count, &timeout, NULL);
}

/* Returns whether there is more to do than to read a power source. For poll, the rings of threads
 * that have all ended stay readable: these rings are no longer polled. */
static bool pause_until_news(struct engine_run *run, struct pollfd *polls, size_t count)
{
    uint64_t now = clock_now(), until = run->worked + ENGINE_TICK;
    if (run->worked - run->born <
        thread_start) /* new threads get samplers of their own at their first sample */
        until = run->worked + (uint64_t)fmin(fmax(run->sets.mean, min_pause), ENGINE_TICK);
    if (!run->sets.batch && (perf_rings_left(run->rings) || perf_sets_share(&run->sets)))
        until = run->worked + soon;
    if (until > run->worked + soon && perf_rings_known(run->rings) < UINT64_MAX)
        until = run->worked + soon;
    if (run->expires != 0 && run->expires < until)
        until = run->expires;
    if (run->crowded || run->wide.on) { /* records would wake this process all the time */
        until = run->worked + (run->wide.on       ? wide_pause
                               : run->sets.closed ? ENGINE_TICK
                                                  : crowd_pause);
        count = 1;
    }
    if (run->switches.turn < until)
        until = run->switches.turn;
    uint64_t due = run->next_tick < mark_due(run) ? run->next_tick : mark_due(run);
    uint64_t wake = due < until ? due : until;
    uint64_t calm = run->worked + soon / 2 < wake ? run->worked + soon / 2 : wake;
    /* records that arrive at almost the same time are read together */
    if (!run->sets.batch && count > 1 && now < calm && wait_for(polls, 1, calm) > 0)
        return true;
    if (wait_for(polls, count, wake) <= 0)
        return wake == until;
    for (size_t i = 1; i < count; i++)
        if (polls[i].revents & (POLLHUP | POLLERR))
            polls[i].fd = -1;
    return true;
}

static void loop(struct engine_run *run)
{
    size_t count = 1 + run->setup.cpu_count;
    struct pollfd *polls = mem_zalloc(count, sizeof *polls);
    polls[0] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
    for (size_t i = 1; i < count; i++)
        polls[i] = (struct pollfd){.fd = run->counters[i - 1], .events = POLLIN};
    while (!run->over) {
        bool news = pause_until_news(run, polls, count);
        take_signals(run);
        look_at_program(run);
        if (news || run->over)
            work(run);
        else
            attend_to_power(run);
        expire(run, clock_now());
    }
    free(polls);
}

/* Excludes the CPU time that was used while attaching. Returns the time from which CPU time
 * counts. */
static uint64_t count_from_now(struct engine_run *run)
{
    uint64_t first = clock_now();
    size_t place = 0;
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;) {
        t->before = perf_thread_counted(t);
        process_thread_run((pid_t)t->pid, (pid_t)t->tid, &t->run);
        t->base = t->run.cpu;
        t->turns = t->run.turns;
    }
    place = 0;
    for (struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;) {
        p->base = p->cpu = p->whole ? process_cpu((pid_t)p->pid) : 0;
        process_ticks((pid_t)p->pid, &p->user, &p->system);
    }
    run->cpu_start = perf_program_cpu(run);
    return first + (clock_now() - first) / 2;
}

static void introduce(struct engine_run *run)
{
    const struct engine_hooks *hooks = run->hooks;
    size_t place = 0;
    for (struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;) {
        struct raw_image image = {.pid = p->pid, .parent = RAW_NO_IMAGE, .how = RAW_FIRST};
        p->image = hooks->image(hooks->context, &image);
        hooks->maps_changed(hooks->context, p->pid, 0);
    }
    place = 0;
    for (struct perf_thread *t; (t = id_map_next(&run->threads.threads, &place)) != NULL;)
        hooks->task(hooks->context, t->pid, t->tid, 0, t->comm);
}

/* Begins the run: with the first record, which is the exec, or when all threads are attached to. */
static void begin(struct engine_run *run)
{
    if (run->attached) {
        run->start = count_from_now(run);
        introduce(run);
        return;
    }
    const struct perf_event_header *header;
    perf_take(run);
    const struct perf_record *first = perf_rings_peek(run->rings, &header);
    run->start = first != NULL ? first->time : clock_now();
}

static size_t left(const struct engine_run *run)
{
    size_t place = 0, count = 0;
    for (const struct perf_process *p; (p = id_map_next(&run->threads.processes, &place)) != NULL;)
        count += p->pid != (uint32_t)run->pid && p->threads > 0;
    return count;
}

/* Reads the remaining records from the rings after the end of the run. */
static void take_all(struct engine_run *run)
{
    perf_take(run);
    for (int i = 0; i < 3 && perf_rings_known(run->rings) < UINT64_MAX; i++) {
        wait_for(NULL, 0, clock_now() + 2 * soon);
        perf_take(run);
    }
}

/* Returns the part of the CPU time in user code: a sample that would be in the kernel is not taken,
 * so that samples represent less than the CPU time SAMPLED while samplers were on [ns]. Samples of
 * whole CPUs and those of only some threads do not show this, nor do a few samples. */
static double user_part(const struct engine_run *run, uint64_t sampled, uint64_t cpu)
{
    const struct engine_result *r = run->result;
    if (run->setup.kernel || r->wide || r->sparse || r->lost > 0 || r->throttled ||
        (double)sampled < intervals * run->sets.mean)
        return 0;
    double dilution = perf_switch_dilution(run, run->switches.all, (double)cpu);
    return fmin(run->spans / (double)sampled * dilution, 1);
}

static void perf_run(struct engine_run *run, const struct engine_hooks *hooks,
                     struct engine_result *result)
{
    run->hooks = hooks;
    run->result = result;
    run->ran = true;
    *result = (struct engine_result){0};
    if (run->prompt)
        set_priority(SCHED_RR, 1);
    begin(run);
    run->checked = run->start;
    if (run->options->duration > 0)
        run->expires = run->start + (uint64_t)(run->options->duration * (double)SECOND);
    run->worked = run->start;
    run->interrupt = perf_interrupt_cost(&run->setup);
    perf_switch_start(run);
    perf_wide_start(run);
    tick(run);
    run->own_before = own_cpu(); /* a lower rate would not have made the start any cheaper */
    loop(run);
    uint64_t cpu = perf_program_cpu(run), sampled = perf_switch_sampled(run, cpu);
    uint64_t end = perf_read_all(run);
    /* their end was noticed some ms later */
    bool all_ended = run->attached && run->threads.processes.count == 0 && run->ended_at > 0;
    result->wall = perf_time(run, all_ended ? run->ended_at : end);
    if (run->prompt)
        set_priority(SCHED_OTHER, 0);
    take_all(run);
    perf_deliver(run, UINT64_MAX);
    perf_window_end(run, result->wall, true);
    if (result->wall <= run->last)
        result->wall = run->last + 1;
    perf_end_missed(run, run->start + result->wall, true);
    result->left = run->attached ? 0 : left(run);
    perf_finish_all(run);
    result->attached = run->attached ? perf_attached_cpu(run) : 0;
    result->reached = cpu > 0 ? (double)run->sightings * (double)SECOND / (double)cpu : 0;
    latency_result(&run->latency, result);
    result->lost += perf_rings_torn(run->rings);
    result->user_only = !run->setup.kernel;
    result->interrupting = (uint64_t)((double)run->sightings * run->interrupt);
    uint64_t switches = run->attached ? 0 : reap(run);
    perf_wide_result(run, result);
    perf_switch_result(&run->switches, run->options->follow ? switches : 0, result);
    result->user_part = user_part(run, sampled, cpu);
}

static pid_t perf_pid(const struct engine_run *run)
{
    return run->pid;
}

static int perf_available(struct error *why)
{
    struct engine_options options = {.frequency = 1, .follow = true};
    struct perf_setup setup;
    if (perf_setup(&setup, &options, why) != 0)
        return -1;
    perf_setup_free(&setup);
    return 0;
}

const struct engine engine_perf = {
    .name = "perf",
    .help = "the kernel interrupts threads while they run; nothing is stopped",
    .events = true,
    .nominal = true,
    .available = perf_available,
    .start = perf_start,
    .pid = perf_pid,
    .run = perf_run,
    .delete = perf_delete,
};

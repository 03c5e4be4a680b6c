/* Internal to record/engines/perf*.c: the state of a run of the perf engine.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_INTERNAL_H
#define RECORD_ENGINES_PERF_INTERNAL_H

#include "record/engine.h"
#include "record/engines/latency.h"
#include "record/engines/perf_open.h"
#include "record/engines/perf_ring.h"
#include "record/engines/perf_sets.h"
#include "record/engines/perf_threads.h"
#include "record/engines/perf_window.h"
#include "record/engines/signals.h"
#include "record/engines/spawn.h"

/* The cost of context switches. All zero: before perf_switch_start. */
struct perf_switch {
    int sampler, counter; /* file descriptors of events of this process; below 0: none */
    double sampled,
        counted;      /* what a switch costs while samplers are on, and while they are off [ns] */
    double phase;     /* 0..1: of the lengths of pauses */
    double allowed;   /* part of the time in which samplers may be on, by the cost of switches */
    double part;      /* of the time, in which samplers are on */
    uint64_t turn;    /* when they are turned on or off; UINT64_MAX: never [CLOCK_MONOTONIC] */
    uint64_t turning; /* what that took the last time [ns] */
    uint64_t check;   /* when switches are counted again [CLOCK_MONOTONIC] */
    uint64_t fresh;   /* threads that have ended since, before they were looked at */
    uint64_t cpu_before;  /* of the program, at the last check [ns] */
    unsigned calm;        /* checks since pauses were needed */
    bool batch;           /* without pauses, periods are used for batches of samples ... */
    uint32_t wakeup;      /* ... and this many samples wake this process up */
    size_t place;         /* of the thread whose switches are counted next */
    double switches, cpu; /* lately: switches, and CPU time of the program [ns] */
    double all, cost;     /* since the start: switches, and what they have cost [ns] */
};

/* Samplers of whole CPUs. All zero: before perf_wide_start. */
struct perf_wide {
    struct perf_wide_cpu {
        int fd;         /* -1: none */
        uint64_t until; /* when its period is drawn again [CLOCK_MONOTONIC] */
        double period;  /* [ns] */
    } * cpus;           /* by number in the setup, NULL: not opened so far */
    bool on, refused;
    bool sparse; /* threads inherit samplers in PART of the time only */
    double part;
    double asked,
        allowed; /* lately: cost if all threads inherited samplers, and what it may be [ns] */
    uint64_t since, until;         /* samples between are of whole CPUs [CLOCK_MONOTONIC] */
    double phase;                  /* 0..1: of the lengths of periods */
    double event;                  /* what one inherited event costs a thread [ns] */
    uint64_t checked;              /* when births were last counted [CLOCK_MONOTONIC] */
    uint64_t births, own, program; /* until then: threads, CPU times [ns] */
    double rate;                   /* of births, when CPUs began to be sampled [1/ns] ... */
    uint64_t crowded; /* ... and when they were last nearly as frequent [CLOCK_MONOTONIC] */
    double cost;      /* of all births so far [ns] */
};

struct engine_run {
    const struct engine_options *options;
    const struct engine_hooks *hooks;
    struct engine_result *result;
    struct signals signals;
    int signal_fd; /* signalfd for the signals taken */
    pid_t pid;     /* of the program; attached: the first one */
    bool attached, ran;
    bool prompt; /* this process has priority over all others */
    struct perf_setup setup;
    struct perf_rings *rings;
    struct perf_sets sets;
    struct perf_threads threads;
    struct perf_thread *ended; /* threads whose CPU time is still being reported */
    int *counters;             /* of all threads that inherited none, CPU by CPU */
    size_t counter_count, counter_capacity;
    struct perf_window window;
    struct perf_switch switches;
    struct perf_wide wide;
    uint64_t cpu_start;   /* CPU time that was counted while attaching [ns] */
    uint64_t start, last; /* start of the run; time of the last sample since */
    uint64_t expires;     /* 0: never */
    uint64_t next_check; /* time of the next check that all threads are sampled [CLOCK_MONOTONIC] */
    uint64_t born;       /* creation of the last thread [CLOCK_MONOTONIC] */
    uint64_t births;     /* threads so far */
    uint64_t delivered;  /* all records up to this time were [CLOCK_MONOTONIC] */
    uint64_t checked;    /* when the rate was last checked */
    double phase;        /* 0..1: of the times between two looks at power */
    uint64_t worked,
        next_tick; /* when the rings were last read, when power is to be read [CLOCK_MONOTONIC] */
    uint64_t own_before, cpu_before, sightings_before, births_before; /* totals at that time */
    uint64_t sightings;                                               /* so far */
    double interrupt;    /* what the interrupt of a sample costs the program [ns] */
    int stop_signal;     /* the terminal stopped the job ... */
    uint64_t stop_until; /* ... which holds until then */
    struct latency latency;
    bool sampling, sigterm_sent, over, gave_way;
    bool crowded;            /* many threads are created and end */
    uint64_t processes_read; /* when the CPU times of processes were last read [CLOCK_MONOTONIC] */
    uint64_t ended_cpu;      /* of processes that have ended: their CPU time, as last read [ns] */
    uint64_t counted;        /* CPU time of threads that have been finished [ns] */
};

static inline uint64_t perf_time(const struct engine_run *run, uint64_t clock)
{
    return clock > run->start ? clock - run->start : 0;
}

/* Reads the rings; handles records that affect the next samples at once. */
void perf_take(struct engine_run *run);
/* Processes the records that were read, in order of time, up to UNTIL [CLOCK_MONOTONIC]. */
void perf_deliver(struct engine_run *run, uint64_t until);
/* Finishes threads that ended well before NOW [CLOCK_MONOTONIC] although not all counters have reported their CPU
 * times. */
void perf_finish_ended(struct engine_run *run, uint64_t now);
/* If attached, reads the CPU times of processes, at NOW [CLOCK_MONOTONIC]: events do not count what threads use in the kernel at their
 * beginning and end, and the program is not waited for. */
void perf_read_processes(struct engine_run *run, uint64_t now);
/* The CPU time of the processes attached to and their children [ns], or what was counted, if that is more. */
uint64_t perf_attached_cpu(const struct engine_run *run);
/* Ends threads at NOW [CLOCK_MONOTONIC] that no longer exist, and whose last record was lost: all that were seen to be missing by
 * the last call as well, or that are missing now if ALL_READ records were delivered. */
void perf_end_missed(struct engine_run *run, uint64_t now, bool all_read);
/* Opens samplers for running threads that are not sampled; NOW [CLOCK_MONOTONIC]. */
void perf_check_threads(struct engine_run *run, uint64_t now);
/* Opens samplers for all threads, after perf_sets_close. */
void perf_reopen(struct engine_run *run);
/* Reads the CPU times of all threads that run on, and of attached processes, at the end of the run. Returns when that was [CLOCK_MONOTONIC]. */
uint64_t perf_read_all(struct engine_run *run);
/* The last sample, at the end of the run: the CPU times of all remaining threads. */
void perf_finish_all(struct engine_run *run);
/* CPU time of all threads since the start of the run, by the counters [ns]. */
uint64_t perf_program_cpu(const struct engine_run *run);

/* What the interrupt of a sample costs the program, measured here for about 1 ms [ns]; 0: not known. */
double perf_interrupt_cost(const struct perf_setup *setup);

void perf_wide_start(struct engine_run *run);
void perf_wide_free(struct engine_run *run);
/* Counts births now and then, and changes from samplers of threads to samplers of CPUs, or back; or determines for which fraction of
 * the time threads may inherit samplers. NOW [CLOCK_MONOTONIC]. */
void perf_wide_work(struct engine_run *run, uint64_t now);
/* Is a sample at TIME [CLOCK_MONOTONIC] one of a CPU, perhaps of another program? */
bool perf_wide_covers(const struct perf_wide *wide, uint64_t time);
/* Sets the births of RESULT and what they have cost. */
void perf_wide_result(const struct engine_run *run, struct engine_result *result);

void perf_switch_start(struct engine_run *run);
void perf_switch_free(struct perf_switch *s);
/* Counts switches now and then, and turns samplers on and off when it is time; NOW [CLOCK_MONOTONIC]. */
void perf_switch_work(struct engine_run *run, uint64_t now);
/* THREAD has ended. */
void perf_switch_ended(struct perf_switch *s, const struct perf_thread *thread);
/* Sets the switches of RESULT and what they have cost. SWITCHES: of the whole program; 0: as many as were counted. */
void perf_switch_result(const struct perf_switch *s, uint64_t switches,
                        struct engine_result *result);

#endif

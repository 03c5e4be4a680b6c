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

/* The cost of context switches. All zero before perf_switch_start. */
struct perf_switch {
    int sampler, counter; /* file descriptors of events of this process; negative: none */
    double sampled,
        counted;  /* mean cost of a switch while samplers are on, and while they are off [ns] */
    double phase; /* 0..1: determines the lengths of pauses */
    /* fraction of the time in which samplers may be on, considering the cost of switches */
    double allowed;
    double part; /* fraction of the time in which samplers are on */
    /* when samplers are next turned on or off; UINT64_MAX: never [CLOCK_MONOTONIC] */
    uint64_t turn;
    uint64_t turning; /* how long it last took to turn them on or off [ns] */
    uint64_t check;   /* when switches are counted next [CLOCK_MONOTONIC] */
    /* threads that have ended since the last check without having been looked at */
    uint64_t fresh;
    uint64_t cpu_before; /* of the program, at the last check [ns] */
    unsigned calm;       /* number of checks since pauses were last needed */
    bool batch;          /* without pauses, periods are used for batches of samples ... */
    uint32_t wakeup;     /* ... and this many samples wake this process */
    size_t place;        /* of the thread whose switches are counted next */
    /* recent switches, and CPU time of the program in which they happened [ns] */
    double switches, cpu;
    double all, cost; /* since the start: number of switches, and their cost [ns] */
    /* CPU time of the program: when samplers were last turned off, and while they were off [ns] */
    uint64_t cpu_off, off;
};

/* Samplers of whole CPUs. All zero before perf_wide_start. */
struct perf_wide {
    struct perf_wide_cpu {
        int fd;         /* -1: none */
        uint64_t until; /* when its next period is drawn [CLOCK_MONOTONIC] */
        double period;  /* [ns] */
    } * cpus;           /* by number in the setup; NULL: not open */
    bool on, refused;
    bool sparse; /* threads inherit samplers only in the fraction PART of the time */
    double part;
    /* recently: the cost if all threads inherited samplers, and the cost that is allowed
     * [ns] */
    double asked, allowed;
    /* samples between these times are of whole CPUs [CLOCK_MONOTONIC] */
    uint64_t since, until;
    double phase;                     /* 0..1: determines how long periods are used */
    double event;                     /* cost of one inherited event for a thread [ns] */
    uint64_t checked;                 /* when creations were last counted [CLOCK_MONOTONIC] */
    uint64_t creations, own, program; /* totals at that time: threads, CPU times [ns] */
    double rate;                      /* of creations, when the sampling of CPUs began [1/ns] ... */
    uint64_t crowded; /* ... and when creations were last nearly as frequent [CLOCK_MONOTONIC] */
    double cost;      /* total cost of creations so far [ns] */
};

struct engine_run {
    const struct engine_options *options;
    const struct engine_hooks *hooks;
    struct engine_result *result;
    struct signals signals;
    int signal_fd; /* signalfd for the signals that this process accepts */
    pid_t pid;     /* of the program; if attached: the first process */
    bool attached, ran;
    bool prompt; /* this process has priority over all others */
    struct perf_setup setup;
    struct perf_rings *rings;
    struct perf_sets sets;
    struct perf_threads threads;
    struct perf_thread *ended; /* threads whose CPU time is still being reported */
    uint64_t ended_at; /* end of the last thread that ended [CLOCK_MONOTONIC]; 0: none has */
    int *counters;     /* of all threads that inherited none, in the order of CPUs */
    size_t counter_count, counter_capacity;
    struct perf_window window;
    struct perf_switch switches;
    struct perf_wide wide;
    uint64_t cpu_start;   /* CPU time that was counted while attaching [ns] */
    uint64_t start, last; /* start of the run; time of the last sample after it */
    uint64_t expires;     /* 0: never */
    uint64_t next_check;  /* when to check next whether all threads are sampled [CLOCK_MONOTONIC] */
    uint64_t born;        /* when the last thread was created [CLOCK_MONOTONIC] */
    uint64_t creations;   /* number of threads so far */
    uint64_t delivered;   /* all records up to this time were delivered [CLOCK_MONOTONIC] */
    uint64_t checked;     /* when the rate was last checked */
    double phase;         /* 0..1: determines the times between readings of power */
    /* when the rings were last read, and when to read power [CLOCK_MONOTONIC] */
    uint64_t worked, next_tick;
    /* totals when the rate was last checked */
    uint64_t own_before, cpu_before, sightings_before, creations_before;
    /* number of samples that counted so far, and the CPU time that they represent [ns] */
    uint64_t sightings;
    double spans;
    double interrupt;    /* cost of the interrupt of a sample for the program [ns] */
    int stop_signal;     /* with which the terminal stopped the job; 0: none ... */
    uint64_t stop_until; /* ... and until when this process expects the program to stop */
    struct latency latency;
    bool sampling, sigterm_sent, over, gave_way;
    bool crowded;            /* many threads are created and end */
    uint64_t processes_read; /* when the CPU times of processes were last read [CLOCK_MONOTONIC] */
    uint64_t ticks_read;     /* when their ticks were last read [CLOCK_MONOTONIC] */
    uint64_t ended_cpu;      /* CPU time of processes that have ended, as last read [ns] */
    uint64_t counted;        /* CPU time of threads whose totals are complete [ns] */
};

static inline uint64_t perf_time(const struct engine_run *run, uint64_t clock)
{
    return clock > run->start ? clock - run->start : 0;
}

static inline uint64_t perf_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t perf_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Reads the rings, and immediately handles records that affect the next samples. */
void perf_take(struct engine_run *run);
/* Processes the records that have been read, in order of time, up to UNTIL [CLOCK_MONOTONIC]. */
void perf_deliver(struct engine_run *run, uint64_t until);
/* Finishes threads that ended well before NOW [CLOCK_MONOTONIC] although not all counters have reported their CPU
 * times. */
void perf_finish_ended(struct engine_run *run, uint64_t now);
/* If attached, reads the CPU times of processes at NOW [CLOCK_MONOTONIC], at most every 5 ms:
 * events do not count the CPU time of threads in the kernel at their beginning and end, and the
 * program is not waited for. */
void perf_read_processes(struct engine_run *run, uint64_t now);
/* If samples in the kernel are not permitted, reports the ticks of all processes, at NOW
 * [CLOCK_MONOTONIC], at most every 0.1 s. */
void perf_report_ticks(struct engine_run *run, uint64_t now);
/* Returns the CPU time of the processes attached to and of their children [ns], or the CPU time
 * counted by events, if that is more. */
uint64_t perf_attached_cpu(const struct engine_run *run);
/* Ends at NOW [CLOCK_MONOTONIC] those threads that no longer exist, but whose last record was lost:
 * the threads that were already missing at the previous call; if ALL_READ records have been
 * delivered, also those that are missing only now. */
void perf_end_missed(struct engine_run *run, uint64_t now, bool all_read);
/* Opens samplers for running threads that are not sampled; NOW [CLOCK_MONOTONIC]. */
void perf_check_threads(struct engine_run *run, uint64_t now);
/* Opens samplers for all threads, after perf_sets_close. */
void perf_reopen(struct engine_run *run);
/* Reads the CPU times of all live threads, and of attached processes, at the end of the run.
 * Returns the time of reading [CLOCK_MONOTONIC]. */
uint64_t perf_read_all(struct engine_run *run);
/* Delivers the last sample, at the end of the run: the CPU times of all remaining threads. */
void perf_finish_all(struct engine_run *run);
/* Returns the CPU time of all threads since the start of the run, according to the counters
 * [ns]. */
uint64_t perf_program_cpu(const struct engine_run *run);

/* Returns the cost of the interrupt of a sample for the program [ns], which it measures for about 3
 * ms; 0: unknown. */
double perf_interrupt_cost(const struct perf_setup *setup);

void perf_wide_start(struct engine_run *run);
void perf_wide_free(struct engine_run *run);
/* Counts creations from time to time, and changes from samplers of threads to samplers of CPUs, or
 * back; or determines the fraction of the time in which threads may inherit samplers. NOW
 * [CLOCK_MONOTONIC]. */
void perf_wide_work(struct engine_run *run, uint64_t now);
/* Returns whether a sample at TIME [CLOCK_MONOTONIC] is from a sampler of a CPU, and may therefore
 * be of another program. */
bool perf_wide_covers(const struct perf_wide *wide, uint64_t time);
/* Sets the number of creations and their cost in RESULT. */
void perf_wide_result(const struct engine_run *run, struct engine_result *result);

void perf_switch_start(struct engine_run *run);
void perf_switch_free(struct perf_switch *s);
/* Counts switches from time to time, and turns samplers on and off when it is time; NOW
 * [CLOCK_MONOTONIC]. */
void perf_switch_work(struct engine_run *run, uint64_t now);
/* Returns the CPU time of the program in which samplers were on, if its total is CPU [ns]. */
uint64_t perf_switch_sampled(const struct engine_run *run, uint64_t cpu);
/* Samplers make switches take longer. While they are on, this dilutes user code in the CPU time that
 * events count. Returns the factor for what samples show of the user code of a thread (or several)
 * which has used CPU ns, in TURNS on a CPU: >= 1, and 1 if there were no pauses. */
double perf_switch_dilution(const struct engine_run *run, double turns, double cpu);
/* Notes that THREAD has ended. */
void perf_switch_ended(struct perf_switch *s, const struct perf_thread *thread);
/* Sets the number of switches and their cost in RESULT. SWITCHES: of the whole program; 0: the
 * number that was counted. */
void perf_switch_result(const struct perf_switch *s, uint64_t switches,
                        struct engine_result *result);

#endif

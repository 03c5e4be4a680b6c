/* Engines: ways to start a program, or to attach to running ones, and to observe their threads.
 *
 *   engine = engine_choose("auto", &err);
 *   run = engine->start(command, &options, &status, &err);
 *   engine->run(run, &hooks, &result);   runs it to its end and calls the hooks
 *   engine->delete(run);
 *
 * All times are CLOCK_MONOTONIC in ns since the start of the run, which is the moment of the exec, or of attaching.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINE_H
#define RECORD_ENGINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "formats/raw/raw_extension.h"
#include "record/clock.h"

/* One thread at one moment. */
struct engine_thread {
    uint32_t pid, tid;
    uint64_t pc;
    uint64_t caller; /* with RAW_CALLER; otherwise 0 */
    uint64_t cpu;    /* cumulative CPU time of the thread [ns] */
    uint8_t flags;   /* of the `seen` block: RAW_RAN, RAW_TOTAL, RAW_CALLER, ... */
    /* of nominal engines, with RAW_TOTAL: the CPU time that all sightings of the thread represent, by
     * their intervals [ns] */
    uint64_t represented;
};

/* The threads seen at one moment: with ptrace all threads of all processes, with perf one thread.
 * Threads that have ended since the previous sample are included with RAW_TOTAL, their final CPU
 * time and the PC of their last sighting. */
struct engine_sample {
    uint64_t time; /* greater than that of the previous sample */
    const struct engine_thread *threads;
    size_t count;
};

struct engine_options {
    bool held;     /* engine_hold was called, and set the mask */
    sigset_t mask; /* for the program */
    /* of samples, > 0 [Hz]: per second of CPU time of a thread for nominal engines, otherwise
     * per second */
    double frequency;
    double duration;     /* [s] until the program is terminated (if attached: detached); 0: never */
    bool random;         /* intervals are random instead of fixed */
    bool follow;         /* processes that the program starts are also sampled */
    double max_overhead; /* fraction of the CPU time that sampling may use (0..1); 0: no limit */
    const char *event;   /* perf: the event that intervals count; NULL: cpu-clock */
    const pid_t *attach; /* threads or whole processes to attach to; COMMAND is then NULL */
    size_t attach_count;
    bool attach_some; /* ignore those that have ended since they were listed */
};

/* The reports of the engine to its caller. With ptrace, the process concerned waits during image,
 * maps_changed, task_end and process_end; with perf, it does not. All except sample may be called
 * between samples, with times before that of the last sample. Their arguments are borrowed during
 * the call. */
struct engine_hooks {
    void *context;
    /* Called when the power sources that are due should be read: at the start, with each sample of
     * ptrace or each reading of the rings of perf, and at least every ENGINE_TICK. Returns the time
     * at which the next source is due; UINT64_MAX: never. perf waits for that time, but hardly more
     * often than it takes samples, unless *EXACT becomes true: a counter is expected to be updated
     * at that time. *READ becomes the time of the newest value, if there is a new one. */
    uint64_t (*tick)(void *context, uint64_t now, uint64_t *read, bool *exact);
    /* Returns 0, or -1 to stop sampling; the program then continues without it. */
    int (*sample)(void *context, const struct engine_sample *sample);
    /* An address space begins: at the start of the program, by a fork or by an exec. Path NULL: to
     * be looked up; "": that of the first mapping of a file. Comm NULL: to be looked up. Returns
     * the number of the image, to be used for mapping and as a parent. */
    uint32_t (*image)(void *context, const struct raw_image *image);
    /* An image got an executable mapping. If build_id is NULL, it must be looked up. Returns whether
     * it was not known before. */
    bool (*mapping)(void *context, const struct raw_mapx *map);
    /* The mappings of PID, whose image is known, must be read from /proc/PID/maps now. */
    void (*maps_changed)(void *context, uint32_t pid, uint64_t time);
    /* A thread has existed, or has had NAME, since TIME. NAME NULL: to be looked up, now and
     * later. */
    void (*task)(void *context, uint32_t pid, uint32_t tid, uint64_t time, const char *name);
    /* A thread is about to end, or is no longer observed. */
    void (*task_end)(void *context, uint32_t pid, uint32_t tid, uint64_t time);
    /* A process has ended or is about to: this is the last opportunity to read its /proc/PID and
     * the files it leaves. CPU is its CPU time without that of its children; NULL: unknown. */
    void (*process_end)(void *context, uint32_t pid, uint64_t time, const struct raw_cpu *cpu);
    /* The CPU time in user code and in the kernel that kernel ticks have recently counted for a
     * process. perf: only if the kernel is not sampled. */
    void (*ticks)(void *context, const struct raw_ticks *ticks);
    /* The CPU time of the program when a power source had a new value. All samples up to that time
     * have been delivered. Only nominal engines report this: others know the CPU time of each thread
     * at each sample. */
    void (*mark)(void *context, const struct raw_mark *mark);
};

struct engine_result {
    int status;    /* of the program, as from waitpid; 0 if attached */
    bool expired;  /* it was terminated (if attached: detached) because the duration was over */
    bool gave_way; /* the rate was reduced for max_overhead */
    /* because of max_overhead, whole CPUs were sampled while threads were created fast */
    bool wide;
    bool sparse;    /* ... or threads were sampled for only part of the time */
    bool throttled; /* the rate was reduced by a limit of the kernel */
    bool user_only; /* time in the kernel was not sampled: ticks show how much there was */
    /* in this case: the part of CPU time in user code, without the time of switches between threads,
     * according to how rare the samples were; 0: unknown */
    double user_part;
    uint64_t wall;     /* from start to end [ns] */
    uint64_t attached; /* CPU time of attached processes and their children [ns]; 0: unknown */
    uint64_t user;     /* CPU time of the program and of all processes it has waited for ... */
    uint64_t system;   /* ... as reported by wait4 [ns]; both 0 if attached */
    uint64_t faults;   /* their page faults; 0 if attached */
    size_t left;       /* processes of the program that had not ended; 0 if attached */
    uint64_t samples;  /* number of samples delivered */
    double reached;    /* rate of the samples [Hz], counted like the engine's frequency */
    /* samples for which the sampler got a CPU too late, because it had no priority */
    uint64_t late;
    uint64_t missed;  /* skipped samples: the machine or the previous sample took too long */
    uint64_t lost;    /* records that the kernel could not deliver */
    uint64_t blind;   /* number of failures to read the CPU time or PC of a thread */
    uint64_t latency; /* time spent taking samples [ns]; minimum and 99th percentile per sample */
    uint64_t latency_min, latency_p99;
    /* Other CPU time that sampling costs the program, estimated [ns]. */
    uint64_t interrupting; /* cost of the interrupts of samples */
    uint64_t switches;     /* number of switches between threads of the program ... */
    uint64_t switching;    /* ... and their additional cost because of sampling */
    uint64_t creations;    /* number of threads that the program has created ... */
    uint64_t creation;     /* ... and their additional cost */
};

/* Returns the CPU time that sampling took, of this process and of the program [ns]. */
static inline uint64_t engine_cost(const struct engine_result *result)
{
    return result->latency + result->interrupting + result->switching + result->creation;
}

#define ENGINE_TICK (SECOND / 100) /* [ns] longest time between two ticks */

struct engine_run;

struct engine {
    const char *name, *help;
    /* The mapping and task hooks report every change; otherwise the recorder reads /proc when a PC
     * is in no known mapping, and periodically for mappings and names. */
    bool events;
    /* CPU times of sightings are sums of intervals; only those with RAW_TOTAL are exact. */
    bool nominal;
    /* Returns 0 if the engine can work here, or -1 with WHY filled. */
    int (*available)(struct error *why);
    /* Creates the process that runs COMMAND (ends with NULL; looked up in PATH) with the stdin,
     * stdout, stderr, signal mask and dispositions of the caller; or attaches to OPTIONS->attach.
     * Returns the run, and the caller calls delete; or NULL with ERR filled and *STATUS set to the
     * exit status: 127 not found, 126 cannot be executed, 1 all other errors. The engine changes
     * the signal mask of this process until delete. OPTIONS is borrowed until delete. */
    struct engine_run *(*start)(char *const *command, const struct engine_options *options,
                                int *status, struct error *err);
    /* Returns the process ID of the program, or of the first process attached to. */
    pid_t (*pid)(const struct engine_run *run);
    void (*run)(struct engine_run *run, const struct engine_hooks *hooks,
                struct engine_result *result);
    /* Frees the run; kills a program that was started but never run. */
    void (*delete)(struct engine_run *run);
};

/* The kernel interrupts running threads (perf_event_open). */
extern const struct engine engine_perf;
/* Stops all running threads with ptrace for each sample. */
extern const struct engine engine_ptrace;

/* All engines, most preferred first; ends with NULL. */
extern const struct engine *const engines[];

/* Blocks the signals that end this process, until an engine starts, which passes them on. The
 * process can then remove its files. */
void engine_hold(struct engine_options *options);

/* Returns the names accepted by engine_choose by NUMBER, "auto" first; NULL after the last. */
const char *engine_name(size_t number);

/* Returns the engine called NAME; for "auto", the first one that is available. Returns NULL with
 * ERR filled if NAME is unknown or the engine cannot work here. */
const struct engine *engine_choose(const char *name, struct error *err);

#endif

/* Engines: ways to start a program, or to attach to running ones, and to observe their threads.
 *
 *   engine = engine_choose("auto", &err);
 *   run = engine->start(command, &options, &status, &err);
 *   engine->run(run, &hooks, &result);   it runs to its end; the hooks are called
 *   engine->delete(run);
 *
 * All times are CLOCK_MONOTONIC in ns since the start of the run, which is the moment of the exec, or of attaching.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINE_H
#define RECORD_ENGINE_H

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
    uint64_t caller; /* with RAW_CALLER, else 0 */
    uint64_t cpu;    /* cumulative CPU time of the thread [ns] */
    uint8_t flags;   /* of the `seen` block: RAW_RAN, RAW_TOTAL, RAW_CALLER */
};

/* What was seen at one moment: by ptrace all threads of all processes, by perf one thread. The final CPU time of
 * threads that have ended since the sample before comes along with RAW_TOTAL and the PC of their last sighting. */
struct engine_sample {
    uint64_t time; /* greater than that of the sample before */
    const struct engine_thread *threads;
    size_t count;
};

struct engine_options {
    double frequency;    /* samples per second and CPU, > 0 */
    double duration;     /* [s] until the program is told to end (attached: is let go), 0: never */
    bool random;         /* intervals are random, not fixed */
    bool follow;         /* processes that the program makes are sampled as well */
    double max_overhead; /* part of the CPU time that sampling may cost (0..1); 0: no limit */
    const char *event;   /* perf: what an interval is counted in, NULL: cpu-clock */
    const pid_t *attach; /* threads or whole processes to attach to; COMMAND is NULL then */
    size_t attach_count;
};

/* What the engine tells its caller. With ptrace the process concerned waits in image, maps_changed, task_end and
 * process_end; with perf it does not. All but sample may be called between samples, and their times may precede that
 * of the last sample. What they point to is borrowed during the call. */
struct engine_hooks {
    void *context;
    /* A good moment to read the power sources that are due: at the start, with each sample of ptrace or each look into
     * the rings of perf, and after ENGINE_TICK at the latest. Returns whether it must be called that often. */
    bool (*tick)(void *context, uint64_t now);
    /* Returns 0, or -1: no more samples, please; the program then runs on without them. */
    int (*sample)(void *context, const struct engine_sample *sample);
    /* An address space begins: at the start of the program, by a fork, by an exec. Its path NULL: look it up; "": it
     * is that of the first mapping of a file. Its comm NULL: look it up. Returns its number, for mapping and as a
     * parent. */
    uint32_t (*image)(void *context, const struct raw_image *image);
    /* An image got an executable mapping; its build_id NULL: look it up. */
    void (*mapping)(void *context, const struct raw_mapx *map);
    /* The mappings of PID, whose image is known, are to be read from /proc/PID/maps now. */
    void (*maps_changed)(void *context, uint32_t pid, uint64_t time);
    /* A thread exists since TIME, or is called NAME since TIME; NULL: look it up, now and later. */
    void (*task)(void *context, uint32_t pid, uint32_t tid, uint64_t time, const char *name);
    /* A thread is about to end. */
    void (*task_end)(void *context, uint32_t pid, uint32_t tid, uint64_t time);
    /* A process has ended or is about to: the last chance to read its /proc/PID and the files it leaves. CPU is its
     * CPU time without that of its children, NULL: not known. */
    void (*process_end)(void *context, uint32_t pid, uint64_t time, const struct raw_cpu *cpu);
};

struct engine_result {
    int status;       /* of the program, as waitpid gives it; 0 when it was attached to */
    bool expired;     /* it was told to end (attached: was let go) because the duration was over */
    bool throttled;   /* the rate gave way to max_overhead, or to a limit of the kernel */
    uint64_t wall;    /* from start to end [ns] */
    uint64_t user;    /* CPU time of the program and of all processes it has waited for, as wait4 */
    uint64_t system;  /* gives it [ns]; both 0 when it was attached to */
    uint64_t samples; /* handed over */
    double reached;   /* rate of the samples while threads could be seen [Hz] */
    uint64_t missed;  /* ticks skipped: the machine or the sample before took too long */
    uint64_t lost;    /* samples that the kernel could not deliver */
    uint64_t blind;   /* times that a thread's CPU time or PC could not be read */
    uint64_t latency; /* time spent taking samples [ns]; and per sample: */
    uint64_t latency_min, latency_p99;
};

#define ENGINE_TICK (SECOND / 100) /* [ns] between two ticks, at most */

struct engine_run;

struct engine {
    const char *name, *help;
    /* Its mapping and task hooks bring every change; otherwise the recorder looks into /proc when it meets a PC in no
     * mapping, and for names now and then. */
    bool events;
    /* The CPU times of its sightings are sums of intervals; only those with RAW_TOTAL are exact. */
    bool nominal;
    /* Returns 0 when the engine can work here, or -1 with WHY filled. */
    int (*available)(struct error *why);
    /* Creates the process that runs COMMAND (ends in NULL; looked up in PATH) with the stdin, stdout, stderr, signal
     * mask and dispositions of the caller; or attaches to OPTIONS->attach. Returns the run, caller calls delete; or
     * NULL with ERR filled and *STATUS the exit status for it: 127 not found, 126 cannot be executed, 1 anything else.
     * From here to delete the calling process's signal mask is the engine's. OPTIONS is borrowed until delete. */
    struct engine_run *(*start)(char *const *command, const struct engine_options *options,
                                int *status, struct error *err);
    /* Process ID of the program, or of the first one that was attached to. */
    pid_t (*pid)(const struct engine_run *run);
    void (*run)(struct engine_run *run, const struct engine_hooks *hooks,
                struct engine_result *result);
    /* Frees; a program that was started and never run is killed. */
    void (*delete)(struct engine_run *run);
};

/* Lets the kernel interrupt threads that run (perf_event_open). */
extern const struct engine engine_perf;
/* Stops the threads that run together with ptrace for each sample. */
extern const struct engine engine_ptrace;

/* All engines, the one to be preferred first; ends in NULL. */
extern const struct engine *const engines[];

/* The engine called NAME; "auto": the first one that is available. Returns NULL with ERR filled: no such name, or why
 * it cannot work. */
const struct engine *engine_choose(const char *name, struct error *err);

#endif

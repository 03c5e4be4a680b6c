/* Engines: ways to start a program and to observe all its threads at a steady rate.
 *
 *   struct engine_run *run = engine->start(command, &options, &status, err);
 *                                       // the program exists, held at its first instruction
 *   engine->run(run, &hooks, &result);  // it runs to its end; hooks are called
 *   engine->delete(run);
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINE_H
#define RECORD_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* One thread at one moment. */
struct engine_thread {
    uint32_t tid;
    uint64_t pc;
    uint64_t cpu; /* cumulative run time [ns] */
};

/* All threads at one moment. A thread that ended since the last sample is among them once more,
 * with its final CPU time and the PC of its last sample (the one it ended at when it had none), so
 * that no CPU time is lost. */
struct engine_sample {
    uint64_t time; /* since the program started [ns], greater than that of the sample before */
    const struct engine_thread *threads;
    size_t count;
};

struct engine_options {
    double frequency; /* samples per second, > 0 */
    double duration;  /* [s] until the program is told to end, 0: never */
};

/* What the engine tells its caller; the program waits in none but `maps` and `thread_end`. */
struct engine_hooks {
    void *context;
    /* A sample is about to be taken, nothing is stopped yet: read the PMU now. */
    void (*tick)(void *context);
    /* Returns 0, or -1: no more samples, please; the program then runs on without them. */
    int (*sample)(void *context, const struct engine_sample *sample);
    /* The mappings of process PID are all new (FRESH: it has just started a program), or it is
     * about to end: the last chance to read /proc/PID/maps. */
    void (*maps)(void *context, pid_t pid, bool fresh);
    /* A thread is about to end; its /proc entry can still be read. */
    void (*thread_end)(void *context, pid_t pid, pid_t tid);
};

struct engine_result {
    int status;       /* of the program, as waitpid gives it */
    bool expired;     /* it was told to end because the duration was over */
    uint64_t wall;    /* from its start to its end [ns] */
    uint64_t latency; /* spent taking samples [ns] */
    uint64_t samples; /* taken */
    /* ticks that were skipped because the machine or the sample before took too long */
    uint64_t missed;
    uint64_t blind; /* times that a thread's CPU time or PC could not be read */
};

struct engine_run;

struct engine {
    const char *name, *help;
    /* Creates the process that runs COMMAND (ends in NULL; looked up in PATH) with the stdin,
     * stdout, stderr, signal mask and dispositions of the caller. Returns the run, caller calls
     * delete; or NULL with ERR filled and *STATUS the exit status for it: 127 not found, 126 cannot
     * be executed, 1 anything else. From here to delete the calling process's signal mask is the
     * engine's. OPTIONS is borrowed until delete. */
    struct engine_run *(*start)(char *const *command, const struct engine_options *options,
                                int *status, struct error *err);
    /* Process ID of the program. */
    pid_t (*pid)(const struct engine_run *run);
    void (*run)(struct engine_run *run, const struct engine_hooks *hooks,
                struct engine_result *result);
    /* Frees; a program that was never run is killed. */
    void (*delete)(struct engine_run *run);
};

/* Stops all threads together with ptrace for each sample. */
extern const struct engine engine_ptrace;

#endif

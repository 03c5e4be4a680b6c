/* Inside of record/engines/ptrace*.c: what the ptrace engine knows of a run.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PTRACE_H
#define RECORD_ENGINES_PTRACE_H

#include "record/engine.h"
#include "record/engines/signals.h"
#include "record/engines/tracee.h"

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
    size_t turn;         /* who is resumed first */
    uint64_t expires;    /* 0: never */
    int stop_signal;     /* the terminal asked the job to stop ... */
    uint64_t stop_until; /* ... which holds until then */
    bool sampling, in_sample, told, ended;
};

/* Adds a row with FLAGS to the sample being taken. */
void engine_add_row(struct engine_run *run, const struct tracee *tracee, uint8_t flags);

/* Nanoseconds since the start of the run. */
uint64_t engine_time(const struct engine_run *run);

/* Says that the program has a new image: it starts, or has called exec. */
void engine_new_image(struct engine_run *run, enum raw_how how);

/* Takes in one report of the kernel about a thread; false when there is none. */
bool engine_take_event(struct engine_run *run);

#endif

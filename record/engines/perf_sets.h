/* When the next sample comes: the samplers of threads, and their random periods.
 *
 * A sampler fires each time that the thread has used as much CPU time as its period says. Its period can only be changed
 * through its file descriptor, which begins a new one; events that a thread has inherited have none. So each thread that
 * was sampled once gets samplers of its own (perf_set_adopt), and after each sample the next period is drawn anew: the
 * intervals of a thread are independent of each other and of what the program does. They are exponential:
 *
 *   interval = reaction of the sampler + least + Exp(mean - least)
 *
 * Least is a twentieth of the mean where this process runs before all others (real-time priority, which root has), else
 * a quarter: until it gets a CPU the old period goes on, and what is too short would stop the program with interrupts.
 * Of the samples that come meanwhile one counts each time that they make up a mean.
 *
 * A new thread inherits the period that was drawn last, and fires first at an exponential time too, so that threads
 * shorter than an interval are sampled rightly in sum.
 *
 * To wake up for each sample costs too much above PERF_EACH Hz. There a period lasts for a batch of samples, 1 ms, and is
 * drawn evenly from 0.5 to 1.5 means: a program whose period it meets is seen at one phase for no longer than that, and
 * over all batches the error of a share is that of independent samples.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_SETS_H
#define RECORD_ENGINES_PERF_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/engines/perf_open.h"
#include "record/engines/perf_threads.h"

enum { PERF_EACH = 2500 };

/* The samplers of one thread, one for each CPU, and who has inherited them. */
struct perf_set {
    struct perf_set *chain;    /* all of them */
    struct perf_thread *owner; /* NULL: it has ended */
    struct perf_thread *heirs;
    int mark; /* file descriptor, see perf_open_mark */
    struct perf_sampler {
        int fd;                  /* -1: none */
        bool fired;              /* a sample of its period has come */
        uint64_t armed;          /* when its period began [CLOCK_MONOTONIC] */
        uint64_t period, before; /* this one and the one before [ns] */
        uint64_t since; /* CPU time since the last sample that counted, in late samples [ns] */
    } samplers[];       /* by number of the CPU in the setup */
};

struct perf_sets {
    const struct perf_setup *setup;
    const int *outputs; /* file descriptors whose rings take the samples, by CPU */
    struct perf_set *list;
    double mean;     /* interval [ns] */
    double least;    /* part of it that no period is shorter than */
    double reaction; /* mean time from a sample to the next period [ns] */
    bool random, batch, prompt;
    bool full;      /* no more file descriptors are to be had */
    uint64_t state; /* of the random numbers */
};

/* FREQUENCY in Hz; for SETUP and OUTPUTS, which are borrowed. PROMPT: this process need not wait for others to get a
 * CPU, so that periods may be short. */
void perf_sets_init(struct perf_sets *sets, const struct perf_setup *setup, const int *outputs,
                    double frequency, bool random, bool prompt);
/* Closes all. */
void perf_sets_free(struct perf_sets *sets);
void perf_sets_rate(struct perf_sets *sets, double mean);

/* Opens samplers for THREAD, which has none or gives up its old ones. Returns 0, or -1 with errno set. */
int perf_set_open(struct perf_sets *sets, struct perf_thread *thread, bool on_exec);

/* CHILD was made by PARENT and has inherited its samplers: a new period is drawn for the next one to come. */
void perf_set_inherit(struct perf_sets *sets, struct perf_thread *child,
                      const struct perf_thread *parent);

/* A sample of THREAD came from CPU at TIME. Draws the next period, gives the thread samplers of its own if it has none
 * yet. Returns whether the sample counts. */
bool perf_set_sampled(struct perf_sets *sets, struct perf_thread *thread, size_t cpu,
                      uint64_t time);

/* THREAD has ended, or its samplers are of no use any more (exec of another thread took its place). */
void perf_set_leave(struct perf_sets *sets, struct perf_thread *thread);

#endif

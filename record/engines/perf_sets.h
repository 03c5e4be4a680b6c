/* Determines when the next sample is taken: the samplers of threads, and their random periods.
 *
 * A sampler fires each time the thread has used one period of CPU time. The period can only be changed through a file
 * descriptor, which also starts a new period; inherited events have no descriptor. Therefore samplers are opened for
 * each thread at its first sample, and a new period is drawn after each sample: the intervals of a thread are
 * independent of each other and of the program. They are exponential:
 *
 *   interval = least + Exp(mean - least)
 *
 * Intervals are drawn in groups of 32, regardless of the thread: their lengths are from 32 equal
 * parts of this distribution, in random order (stratified sampling). Otherwise, the rate of 100
 * samples would be wrong by 10 %; with this, it is wrong by 2 %.
 *
 * `least` is a twentieth of the mean if this process has a real-time priority (as root), otherwise
 * a quarter: the old period stays in effect until this process gets a CPU, and a very short one
 * would flood the program with interrupts. The time until then is part of the interval. Of the
 * samples that arrive meanwhile, one counts each time the sum of their periods reaches a mean.
 *
 * Above RAW_PERF_EACH Hz, waking up for each sample costs too much: 7 % of a CPU at 1 kHz on a
 * virtual machine. At these rates, a period is used for a batch of PERF_BATCH samples (at least 1
 * ms), and is uniformly distributed from 0.5 to 1.5 means: a program with a matching period is seen
 * at one phase for no longer than a batch, and over all batches the error of a share is the same as
 * for independent samples. The next batch begins after the last sample that has been read, while
 * the thread runs. If a period was set while the thread waits, for an event or for a CPU, it would
 * begin with the code that the thread runs next, which would be missed. The CPU time that the
 * thread has used since the last sample is part of the interval of the next sample.
 *
 * The first sample of a thread comes after the rest of such an interval from a random moment on, so
 * that all of a short thread is sampled at the same rate. At high rates, the next interval is as
 * long as this whole interval: equal intervals give the same rate from any moment on only if they
 * stay equal.
 *
 * At high rates, a thread keeps the samplers that it has inherited until it has lived for 10 ms or
 * had 32 samples: this process reads samples up to 1.5 ms late as an ordinary user, and opening
 * samplers takes 0.2 ms, of which the kernel needs a part in the thread. Meanwhile, the thread has
 * a sample each time it has used one period, and those nearest to the ends of its intervals count.
 * When each thread got its own samplers at its first sample, the last third of forked processes of
 * 3 ms had 25 % fewer samples than the first (1 kHz, ordinary user). Without real-time priority, more
 * than MAX_ADOPTED threads keep them until enough of them have ended: this process would have to
 * share the CPUs with all of them while it opens samplers.
 *
 * A new thread inherits the period of its creator, from the beginning of the period. However, a
 * period that the creator has not yet used up is long on average, and one that was drawn after a
 * sample is not short: the code that threads run first would be missed. Therefore, each time a
 * thread is created, this process draws the period for the next one (a seed). Samples of the
 * creator do not change the seed until the creator has created no thread for a long time. Until
 * then its samples come too often, and one counts for each interval.
 *
 * Threads that were created together inherit the same period. The first sample of one of them
 * closes the samplers of all, so that the others would miss their first samples. At low rates, this
 * may be the only sample of a thread. Therefore, the threads get separate samplers, with different
 * periods, 1 ms after their creation. A sample of an old sampler is not a sample of the ones that
 * replace it, which count from the moment at which the old samplers are closed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_PERF_SETS_H
#define RECORD_ENGINES_PERF_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/raw/raw_extension.h"
#include "record/engines/perf_open.h"
#include "record/engines/perf_threads.h"
#include "record/random.h"

enum { PERF_BATCH = 8, PERF_PAST = 4 };

/* A period, and the interval from one sample that counts to the next; interval 0: drawn separately
 * for each sample. */
struct perf_period {
    uint64_t armed;            /* when it began [CLOCK_MONOTONIC] */
    uint64_t length, interval; /* [ns] */
};

/* The samplers of one thread, one for each CPU, and the threads that inherited them. */
struct perf_set {
    struct perf_set *chain;    /* next in the list of all sets */
    struct perf_thread *owner; /* NULL: the thread has ended */
    struct perf_thread *heirs;
    int mark;        /* file descriptor, see perf_open_mark */
    uint64_t opened; /* when all samplers were open [CLOCK_MONOTONIC] */
    bool read;       /* a sampler of this set has LATEST */
    bool fired;      /* an heir had a sample from ... */
    size_t fired_on; /* ... this CPU */
    struct perf_sampler {
        int fd; /* -1: none */
        /* whether its period may differ from the interval: this one, the previous one */
        bool creation, born;
        bool seed;                          /* its period was drawn for the next child */
        uint64_t sown;                      /* when a seed was last drawn [CLOCK_MONOTONIC] */
        struct perf_period period;          /* this one ... */
        struct perf_period past[PERF_PAST]; /* ... and the previous ones, the latest first */
        /* last sample of a batch, if the next batch may begin after it; otherwise 0 */
        uint64_t latest;
        uint64_t tried;  /* when a new batch was last considered [CLOCK_MONOTONIC] */
        uint64_t length; /* how long the period is used for a batch [ns] */
        uint64_t since;  /* CPU time of samples since the last one that counted [ns] ... */
        uint64_t due;    /* ... and the CPU time at which the next one counts */
        uint64_t used;   /* CPU time of samples since it was armed [ns] */
        /* CPU time of the thread on this CPU [ns]; 0: unknown. When the sampler was armed, at the
         * last sample, and when the next one counts. */
        uint64_t began, at, next;
        uint64_t gone; /* the same since the last one that counted ... */
        bool whole;    /* ... if that is all that the thread has used since then */
    } samplers[];      /* by number of the CPU in the setup */
};

struct perf_sets {
    const struct perf_setup *setup;
    int *outputs; /* file descriptors whose rings receive the samples, by CPU */
    struct perf_set *list;
    double mean;  /* mean interval [ns] */
    double exact; /* the mean before subtracting what is lost because new periods begin late [ns] */
    double least; /* shortest period, as a fraction of the mean */
    bool random, batch, prompt;
    bool each;      /* a batch is a single sample, if possible */
    bool full;      /* no more file descriptors are available */
    bool off;       /* all samplers pause */
    bool closed;    /* no samplers exist */
    bool read;      /* a set has READ, see perf_sets_renew */
    bool fired;     /* a set has FIRED */
    double opening; /* how long it takes to open samplers [ns] */
    struct random numbers;
    double phase; /* 0..1: of the periods of batches */
    double ahead; /* by how much samples of batches were early in total; negative: late [ns] */
};

/* Initializes SETS; the caller calls perf_sets_free. FREQUENCY in Hz; SETUP is borrowed, OUTPUTS is
 * copied. PROMPT: this process does not wait for a CPU, so that short periods are possible. */
void perf_sets_init(struct perf_sets *sets, const struct perf_setup *setup, const int *outputs,
                    double frequency, bool random, bool prompt);
/* Closes all samplers and frees all sets. */
void perf_sets_free(struct perf_sets *sets);
/* Sets MEAN and EXACT, see struct perf_sets [ns]. */
void perf_sets_rate(struct perf_sets *sets, double mean, double exact);

/* Closes all samplers; none are opened until perf_sets_reopen. */
void perf_sets_close(struct perf_sets *sets);
void perf_sets_reopen(struct perf_sets *sets);
/* Returns the length of one of the periods of a batch, regardless of the rate [ns]. */
double perf_sets_draw(struct perf_sets *sets);

/* Turns all samplers ON or off; new samplers are in the same state. */
void perf_sets_turn(struct perf_sets *sets, bool on);

/* Opens samplers for THREAD, and closes its old ones, if any. Returns 0, or -1 with errno set. */
int perf_set_open(struct perf_sets *sets, struct perf_thread *thread, bool on_exec);

/* CHILD was created by PARENT at TIME [CLOCK_MONOTONIC] and has inherited the samplers that PARENT
 * had then: draws a new period for the next child. */
void perf_set_inherit(struct perf_sets *sets, struct perf_thread *child,
                      const struct perf_thread *parent, uint64_t time);

/* Opens samplers for THREAD, which has inherited none, if possible. */
void perf_set_open_late(struct perf_sets *sets, struct perf_thread *thread);

/* THREAD had a sample on CPU (a number in the setup) at TIME [CLOCK_MONOTONIC], after PERIOD counts
 * if the sampler is inherited. Draws the next period, unless the thread has only inherited samplers.
 * Returns the CPU time that the sample represents, an interval [ns], or 0 if it does not count. */
double perf_set_sampled(struct perf_sets *sets, struct perf_thread *thread, size_t cpu,
                        uint64_t time, uint64_t period);

/* Begins batches, after perf_set_sampled has been called for all samples so far. If a batch began
 * after one of several samples that are read together, the others would be mistaken for samples of
 * this batch. */
void perf_sets_renew(struct perf_sets *sets);

/* Opens samplers for those threads that have had samples but have only inherited their samplers. */
void perf_sets_adopt(struct perf_sets *sets);

/* At low rates, returns whether several threads share inherited samplers. */
bool perf_sets_share(const struct perf_sets *sets);
/* Opens samplers for threads that share inherited ones, if one of them was created before BORN
 * [CLOCK_MONOTONIC]. Otherwise, threads that were created together would be sampled together, and
 * all samples but the first would be lost when the thread of the first gets its own samplers. */
void perf_sets_part(struct perf_sets *sets, uint64_t born);

/* To be called when THREAD has ended, or no longer needs its samplers (another thread called exec
 * and replaced it). */
void perf_set_leave(struct perf_sets *sets, struct perf_thread *thread);

#endif

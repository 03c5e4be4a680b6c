/* Weighing samples: computes the interval of each sample, the time and energy of each of its threads, and idle energy.
 * Tables, plots and exports all use it.
 *
 *   weigher_start(&weigher, meta, &quantity, &options);
 *   per batch:   weigher_add(&weigher, &samples);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   at the end:  weigher_finish(&weigher);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   weigher_free(&weigher);
 *
 * The result is windows of samples, in the order of the profile. An energy model chooses its windows, which may span
 * batches, for example from one reading of the sensor to the next.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WEIGH_H
#define ANALYZE_ATTRIBUTE_WEIGH_H

#include <math.h>
#include <string.h>

#include "analyze/attribute/quantity.h"
#include "formats/pbin/pbin.h"

/* A window of samples in columns, borrowed until the next call on the weigher. */
struct weighed {
    size_t count, thread_samples;
    const uint64_t *threads;                    /* [count]: number of thread samples of each */
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *equal_ns;    /* [thread_samples] as in struct pbin_samples, or NULL */
    const uint64_t *interval_ns; /* [count] as recorded */
    exact begin; /* time of the sample before the window, since the start [2^-32 ns] */
    exact *at;   /* [count] time of each sample, since the start [2^-32 ns] */
    exact *
        interval; /* [count] since the previous sample, corrected according to the options [2^-32 ns] */
    double *seconds; /* [count] the same [s] */
    double *rate;    /* [count] power [W], or what the profile measures; NaN: none, or not finite */
    double *energy;  /* [count] of the interval [J]; 0 if it cannot be summed */
    exact *gap_time,
        *gap_energy;      /* [count] beyond the longest allowed interval [2^-32 ns] [2^-80 J] */
    uint64_t *bad_values; /* [count]: number of energies not finite or too large; they count as 0 */
    exact *time_of;       /* [thread_samples] [2^-32 ns] */
    exact *energy_of;     /* [thread_samples] [2^-80 J] */
    exact *idle_energy;   /* [count] idle energy [2^-80 J] */
    exact *others_energy; /* [count] of other programs [2^-80 J] */
};

struct weigher;

/* An energy model: one of these, and a line in the table of models. */
struct energy_model {
    const char *name;
    bool loses; /* the attributed energy can differ from the measured energy */
    /* The number of samples, beginning with FIRST, in the next window; 0: more samples than are
     * available so far. At the end of the profile the remaining samples are a window. NULL: each
     * sample keeps its energy. */
    size_t (*window)(const struct weigher *weigher, const struct pbin_samples *samples,
                     size_t first);
    /* If not 0: the maximum size of a window; a new window begins with each sample whose number is
     * a multiple of this, so that samples can be weighed in parts. */
    size_t step;
    /* Spreads the energy of a window: sets ENERGY_OF and IDLE_ENERGY; everything else is set already. */
    void (*spread)(const struct weigher *weigher, struct weighed *window);
};

/* Divides energy by the CPU time around each sample, in the windows in which power was measured; the energy of unused
 * CPU time is idle energy. See stretch.h. The rounding error goes to the last thread with energy, so that the parts
 * add up to the energy of the run. */
extern const struct energy_model energy_by_share;
/* The energy of each sample is divided among its threads by CPU time, even if that is short. Energy while no thread
 * used CPU time is idle energy. */
extern const struct energy_model energy_by_sample;
/* Charges each thread power * its CPU time, as the scripts of 2019 did. */
extern const struct energy_model energy_by_thread;
/* Model number NUMBER; NULL after the last. */
const struct energy_model *energy_model_get(size_t number);

/* What the sampler's own time, divided evenly among the samples, is subtracted from. */
enum latency_use {
    LATENCY_KEPT,
    LATENCY_OF_INTERVALS, /* intervals, as far as the program did not run meanwhile */
    LATENCY_OF_THREADS, /* the time of every thread in a sample, as far as it lasts: as the scripts did */
};

struct weigh_options {
    const struct energy_model *model; /* NULL: energy_by_share */
    double lag; /* [s] with which the sensor shows what it measured; only with energy_by_share */
    double max_gap; /* [s]; the part of an interval beyond it is a gap; 0: no limit */
    enum latency_use latency;
    /* Charge each thread in a sample the whole interval, running or not. Energy is divided evenly
     * among the threads of the sample; with energy_by_thread each gets power * interval. */
    bool wall_time;
    exact untimed;   /* interval if the profile has neither times nor wall time [2^-32 ns] */
    bool times_only; /* do not compute energies */
    bool
        ignore_others; /* energy_by_share: energy of other programs becomes idle or goes to threads */
    /* energy_by_share: all energy is idle energy. For callers that need only times and the windows of the sensor. */
    bool undivided;
};

struct weigher {
    const struct pbin_meta *meta;
    const struct quantity *quantity;
    struct weigh_options options;
    double even_seconds;        /* interval of a profile without times [s] */
    exact even;                 /* the same [2^-32 ns] */
    exact longest;              /* max_gap [2^-32 ns] */
    exact latency;              /* of one sample, subtracted from intervals [2^-32 ns] */
    exact thread_latency;       /* the same, subtracted from the time of threads [2^-32 ns] */
    exact lag;                  /* of the sensor [2^-32 ns] */
    double before;              /* the recorded value of the sample before the next; 0: none */
    exact cpus;                 /* if their number is unknown: the fewest that can have been used */
    exact debt;                 /* latency not yet subtracted from intervals */
    exact at;                   /* time of the last sample weighed, since the start [2^-32 ns] */
    uint64_t number;            /* of the next sample, in the profile */
    size_t limit;               /* size of the next window; 0: the model's */
    double others, others_cpus; /* of the model's window, if LIMIT cuts it */
    struct pbin_samples in;     /* what was added; weighed up to NEXT */
    size_t next, next_thread;
    struct pbin_samples rest; /* what was added and is not yet in IN */
    void *held[8];            /* the columns of IN if the weigher owns them */
    bool finished;
    bool
        packs; /* weigher_next_packed is in use: samples that it does not take are weighed one by one */
    struct weighed window;
    size_t capacity, thread_capacity; /* of its columns */
    struct share_work *share;         /* of energy_by_share, else NULL */
};

/* META and QUANTITY are borrowed until weigher_free. */
void weigher_start(struct weigher *weigher, const struct pbin_meta *meta,
                   const struct quantity *quantity, const struct weigh_options *options);
void weigher_free(struct weigher *weigher);

/* Adds the next samples of the profile, which are borrowed until weigher_next returns NULL. */
void weigher_add(struct weigher *weigher, const struct pbin_samples *samples);

/* Ends the profile: the open window is complete. */
void weigher_finish(struct weigher *weigher);

/* Begins with sample number NUMBER of the profile. Only if weigher_divides, and before any samples are added. */
void weigher_begin_at(struct weigher *weigher, uint64_t number);

/* Prepares the added samples for the next window. Returns false if more samples must be added first, or at the end. */
bool weigher_ready(struct weigher *weigher);

/* How many samples the next window has; 0 if more must be added or prepared first. */
size_t weigher_window(const struct weigher *weigher);

/* The samples that have been added and not yet weighed, borrowed until the next call on the weigher. */
struct pbin_samples weigher_left(const struct weigher *weigher);

/* Moves the first of SAMPLES into WEIGHER, until it has the number of samples given to weigher_begin_at. Only
 * weigher_left returns them. */
void weigher_set_aside(struct weigher *weigher, struct pbin_samples *samples);

/* Returns the next window, or NULL if more samples are needed or at the end. */
const struct weighed *weigher_next(struct weigher *weigher);

/* Sets NEXT to the samples of the next window as they were added, borrowed until the next call on the weigher. Returns
 * false if more samples are needed or at the end. */
bool weigher_look(struct weigher *weigher, struct pbin_samples *next);

/* Computes the CPU time of other programs in the window to which weigher_look set NEXT: parts of the window are too short for
 * the kernel's ticks. Only with energy_by_share. */
void weigher_find_others(struct weigher *weigher, const struct pbin_samples *next);

/* Divides the window that weigher_look found: the next window is its first COUNT samples; 0: as the energy model
 * divides the profile. After weigher_find_others, if that applies. */
void weigher_limit(struct weigher *weigher, size_t count);

/* Skips the window that weigher_look found. */
void weigher_pass(struct weigher *weigher);

/* Can the samples of a profile be weighed in parts, independently of earlier ones? */
bool weigher_divides(const struct weigher *weigher);

/* Is the time of each thread sample its CPU time? Then it does not depend on a window. */
static inline bool weigher_times_are_cpu(const struct weigher *w)
{
    return w->meta->cpu_time && !w->options.wall_time && w->thread_latency == 0;
}

/* The CPU time of the machine in the next samples; NULL if it is unknown or not used. */
static inline const double *weigher_busy(const struct weigher *w)
{
    bool seen = w->meta->cpu_time && !w->options.ignore_others &&
                (w->meta->scope == NULL || strcmp(w->meta->scope, "gpu") != 0);
    return seen && w->in.busy_ns != NULL ? w->in.busy_ns + w->next : NULL;
}

/* CPUs of the machine; INFINITY: unknown. */
static inline double weigher_cpus(const struct weigher *w)
{
    return w->meta->cpus > 0 ? (double)w->meta->cpus : INFINITY;
}

/* The time of a thread sample that used CPU_NS, if weigher_times_are_cpu [2^-32 ns]. */
static inline exact weigh_cpu(uint64_t cpu_ns)
{
    return (exact)cpu_ns << TIME_SHIFT;
}

/* The recorded interval of a sample [2^-32 ns]. */
static inline exact weigher_elapsed(const struct weigher *w, uint64_t interval_ns)
{
    return w->meta->times ? (exact)interval_ns << TIME_SHIFT : w->even;
}

/* A window ends when it has this many thread samples; only a single sample can have more. */
enum { WEIGH_MAX_THREADS = 1 << 20 };

/* Can an energy or a power be summed? */
enum { WEIGH_ROOM = 16 /* 2^16 samples of the largest power; real ones are far from it */ };
static inline bool is_summable(double value)
{
    return exact_fits(value, ENERGY_SHIFT, WEIGH_ROOM);
}

#endif

/* Weighing samples: the interval of each sample, the time and energy of each of its threads, and the energy of no
 * thread. Tables, plots and exports all use it.
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

#include <string.h>

#include "analyze/attribute/quantity.h"
#include "formats/pbin/pbin.h"

/* A window of samples in columns, borrowed until the next call on the weigher. */
struct weighed {
    size_t count, thread_samples;
    const uint64_t *threads;                    /* [count]: number of thread samples of each */
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *interval_ns;                /* [count] as recorded */
    exact begin;     /* time of the sample before the window, since the start [2^-32 ns] */
    exact *at;       /* [count] time of each sample, since the start [2^-32 ns] */
    exact *interval; /* [count] since the previous sample, corrected as in the options [2^-32 ns] */
    double *seconds; /* [count] the same [s] */
    double *rate;    /* [count] power [W], or what the profile measures; NaN: none, or not finite */
    double *energy;  /* [count] of the interval [J]; 0 where it cannot be summed */
    exact *gap_time,
        *gap_energy;      /* [count] beyond the longest allowed interval [2^-32 ns] [2^-80 J] */
    uint64_t *bad_values; /* [count]: number of energies not finite or too large; they count as 0 */
    exact *time_of;       /* [thread_samples] [2^-32 ns] */
    exact *energy_of;     /* [thread_samples] [2^-80 J] */
    exact *idle_energy;   /* [count] of no thread [2^-80 J] */
    exact *others_energy; /* [count] of other programs [2^-80 J] */
};

struct weigher;

/* An energy model: one of these, and a line in the table of models. */
struct energy_model {
    const char *name;
    bool loses; /* what it attributes need not be the energy that was measured */
    /* The number of samples, beginning with FIRST, in the next window; 0: more than available so far. At the end of the
     * profile the remaining samples are a window. NULL: each sample keeps its energy. */
    size_t (*window)(const struct weigher *weigher, const struct pbin_samples *samples,
                     size_t first);
    /* Not 0: no window is larger, and one begins with each sample whose number is a multiple of this, whatever was before:
     * samples can be weighed in parts. */
    size_t step;
    /* Spreads the energy of a window: sets ENERGY_OF and IDLE_ENERGY; everything else is set already. */
    void (*spread)(const struct weigher *weigher, struct weighed *window);
};

/* By the CPU time around each sample, in the windows in which power was measured; what nobody used is idle. See
 * stretch.h. What rounding leaves goes to the last thread that has some: sums to that of the run. */
extern const struct energy_model energy_by_share;
/* Each sample's energy is split over its threads by CPU time, however little that is. Energy while no thread used any is
 * idle. */
extern const struct energy_model energy_by_sample;
/* Charges each thread power * its CPU time, as the scripts of 2019 did. */
extern const struct energy_model energy_by_thread;
/* Model number NUMBER, NULL past the last. */
const struct energy_model *energy_model_get(size_t number);

struct weigh_options {
    const struct energy_model *model; /* NULL: energy_by_share */
    double max_gap;        /* [s]; the part of an interval beyond it is a gap; 0: no limit */
    bool subtract_latency; /* subtract the sampler's own time from the intervals */
    /* charge each thread in a sample the interval, running or not; energy is of the same time: shared evenly by the threads
     * of the sample, or with energy_by_thread power * interval for each */
    bool wall_time;
    exact untimed;      /* interval if the profile has neither times nor wall time [2^-32 ns] */
    bool times_only;    /* do not compute energies */
    bool ignore_others; /* energy_by_share: what other programs used is nobody's, or the threads' */
};

struct weigher {
    const struct pbin_meta *meta;
    const struct quantity *quantity;
    struct weigh_options options;
    double even_seconds;    /* interval of a profile without times [s] */
    exact even;             /* the same [2^-32 ns] */
    exact longest;          /* max_gap [2^-32 ns] */
    exact latency;          /* of one sample [2^-32 ns] */
    exact debt;             /* latency not yet subtracted from intervals */
    exact at;               /* time of the last sample weighed, since the start [2^-32 ns] */
    uint64_t number;        /* of the next sample, in the profile */
    struct pbin_samples in; /* what was added; weighed up to NEXT */
    size_t next, next_thread;
    struct pbin_samples rest; /* what was added and is not yet in IN */
    void *held[7];            /* the columns of IN if the weigher owns them */
    bool finished;
    bool packs; /* weigher_next_packed is in use: samples that it leaves are weighed one by one */
    struct weighed window;
    size_t capacity, thread_capacity; /* of its columns */
    struct share_work *share;         /* of energy_by_share, else NULL */
};

/* META and QUANTITY are borrowed until weigher_free. */
void weigher_start(struct weigher *weigher, const struct pbin_meta *meta,
                   const struct quantity *quantity, const struct weigh_options *options);
void weigher_free(struct weigher *weigher);

/* The next samples of the profile, borrowed until weigher_next returns NULL. */
void weigher_add(struct weigher *weigher, const struct pbin_samples *samples);

/* No more samples follow: the open window is complete. */
void weigher_finish(struct weigher *weigher);

/* The next sample is number NUMBER of the profile; nothing has been added before. Only where weigher_divides. */
void weigher_begin_at(struct weigher *weigher, uint64_t number);

/* Gets what was added ready for the next window. Returns false: add more samples first, or the end. */
bool weigher_ready(struct weigher *weigher);

/* The samples that have been added and not yet weighed, borrowed until the next call on the weigher. */
struct pbin_samples weigher_left(const struct weigher *weigher);

/* Keeps the first of SAMPLES, which leave it, until WEIGHER has as many as weigher_begin_at said; for weigher_left only. */
void weigher_set_aside(struct weigher *weigher, struct pbin_samples *samples);

/* The next window. NULL: more samples are needed, or the end. */
const struct weighed *weigher_next(struct weigher *weigher);

/* The samples of the next window as they were added, borrowed until the next call on the weigher. Returns false: more are
 * needed, or the end. */
bool weigher_look(struct weigher *weigher, struct pbin_samples *next);

/* Passes over the window that weigher_look has found. */
void weigher_pass(struct weigher *weigher);

/* Can the samples of a profile be weighed in parts, independently of earlier ones? */
bool weigher_divides(const struct weigher *weigher);

/* Is the time of each thread sample its CPU time? It then needs no window. */
static inline bool weigher_times_are_cpu(const struct weigher *w)
{
    return w->meta->cpu_time && !w->options.wall_time;
}

/* The CPU time of the machine in the next samples, NULL: it is not known, or does not matter. */
static inline const double *weigher_busy(const struct weigher *w)
{
    bool seen = w->meta->cpu_time && !w->options.ignore_others &&
                (w->meta->scope == NULL || strcmp(w->meta->scope, "gpu") != 0);
    return seen && w->in.busy_ns != NULL ? w->in.busy_ns + w->next : NULL;
}

/* The time of a thread sample that used CPU_NS, if so [2^-32 ns]. */
static inline exact weigh_cpu(uint64_t cpu_ns)
{
    return (exact)cpu_ns << TIME_SHIFT;
}

/* The recorded interval of a sample [2^-32 ns]. */
static inline exact weigher_elapsed(const struct weigher *w, uint64_t interval_ns)
{
    return w->meta->times ? (exact)interval_ns << TIME_SHIFT : w->even;
}

/* What is held for a window has no more thread samples than this, but for those of one sample; after so many it ends. */
enum { WEIGH_MAX_THREADS = 1 << 20 };

/* Can an energy or a power be summed? */
enum { WEIGH_ROOM = 16 /* 2^16 samples of the largest power; real ones are far from it */ };
static inline bool is_summable(double value)
{
    return exact_fits(value, ENERGY_SHIFT, WEIGH_ROOM);
}

#endif

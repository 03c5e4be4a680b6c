/* Weighs samples: computes the interval of each sample, the time and energy of each of its threads,
 * and idle energy. Tables, plots and exports all use it.
 *
 *   weigher_start(&weigher, meta, &quantity, &options);
 *   per batch:   weigher_add(&weigher, &samples);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   at the end:  weigher_finish(&weigher);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   weigher_free(&weigher);
 *
 * The results are windows of samples, in the order of the profile. An energy model chooses its
 * windows, for example from one reading of the sensor to the next; they may span batches.
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
    const uint64_t *threads;                    /* [count]: thread samples in each sample */
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *equal_ns;    /* [thread_samples]: as in struct pbin_samples, or NULL */
    const uint64_t *interval_ns; /* [count] as recorded */
    exact begin;     /* time of the sample before the window, since the start [2^-32 ns] */
    exact *at;       /* [count]: time of each sample, since the start [2^-32 ns] */
    exact *interval; /* [count]: since the sample before, corrected by the options [2^-32 ns] */
    double *seconds; /* [count]: the same [s] */
    double *rate;    /* [count]: power [W], or the rate of the quantity; NaN: none or not finite */
    double *energy;  /* [count]: of the interval [J]; 0 if it cannot be summed */
    exact *gap_time,
        *gap_energy;      /* [count]: beyond the longest allowed interval [2^-32 ns] [2^-80 J] */
    uint64_t *bad_values; /* [count]: energies that are not finite or too large, and count as 0 */
    exact *time_of;       /* [thread_samples] [2^-32 ns] */
    exact *energy_of;     /* [thread_samples] [2^-80 J] */
    exact *idle_energy;   /* [count]: idle energy [2^-80 J] */
    exact *others_energy; /* [count]: energy of other programs [2^-80 J] */
};

struct weigher;

/* An energy model. To add one, define this struct and list it in the table of models. */
struct energy_model {
    const char *name;
    bool loses; /* attributed energy can differ from measured energy */
    /* The number of samples in the next window, starting at FIRST; 0 if more samples than are available
     * are needed. At the end of the profile, the remaining samples are a window. NULL: each sample
     * keeps its energy. */
    size_t (*window)(const struct weigher *weigher, const struct pbin_samples *samples,
                     size_t first);
    /* If not 0: the maximum size of a window. A new window begins with each sample whose number is
     * a multiple of this, so that samples can be weighed in parts. */
    size_t step;
    /* Divides the energy of a window: sets ENERGY_OF and IDLE_ENERGY. Everything else is already
     * set. */
    void (*spread)(const struct weigher *weigher, struct weighed *window);
};

/* Divides energy by the CPU time around each sample, in the windows in which power was measured.
 * Energy of unused CPU time is idle energy; see stretch.h. The rounding error goes to the last
 * thread sample with energy, so that the parts add up to the energy of the run. */
extern const struct energy_model energy_by_share;
/* Divides the energy of each sample among its threads by CPU time, however short that is. Energy
 * while no thread used CPU time is idle energy. */
extern const struct energy_model energy_by_sample;
/* Charges each thread with power * CPU time, like the scripts of 2019. */
extern const struct energy_model energy_by_thread;
/* The energy model with this number, starting at 0; NULL after the last. */
const struct energy_model *energy_model_get(size_t number);

/* The times from which the sampler's own time, divided evenly among the samples, is subtracted. */
enum latency_use {
    LATENCY_KEPT,
    LATENCY_OF_INTERVALS, /* intervals, except for time in which the program ran meanwhile */
    LATENCY_OF_THREADS, /* the time of each thread in a sample, at most all of it: as scripts did */
};

struct weigh_options {
    const struct energy_model *model; /* NULL: energy_by_share */
    double lag;     /* [s] how late the sensor shows its measurements; only with energy_by_share */
    double max_gap; /* [s]; the part of an interval beyond this is a gap; 0: no limit */
    enum latency_use latency;
    /* Charges each thread in a sample with the whole interval, whether or not it ran. Energy is
     * divided evenly among the threads of the sample; with energy_by_thread, each gets power *
     * interval. */
    bool wall_time;
    exact untimed;      /* interval if the profile has neither times nor wall time [2^-32 ns] */
    bool times_only;    /* do not compute energies */
    bool ignore_others; /* energy_by_share: energy of other programs is idle or goes to threads */
    /* energy_by_share: all energy is idle energy, for callers that need only times and the windows
     * of the sensor. */
    bool undivided;
};

struct weigher {
    const struct pbin_meta *meta;
    const struct quantity *quantity;
    struct weigh_options options;
    double even_seconds;        /* interval of a profile without times [s] */
    exact even;                 /* the same [2^-32 ns] */
    exact longest;              /* MAX_GAP [2^-32 ns] */
    exact latency;              /* per sample, subtracted from intervals [2^-32 ns] */
    exact thread_latency;       /* per sample, subtracted from the time of threads [2^-32 ns] */
    exact lag;                  /* of the sensor [2^-32 ns] */
    double before;              /* recorded value of the sample before the next; 0: none */
    exact cpus;                 /* if their number is unknown: the fewest that can have been used */
    exact debt;                 /* latency that has not yet been subtracted from intervals */
    exact at;                   /* time of the last sample weighed, since the start [2^-32 ns] */
    uint64_t number;            /* number of the next sample in the profile */
    size_t limit;               /* size of the next window; 0: chosen by the model */
    double others, others_cpus; /* of the model's window, if LIMIT divides it */
    struct pbin_samples in;     /* samples added; weighed up to NEXT */
    size_t next, next_thread;
    struct pbin_samples rest; /* samples added that are not yet in IN */
    void *held[8];            /* columns of IN if the weigher owns them */
    bool finished;
    bool packs; /* weigher_next_packed is used; samples that do not fit are weighed one by one */
    struct weighed window;
    size_t capacity, thread_capacity; /* of its columns */
    struct share_work *share;         /* of energy_by_share, otherwise NULL */
};

/* The interval of each sample of a profile without times [s]; 0: it has no samples, or no wall time. */
static inline double weigh_even_seconds(const struct pbin_meta *meta)
{
    return meta->samples > 0 ? (double)meta->wall_ns / 1e9 / (double)meta->samples : 0;
}

/* META and QUANTITY are borrowed until weigher_free. */
void weigher_start(struct weigher *weigher, const struct pbin_meta *meta,
                   const struct quantity *quantity, const struct weigh_options *options);
void weigher_free(struct weigher *weigher);

/* Adds the next samples of the profile. They are borrowed until weigher_next returns NULL. */
void weigher_add(struct weigher *weigher, const struct pbin_samples *samples);

/* Ends the profile and its open window. */
void weigher_finish(struct weigher *weigher);

/* Starts with sample number NUMBER of the profile. Requires weigher_divides; call it before any
 * samples are added. */
void weigher_begin_at(struct weigher *weigher, uint64_t number);

/* Prepares the added samples for the next window. Returns false if more samples must be added
 * first, or at the end. */
bool weigher_ready(struct weigher *weigher);

/* The number of samples in the next window; 0 if more must be added or prepared first. */
size_t weigher_window(const struct weigher *weigher);

/* The samples that have been added but not weighed, borrowed until the next call on the weigher. */
struct pbin_samples weigher_left(const struct weigher *weigher);

/* Moves the first of SAMPLES into WEIGHER, until it has as many samples as were given to
 * weigher_begin_at. They are returned only by weigher_left. */
void weigher_set_aside(struct weigher *weigher, struct pbin_samples *samples);

/* Returns the next window, or NULL if more samples are needed or at the end. */
const struct weighed *weigher_next(struct weigher *weigher);

/* Sets NEXT to the samples of the next window as they were added, borrowed until the next call on
 * the weigher. Returns false if more samples are needed, or at the end. */
bool weigher_look(struct weigher *weigher, struct pbin_samples *next);

/* Computes the CPU time of other programs in the window to which weigher_look set NEXT, because
 * parts of the window are too short for the kernel's ticks. Only with energy_by_share. */
void weigher_find_others(struct weigher *weigher, const struct pbin_samples *next);

/* Divides the window that weigher_look found: the next window consists of its first COUNT samples;
 * 0: as the energy model divides the profile. Call it after weigher_find_others, if that is
 * needed. */
void weigher_limit(struct weigher *weigher, size_t count);

/* Skips the window that weigher_look found. */
void weigher_pass(struct weigher *weigher);

/* Returns whether the samples of a profile can be weighed in parts, independently of earlier
 * samples. */
bool weigher_divides(const struct weigher *weigher);

/* Returns whether the time of each thread sample is its CPU time, and therefore does not depend on
 * a window. */
static inline bool weigher_times_are_cpu(const struct weigher *w)
{
    return w->meta->cpu_time && !w->options.wall_time && w->thread_latency == 0;
}

/* The CPU time of the machine in each of the next samples; NULL if it is unknown or not used. */
static inline const double *weigher_busy(const struct weigher *w)
{
    bool seen = w->meta->cpu_time && !w->options.ignore_others &&
                (w->meta->scope == NULL || strcmp(w->meta->scope, "gpu") != 0);
    return seen && w->in.busy_ns != NULL ? w->in.busy_ns + w->next : NULL;
}

/* The number of CPUs of the machine; INFINITY: unknown. */
static inline double weigher_cpus(const struct weigher *w)
{
    return w->meta->cpus > 0 ? (double)w->meta->cpus : INFINITY;
}

/* The time of a thread sample that used CPU_NS [2^-32 ns]. Requires weigher_times_are_cpu. */
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

/* is_summable: returns whether an energy or a power can be summed. */
enum { WEIGH_ROOM = 16 /* 2^16 samples with the largest power, far above real ones */ };
static inline bool is_summable(double value)
{
    return exact_fits(value, ENERGY_SHIFT, WEIGH_ROOM);
}

#endif

/* What samples weigh: the interval of each, the time and energy of each of its threads, and the energy of none of them.
 * Tables, plots and exports all ask here.
 *
 *   weigher_start(&weigher, meta, &quantity, &options);
 *   per batch:   weigher_add(&weigher, &samples);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   at the end:  weigher_finish(&weigher);
 *                while ((window = weigher_next(&weigher)) != NULL) ...
 *   weigher_free(&weigher);
 *
 * Samples come out in windows, in the order of the profile. A model of energy chooses its windows, which may span
 * batches: between two readings of the sensor, say.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_WEIGH_H
#define ANALYZE_ATTRIBUTE_WEIGH_H

#include "analyze/attribute/quantity.h"
#include "formats/pbin/pbin.h"

/* A window of samples in columns, borrowed until the next call on the weigher. */
struct weighed {
    size_t count, thread_samples;
    const uint64_t *threads;                    /* [count]: how many thread samples each has */
    const uint64_t *thread, *location, *cpu_ns; /* [thread_samples] */
    const uint64_t *interval_ns;                /* [count] as recorded */
    exact begin;     /* time of the sample before the first, since the first of all [2^-32 ns] */
    exact *at;       /* [count] when each was taken [2^-32 ns] */
    exact *interval; /* [count] since the one before, as the options correct it [2^-32 ns] */
    double *seconds; /* [count] the same [s] */
    double *rate;    /* [count] power [W], or what the profile measures; NaN: none, or not finite */
    double *energy;  /* [count] of the interval [J]; 0 where it cannot be summed */
    exact *gap_time,
        *gap_energy; /* [count] beyond the longest interval allowed [2^-32 ns] [2^-80 J] */
    uint64_t
        *bad_values;  /* [count]: how many energies were not finite or too large; they count as 0 */
    exact *time_of;   /* [thread_samples] [2^-32 ns] */
    exact *energy_of; /* [thread_samples] [2^-80 J] */
    exact *idle_energy; /* [count] no thread's [2^-80 J] */
};

struct weigher;

/* A model of energy: one of these, and a line in the table of models. */
struct energy_model {
    const char *name;
    /* How many samples from number FIRST on share their energy; 0: more than there are so far. At the end of the profile
     * those that are left are a window. NULL: each sample keeps its energy. */
    size_t (*window)(const struct weigher *weigher, const struct pbin_samples *samples,
                     size_t first);
    /* Spreads the energy of a window: sets ENERGY_OF and IDLE_ENERGY, all else is there. */
    void (*spread)(const struct weigher *weigher, struct weighed *window);
};

/* Each sample's energy is split over its threads by CPU time, and what rounding leaves goes to the last one that has
 * some: sums to that of the run. Energy while no thread used CPU time is idle. */
extern const struct energy_model energy_by_share;
/* Each thread: power * its CPU time, as the scripts of 2019 had it. */
extern const struct energy_model energy_by_thread;
/* The model number NUMBER, NULL past the last. */
const struct energy_model *energy_model_get(size_t number);

struct weigh_options {
    const struct energy_model *model; /* NULL: energy_by_share */
    double max_gap;        /* [s]; what an interval has beyond it goes to a gap; 0: no limit */
    bool subtract_latency; /* take the sampler's own time off the intervals */
    bool wall_time;        /* a thread that is seen is charged the interval, running or not */
    exact untimed;   /* interval where the profile knows neither times nor wall time [2^-32 ns] */
    bool times_only; /* energies are not wanted, and not set */
};

struct weigher {
    const struct pbin_meta *meta;
    const struct quantity *quantity;
    struct weigh_options options;
    double even_seconds; /* interval of a profile without times [s] */
    exact even;          /* the same [2^-32 ns] */
    exact longest;       /* max_gap [2^-32 ns] */
    exact latency;       /* of one sample [2^-32 ns] */
    exact debt;          /* latency that is still to be taken off intervals */
    exact at;            /* time of the sample that was weighed last, since the first [2^-32 ns] */
    struct pbin_samples in; /* what was added, from NEXT on still to be weighed */
    size_t next, next_thread;
    void *held[6]; /* the columns of IN where they are the weigher's own */
    bool finished;
    bool packs; /* weigher_next_packed is in use: what it leaves is weighed one by one */
    struct weighed window;
    size_t capacity, thread_capacity; /* of its columns */
};

/* META and QUANTITY are borrowed until weigher_free. */
void weigher_start(struct weigher *weigher, const struct pbin_meta *meta,
                   const struct quantity *quantity, const struct weigh_options *options);
void weigher_free(struct weigher *weigher);

/* The next samples of the profile, borrowed until weigher_next returns NULL. */
void weigher_add(struct weigher *weigher, const struct pbin_samples *samples);

/* No more samples: the window that is open is complete. */
void weigher_finish(struct weigher *weigher);

/* The next window. NULL: add more samples first, or the end. */
const struct weighed *weigher_next(struct weigher *weigher);

/* Can the samples of a profile be weighed in parts, without those before? */
bool weigher_divides(const struct weigher *weigher);

/* Is the time of each thread sample its CPU time? It then needs no window. */
static inline bool weigher_times_are_cpu(const struct weigher *w)
{
    return w->meta->cpu_time && !w->options.wall_time;
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

/* Can an energy or a power be summed up? */
enum { WEIGH_ROOM = 16 /* 2^16 samples of the largest power; real ones are far from it */ };
static inline bool is_summable(double value)
{
    return exact_fits(value, ENERGY_SHIFT, WEIGH_ROOM);
}

#endif

/* Samples of a full profile, one by one, each with its time and the CPU time of its threads. Memory does
 * not grow with the number of samples; a profile can be scanned again.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SCAN_H
#define PLOT_SCAN_H

#include "plot/plot.h"

struct moment {
    double begin, end; /* since the start of the run [s]; equal for the first sample of a run */
    double rate;       /* power, or the quantity of the profile; NaN: none */
    double energy;     /* rate * (end - begin); 0 without a rate */
    size_t count;      /* of threads */
    const uint64_t *thread,
        *location;          /* [count] numbers of the profile; borrowed during the call */
    const uint64_t *cpu_ns; /* [count] */
    double even;            /* time of each thread [s] if CPU times are not known; else NaN */
    double cpu;             /* sum of cpu_ns [s] */
};

/* Time of thread J of M [s], and its part of the energy. */
static inline double moment_time(const struct moment *m, size_t j)
{
    return m->even >= 0 ? m->even : (double)m->cpu_ns[j] / 1e9;
}

static inline double moment_energy(const struct moment *m, size_t j)
{
    if (m->even >= 0)
        return m->energy / (double)m->count;
    return m->cpu > 0 ? m->energy * ((double)m->cpu_ns[j] / 1e9) / m->cpu : 0;
}

struct scan {
    struct stream *in;
    const char *path; /* NULL: stdin */
    bool salvage;
    struct pbin_meta meta;
    struct quantity quantity;
    bool has_seconds; /* otherwise the duration is unknown, and a sample counts as a second */
};

/* Opens the only input of PLOT. Returns 0, or -1 if there are none or several, or it is aggregated or unreadable. */
int scan_open(struct scan *scan, const struct plot *plot, const char *kind, struct error *err);
void scan_close(struct scan *scan);

/* Calls EACH for every sample, beginning with the first. Returns 0 or -1. */
int scan_run(struct scan *scan,
             void (*each)(void *opaque, const struct moment *moment,
                          const struct pbin_definitions *all),
             void *opaque, struct error *err);

#endif

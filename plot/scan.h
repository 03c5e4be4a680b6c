/* Scans the weighed samples of a full profile one by one. Memory does not grow with the number of samples; a profile
 * can be scanned again.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_SCAN_H
#define PLOT_SCAN_H

#include "analyze/attribute/weigh.h"
#include "plot/plot.h"

/* Labels of energy that no thread of the program used: LABEL_IDLE, LABEL_OTHERS. */
enum { SCANNED_IDLE, SCANNED_OTHERS, SCANNED_LABELS };

/* One sample. */
struct scanned {
    double begin, end;           /* of its interval, since the start of the run [s] */
    double seconds;              /* its interval [s] */
    double rate;                 /* power, or the quantity of the profile; NaN: none */
    double free[SCANNED_LABELS]; /* energy outside code [J] */
    size_t threads;
    const uint64_t *thread,
        *location; /* [threads] numbers of the profile; borrowed during the call */
    const exact *time_of, *energy_of; /* [threads] */
};

/* Return the time [s] and energy [J] of thread J. */
static inline double scanned_time(const struct scanned *s, size_t j)
{
    return exact_approximate(s->time_of[j], TIME_SHIFT) / 1e9;
}

static inline double scanned_energy(const struct scanned *s, size_t j)
{
    return exact_approximate(s->energy_of[j], ENERGY_SHIFT);
}

struct scan {
    struct stream *in;
    const char *path; /* NULL: stdin */
    struct pbin_choice choice;
    struct pbin_meta meta;
    struct quantity quantity;
    bool has_seconds; /* otherwise the duration is unknown, and each sample counts as a second */
};

/* Opens the only input of PLOT (none: stdin). Returns 0, or -1 with ERR filled if there are several
 * inputs, or the profile is aggregated or unreadable. */
int scan_open(struct scan *scan, const struct plot *plot, const char *kind, struct error *err);
void scan_close(struct scan *scan);

/* Calls EACH for every sample, beginning with the first. Sets energies only if ENERGIES. Returns 0,
 * or -1 on an error. */
int scan_run(struct scan *scan, bool energies,
             void (*each)(void *opaque, const struct scanned *sample,
                          const struct pbin_definitions *all),
             void *opaque, struct error *err);

#endif

/* Used by fit*.c: the windows of a stretch, and the CPU times of columns in them.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_WINDOWS_H
#define ANALYZE_ATTRIBUTE_FIT_WINDOWS_H

#include "analyze/attribute/fit.h"

#define FIT_NOWHERE UINT32_MAX

enum { FIT_MIN_SAMPLES = 8 }; /* in short windows that are joined */

/* The CPU time of a column in a window [ns]. */
struct fit_entry {
    double cpu[FIT_ESTIMATES];
    uint32_t next;
    uint16_t column, window;
};

/* The windows of a stretch. */
struct fit_windows {
    const struct fit_view *view;
    struct fit *fit;
    enum fit_mode mode;
    size_t count;
    double ns[STRETCH_WINDOWS];
    double variance[STRETCH_WINDOWS]; /* of NS, because leaps happen at unknown moments [ns^2] */
    double edges[STRETCH_WINDOWS];    /* of its beginning and end, after move_edges [ns^2] */
    bool bad[STRETCH_WINDOWS];
    uint16_t last[STRETCH_WINDOWS]; /* number of the last sample */
    const uint16_t *in[2];          /* [samples]: window of each half */
    const double *energy;           /* [J] */
    bool differ;                    /* see fit_times_differ */
    bool timed;                     /* NS and LAST are known */
    bool scattered;                 /* see fit_scattered.c */
    bool seen;                      /* see fit_seen_fill */
    bool own;                       /* samples have their own intervals; see fit_own.h */
    /* if CPU times have errors at the ends of windows: the least number of samples; otherwise 0 */
    size_t paired;
    double end_variance; /* ... and the variance of these errors for each thread [ns^2] */
    bool divided;        /* samples without threads divide CPU times; see is_divided */
    bool exact; /* windows were joined where CPU times were averages, until they were exact */
    uint16_t whole[STRETCH];      /* IN if each interval is a window, or the stretch is one */
    uint16_t joined[2][STRETCH];  /* IN if windows were joined or moved */
    double all[STRETCH_WINDOWS];  /* ENERGY if windows were joined or moved, or all are one */
    size_t taken_from, taken_end; /* windows that are complete and already in the sums */
    double total[FIT_COLUMNS];    /* their CPU times by column [ns] */
};

/* Rounds to a multiple of 1/FIT_TICK ns, so that sums are the same in any order. */
static inline double fit_to_tick(double ns)
{
    const double large = 0x1.8p52 / FIT_TICK;
    return ns + large - large;
}

static inline size_t fit_window_of(const struct fit_windows *w, int half, size_t i)
{
    return w->in[half][i];
}

/* The part of interval I that is in its first window. */
static inline double fit_cut_of(const struct fit_windows *w, size_t i)
{
    if (fit_window_of(w, 0, i) == fit_window_of(w, 1, i))
        return 1;
    double cut = w->view->stretch->cut[i];
    return w->mode == FIT_LEAPS || cut == 1 ? 0.5 : cut;
}

/* Adds the CPU times of the thread samples to the entries of windows, or to the sums. */
void fit_add_lines(struct fit_windows *windows);

/* Does the same as fit_add_lines for threads that are in every sample, if samples have their own
 * intervals. */
void fit_own_add_threads(struct fit_windows *windows);

/* Sets WITH_NEXT for windows at whose ends the CPU time of threads is unknown. Returns whether these
 * are too many. */
bool fit_scattered_is(const struct fit_windows *windows, bool *with_next);

/* Joins windows until they are long compared with the sightings that share CPU time. The ends of
 * windows do not depend on which sightings found threads running. */
void fit_scattered_join(const struct fit_windows *windows, bool *with_next);

/* Does the same as fit_add_lines in this case. */
void fit_scattered_add(struct fit_windows *windows);

/* Window N of the stretch, without its CPU times. */
struct fit_inner fit_inner_of(const struct fit_windows *w, size_t n);

/* Returns whether window N can be added to the sums. */
bool fit_is_usable(const struct fit_windows *w, size_t n);

/* Adds WEIGHT times the products of INNER, which is window N, with the CPU times of that window. */
void fit_take_window(struct fit_windows *w, size_t n, struct fit_inner *inner, double weight);

/* Returns PAIRED, the least number of samples in a window, if samples of several threads alternate:
 * each has its own interval, which began at an unknown moment between the samples of others. 0:
 * they do not alternate. */
size_t fit_ends_least(const struct fit_view *view);

/* Sets END_VARIANCE. Returns how much of the differences between successive windows such errors can
 * explain, up to 1; 0: the windows are long, or there are no such errors. */
double fit_ends_part(struct fit_windows *w);

/* Returns whether windows N and N + 1 can be added as a pair. */
bool fit_ends_is_pair(const struct fit_windows *w, size_t n);

/* Adds windows N and N + 1, at whose ends CPU times have errors: what one lacks, the next has too
 * much of. The products of both together contain half as much of that, per window, as those of
 * each, so that a combination of the two is free of it. PART: how much of that is corrected. */
void fit_ends_take(struct fit_windows *w, size_t n, double part);

#endif

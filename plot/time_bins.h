/* A profile over time: its samples, divided into a fixed number of bins, for the largest functions
 * and threads.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_TIME_BINS_H
#define PLOT_TIME_BINS_H

#include "plot/plot.h"

/* The request. */
struct time_request {
    const char *kind; /* for messages */
    size_t bins;      /* at most */
    size_t lanes;     /* at most; the last one is for the remaining threads; 0: one lane for all */
    size_t series;    /* maximum number of functions (or other keys); the rest is one more series */
    bool energy;      /* series contain and are ranked by energy, otherwise time */
};

struct time_lane {
    char *name;
};

struct time_bins {
    size_t count;
    double start, width;             /* [s] */
    bool has_seconds;                /* otherwise times count samples */
    double *low, *high;              /* [count] range of the rate; NaN: no sample */
    double *energy, *seconds;        /* [count] integral of the rate, and its duration */
    size_t series;                   /* with "_other" as the last one, if needed */
    char **names;                    /* [series] */
    size_t lane_count, thread_count; /* number of lanes, and of threads */
    size_t rest; /* threads that share the last lane; 0: each has a separate lane */
    struct time_lane *lanes;
    float *cells; /* [lane][bin][series] */
    struct pbin_meta meta;
    struct quantity quantity;
};

static inline float *time_cell(const struct time_bins *b, size_t lane, size_t bin)
{
    return &b->cells[(lane * b->count + bin) * b->series];
}

/* Reads the only input of PLOT twice: for the largest functions and threads between --start and
 * --end, and for the bins. Returns 0, or -1 with ERR filled. */
int time_bins_read(struct time_bins *bins, const struct plot *plot,
                   const struct time_request *request, struct error *err);
void time_bins_free(struct time_bins *bins);

#endif

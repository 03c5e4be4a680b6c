/* The default energy model: energy is divided by the CPU time around each sample, and is idle
 * energy while CPUs are unused.
 *
 * A profile is divided by sample number into stretches of STRETCH samples. Each stretch is computed
 * independently, so that the result does not depend on how the profile is read. Within a stretch:
 *
 *   PC of sample  i-1             i             i+1
 *   time        ---|------:-------|------:-------|---    half of the CPU time of an interval goes
 *                   before  after                        to the PC at its beginning, half to the
 *                                                        PC at its end
 *
 *   window          from one update of the sensor to the next: E_w, d_w, and its CPU time c_w
 *   its threads     get E_w * min(1, c_w / d_w), divided by CPU time; the rest is idle energy
 *   other programs  get a share if they are known to have used the CPU time o_w: the threads get
 *                   E_w * c_w / max(d_w, c_w + o_w), and the other programs
 *                   E_w * o_w / max(d_w, c_w + o_w). They are assumed to demand the same number of
 *                   CPUs in all windows, and to get as many of these as the threads leave free
 *
 * Windows are found from the powers of intervals:
 *
 *   P P P P' P' P'       a sensor that is read more often than it is updated: a window each
 *   P P Q P' P'          Q is the mean over an update: of P before it, and of P' after it
 *   0 0 P 0 0 0 P' 0     a counter that leaps: it counted during the time since the previous leap
 *
 * An update whose time is known also divides its interval: the PC at the beginning gets the part
 * before it, and the PC at the end gets the part after it. The time of a leap in its interval is
 * unknown, and assumed to be the middle.
 *
 * Because of sampling, threads can appear to use more CPU time in one window than it contains, and
 * less in the next. CPU time that windows lack is therefore balanced with the excess of other
 * windows of the stretch, and only the remainder is unused CPU time. No thread sample gets more
 * than its CPU time at the highest power of the stretch; the excess goes to other thread samples,
 * first to those with a similar price (power).
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_H
#define ANALYZE_ATTRIBUTE_STRETCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribute/packed_sums.h"

enum { STRETCH = 1024 /* samples */, STRETCH_WINDOWS = 2 * STRETCH };
/* Additional elements at the end of arrays. Several elements are read or written at a time, and
 * arrays whose size is a multiple of a page would share a few lines of the cache when they are read
 * together. */
enum { STRETCH_ROOM = 16 };
#define STRETCH_SIGHTINGS  32   /* intervals whose sightings show how many CPUs were in use */
#define STRETCH_SAME_POWER 1e-9 /* rounding: powers that differ by less are equal */

static inline bool stretch_same_power(double a, double b)
{
    return fabs(a - b) <= STRETCH_SAME_POWER * fabs(b);
}

/* The part of an interval before an update of the sensor, if its mean power MEAN is between two
 * powers that persist, BEFORE and AFTER. 1 if there was no update, or if it coincided with the
 * sample. */
static inline double stretch_cut(double before, double mean, double after)
{
    double part = (mean - after) / (before - after);
    bool within = before > 0 && after > 0 && !stretch_same_power(mean, after);
    return within && part > 0 && part < 1 ? part : 1;
}

/* Arrays by window. */
struct stretch_windows {
    size_t count;
    double ns[STRETCH_WINDOWS], cpu_ns[STRETCH_WINDOWS], energy[STRETCH_WINDOWS]; /* [ns] [J] */
    uint16_t first[STRETCH_WINDOWS], end[STRETCH_WINDOWS]; /* whole intervals */
};

/* Common properties of the powers of intervals. */
struct stretch_rates {
    uint64_t same;                          /* intervals with the same power as the one before */
    bool zero;                              /* some intervals have no power */
    bool positive;                          /* all intervals have a duration */
    double most;                            /* highest power [W] */
    uint8_t steady[STRETCH + STRETCH_ROOM]; /* 0xff: same power as the one before; otherwise 0 */
};

/* The moments within intervals at which the power changes, if they do not follow from the powers of
 * intervals. */
struct stretch_edges {
    bool known;           /* otherwise, powers show them */
    size_t count;         /* of edges */
    double cut[STRETCH];  /* part of the interval up to its first edge; 0: at its start, 1: none */
    double part[STRETCH]; /* the part of its energy up to that edge */
    double first, last;   /* powers at both ends of the stretch */
};

struct stretch {
    size_t count;
    const struct stretch_edges *edges; /* NULL: powers show them */
    double others; /* CPUs that other programs could use in each window, see above; 0: none */
    double cpus;   /* of the machine; INFINITY: unknown */
    bool sighted;  /* CPU times are divided by sightings, and right only on average */
    bool in_turn;  /* threads take turns: excess CPU time is due to chance */
    bool own;      /* intervals without CPU time end at an update of the sensor, not after it */
    bool sums;     /* only the sum of idle energies is needed */
    /* Inputs, for the interval that ends with each sample. */
    double ns[STRETCH + STRETCH_ROOM];     /* [ns] */
    double rate[STRETCH + STRETCH_ROOM];   /* power [W]; NaN: none */
    double energy[STRETCH + STRETCH_ROOM]; /* [J] */
    /* CPU time used in the interval: CPU_SUMS or, if each sample has a single thread sample, an
     * array of these, with STRETCH_ROOM more elements. */
    double *cpu_ns;
    double cpu_sums[STRETCH + STRETCH_ROOM];
    struct stretch_rates rates; /* after stretch_look or stretch_fill */
    uint64_t high, low;         /* sum of ENERGY in packed words, after stretch_fill */
    double all;                 /* the sum of ENERGY */
    double even_ns;             /* the first EVEN_COUNT elements of NS are all EVEN_NS */
    size_t even_count;
    /* Results. */
    const double *each;    /* [count]: price of CPU time at the beginning of each interval [J/ns] */
    size_t odds;           /* intervals whose halves do not both have the price EACH */
    uint16_t odd[STRETCH]; /* their numbers */
    double idle[STRETCH + STRETCH_ROOM];  /* idle energy in it [J]; with SUMS, only the last */
    struct packed_words idle_sum;         /* with SUMS */
    bool any_idle;                        /* IDLE and IDLE_SUM are set; otherwise, all is 0 */
    double other[STRETCH + STRETCH_ROOM]; /* energy of other programs, if they used CPU time [J] */
    double rest;                          /* remainder, for threads with room [J] */
    double most;                          /* highest power [J/ns] */
    size_t updates;                       /* windows, if they differ from intervals; else 0 */
    bool positive;                        /* if so: all intervals have a duration */
    bool leaps;                           /* windows end where a counter leaps */
    double power[STRETCH_WINDOWS], price[STRETCH_WINDOWS]; /* of windows [J/ns] */
    double prices[STRETCH + STRETCH_ROOM];                 /* for EACH, if windows differ */
    double after[STRETCH];                  /* price after the update, if in two windows */
    uint16_t in[2][STRETCH + STRETCH_ROOM]; /* windows of both halves, after stretch_number */
    /* The fraction of the interval before the update if it is known and windows differ from
     * intervals, otherwise 1. */
    double cut[STRETCH + STRETCH_ROOM];
    size_t cuts;                                   /* intervals in two windows */
    uint16_t cut_at[STRETCH], cut_window[STRETCH]; /* their numbers, and their first windows */
    struct stretch_windows windows;
};

/* The CPU time of other programs in the time NS in which the threads used CPU_NS. */
static inline double stretch_others(const struct stretch *s, double ns, double cpu_ns)
{
    double wanted = s->others * ns, room = s->cpus * ns - cpu_ns;
    return wanted < room ? wanted : room > 0 ? room : 0;
}

/* The end of the block that starts with number FIRST of COUNT intervals or windows: it lasts at
 * least LEAST_NS, or ends with the last of them. */
static inline size_t stretch_block_end(const double *ns, size_t first, size_t count,
                                       double least_ns)
{
    double sum = ns[first++];
    while (first < count && sum < least_ns)
        sum += ns[first++];
    return first;
}

/* Prepares STRETCH, which must be all zero, for its first use. */
void stretch_init(struct stretch *stretch);

/* The samples from which a stretch is filled. */
struct stretch_source {
    const uint64_t *interval_ns; /* NULL: all intervals take EVEN_SECONDS */
    double even_seconds;
    const double *value; /* SCALE * VALUE is the power [W]; NULL: none */
    double scale;
};

/* Sets the COUNT intervals with their powers and energies, and RATES. Returns whether the energies
 * fit in packed sums. */
bool stretch_fill(struct stretch *stretch, const struct stretch_source *from);

/* The sum of VALUES that fit in packed sums. */
struct packed_words stretch_sum(const double *values, size_t count);

/* Sets RATES, for intervals that were not set by stretch_fill. */
void stretch_look(struct stretch *stretch);

/* Computes the results. RATES must be set. */
void stretch_settle(struct stretch *stretch);

/* Computes only the windows: no energies of other programs, no idle energy and no prices. */
void stretch_find_windows(struct stretch *stretch);

/* Sets IN if windows differ from intervals. */
void stretch_number(struct stretch *stretch);

/* The intervals in which the CPU time of a thread sample was used: its own and, if the CPU time is
 * longer than that, also those before it, back to the previous sample of the thread. */
struct stretch_use {
    size_t before;  /* thread sample that gets half of it; SIZE_MAX: none */
    uint32_t reach; /* intervals, at least 1 */
    uint32_t
        previous; /* previous thread sample of the thread; STRETCH_NONE: none in this stretch */
};
#define STRETCH_NONE UINT32_MAX

/* Work space of stretch_divide, with one element per thread sample. */
struct stretch_room {
    double *take; /* energies before levelling */
    int32_t *class;
};

/* Divides energy among thread samples, and sets OF[k] to the energy of thread sample k [J]. Sample
 * i has THREADS[i] thread samples. Thread sample k has the CPU time CPU_NS[k], which was used in
 * the intervals given by USES[k]. If USES is NULL, all samples have the same threads in the same
 * order. */
void stretch_divide(struct stretch *stretch, const uint64_t *threads, const double *cpu_ns,
                    const struct stretch_use *uses, const struct stretch_room *room, double *of);

#endif

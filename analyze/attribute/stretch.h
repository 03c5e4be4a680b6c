/* The default energy model: energy is divided by the CPU time around each sample, and is idle energy while CPUs are
 * unused.
 *
 * A profile is divided by sample number into stretches of STRETCH samples. Each stretch is computed independently, so
 * that the result does not depend on how the profile is read. Within a stretch
 *
 *   PC of sample  i-1             i             i+1
 *   time        ---|------:-------|------:-------|---    half of the CPU time of an interval goes to the PC at its beginning,
 *                   before  after                         half to the PC at its end
 *
 *   window          from one update of the sensor to the next: E_w, d_w, and the CPU time c_w in it
 *   its threads get E_w * min(1, c_w / d_w), by CPU time; the rest is idle energy
 *   other programs, if they are known to have used the CPU time o_w, get a share: threads get E_w * c_w / max(d_w, c_w + o_w),
 *                   other programs E_w * o_w / max(d_w, c_w + o_w). They are assumed to demand the same number of CPUs in all
 *                   windows, and to get as many of these as the threads leave free
 *
 * Windows are found from the powers of intervals:
 *   P P P P' P' P'       a sensor that is read more often than it is updated: one window each
 *   P P Q P' P'          Q is the mean over an update: of P before it, of P' after it
 *   0 0 P 0 0 0 P' 0     a counter that leaps: what it counted belongs to the time since the previous leap
 * An update whose time is known also divides its interval: the PC at the beginning gets the part before it, the PC at the end the
 * part after it. The time of a leap in its interval is unknown, and assumed to be the middle.
 *
 * Because of sampling, threads can appear to use more CPU time in one window than it contains, and less in the next.
 * Therefore CPU time that windows lack is balanced with the excess of other windows of the stretch, and only the
 * remainder is unused CPU time. No thread sample gets more than its CPU time at the highest power of the stretch; the
 * excess goes to the other thread samples, first to those of a similar price (power).
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_H
#define ANALYZE_ATTRIBUTE_STRETCH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/attribute/packed_sums.h"

enum { STRETCH = 1024 /* samples */, STRETCH_WINDOWS = 2 * STRETCH };
/* After the last sample: several are read or written at a time, and arrays of a multiple of a page, read together, would be
 * in the same few lines of the cache. */
enum { STRETCH_ROOM = 16 };
#define STRETCH_SIGHTINGS  32   /* intervals in which sightings show how many CPUs were in use */
#define STRETCH_SAME_POWER 1e-9 /* rounding: powers that differ by less are the same */

static inline bool stretch_same_power(double a, double b)
{
    return fabs(a - b) <= STRETCH_SAME_POWER * fabs(b);
}

/* An interval with the mean power MEAN between two powers that persist: the part of its time BEFORE an update of the sensor in it.
 * 1: there was none, or the sensor was updated with the sample. */
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
    uint16_t first[STRETCH_WINDOWS], end[STRETCH_WINDOWS]; /* its intervals that are not cut */
};

/* What the powers of intervals have in common. */
struct stretch_rates {
    uint64_t same;                          /* intervals with the power of the previous interval */
    bool zero;                              /* some have no power */
    bool positive;                          /* all take time */
    double most;                            /* highest power [W] */
    uint8_t steady[STRETCH + STRETCH_ROOM]; /* 0xff: those; 0: others, and after the last */
};

/* Where the power changes within intervals, if that is known otherwise than by the powers of intervals. */
struct stretch_edges {
    bool known;   /* else power shows them */
    size_t count; /* of edges */
    double
        cut[STRETCH]; /* fraction of the interval up to its first edge; 0: at its begin; 1: none */
    double part[STRETCH]; /* the same fraction of its energy */
    double first, last;   /* powers at both ends of the stretch */
};

struct stretch {
    size_t count;
    const struct stretch_edges *edges; /* NULL: power shows them */
    double others; /* CPUs that other programs could use in each window, see above; 0: none */
    double cpus;   /* of the machine; INFINITY: unknown */
    bool sighted;  /* CPU times are divided by sightings: true only on average */
    bool in_turn;  /* its threads never run at once: an excess of CPU time is chance */
    bool own;      /* intervals without CPU time end where the sensor was updated, not after that */
    bool sums;     /* only the sum of idle energies is needed */
    /* inputs, for the interval that ends with each sample */
    double ns[STRETCH + STRETCH_ROOM];     /* [ns] */
    double rate[STRETCH + STRETCH_ROOM];   /* power [W]; NaN: none */
    double energy[STRETCH + STRETCH_ROOM]; /* [J] */
    /* CPU time used in it. CPU_SUMS; or thread samples, with room for as many more, if each sample has one. */
    double *cpu_ns;
    double cpu_sums[STRETCH + STRETCH_ROOM];
    struct stretch_rates rates; /* after stretch_look or stretch_fill */
    uint64_t high, low;         /* the sum of the energy in packed words, after stretch_fill */
    double all;                 /* the sum of ENERGY */
    double even_ns;             /* NS has EVEN_COUNT intervals of EVEN_NS */
    size_t even_count;
    /* results */
    const double *each;    /* [count]: price of CPU time at the beginning of each interval [J/ns] */
    size_t odds;           /* intervals of which EACH is not the price of both halves */
    uint16_t odd[STRETCH]; /* their numbers */
    double idle[STRETCH +
                STRETCH_ROOM]; /* idle energy in it [J]; with SUMS, only that in the last is set */
    struct packed_words idle_sum;         /* with SUMS */
    bool any_idle;                        /* these are set; otherwise all of it is 0 */
    double other[STRETCH + STRETCH_ROOM]; /* energy of other programs, if they used CPU time [J] */
    double rest;                          /* remainder, for the threads that can take it [J] */
    double most;                          /* highest power [J/ns] */
    size_t updates;                       /* windows, if they differ from intervals; else 0 */
    bool positive;                        /* then: all intervals take time */
    bool leaps;                           /* they end where a counter leaps */
    double power[STRETCH_WINDOWS], price[STRETCH_WINDOWS]; /* of windows [J/ns] */
    double prices[STRETCH + STRETCH_ROOM];                 /* EACH, if windows differ */
    double after[STRETCH];                  /* price after the update, of intervals that are cut */
    uint16_t in[2][STRETCH + STRETCH_ROOM]; /* window of each half, after stretch_number */
    /* Fraction of the interval before the update, if that is known and the windows differ; all others are 1. */
    double cut[STRETCH + STRETCH_ROOM];
    size_t cuts;                                   /* intervals in two windows */
    uint16_t cut_at[STRETCH], cut_window[STRETCH]; /* their numbers, and their first windows */
    struct stretch_windows windows;
};

/* The CPU time of other programs in NS in which the threads used CPU_NS. */
static inline double stretch_others(const struct stretch *s, double ns, double cpu_ns)
{
    double wanted = s->others * ns, room = s->cpus * ns - cpu_ns;
    return wanted < room ? wanted : room > 0 ? room : 0;
}

/* The end of the block that begins with FIRST of COUNT intervals or windows: it has LEAST_NS, or ends with the last. */
static inline size_t stretch_block_end(const double *ns, size_t first, size_t count,
                                       double least_ns)
{
    double sum = ns[first++];
    while (first < count && sum < least_ns)
        sum += ns[first++];
    return first;
}

/* Prepares STRETCH, which must be all 0, for its first use. */
void stretch_init(struct stretch *stretch);

/* Samples of a profile. */
struct stretch_source {
    const uint64_t *interval_ns; /* NULL: all take EVEN_SECONDS */
    double even_seconds;
    const double *value; /* SCALE * VALUE is the power [W]; NULL: there is none */
    double scale;
};

/* Sets the COUNT intervals, their powers and energies, and looks at them. Returns whether the energies fit in packed
 * sums. */
bool stretch_fill(struct stretch *stretch, const struct stretch_source *from);

/* The sum of VALUES that fit in packed sums. */
struct packed_words stretch_sum(const double *values, size_t count);

/* Sets RATES. For intervals that have been set in another way. */
void stretch_look(struct stretch *stretch);

/* Sets the results, if the intervals have been looked at. */
void stretch_settle(struct stretch *stretch);

/* The same without energies of other programs, idle energy and prices. */
void stretch_find_windows(struct stretch *stretch);

/* Sets IN, if windows differ from intervals. */
void stretch_number(struct stretch *stretch);

/* Where the CPU time of a thread sample was used: in its interval or, if it is longer than that, also in the intervals
 * before, back to the previous sample of the thread. */
struct stretch_use {
    size_t before;  /* the thread sample that gets half of it; SIZE_MAX: none */
    uint32_t reach; /* intervals, at least 1 */
    uint32_t
        previous; /* the thread sample of the same thread before it; STRETCH_NONE: none in this stretch */
};
#define STRETCH_NONE UINT32_MAX

/* Work space of stretch_divide, one element per thread sample. */
struct stretch_room {
    double *take; /* energies before they are levelled */
    int32_t *class;
};

/* Divides energy among thread samples. Sample i has THREADS[i] of them; thread sample k has the CPU time CPU_NS[k],
 * which was used as USES[k] describes. If USES is NULL, all samples have the same threads in the same order. Sets
 * OF[k] to the energy of thread sample k [J]. */
void stretch_divide(struct stretch *stretch, const uint64_t *threads, const double *cpu_ns,
                    const struct stretch_use *uses, const struct stretch_room *room, double *of);

#endif

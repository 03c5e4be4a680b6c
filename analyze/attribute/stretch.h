/* Energy by the CPU time around each sample, and nobody's where nobody used any.
 *
 * A profile is cut into stretches of STRETCH samples, by number, which settle their energy for themselves: the result
 * does not depend on how the profile is read. Within a stretch
 *
 *   PC of sample  i-1             i             i+1
 *   time        ---|------:-------|------:-------|---    the CPU time of an interval goes half to the PC at its begin,
 *                   before  after                         half to the PC at its end
 *
 *   window          from one update of the sensor to the next: E_w, d_w, and the CPU time c_w in it
 *   its threads get E_w * min(1, c_w / d_w), by CPU time; nobody gets the rest
 *   other programs, if they are known to have used o CPUs, share in it: threads get E_w * c_w / max(d_w, c_w + o d_w), other
 *                   programs E_w * o d_w / max(d_w, c_w + o d_w)
 *
 * Windows are found from the powers of intervals:
 *   P P P P' P' P'       a sensor that is read more often than it is updated: one window each
 *   P P Q P' P'          Q is the mean over an update: of P before it, of P' after it
 *   0 0 P 0 0 0 P' 0     a counter that leaps: what it counted belongs to the time since the leap before
 * An update that is known cuts the time of its interval too, and the PCs at its begin and end are before and after it. A leap
 * is somewhere in its interval: taken to be in the middle.
 *
 * Samples are taken at random, so that one thread may seem to use more CPU time in a window than there is, and less in
 * the next: time that windows lack is nobody's only as far as no other window of the stretch has too much. No thread
 * sample gets more than its CPU time at the highest power of the stretch: what would be beyond goes to the others.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_STRETCH_H
#define ANALYZE_ATTRIBUTE_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STRETCH = 1024 /* samples */, STRETCH_WINDOWS = 2 * STRETCH };
#define STRETCH_SAME_POWER 1e-9 /* rounding: powers that differ by less are the same */

/* Arrays by window. */
struct stretch_windows {
    size_t count;
    double ns[STRETCH_WINDOWS], cpu_ns[STRETCH_WINDOWS], energy[STRETCH_WINDOWS]; /* [ns] [J] */
};

struct stretch {
    size_t count;
    double others; /* CPUs that other programs used, on average */
    bool in_turn;  /* its threads never run at once: more CPU time than time is chance */
    /* given, for the interval that each sample ends */
    double ns[STRETCH];     /* [ns] */
    double rate[STRETCH];   /* power [W]; NaN: none */
    double energy[STRETCH]; /* [J] */
    double cpu_ns[STRETCH]; /* CPU time used in it */
    /* what follows */
    const double *before,
        *after; /* [count]: price of CPU time at the ends of each interval [J/ns] */
    const double *first, *second; /* [count]: what the PCs at its ends pay for half of it [J/ns] */
    double idle[STRETCH];         /* nobody's energy in it [J] */
    bool any_idle;                /* some is not 0 */
    double other[STRETCH];        /* energy of other programs, if they used CPU time [J] */
    double rest;                  /* what is left over, for the threads that can take it [J] */
    double most;                  /* highest power [J/ns] */
    size_t updates; /* windows that are more or less than an interval; else IN is not set */
    bool leaps;     /* they end where a counter leaps */
    double power[STRETCH_WINDOWS], price[STRETCH_WINDOWS]; /* of windows [J/ns] */
    double prices[2][STRETCH], costs[2][STRETCH];
    uint16_t in[2][STRETCH]; /* number of the window of each half */
    double cut
        [STRETCH]; /* part of the interval's time before the update; if that is known and the windows differ */
    struct stretch_windows windows;
};

/* Sets what follows. */
void stretch_settle(struct stretch *stretch);

/* Where the CPU time of a thread sample was used: in its interval, or, where it is more, in those before as well, back to the
 * sample that the thread was in. */
struct stretch_use {
    size_t before;  /* number of the thread sample that has half of it, SIZE_MAX: none has */
    uint32_t reach; /* intervals, at least 1 */
};

/* Work space of stretch_divide, for as many thread samples as there are. */
struct stretch_room {
    double *take;
    int32_t *class;
};

/* Divides energy among thread samples: sample i has THREADS[i]; CPU_NS[k] is the CPU time of thread sample k, USES[k] says
 * where it was used. USES NULL: all have the same threads in the same order. OF[k] becomes its energy [J]. */
void stretch_divide(struct stretch *stretch, const uint64_t *threads, const double *cpu_ns,
                    const struct stretch_use *uses, const struct stretch_room *room, double *of);

#endif

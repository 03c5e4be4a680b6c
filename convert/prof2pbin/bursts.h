/* Divides the CPU time of threads that sleep and run in turn by how long they had run.
 *
 * The sampler does not see a thread at all moments of a burst, from one sleep to the next, with the same probability. It may get a
 * CPU because another thread has gone to sleep, and then sees one that has just begun; and of threads that wait for a CPU, it
 * counts those that it finds running. Stretches of sightings with the same CPU time each cannot correct that, since each has some
 * of all moments. But a sleeping thread is recorded with its CPU time, so that bursts are known, unless a sleep was so short that it
 * was not seen, which makes two of them one. Therefore stretches in a row form a pool, whose sightings are divided into strata by
 * the part of its burst that had passed (strata.h). Each stratum has the CPU time that the thread used in these parts of bursts, and
 * each stretch keeps its own: sightings get times that satisfy both (iterative proportional fitting).
 *
 * Three to eight threads with two functions of 1 to 12 ms and 0.5 to 4 ms CPU time and sleeps of 2 to 10 ms, on two CPUs, without
 * real-time priority: the second function got 2 to 6 % too much on average (10 % in single recordings), now 0 to 1.3 % (3.7 %).
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_BURSTS_H
#define CONVERT_PROF2PBIN_BURSTS_H

#include "convert/prof2pbin/weighed_thread.h"

/* In a pool: sightings and bursts, or more. A pool with fewer than LEAST_BURSTS remains as it is, and so does one whose bursts are shorter
 * than LEAST_BURST_NS on average: what they use in the kernel, which is not seen, is too large a part. */
enum { BURST_POOL = 256, POOL_BURSTS = 16, LEAST_BURSTS = 8 };
#define LEAST_BURST_NS UINT64_C(1000000)

/* While samples are measured: T sleeps, or was seen running. ALONE: this sighting is a stretch of its own, after a gap. */
void bursts_sleep(struct weighed_thread *t);
void bursts_see(struct weighed_thread *t, bool alone);
/* When all stretches of T are complete, and have the CPU time that was measured. */
void bursts_end(struct weighed_thread *t);

/* Gives sightings of T stretches of their own, with the CPU time that their stretch has now. */
void bursts_divide(struct weighed_thread *t);

/* Frees T->bursts. */
void bursts_delete(struct weighed_thread *t);

#endif

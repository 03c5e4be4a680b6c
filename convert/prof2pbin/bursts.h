/* Divides the CPU time of threads that alternately sleep and run, by how long they had run at each
 * sighting.
 *
 * A burst is the time from one sleep of a thread to the next. The sampler does not see a thread at
 * all moments of a burst with the same probability. It may get a CPU because another thread has
 * gone to sleep, and then it sees a thread that has just begun; and of the threads that wait for a
 * CPU, it counts those that it finds running. Stretches of sightings with equal CPU times cannot
 * correct that, since each stretch has sightings at all moments. But a sleeping thread is recorded
 * with its CPU time, so that bursts are known; only a sleep that is too short to be seen joins two
 * bursts. Therefore successive stretches form a pool, whose sightings are divided into strata by
 * the part of the burst that had passed (strata.h). Each stratum has the CPU time that the thread
 * used in these parts of bursts, and each stretch keeps its own CPU time: sightings get times that
 * satisfy both (iterative proportional fitting).
 *
 * Results for three to eight threads with two functions of 1 to 12 ms and 0.5 to 4 ms CPU time and
 * sleeps of 2 to 10 ms, on two CPUs, without real-time priority: the second function got 2 to 6 %
 * too much on average (10 % in single recordings), now -1.6 to 1.4 % (3.7 %).
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_BURSTS_H
#define CONVERT_PROF2PBIN_BURSTS_H

#include "convert/prof2pbin/weighed_thread.h"

/* MIN_POOL_SIGHTINGS, MIN_POOL_BURSTS: the minimum numbers of sightings and bursts in a pool. One
 * with fewer than MIN_BURSTS bursts remains unchanged, and so does a pool whose bursts are shorter
 * than MIN_BURST_NS on average: the part that they use in the kernel, unseen, is too large. */
enum { MIN_POOL_SIGHTINGS = 256, MIN_POOL_BURSTS = 16, MIN_BURSTS = 8 };
#define MIN_BURST_NS UINT64_C(1000000)

/* Called while samples are measured: T sleeps, or was seen running. ALONE: this sighting is a
 * separate stretch, after a gap. */
void bursts_sleep(struct weighed_thread *t);
void bursts_see(struct weighed_thread *t, bool alone);
/* Called when all stretches of T are complete and have the CPU time that was measured. */
void bursts_end(struct weighed_thread *t);

/* Gives each sighting of T a separate stretch. KEEP: T->equal gets the previous stretches of T,
 * which are freed otherwise. */
void bursts_divide(struct weighed_thread *t, bool keep);

/* Frees T->bursts. */
void bursts_delete(struct weighed_thread *t);

#endif

/* How much of the CPU time of each thread was used in user code, in profiles of the perf engine of
 * an ordinary user, who may not sample the kernel. Only these profiles of the engine have ticks, or
 * the fact system_ns.
 *
 * All sightings are in user code, and represent the time in the kernel, too: a function that only
 * computes for 37 % of the CPU time, beside one that calls the kernel, had 69 %. Two facts show
 * which part of a thread's sightings is to be moved to the kernel:
 *
 *   ticks:   The kernel counts in ticks of a process whether it finds user code or the kernel (K:
 *            the kernel's part, of all processes that have ticks, in each BIN of time).
 *   nominal: A thread that calls the kernel more often than the others is seen less often, so that
 *            the intervals of its sightings add up to a smaller part N of its total C. Short
 *            threads of a process and of about the same total are counted together.
 *
 * Of the CPU time of a thread, the part (1 - K) N / C was used in user code, scaled so that the
 * kernel's part of all CPU time is right, and at most 1. The part of each process is then corrected
 * by its own ticks, as far as these are precise. By these ticks alone, a thread that hands out work
 * to others (0.06 s, and 0.1 s in the kernel) had 0.14 s.
 *
 * The kernel's part of all CPU time is the mean, weighted by variances, of two values: that of all
 * ticks; and how much of the CPU time no sample represents (the fact user_part), because a sample in
 * the kernel is not taken. Ticks miss most of the kernel time of a thread that wakes and sleeps all
 * the time, because the kernel does not accept them then: a function that computes for 0.1 ms
 * between sleeps had 12 % too much.
 *
 * Processes that were too short to have ticks are one process here, with the ticks of the run that
 * are left. In unfinished recordings and those of running processes, they keep their sightings. CPU
 * times do not change.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_USER_SHARE_H
#define CONVERT_PROF2PBIN_USER_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/raw/raw_extension.h"

struct user_share;

/* EXT is borrowed until user_share_delete. Threads with less CPU time than SHORT_NS are short, and
 * an interval lasts MEAN_NS on average. Returns NULL if EXT is not such a profile. */
struct user_share *user_share_new(const struct raw_extension *ext, uint64_t short_ns,
                                  uint64_t mean_ns);
void user_share_delete(struct user_share *share); /* NULL is allowed */

/* First pass: the next record with a total is that of THREAD of process PID, which has used CPU_NS
 * since its previous total, SWITCHED_NS of it (at most all) in switches between threads, and
 * NOMINAL_NS according to the samples since then. */
void user_share_total(struct user_share *share, uint32_t thread, uint32_t pid, uint64_t cpu_ns,
                      uint64_t switched_ns, uint64_t nominal_ns);
/* Second pass: counts a sighting, of WEIGHT: its CPU time, 1 on average. */
void user_share_count(struct user_share *share, uint32_t thread, uint32_t pid, uint64_t time_ns,
                      double weight);
/* After these passes. Returns how many sightings are to be moved; 0: no third pass is needed. */
uint64_t user_share_settle(struct user_share *share);
/* Third pass, over the same sightings. Returns whether this one moves to the kernel. */
bool user_share_moves(struct user_share *share, uint32_t thread, uint64_t time_ns);

#endif

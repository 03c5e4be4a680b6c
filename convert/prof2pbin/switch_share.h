/* How much of the CPU time of each thread was used while the kernel switched from one thread to
 * another, in profiles of the perf engine.
 *
 * No event sees this time, and therefore no sample is there. The sightings of the thread represent
 * it, too: a function that computes for 0.1 ms between sleeps had 11 % too much on a virtual
 * machine, where a switch takes 12 us. Records with a total say how much it is, as far as the
 * sampler knows. This part of the thread's sightings in user code moves to the kernel.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_SWITCH_SHARE_H
#define CONVERT_PROF2PBIN_SWITCH_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct switched;

/* All zero: no thread has switched. */
struct switch_share {
    struct switched *threads;
    size_t count, capacity;
};

void switch_share_free(struct switch_share *share);
/* First pass: THREAD has used CPU_NS since its previous total, LACK_NS of it (at most all) in
 * switches. */
void switch_share_total(struct switch_share *share, uint32_t thread, uint64_t cpu_ns,
                        uint64_t lack_ns);
/* After the first pass: returns whether sightings of some thread are to be moved. */
bool switch_share_any(const struct switch_share *share);
/* Returns whether this sighting of THREAD in user code moves to the kernel. */
bool switch_share_moves(struct switch_share *share, uint32_t thread);

#endif

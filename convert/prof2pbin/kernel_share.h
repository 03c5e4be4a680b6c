/* Which sightings in the kernel are correct, in profiles of the ptrace engine.
 *
 * An interrupted thread stops some microseconds later. If it enters a system call in that time, it stops at the end of
 * the call, as if it had been there, so that programs that often call the kernel are seen there too often. The ticks
 * of the kernel are unbiased, but rare: 250 per second, where a sampler takes 1000 or 10,000 samples.
 *
 *   program: the sightings in the kernel of all processes of a program are too many if their share is larger than that
 *            of the ticks by more than twice the standard error of the difference. Then the excess is removed.
 *   window:  the time of a process between two records of its ticks, 0.1 s or more. A part of the excess is removed
 *            from each: what its own ticks suggest, together with FEW ticks of the program's share.
 *
 * A removed sighting counts as user code: the code where its thread was seen in user mode at about that time, else its
 * program, else the caller of the kernel. CPU times do not change, and no sighting is moved into the kernel.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_KERNEL_SHARE_H
#define CONVERT_PROF2PBIN_KERNEL_SHARE_H

#include "formats/raw/raw_extension.h"

struct kernel_share;

/* EXT is borrowed until kernel_share_delete. Returns NULL if it has no ticks: all sightings are correct. */
struct kernel_share *kernel_share_new(const struct raw_extension *ext);
void kernel_share_delete(struct kernel_share *share);

/* First pass: counts a sighting of thread number THREAD of process PID running in IMAGE (RAW_NO_IMAGE). Times ascend.
 * CALLED: it was in the kernel, otherwise at PC. */
void kernel_share_count(struct kernel_share *share, uint32_t thread, uint32_t pid, uint32_t image,
                        uint64_t time_ns, bool called, uint64_t pc);
/* Between the passes. Returns how many sightings are too many; 0: no second pass is needed. */
uint64_t kernel_share_settle(struct kernel_share *share);

/* After kernel_share_settle: do the ticks show clearly more time in the kernel than the sightings, because of page
 * faults? These are seen as the user code in which they happen. SEEN and TICKED are shares, from 0 to 1, of all
 * processes; the first one is without the excess. */
bool kernel_share_faults(const struct kernel_share *share, double *seen, double *ticked);

/* Second pass, over the same sightings. It was in the kernel: is that one too many? */
bool kernel_share_excess(struct kernel_share *share, uint32_t thread, uint32_t pid,
                         uint64_t time_ns);
/* Thread number THREAD ran at LOCATION in user code of IMAGE. */
void kernel_share_seen(struct kernel_share *share, uint32_t thread, uint32_t image,
                       uint32_t location);
/* The PCs in IMAGE at which the thread will first be seen in user code, if it has not been seen there yet: pass their
 * locations to kernel_share_seen. Borrowed; NULL and 0: it has been seen, or never will be. */
const uint64_t *kernel_share_first(struct kernel_share *share, uint32_t thread, uint32_t image,
                                   size_t *count);
/* A location in user code in place of the kernel: of those last seen, in turn. UINT32_MAX: there is none. */
uint32_t kernel_share_instead(struct kernel_share *share, uint32_t thread, uint32_t image);

#endif

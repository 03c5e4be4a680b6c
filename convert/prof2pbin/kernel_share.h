/* Which sightings are in the kernel, in profiles of the ptrace engine.
 *
 * An interrupted thread stops some microseconds later. If it enters a system call or has a page fault in that time, it stops
 * at the end of that, as if it had been there, so that programs that often call the kernel are seen too often in the kernel.
 * On the CPU of the sampler, threads stop at once, but page faults are not seen. The ticks of the kernel are unbiased, but
 * rare: 250 per second, where a sampler takes 1000 or 10,000 samples.
 *
 *   side:    sightings on the CPU of the sampler, or on another one. Each side is settled alone.
 *   program: the sightings in the kernel of all processes of a program are too many, or too few, if their share differs
 *            from that of the ticks by more than twice the standard error of the difference. Then the excess is
 *            removed, or the lack is taken from user code, where page faults are likely (raw_fault_places.h).
 *            Of an excess on other CPUs, system calls go first, as far as there are fewer of them on the CPU of the sampler;
 *            of these, those of places that call the kernel more seldom there (call_places.h). Page faults that are too many
 *            on other CPUs are those that lack on the CPU of the sampler, as far as there are any: neither move.
 *   window:  the time of a process between two records of its ticks, 0.1 s or more. A part of the excess is removed
 *            from each: what its own ticks suggest, together with FEW ticks of the program's share. Exempt are system calls
 *            whose places have parts of their own.
 *
 * A removed sighting counts as user code: in a system call in turn as one of the places where its thread was seen in user mode
 * just before and after, else threads like it (user_places.h), else as the caller; in a page fault as one of these places that
 * is missing from other CPUs (missing_places.h), else as the code that had it. CPU times do not change.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_KERNEL_SHARE_H
#define CONVERT_PROF2PBIN_KERNEL_SHARE_H

#include "convert/prof2pbin/thread_tracker.h"
#include "convert/prof2pbin/user_places.h"
#include "formats/raw/raw_fault_places.h"

struct kernel_share;

/* EXT is borrowed until kernel_share_delete. Returns NULL if it has no ticks: all sightings are correct. */
struct kernel_share *kernel_share_new(const struct raw_extension *ext);
void kernel_share_delete(struct kernel_share *share);

/* A record of a thread. */
struct sighting {
    struct place_owner owner;
    uint32_t pid;
    uint64_t time_ns; /* ascends */
    bool preempted;   /* it was seen in user code at PC, where it waited for a CPU */
    bool ran;         /* it was seen running: the following */
    bool
        called; /* it was in the kernel, called by the user code at PC or in a page fault there; else at PC */
    bool faulted; /* it was in a page fault */
    enum fault_side side;
    uint64_t pc;
};

/* Sets SEEN to the thread sample AT of SAMPLES at TIME_NS, of thread TRACKED. Returns whether it ran. */
bool kernel_share_sighting(struct sighting *seen, const struct tracked *tracked,
                           const struct raw_samples *samples, size_t at, uint64_t time_ns);

/* First pass: counts each record. */
void kernel_share_count(struct kernel_share *share, const struct sighting *seen);
/* Between the passes. Returns how many sightings are in the wrong place; 0: no second pass is needed. */
uint64_t kernel_share_settle(struct kernel_share *share);

/* Second pass, over the same sightings. Does SEEN move from the kernel to user code, or the reverse? */
bool kernel_share_moves(struct kernel_share *share, const struct sighting *seen);
/* PC in the process of SEEN is at LOCATION. */
void kernel_share_place(struct kernel_share *share, const struct sighting *seen, uint64_t pc,
                        uint32_t location);
/* SEEN was in a page fault, which moves to user code. Was it at LOCATION that its thread ran when it was interrupted? */
bool kernel_share_misses(struct kernel_share *share, const struct sighting *seen,
                         uint32_t location);
/* SEEN is user code at LOCATION. */
void kernel_share_seen(struct kernel_share *share, const struct sighting *seen, uint32_t location);
/* Other places in user code for SEEN, if its thread was not seen there just before and after: see user_places_own. */
size_t kernel_share_own(struct kernel_share *share, const struct sighting *seen,
                        struct own_place *own);
/* A location in user code in place of the kernel, where SEEN was; LATER are the COUNT where its thread will be seen next, in
 * order of time. UINT32_MAX: there is none. */
uint32_t kernel_share_instead(struct kernel_share *share, const struct sighting *seen,
                              const uint32_t *later, size_t count);

#endif

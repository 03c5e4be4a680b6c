/* Corrects the number of sightings in the kernel, in profiles of the ptrace engine.
 *
 * An interrupted thread stops some microseconds later. If it enters a system call or has a page
 * fault in that time, it stops only at the end of the call or fault, as if it had been there all
 * the time. Programs that often call the kernel are therefore seen in the kernel too often. On the
 * CPU of the sampler, threads stop at once, but page faults are not seen. The ticks of the kernel
 * are unbiased, but rare: 250 per second, while a sampler takes 1000 or 10,000 samples.
 *
 *   side:    sightings on the CPU of the sampler, or on another CPU. Each side is corrected
 *            separately.
 *   program: the sightings in the kernel of all processes of a program are too many, or too few, if
 *            their share differs from that of the ticks by more than twice the standard error of
 *            the difference. Then the excess is removed, or missing sightings are taken from user
 *            code where page faults are likely (raw_fault_places.h). Of an excess on other CPUs,
 *            system calls are removed first, until they are as frequent as on the CPU of the
 *            sampler; of these, those of places that call the kernel less often there
 *            (call_places.h). Excess page faults on other CPUs are matched with page faults missing
 *            on the CPU of the sampler; matched ones do not move, on either side.
 *            Ticks show a share of the CPU time, and early sightings of short processes, which are
 *            rare, represent more of it than others: a sighting counts by its CPU time. (In children
 *            of 2 ms, a tenth of whose time is in the kernel, the kernel had 15 % of the time if
 *            sightings counted equally.)
 *   window:  the time of a process between two records of its ticks, 0.1 s or more. A part of the
 *            excess is removed from each: the part suggested by its own ticks together with FEW
 *            ticks of the program's share. System calls at places that have their own parts are
 *            exempt.
 *
 * A removed sighting counts as user code: as one of the places where its thread was seen in user
 * mode just before and after, in rotation. After a page fault, and for threads that rarely wait,
 * only places that are missing from other CPUs qualify (missing_places.h); if none of them does, it
 * counts after a page fault as the code that caused the fault, and otherwise as the last such place
 * of the thread. (Threads that wait are on the CPU of the sampler when they do one thing rather than
 * another, so that comparing the sides is useless.) If a thread was not seen in user mode, places of
 * similar threads are used (user_places.h), or else the caller. CPU times do not change.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_KERNEL_SHARE_H
#define CONVERT_PROF2PBIN_KERNEL_SHARE_H

#include "convert/prof2pbin/thread_tracker.h"
#include "convert/prof2pbin/user_places.h"
#include "formats/raw/raw_fault_places.h"

struct kernel_share;

/* EXT is borrowed until kernel_share_delete. Returns NULL if it has no ticks, or is of the
 * engine perf: then all sightings count as correct. */
struct kernel_share *kernel_share_new(const struct raw_extension *ext);
void kernel_share_delete(struct kernel_share *share);

/* A record of a thread. */
struct sighting {
    struct place_owner owner;
    uint32_t pid;
    uint64_t time_ns; /* ascends */
    bool preempted;   /* the thread waited for a CPU, in user code at PC */
    bool ran;         /* it was seen running */
    bool called; /* in the kernel, called by user code at PC or in a page fault there; else at PC */
    bool faulted; /* it was in a page fault */
    enum fault_side side;
    uint64_t pc;
};

/* Fills SEEN from thread sample AT of SAMPLES, at TIME_NS, of thread TRACKED. Returns whether the
 * thread ran. */
bool kernel_share_sighting(struct sighting *seen, const struct tracked *tracked,
                           const struct raw_samples *samples, size_t at, uint64_t time_ns);

/* First pass: notes each record. */
void kernel_share_note(struct kernel_share *share, const struct sighting *seen);
/* Second pass: counts each sighting, of WEIGHT: its CPU time, 1 on average. */
void kernel_share_count(struct kernel_share *share, const struct sighting *seen, double weight);
/* After these passes. Returns how many sightings are in the wrong place; 0: no third pass is needed. */
uint64_t kernel_share_settle(struct kernel_share *share);

/* Third pass, over the same sightings. Returns whether SEEN moves from the kernel to user code, or
 * the reverse. */
bool kernel_share_moves(struct kernel_share *share, const struct sighting *seen);
/* Records that LOCATION is the location of PC in the process of SEEN. */
void kernel_share_place(struct kernel_share *share, const struct sighting *seen, uint64_t pc,
                        uint32_t location);
/* Returns whether only sightings of its thread on the CPU of the sampler replace SEEN. */
bool kernel_share_compares(struct kernel_share *share, const struct sighting *seen);
/* Records that SEEN is in user code at LOCATION. */
void kernel_share_seen(struct kernel_share *share, const struct sighting *seen, uint32_t location);
/* Fills OWN with other places in user code for SEEN, if its thread was not seen in user code just
 * before or after. Returns their number: see user_places_own. */
size_t kernel_share_own(struct kernel_share *share, const struct sighting *seen,
                        struct own_place *own);
/* Returns a location in user code that replaces SEEN, which was in the kernel; UINT32_MAX: that of
 * the code that called the kernel or had the page fault. LATER: the COUNT locations where its thread
 * will be seen next, in order of time. */
uint32_t kernel_share_instead(struct kernel_share *share, const struct sighting *seen,
                              const uint32_t *later, size_t count);

#endif

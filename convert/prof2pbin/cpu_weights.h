/* The CPU time represented by each sighting of a thread, for profiles that record how threads were seen.
 *
 * A waiting thread has used its CPU time before, elsewhere: CPU time is charged to sightings of running threads only.
 * Each sighting at a random moment of use represents the same CPU time as its neighbours; therefore the CPU time of a
 * stretch is divided equally among its sightings. In simulations (phases f, g and a wait, periods of 0.5 to 10 random
 * intervals), shares are right within 0.4 points, with a standard deviation of 1.0 times sqrt(p (1 - p) / n). Charging
 * the CPU time of each interval to the sighting at its end is wrong by up to 6 points, with up to 1.5 times that
 * deviation.
 *
 *   stretch (ptrace): CPU_WINDOW successive sightings of a thread; the remaining ones belong to the last stretch. Its
 *                     CPU time is known exactly from the records at its ends.
 *   stretch (perf):   from one total to the next. The total is divided among its sightings in proportion to their
 *                     nominal CPU time.
 *
 * CPU time of a thread that was never seen running goes to sightings of threads of its process with the same name, else of
 * its process, else of processes of the same program. The short threads among these stand for those that were missed: they
 * pool their CPU time, and each sighting gets its part by weight. Without short threads, the others share it in proportion
 * to their CPU time. If no such thread was seen at all, it is reported as unsampled with the thread's last record, and so is
 * that of a thread which used so much that chance cannot explain it: MISSED times what is sampled once on average. So is
 * what all threads together lack of the run's CPU time, in equal parts: each spends it in the kernel while it is made and
 * while it ends, where no event counts. No nanosecond is lost.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CPU_WEIGHTS_H
#define CONVERT_PROF2PBIN_CPU_WEIGHTS_H

#include "base/report.h"
#include "convert/prof2pbin/thread_tracker.h"

enum { CPU_WINDOW = 64, MISSED = 64 };

/* CPU time, and the sightings that share it: their number, or their nominal CPU time. */
struct stretch {
    uint64_t weight, cpu_ns;
};

struct weighed_thread {
    struct stretch *stretches;
    size_t count, capacity;
    /* while samples are measured: the open stretch, and the last exact CPU time */
    uint64_t weight, cpu_ns, known_ns, last_ns;
    uint32_t task, image;
    uint64_t records; /* remaining */
    uint64_t total_ns;
    /* while it is taken: of the stretch before AT, LEFT of WEIGHT is left; each unit of weight gets EACH_NS, and REST of
     * every WEIGHT units one more: ODD is how near the next one is */
    size_t at;
    uint64_t left, each_ns, rest, odd;
    bool orphan;     /* its total has no sighting to go to */
    uint64_t own_ns; /* CPU time that no engine counted: of its birth and its end in the kernel */
};

struct cpu_weights {
    struct weighed_thread *threads;
    size_t count, capacity;
    bool nominal;       /* CPU time between totals is only nominal */
    uint64_t *by_image; /* CPU time of images [ns] */
    uint64_t last_ns;   /* time of the last sample */
    size_t missed;      /* threads that chance cannot have missed */
    uint64_t missed_ns; /* their CPU time */
};

/* Reads the samples of RAW, which are at their start before and after. Returns 0 with WEIGHTS filled, caller calls
 * cpu_weights_free in any case; or -1. */
int cpu_weights_measure(struct cpu_weights *weights, struct raw_profile *raw, struct error *err);
void cpu_weights_free(struct cpu_weights *weights);

/* Path of the program whose processes used most CPU time, borrowed from RAW; NULL if no program is known. */
const char *cpu_weights_target(const struct cpu_weights *weights, const struct raw_profile *raw);

/* Slow paths of cpu_weights_take: opens the next stretch of THREAD; CPU time of a sighting that weighs WEIGHT. */
bool cpu_weights_open(struct weighed_thread *thread);
uint64_t cpu_weights_divide(struct weighed_thread *thread, uint64_t weight);

/* CPU time [ns] of the next record of thread number THREAD, with FLAGS; USED_NS as tracker_follow gives it.
 * *UNSAMPLED_NS becomes what belongs to no sighting. */
static inline uint64_t cpu_weights_take(struct cpu_weights *weights, uint32_t thread, uint8_t flags,
                                        uint64_t used_ns, uint64_t *unsampled_ns)
{
    struct weighed_thread *t = &weights->threads[thread];
    *unsampled_ns = --t->records == 0 ? t->own_ns + (t->orphan ? t->total_ns : 0) : 0;
    if ((flags & (RAW_RAN | RAW_TOTAL)) != RAW_RAN || (t->left == 0 && !cpu_weights_open(t)))
        return 0;
    if (weights->nominal)
        return cpu_weights_divide(t, used_ns > 0 ? used_ns : 1);
    t->left--;
    uint64_t odd = t->odd + t->rest,
             more = odd >= t->weight; /* no jump: it could not be foreseen */
    t->odd = odd - (t->weight & -more);
    return t->each_ns + more;
}

/* May CPU time that belongs to no sighting come with one of the next COUNT records of thread number THREAD? */
static inline bool cpu_weights_may_end(const struct cpu_weights *weights, uint32_t thread,
                                       uint64_t count)
{
    const struct weighed_thread *t = &weights->threads[thread];
    return t->records <= count && (t->orphan || t->own_ns > 0);
}

/* The same for all thread samples of STEADY at SEAT, which belong to thread number THREAD and are not its last ones:
 * CPU_NS[k] becomes the CPU time of thread sample k. KNOWN_NS: CPU time of the thread before them. */
void cpu_weights_take_steady(struct cpu_weights *weights, uint32_t thread,
                             const struct steady *steady, size_t seat, uint64_t known_ns,
                             uint64_t *cpu_ns);

#endif

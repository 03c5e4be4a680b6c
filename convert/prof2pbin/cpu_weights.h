/* The CPU time represented by each sighting of a thread, for profiles that record how threads were
 * seen.
 *
 * A waiting thread used its CPU time earlier and elsewhere, so only sightings of running threads
 * are charged. Each sighting at a random moment represents the same CPU time as its neighbours;
 * therefore the CPU time of a stretch is divided equally among its sightings. In simulations
 * (phases f, g and a wait, periods of 0.5 to 10 random intervals), shares are correct to within 0.4
 * percentage points, with a standard deviation of 1.0 times sqrt(p (1 - p) / n). Charging the CPU
 * time of each interval to the sighting at its end is wrong by up to 6 percentage points, with up
 * to 1.5 times that deviation. With more sightings in a stretch, longer phases become less exact:
 * with 64, the deviation of phases of 20 and 30 intervals is 1.3 times that with 16. With 8, the
 * least squares of pbin-aggregate would not detect that CPU times were divided.
 *
 *   stretch (ptrace): CPU_WINDOW successive sightings of a thread; the remaining ones belong to the
 *                     last stretch. Its CPU time is known exactly from the records at its ends. It
 *                     also ends at a sample without threads, where the power sensor was updated, if
 *                     it has EDGE_WINDOW sightings: then windows of the sensor have about their own
 *                     CPU time. A gap, in which the sampler could not run, is a stretch of one
 *                     sighting, the next one: the CPU time of a gap is known, and must not go to
 *                     the sightings around it. A gap is longer than GAP_WANTED intervals at the
 *                     wanted rate, GAP_MEAN mean intervals, and 50 ms (least_gap).
 *   stretch (perf):   from one total to the next. Its CPU time is divided among its sightings in
 *                     proportion to their nominal CPU time.
 *
 * The CPU time of a thread that was never seen running goes to sightings of threads of its process
 * with the same name, or else to all sightings of its process. If there are none and its process
 * used less than 10 ms, it goes to such processes of the same program, preferably to those that
 * began in the same way (forked, or by exec); other processes keep their time. The short threads
 * among these represent those that were missed: their CPU time is pooled, POOL sightings at a time,
 * or POOL_AGED if CPU times are exact. The CPU time that ptrace counts for all threads that it
 * never found cannot be dated, and goes to all pools. If there are no short threads, the others
 * share the CPU time in proportion to theirs. The CPU time of a missed thread is reported as
 * unsampled, with the last record of the thread, if none of these threads was seen, or if the
 * thread used more than chance can explain: MISSED times the CPU time that is sampled once on
 * average. CPU time that the kernel counted for a process or the run, but the engine did not, is
 * unsampled, too. All CPU time is accounted for.
 *
 * The CPU time of a long thread that sleeps is divided by how long it had run at each sighting
 * (bursts.h). With a power source, least squares use separate CPU times, because they compare
 * the number of sightings in a window of the sensor with its CPU time: those of windows
 * (window_times.h, or marked_times.h for the perf engine), or, without samples at updates of the
 * sensor, those before bursts are divided.
 *
 * Crowds of short threads with the same name are pooled even if none was missed, and so are crowds
 * of processes that used less than 10 ms, of the same program and begun in the same way. With
 * ptrace, the ages of sightings are known, and the pool is divided by these (age_strata.h); threads
 * keep their CPU time unless some threads of the pool were missed. With perf, all sightings of a
 * pool get the same CPU time. That engine samples a thread more irregularly at its beginning: the
 * number K of sightings there is correct on average, but the mean of K / N is not if a thread has
 * few sightings (N). In 200 threads with two phases of 3 ms CPU time each, at 1 kHz, the first phase
 * got 46 % (now 47 % to 50 %); in forked processes with three functions of 0.3, 0.7, and 2 ms, the
 * first got 12 % to 20 % too little (now 3 % to 4 %). For the same reason, the nominal intervals of
 * these sightings do not count: they come from windows of few sightings.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CPU_WEIGHTS_H
#define CONVERT_PROF2PBIN_CPU_WEIGHTS_H

#include "base/report.h"
#include "convert/prof2pbin/kernel_share.h"
#include "convert/prof2pbin/marked_times.h"
#include "convert/prof2pbin/switch_share.h"
#include "convert/prof2pbin/thread_tracker.h"
#include "convert/prof2pbin/user_share.h"
#include "convert/prof2pbin/weighed_thread.h"
#include "convert/prof2pbin/window_times.h"

enum { POOL = 64, POOL_AGED = 256, EDGE_WINDOW = 8, MISSED = 64, GAP_WANTED = 20, GAP_MEAN = 8 };

struct cpu_weights {
    struct weighed_thread *threads;
    size_t count, capacity;
    bool nominal;                 /* CPU time between totals is only nominal */
    bool by_bursts;               /* long threads are divided by bursts */
    bool keeps_equal, any_equal;  /* their equal CPU times are kept; there are any */
    struct window_times *windows; /* NULL: no power source, or CPU time is not exact */
    struct marked_times *marked;  /* NULL: no marks of a nominal engine */
    struct kernel_share *kernel;  /* NULL: all sightings in the kernel are correct */
    struct user_share *user;      /* NULL: the kernel was sampled */
    struct switch_share switches; /* of the engine perf */
    bool switched;                /* sightings are also to be moved because of switches */
    uint64_t misplaced;           /* sightings to be moved */
    uint64_t *by_image;           /* CPU time of images [ns] */
    uint64_t last_ns;             /* time of the last sample */
    uint64_t gap_ns;              /* longer intervals between records are gaps */
    uint64_t short_ns;            /* CPU time of a short thread, if CPU time is nominal, at most */
    /* samples without threads, if CPU time is exact: their number, without those that directly follow
     * another one; time of the last counted one; whether no sample with threads has followed */
    uint64_t edges, edge_ns;
    bool at_edge;
    uint64_t divided;   /* mean number of sightings that share CPU time equally; 0: none do */
    size_t missed;      /* threads that were missed more often than chance explains */
    uint64_t missed_ns; /* their CPU time */
};

/* Reads the samples of RAW, which is at its first sample before and after. Returns 0 with WEIGHTS
 * filled, or -1 with ERR filled. Call cpu_weights_free in any case. */
int cpu_weights_measure(struct cpu_weights *weights, struct raw_profile *raw, struct error *err);
void cpu_weights_free(struct cpu_weights *weights);

/* Path of the program whose processes used the most CPU time, borrowed from RAW; NULL if no program is known. */
const char *cpu_weights_target(const struct cpu_weights *weights, const struct raw_profile *raw);

/* Slow paths of cpu_weights_take: cpu_weights_open opens the next stretch of THREAD, and returns
 * false if there is none; cpu_weights_divide returns the CPU time of a sighting of WEIGHT [ns]. */
bool cpu_weights_open(struct weighed_thread *thread);
uint64_t cpu_weights_divide(struct weighed_thread *thread, uint64_t weight);

/* Returns the CPU time of the next sighting of a thread whose CPU time is exact [ns]. */
static inline uint64_t cpu_weights_take_one(struct weighed_thread *t)
{
    if (t->left == 0 && !cpu_weights_open(t))
        return 0;
    t->left--;
    uint64_t odd = t->odd + t->rest,
             more = odd >= t->weight; /* no branch, which the processor would mispredict */
    t->odd = odd - (t->weight & -more);
    return t->each_ns + more;
}

/* The same if it is only known between totals, for a sighting with the nominal CPU time USED_NS. */
static inline uint64_t cpu_weights_take_nominal(struct weighed_thread *t, uint64_t used_ns)
{
    if (t->left == 0 && !cpu_weights_open(t))
        return 0;
    return cpu_weights_divide(t, used_ns > 0 && !t->alike ? used_ns : 1);
}

/* CPU time of a record [ns]. */
struct cpu_share {
    uint64_t cpu_ns;
    uint64_t equal_ns;     /* if all sightings of a stretch get the same */
    uint64_t unsampled_ns; /* in addition: belongs to no sighting */
};

/* Returns the CPU time of the next record of thread number THREAD, with FLAGS; USED_NS comes from
 * tracker_follow. */
static inline struct cpu_share cpu_weights_take(struct cpu_weights *weights, uint32_t thread,
                                                uint8_t flags, uint64_t used_ns)
{
    struct weighed_thread *t = &weights->threads[thread];
    struct cpu_share share = {0, 0, 0};
    if (--t->records == 0)
        share.unsampled_ns = t->own_ns + (t->orphan ? t->total_ns : 0);
    if ((flags & (RAW_RAN | RAW_TOTAL)) != RAW_RAN)
        return share;
    share.cpu_ns =
        weights->nominal ? cpu_weights_take_nominal(t, used_ns) : cpu_weights_take_one(t);
    share.equal_ns = share.cpu_ns;
    if (t->equal != NULL)
        share.equal_ns = weights->nominal ? cpu_weights_take_nominal(t->equal, used_ns)
                                          : cpu_weights_take_one(t->equal);
    return share;
}

/* Returns whether one of the next COUNT records of thread number THREAD may have CPU time that
 * belongs to no sighting. */
static inline bool cpu_weights_may_end(const struct cpu_weights *weights, uint32_t thread,
                                       uint64_t count)
{
    const struct weighed_thread *t = &weights->threads[thread];
    return t->records <= count && (t->orphan || t->own_ns > 0);
}

/* The same for all thread samples of STEADY at SEAT, which belong to thread number THREAD and are
 * not its last ones: sets CPU_NS[k] to the CPU time of thread sample k, and EQUAL_NS[k], unless
 * that is NULL, to its equal CPU time. KNOWN_NS is the CPU time of the thread before them. */
void cpu_weights_take_steady(struct cpu_weights *weights, uint32_t thread,
                             const struct steady *steady, size_t seat, uint64_t known_ns,
                             uint64_t *cpu_ns, uint64_t *equal_ns);

#endif

/* Determines the thread of each tid in successive samples: its name, process and address space can change, and tids
 * are reused.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_THREAD_TRACKER_H
#define CONVERT_PROF2PBIN_THREAD_TRACKER_H

#include "base/intern.h"
#include "formats/raw/raw.h"

#define NO_TASK UINT32_MAX

/* A tid, and the thread that has it now. */
struct tracked {
    uint32_t tid;
    uint32_t thread; /* number of the thread, 0, 1, 2, ...: the same in every pass over a profile */
    uint32_t pid;    /* 0: unknown */
    uint32_t task;   /* index for tracker_name, NO_TASK */
    uint32_t image;  /* address space, RAW_NO_IMAGE */
    bool ended;      /* its last record was a total */
    bool renewed;    /* thread, name, process or program differ from the previous record */
    uint64_t cpu_ns; /* CPU time at its last record [ns] */
    uint64_t until;  /* task or image may change at this time */
    uint32_t batch;  /* the last steady batch in which it was found */
    /* for the caller's use; 0 at first */
    uint32_t number, token, token_image;
    uint64_t token_until;
};

struct tracker {
    const struct raw_extension *ext;
    uint32_t *tasks;  /* indices of tasks, by tid and start */
    uint32_t *images; /* indices of images, by pid and start */
    struct numbers tids;
    struct tracked *tracked; /* by number in tids */
    size_t capacity;
    uint32_t threads; /* so far */
    uint32_t *seats;  /* by place in the sample: the last number in tids there */
    size_t seat_count, seat_capacity;
    uint32_t batches; /* so far */
};

/* EXT is borrowed until tracker_free. */
void tracker_init(struct tracker *tracker, const struct raw_extension *ext);
void tracker_free(struct tracker *tracker);

/* Name of a task, borrowed from the extension; "" for NO_TASK. */
const char *tracker_name(const struct tracker *tracker, uint32_t task);

/* Returns the process of each image, as the number of the first image of that process. An image
 * made by exec belongs to the process that called exec. Caller frees. */
uint32_t *tracker_processes(const struct tracker *tracker);

/* The last thread at SEAT, a place in the sample. */
static inline struct tracked *tracker_seat(const struct tracker *tracker, size_t seat)
{
    return &tracker->tracked[tracker->seats[seat]];
}

/* Thread samples of successive samples that all have the same threads in the same places: number K belongs to the
 * thread at seat K % EACH. All are sightings, and no thread, name, process or program changes. Most batches are
 * steady. */
struct steady {
    const struct raw_thread_sample *thread_samples;
    const uint8_t *flags;
    size_t count, each; /* COUNT is a multiple of EACH */
    uint8_t any;        /* flags that at least one of them has */
};

/* Returns whether COUNT samples of SAMPLES, starting at sample FIRST and thread sample
 * THREAD_SAMPLE, are steady, with STEADY filled. The last one is at TIME_NS. Requires flags. */
bool tracker_is_steady(struct tracker *tracker, const struct raw_samples *samples, size_t first,
                       size_t count, size_t thread_sample, uint64_t time_ns, struct steady *steady);

/* Skips to the end of STEADY, with the same result as tracker_follow for each of its thread samples. */
void tracker_pass(struct tracker *tracker, const struct steady *steady);

/* Slow paths of tracker_follow. tracker_find returns the number in tids. */
uint32_t tracker_find(struct tracker *tracker, uint32_t tid, size_t seat);
void tracker_update(struct tracker *tracker, struct tracked *tracked, uint64_t time_ns);
void tracker_begin(struct tracker *tracker, struct tracked *tracked);

/* Returns the thread of THREAD_SAMPLE, number SEAT in its sample at TIME_NS, borrowed until the
 * next call. Sets *USED_NS to its CPU time since its last record. The tid denotes a new thread if
 * the CPU time decreases, except in a total; if the pid changes; and if a task begins after a
 * total. */
static inline struct tracked *tracker_follow(struct tracker *tracker,
                                             const struct raw_thread_sample *thread_sample,
                                             uint8_t flags, uint64_t time_ns, size_t seat,
                                             uint64_t *used_ns)
{
    uint32_t at = numbers_find(&tracker->tids, thread_sample->tid);
    if (at == INTERN_NONE || seat >= tracker->seat_count)
        at = tracker_find(tracker, thread_sample->tid, seat);
    tracker->seats[seat] = at;
    struct tracked *tracked = &tracker->tracked[at];
    tracked->renewed = tracked->cpu_ns == UINT64_MAX; /* new */
    if (tracked->renewed)
        tracked->cpu_ns = 0;
    if (time_ns >= tracked->until)
        tracker_update(tracker, tracked, time_ns);
    if (thread_sample->cpu_ns < tracked->cpu_ns && !(flags & RAW_TOTAL))
        tracker_begin(tracker, tracked);
    *used_ns =
        thread_sample->cpu_ns > tracked->cpu_ns ? thread_sample->cpu_ns - tracked->cpu_ns : 0;
    tracked->cpu_ns = thread_sample->cpu_ns;
    tracked->ended = (flags & RAW_TOTAL) != 0;
    return tracked;
}

#endif

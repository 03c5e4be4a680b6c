/* Determines which thread a tid denotes at the time of each sample.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/thread_tracker.h"

#include <stdlib.h>

#include "base/memory.h"

/* The order of tasks and images: by tid or pid, then time, then place in the file. */
struct order {
    uint32_t key, index;
    uint64_t start;
};

static int compare_order(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint32_t *sorted(struct order *order, size_t count)
{
    uint32_t *indices = mem_alloc((count + 1) * sizeof *indices);
    if (count > 0)
        qsort(order, count, sizeof *order, compare_order);
    for (size_t i = 0; i < count; i++)
        indices[i] = order[i].index;
    free(order);
    return indices;
}

void tracker_init(struct tracker *t, const struct raw_extension *ext)
{
    *t = (struct tracker){.ext = ext};
    struct order *order = mem_alloc((ext->task_count + 1) * sizeof *order);
    for (uint32_t i = 0; i < ext->task_count; i++)
        order[i] = (struct order){ext->tasks[i].tid, i, ext->tasks[i].start};
    t->tasks = sorted(order, ext->task_count);
    order = mem_alloc((ext->image_count + 1) * sizeof *order);
    for (uint32_t i = 0; i < ext->image_count; i++)
        order[i] = (struct order){ext->images[i].pid, i, ext->images[i].start};
    t->images = sorted(order, ext->image_count);
}

void tracker_free(struct tracker *t)
{
    numbers_free(&t->tids);
    free(t->tasks);
    free(t->images);
    free(t->tracked);
    free(t->seats);
}

const char *tracker_name(const struct tracker *t, uint32_t task)
{
    return task == NO_TASK ? "" : t->ext->tasks[task].name;
}

uint32_t tracker_find(struct tracker *t, uint32_t tid, size_t seat)
{
    uint32_t known = t->tids.count, at = numbers_intern(&t->tids, tid);
    if (at == known) {
        mem_reserve(&t->tracked, &t->capacity, (size_t)known + 1, sizeof *t->tracked);
        t->tracked[at] = (struct tracked){.tid = tid,
                                          .thread = t->threads++,
                                          .task = NO_TASK,
                                          .image = RAW_NO_IMAGE,
                                          .cpu_ns = UINT64_MAX};
    }
    mem_extend(&t->seats, &t->seat_count, &t->seat_capacity, seat + 1, sizeof *t->seats);
    return at;
}

/* Returns the number of threads of each of COUNT samples that has threads; 0 if it differs or no
 * sample has any. *SUM becomes their sum. */
static size_t threads_each(const uint32_t *threads, size_t count, size_t *sum)
{
    size_t first = 0, odd = 0;
    while (first < count && threads[first] == 0)
        first++;
    uint32_t each = first < count ? threads[first] : 0;
    *sum = 0;
    for (size_t i = first; i < count; i++) {
        *sum += threads[i];
        odd += (threads[i] != each) & (threads[i] != 0);
    }
    return odd == 0 ? each : 0;
}

/* Returns whether the first thread samples have the threads of the seats, all different and
 * unchanged until after TIME_NS. */
static bool are_seated(struct tracker *t, const struct steady *s, uint64_t time_ns)
{
    uint32_t batch = ++t->batches;
    if (s->each > t->seat_count)
        return false;
    for (size_t seat = 0; seat < s->each; seat++) {
        struct tracked *tracked = tracker_seat(t, seat);
        if (tracked->tid != s->thread_samples[seat].tid ||
            tracked->cpu_ns > s->thread_samples[seat].cpu_ns || tracked->until <= time_ns ||
            tracked->batch == batch)
            return false;
        tracked->batch = batch;
    }
    return true;
}

bool tracker_is_steady(struct tracker *t, const struct raw_samples *samples, size_t first,
                       size_t count, size_t thread_sample, uint64_t time_ns, struct steady *s)
{
    uint8_t assumed = 0;
    uint32_t other = 0;
    uint64_t falls = 0; /* only its highest bit counts */
    *s = (struct steady){.thread_samples = samples->thread_samples + thread_sample,
                         .flags = samples->flags + thread_sample};
    s->each = threads_each(samples->threads + first, count, &s->count);
    if (s->each == 0 || !are_seated(t, s, time_ns))
        return false;
    for (size_t i = 0; i < s->count; i++)
        s->any |= s->flags[i];
    for (size_t i = 0; i < s->count && (s->any & RAW_ASSUMED) != 0; i++)
        assumed |= s->flags[i] & RAW_RAN ? s->flags[i] & RAW_ASSUMED : 0;
    const struct raw_thread_sample *before = s->thread_samples, *end = s->thread_samples + s->count;
    for (const struct raw_thread_sample *at = before + s->each; at < end && other == 0;
         at++, before++) {
        other |= at->tid ^ before->tid;
        falls |= at->cpu_ns - before->cpu_ns;
    }
    return (s->any & RAW_TOTAL) == 0 && assumed == 0 && other == 0 && falls <= INT64_MAX;
}

void tracker_pass(struct tracker *t, const struct steady *s)
{
    const struct raw_thread_sample *last = s->thread_samples + s->count - s->each;
    for (size_t seat = 0; seat < s->each; seat++) {
        struct tracked *tracked = tracker_seat(t, seat);
        tracked->cpu_ns = last[seat].cpu_ns;
        tracked->renewed = tracked->ended = false;
    }
}

void tracker_begin(struct tracker *t, struct tracked *tracked)
{
    tracked->thread = t->threads++;
    tracked->cpu_ns = 0;
    tracked->renewed = true;
}

/* Finds, in COUNT INDICES sorted by key and start, the last one with KEY that has started by
 * TIME_NS, else the first one with KEY. Returns false if there is none. *UNTIL becomes the start of
 * the next one if this is earlier. */
static bool find(const uint32_t *indices, size_t count,
                 struct order (*order_of)(const struct raw_extension *, uint32_t),
                 const struct raw_extension *ext, uint32_t key, uint64_t time_ns, uint32_t *found,
                 uint64_t *until)
{
    size_t low = 0, high = count; /* the first index after (key, time) */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct order at = order_of(ext, indices[middle]);
        if (at.key < key || (at.key == key && at.start <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    bool next = low < count && order_of(ext, indices[low]).key == key;
    bool before = low > 0 && order_of(ext, indices[low - 1]).key == key;
    if (next) {
        uint64_t start = order_of(ext, indices[low]).start;
        *until = start < *until ? start : *until;
    }
    *found = before ? indices[low - 1] : next ? indices[low] : 0;
    return before || next;
}

static struct order task_order(const struct raw_extension *ext, uint32_t index)
{
    return (struct order){ext->tasks[index].tid, index, ext->tasks[index].start};
}

static struct order image_order(const struct raw_extension *ext, uint32_t index)
{
    return (struct order){ext->images[index].pid, index, ext->images[index].start};
}

/* Texts of the extension are interned: equal ones are one pointer. */
static const char *program_of(const struct raw_extension *ext, uint32_t image)
{
    return image == RAW_NO_IMAGE ? NULL : ext->images[image].path;
}

void tracker_update(struct tracker *t, struct tracked *tracked, uint64_t time_ns)
{
    const struct raw_extension *ext = t->ext;
    struct tracked old = *tracked;
    uint32_t found;
    tracked->until = UINT64_MAX;
    tracked->image = RAW_NO_IMAGE;
    if (find(t->tasks, ext->task_count, task_order, ext, tracked->tid, time_ns, &found,
             &tracked->until)) {
        tracked->task = found;
        tracked->pid = ext->tasks[found].pid;
    }
    if (tracked->task != NO_TASK && find(t->images, ext->image_count, image_order, ext,
                                         tracked->pid, time_ns, &found, &tracked->until))
        tracked->image = found;
    if (old.task != NO_TASK &&
        (tracked->pid != old.pid || (tracked->task != old.task && old.ended)))
        tracker_begin(t, tracked);
    tracked->renewed |= tracker_name(t, tracked->task) != tracker_name(t, old.task) ||
                        program_of(ext, tracked->image) != program_of(ext, old.image);
}

uint32_t *tracker_processes(const struct tracker *t)
{
    const struct raw_extension *ext = t->ext;
    uint32_t *process = mem_alloc((ext->image_count + 1) * sizeof *process);
    for (size_t i = 0; i < ext->image_count; i++) {
        uint32_t image = t->images[i], before = i > 0 ? t->images[i - 1] : image;
        bool same = i > 0 && ext->images[image].how == RAW_EXEC &&
                    ext->images[before].pid == ext->images[image].pid;
        process[image] = same ? process[before] : image;
    }
    return process;
}

/* A block of samples, unpacked into columns.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_samples.h"

#include "base/vectors.h"

enum { MAX_BATCH_SAMPLES = 65536, MAX_BATCH_ENTRIES = 1 << 20 };

VECTORS
static bool are_equal(const uint64_t *a, const uint64_t *b, size_t count)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++)
        other |= a[i] ^ b[i];
    return other == 0;
}

/* Whether every sample has the same N threads, in ascending order. */
static bool same_threads(const uint64_t *thread, size_t n, size_t entries)
{
    for (size_t j = 1; j < n && j < entries; j++)
        if (thread[j] <= thread[j - 1])
            return false;
    return n > 0 && (entries <= n || are_equal(thread + n, thread, entries - n));
}

/* Whether the threads per sample add up to ENTRIES. Values up to ENTRIES, at most MAX_BATCH_ENTRIES, cannot overflow the
 * sum. */
static bool adds_up(const struct column *threads, uint64_t entries)
{
    struct column_bounds bounds = threads->bounds;
    uint64_t sum = 0;
    if (bounds.most > entries)
        bounds = column_range(threads->values, threads->count);
    if (bounds.most > entries)
        return threads->count == 0;
    if (bounds.least == bounds.most)
        return bounds.most * threads->count == entries;
    for (size_t i = 0; i < threads->count; i++)
        sum += threads->values[i];
    return sum == entries;
}

/* Finds what the threads of all samples have in common. */
static void inspect_threads(struct sample_columns *c)
{
    struct pbin_samples *s = &c->samples;
    struct column_bounds bounds = c->threads.bounds;
    s->threads_each = bounds.least == bounds.most ? bounds.most : 0;
    s->same_threads = same_threads(c->thread.values, s->threads_each, c->thread.count);
    c->thread_most = column_range(c->thread.values, c->thread.count).most;
}

const char *sample_columns_read(struct sample_columns *c, struct cursor *in)
{
    uint32_t count = cursor_u32(in), entries = cursor_u32(in);
    if (count > MAX_BATCH_SAMPLES || entries > MAX_BATCH_ENTRIES)
        return "has more samples than a block may hold";
    int interval = column_get(&c->interval, in, count), value = column_get(&c->value, in, count);
    int threads = column_get(&c->threads, in, count), thread = column_get(&c->thread, in, entries);
    int location = column_get(&c->location, in, entries), cpu = column_get(&c->cpu, in, entries);
    if (interval < 0 || value < 0 || threads < 0 || thread < 0 || location < 0 || cpu < 0)
        return "column cut short";
    if (!adds_up(&c->threads, entries))
        return "threads per sample do not add up to the entries";
    if (threads > 0 || thread > 0)
        inspect_threads(c);
    if (location > 0)
        c->location_most = column_range(c->location.values, entries).most;
    struct pbin_samples *s = &c->samples;
    s->count = count;
    s->entry_count = entries;
    s->interval_ns = c->interval.values;
    s->value = (const double *)(const void *)c->value.values;
    s->threads = c->threads.values;
    s->thread = c->thread.values;
    s->location = c->location.values;
    s->cpu_ns = c->cpu.values;
    s->cpu_most = c->cpu.bounds.most;
    return NULL;
}

void sample_columns_free(struct sample_columns *c)
{
    column_free(&c->interval);
    column_free(&c->value);
    column_free(&c->threads);
    column_free(&c->thread);
    column_free(&c->location);
    column_free(&c->cpu);
}

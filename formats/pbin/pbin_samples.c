/* A block of samples, unpacked into columns.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin_samples.h"

#include "base/vectors.h"

VECTORS
static bool are_equal(const uint64_t *a, const uint64_t *b, size_t count)
{
    uint64_t other = 0;
    for (size_t i = 0; i < count; i++)
        other |= a[i] ^ b[i];
    return other == 0;
}

/* Whether every sample has the same N threads, in ascending order. */
static bool same_threads(const uint64_t *thread, size_t n, size_t thread_samples)
{
    for (size_t j = 1; j < n && j < thread_samples; j++)
        if (thread[j] <= thread[j - 1])
            return false;
    return n > 0 && (thread_samples <= n || are_equal(thread + n, thread, thread_samples - n));
}

/* Whether any of VALUES is COUNT or more. The values and COUNT must be below 2^63, so that only
 * then a difference is negative. */
VECTORS
static bool any_from(const uint64_t *values, size_t size, uint64_t count)
{
    uint64_t differences = 0;
    for (size_t i = 0; i < size; i++)
        differences |= count - 1 - values[i];
    return differences >> 63 != 0;
}

/* Whether all numbers of COLUMN are below COUNT. */
static bool are_below(const struct column *column, uint64_t count)
{
    if (column->count == 0 || column->bounds.most < count)
        return true;
    if (column->bounds.most > INT64_MAX)
        return column_range(column->values, column->count).most < count;
    return !any_from(column->values, column->count, count);
}

/* Whether the threads per sample add up to THREAD_SAMPLES. Values up to THREAD_SAMPLES, at most
 * MAX_BATCH_THREAD_SAMPLES, cannot overflow the sum. */
static bool adds_up(const struct column *threads, uint64_t thread_samples)
{
    struct column_bounds bounds = threads->bounds;
    uint64_t sum = 0;
    if (bounds.most > thread_samples)
        bounds = column_range(threads->values, threads->count);
    if (bounds.most > thread_samples)
        return threads->count == 0;
    if (bounds.least == bounds.most)
        return bounds.most * threads->count == thread_samples;
    for (size_t i = 0; i < threads->count; i++)
        sum += threads->values[i];
    return sum == thread_samples;
}

/* Finds what the threads of all samples have in common. */
static void inspect_threads(struct sample_columns *c)
{
    struct pbin_samples *s = &c->samples;
    struct column_bounds bounds = c->threads.bounds;
    s->threads_each = bounds.least == bounds.most ? bounds.most : 0;
    s->same_threads = same_threads(c->thread.values, s->threads_each, c->thread.count);
}

const char *sample_columns_read(struct sample_columns *c, const struct pbin_definitions *all,
                                struct cursor *in)
{
    uint32_t count = cursor_u32(in), thread_samples = cursor_u32(in);
    if (count > MAX_BATCH_SAMPLES || thread_samples > MAX_BATCH_THREAD_SAMPLES)
        return "has more samples than a block may hold";
    int interval = column_get(&c->interval, in, count), value = column_get(&c->value, in, count);
    int threads = column_get(&c->threads, in, count),
        thread = column_get(&c->thread, in, thread_samples);
    int location = column_get(&c->location, in, thread_samples),
        cpu = column_get(&c->cpu, in, thread_samples);
    if (interval < 0 || value < 0 || threads < 0 || thread < 0 || location < 0 || cpu < 0)
        return "column cut short";
    if (!adds_up(&c->threads, thread_samples))
        return "threads per sample do not add up to the thread samples";
    if (threads > 0 || thread > 0)
        inspect_threads(c);
    /* unchanged columns need no check: definitions are never removed */
    if ((thread > 0 && !are_below(&c->thread, all->thread_count)) ||
        (location > 0 && !are_below(&c->location, all->location_count))) {
        c->thread.packed.size = c->location.packed.size = 0;
        return "refers to an undefined thread or location";
    }
    struct pbin_samples *s = &c->samples;
    s->count = count;
    s->thread_sample_count = thread_samples;
    s->interval_ns = c->interval.values;
    s->value = (const double *)(const void *)c->value.values;
    s->threads = c->threads.values;
    s->thread = c->thread.values;
    s->location = c->location.values;
    s->cpu_ns = c->cpu.values;
    s->cpu_least = c->cpu.bounds.least;
    s->cpu_most = c->cpu.bounds.most;
    s->timeless = c->interval.bounds.most == 0;
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

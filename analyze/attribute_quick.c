/* Attribution of the usual samples: by CPU time, in 64 bits as far as that is exact.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute_inside.h"

/* What the loop needs at hand. */
struct quick {
    struct attribution *attribution;
    const struct pbin_definitions *all;
    struct current *rows;
    uint32_t *last_row;
    const uint32_t *row; /* by location, as in the key map */
    size_t row_count;    /* 0: rows depend on the thread */
    exact energy;        /* of all samples */
    uint64_t cpu_ns;
    bool overflow;
};

/* New rows may have moved the old ones. */
static void look_up(struct quick *q)
{
    const struct key_map *keys = &q->attribution->keys;
    q->rows = q->attribution->rows->current;
    q->row = keys->row;
    q->row_count = keys->by_thread ? 0 : keys->count;
}

static struct quick begin(struct attribution *a, const struct pbin_definitions *all)
{
    struct quick q = {.attribution = a, .all = all, .last_row = a->last_row};
    look_up(&q);
    return q;
}

static void finish(struct quick *q)
{
    struct attribution *a = q->attribution;
    q->overflow |= __builtin_add_overflow(a->energy, q->energy, &a->energy);
    a->cpu_ns += q->cpu_ns;
    a->rows->overflow |= q->overflow;
}

static __attribute__((noinline)) uint32_t find_row(struct quick *q, uint64_t thread,
                                                   uint64_t location)
{
    uint32_t row = key_map_find(&q->attribution->keys, q->all, thread, location);
    look_up(q);
    return row;
}

static inline struct current *row_of(struct quick *q, uint64_t thread, uint64_t location)
{
    uint32_t row = location < q->row_count ? q->row[location] : NO_ROW;
    if (__builtin_expect(row == NO_ROW, 0))
        row = find_row(q, thread, location);
    struct current *current = &q->rows[row];
    current->hits++;
    current->entries += q->last_row[thread] != row;
    q->last_row[thread] = row;
    return current;
}

static inline void charge_quickly(struct quick *q, struct current *current, uint64_t cpu_ns,
                                  exact energy)
{
    current->cpu_ns += cpu_ns;
    q->overflow |= __builtin_add_overflow(current->energy, energy, &current->energy);
}

/* What rounding leaves goes to the last thread that used CPU time, so that the sum stays exact. */
static inline void share(struct quick *q, const struct moment *m, uint64_t total, size_t last)
{
    exact left = exact_of_double(m->energy, ENERGY_SHIFT);
    double per_ns = m->energy / (double)(int64_t)total;
    q->overflow |= __builtin_add_overflow(q->energy, left, &q->energy);
    q->cpu_ns += total;
    for (size_t j = 0; j < m->count; j++) {
        struct current *current = row_of(q, m->thread[j], m->location[j]);
        uint64_t cpu_ns = m->cpu_ns[j];
        if (cpu_ns == 0)
            continue;
        exact part =
            j == last ? left : exact_of_double(per_ns * (double)(int64_t)cpu_ns, ENERGY_SHIFT);
        charge_quickly(q, current, cpu_ns, part);
        left -= part;
    }
}

void attribute_quickly(struct attribution *a, const struct pbin_definitions *all,
                       const struct moment *m, uint64_t total, size_t last)
{
    struct quick q = begin(a, all);
    share(&q, m, total, last);
    finish(&q);
}

/* CPU time of all threads of a sample [ns], and the last that used some; 0 when the sample is not
 * of the usual kind. The sum cannot wrap before it is looked at: a batch has at most 2^20 entries.
 */
static inline uint64_t total_of(const struct moment *m, size_t *last)
{
    uint64_t total = 0, any = 0;
    for (size_t j = 0; j < m->count; j++) {
        total += m->cpu_ns[j];
        any |= m->cpu_ns[j];
        *last = m->cpu_ns[j] > 0 ? j : *last;
    }
    return any < 2 * QUICK_NS && total <= QUICK_NS ? total : 0;
}

size_t attribute_usual(struct attribution *a, const struct pbin_definitions *all,
                       const struct pbin_samples *s, size_t first, struct moment *m)
{
    struct quick q = begin(a, all);
    double scale = a->quantity->scale, even_seconds = a->even_seconds;
    bool times = a->meta->times, measures = a->quantity->name != NULL;
    size_t i = first;
    for (; i < s->count; i++) {
        size_t last = 0;
        uint64_t interval_ns = s->interval_ns[i];
        double seconds = times ? (double)interval_ns / 1e9 : even_seconds;
        double power = measures ? s->value[i] * scale : 0;
        m->count = s->threads[i];
        m->energy = power * seconds;
        uint64_t total = total_of(m, &last);
        if (total == 0 || !is_summable(power) || !is_summable(m->energy))
            break;
        share(&q, m, total, last);
        exact interval = times ? (exact)interval_ns << TIME_SHIFT : a->even_time;
        a->at += interval;
        a->wall += interval;
        gaps_count(&a->gaps, interval_ns, (uint64_t)(a->at >> TIME_SHIFT));
        m->thread += m->count;
        m->location += m->count;
        m->cpu_ns += m->count;
    }
    finish(&q);
    a->samples += i - first;
    return i - first;
}

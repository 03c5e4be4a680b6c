/* Reads a pbin as time per program counter.
 * SPDX-License-Identifier: MIT */
#include "convert/pbin2gmon/pc_times.h"

#include <stdlib.h>

#include "analyze/attribute/weigh.h"
#include "base/memory.h"

/* Limit for the time of an item: a billion items can be added, and multiplied by a rate. */
#define MAX_TIME    ((exact)1 << 90)
#define MAX_SAMPLES ((exact)1 << 112)

/* The state while a profile is read. */
struct reading {
    struct pc_times *times;
    struct pbin_reader *reader;
    const char *name;
    struct weigher weigher;
    size_t binary_key, pc_key; /* columns of an aggregated profile */
};

void pc_times_free(struct pc_times *t)
{
    free(t->items);
    free(t->arcs);
}

/* Makes items for all locations known so far: the items of a full profile are its locations. */
static void define_items(struct reading *r)
{
    struct pc_times *t = r->times;
    const struct pbin_definitions *all = pbin_reader_definitions(r->reader);
    if (t->count >= all->location_count)
        return;
    mem_reserve(&t->items, &t->capacity, all->location_count, sizeof *t->items);
    for (; t->count < all->location_count; t->count++) {
        const struct pbin_location *at = &all->locations[t->count];
        t->items[t->count] = (struct pc_time){.pc = at->pc, .binary = at->binary, .map = at->map};
    }
}

static inline void add(struct pc_time *item, exact time)
{
    item->time += time;
    item->samples += (exact)1 << SAMPLES_SHIFT;
}

/* Adds the weighed samples. */
static void take_weighed(struct reading *r)
{
    const struct weighed *window;
    while ((window = weigher_next(&r->weigher)) != NULL)
        for (size_t k = 0; k < window->thread_samples; k++)
            add(&r->times->items[window->location[k]], window->time_of[k]);
}

static void take_samples(struct reading *r, const struct pbin_samples *s)
{
    define_items(r);
    struct pc_time *items = r->times->items;
    if (weigher_times_are_cpu(&r->weigher)) {
        for (size_t k = 0; k < s->thread_sample_count; k++)
            add(&items[s->location[k]], weigh_cpu(s->cpu_ns[k]));
        return;
    }
    weigher_add(&r->weigher, s);
    take_weighed(r);
}

static int take_row(struct reading *r, const struct pbin_row *row, struct error *err)
{
    struct pc_times *t = r->times;
    const struct pbin_definitions *all = pbin_reader_definitions(r->reader);
    if (row->key[r->binary_key] >= strings_count(all->strings))
        return error_set(err, r->name, NO_OFFSET, "row refers to an undefined text");
    *MEM_APPEND(t->items, t->count, t->capacity) =
        (struct pc_time){.pc = row->key[r->pc_key],
                         .binary = (uint32_t)row->key[r->binary_key],
                         .map = PBIN_NO_MAP,
                         .time = row->sums.time,
                         .samples = row->sums.samples};
    return 0;
}

static void take_arc(struct reading *r, const struct pbin_arc *arc)
{
    struct pc_times *t = r->times;
    *MEM_APPEND(t->arcs, t->arc_count, t->arc_capacity) = *arc;
}

static int take(struct reading *r, const struct pbin_batch *batch, struct error *err)
{
    if (batch->item == PBIN_SAMPLES) {
        take_samples(r, &batch->samples);
    } else if (batch->item == PBIN_ROW) {
        return take_row(r, &batch->row, err);
    } else if (batch->item == PBIN_ARC) {
        take_arc(r, &batch->arc);
    }
    return 0;
}

/* Finds the columns of an aggregated profile with binary and program counter. Returns 0, or -1 with
 * ERR filled. */
static int find_keys(struct reading *r, struct error *err)
{
    const struct pbin_keys *keys = pbin_reader_keys(r->reader);
    r->binary_key = pbin_keys_index(keys, "binary");
    r->pc_key = pbin_keys_index(keys, "pc");
    if (r->binary_key < keys->count && r->pc_key < keys->count)
        return 0;
    return error_set(err, r->name, NO_OFFSET,
                     "was aggregated by %s: the keys binary and pc are needed",
                     pbin_reader_meta(r->reader)->keys);
}

static int sum_up(struct reading *r, struct error *err)
{
    struct pc_times *t = r->times;
    for (size_t i = 0; i < t->count; i++) {
        const struct pc_time *item = &t->items[i];
        if (item->time < 0 || item->time > MAX_TIME || item->samples < 0 ||
            item->samples > MAX_SAMPLES)
            return error_set(err, r->name, NO_OFFSET,
                             "contains times that no program can have used");
        t->time += item->time;
        t->samples += item->samples;
        if (t->time > MAX_TIME || t->samples > MAX_SAMPLES)
            return error_set(err, r->name, NO_OFFSET,
                             "contains times that no program can have used");
    }
    return 0;
}

static int read_all(struct reading *r, struct error *err)
{
    struct pbin_batch batch;
    int got;
    while ((got = pbin_reader_next(r->reader, &batch, err)) > 0)
        if (take(r, &batch, err) != 0)
            return -1;
    weigher_finish(&r->weigher);
    take_weighed(r);
    return got < 0 ? -1 : sum_up(r, err);
}

int pc_times_read(struct pc_times *times, struct pbin_reader *reader, const char *name,
                  struct error *err)
{
    static const struct quantity none = {.name = NULL};
    static const struct weigh_options options = {.times_only = true};
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    struct reading r = {.times = times, .reader = reader, .name = name};
    *times = (struct pc_times){.is_full = meta->keys == NULL};
    if (meta->keys != NULL && find_keys(&r, err) != 0)
        return -1;
    weigher_start(&r.weigher, meta, &none, &options);
    int result = read_all(&r, err);
    weigher_free(&r.weigher);
    return result;
}

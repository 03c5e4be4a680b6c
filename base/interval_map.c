/* Finds which of many overlapping address ranges contains an address.
 * SPDX-License-Identifier: MIT */
#include "base/interval_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"

/* The ranges that may contain the current position: a heap with the largest value on top. A range
 * that has ended remains until it reaches the top. */
struct active {
    const struct interval **items;
    size_t count;
};

static void active_push(struct active *a, const struct interval *item)
{
    size_t i = a->count++;
    for (; i > 0 && a->items[(i - 1) / 2]->value < item->value; i = (i - 1) / 2)
        a->items[i] = a->items[(i - 1) / 2];
    a->items[i] = item;
}

static void active_pop(struct active *a)
{
    const struct interval *item = a->items[--a->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= a->count)
            break;
        if (child + 1 < a->count && a->items[child + 1]->value > a->items[child]->value)
            child++;
        if (a->items[child]->value <= item->value)
            break;
        a->items[i] = a->items[child];
        i = child;
    }
    a->items[i] = item;
}

static inline bool is_after(const struct interval *a, const struct interval *b)
{
    return a->begin != b->begin ? a->begin > b->begin : a->value > b->value;
}

static bool is_sorted(const struct interval *intervals, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_after(&intervals[i - 1], &intervals[i]))
            return false;
    return true;
}

/* Merges two sorted lists, FROM .. MIDDLE and MIDDLE .. END, to TO. */
static void merge(const struct interval *from, const struct interval *middle,
                  const struct interval *end, struct interval *to)
{
    const struct interval *a = from, *b = middle;
    while (a < middle && b < end)
        *to++ = is_after(a, b) ? *b++ : *a++;
    while (a < middle)
        *to++ = *a++;
    while (b < end)
        *to++ = *b++;
}

/* qsort would take three times as long, which is a twentieth of the time for naming many
 * addresses. */
static void sort(struct interval *intervals, size_t count)
{
    enum { FEW = 8 };
    struct interval *from = intervals, *to = mem_alloc(count * sizeof *to);
    for (size_t i = 0; i < count; i++) {
        const struct interval item = intervals[i];
        size_t k = i;
        for (; k % FEW > 0 && is_after(&intervals[k - 1], &item); k--)
            intervals[k] = intervals[k - 1];
        intervals[k] = item;
    }
    for (size_t width = FEW; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            const size_t middle = count - i > width ? i + width : count;
            const size_t end = count - i > 2 * width ? i + 2 * width : count;
            merge(from + i, from + middle, from + end, to + i);
        }
        struct interval *other = from;
        from = to;
        to = other;
    }
    if (from != intervals)
        memcpy(intervals, from, count * sizeof *intervals);
    free(from != intervals ? from : to);
}

static void emit(struct interval_map *map, size_t *capacity, uint64_t begin, uint64_t last,
                 uint32_t value)
{
    struct interval *before = map->count > 0 ? &map->pieces[map->count - 1] : NULL;
    if (before != NULL && before->value == value && before->last + 1 == begin) {
        before->last = last;
        return;
    }
    *MEM_APPEND(map->pieces, map->count, *capacity) = (struct interval){begin, last, value};
}

void interval_map_build(struct interval_map *map, struct interval *intervals, size_t count)
{
    struct active active = {mem_alloc(count * sizeof *active.items), 0};
    size_t capacity = 0, next = 0;
    uint64_t at = 0;
    *map = (struct interval_map){NULL, 0};
    mem_reserve(&map->pieces, &capacity, count, sizeof *map->pieces);
    if (!is_sorted(intervals, count)) /* most inputs are sorted */
        sort(intervals, count);
    while (next < count || active.count > 0) {
        if (active.count == 0)
            at = intervals[next].begin > at ? intervals[next].begin : at;
        for (; next < count && intervals[next].begin <= at; next++)
            if (intervals[next].last >= at)
                active_push(&active, &intervals[next]);
        while (active.count > 0 && active.items[0]->last < at)
            active_pop(&active);
        if (active.count == 0)
            continue;
        uint64_t last = active.items[0]->last;
        if (next < count && intervals[next].begin <= last)
            last = intervals[next].begin - 1;
        emit(map, &capacity, at, last, active.items[0]->value);
        if (last == UINT64_MAX)
            break;
        at = last + 1;
    }
    free(active.items);
}

void interval_map_free(struct interval_map *map)
{
    free(map->pieces);
    *map = (struct interval_map){NULL, 0};
}

const struct interval *interval_map_next(const struct interval_map *map, uint64_t address)
{
    size_t at = SEARCH_FROM(map->pieces, map->count, last, address);
    return at < map->count ? &map->pieces[at] : NULL;
}

uint32_t interval_map_find(const struct interval_map *map, uint64_t address)
{
    const struct interval *piece = interval_map_next(map, address);
    return piece != NULL && piece->begin <= address ? piece->value : INTERVAL_NONE;
}

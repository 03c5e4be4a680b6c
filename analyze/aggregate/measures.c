/* Measures of the rows of an aggregate.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/measures.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void measures_free(struct measures *m)
{
    for (size_t i = 0; i < m->cell_count; i++)
        free(m->cells[i].bucket);
    free(m->cells);
    numbers_free(&m->index);
}

int measures_find(const struct measures *m, const struct strings *texts, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(strings_get(texts, m->kind[i].name), name) == 0)
            return (int)i;
    return -1;
}

int measures_add(struct measures *m, const struct pbin_measure *measure,
                 const struct strings *texts, const char *file, struct error *err)
{
    const char *name = strings_get(texts, measure->name);
    int found = measures_find(m, texts, name);
    if (found >= 0) {
        const struct pbin_measure *mine = &m->kind[found];
        bool same = mine->unit == measure->unit && mine->type == measure->type &&
                    mine->join == measure->join;
        return same ? found
                    : error_set(
                          err, file, NO_OFFSET,
                          "measure '%s' has a different kind or unit than in previous profiles",
                          name);
    }
    if (m->count == PBIN_MAX_MEASURES)
        return error_set(err, file, NO_OFFSET, "more than %d measures", PBIN_MAX_MEASURES);
    m->kind[m->count] = *measure;
    return (int)m->count++;
}

static uint64_t key_of(size_t number, size_t row)
{
    return (uint64_t)row * PBIN_MAX_MEASURES + number;
}

struct measure_cell *measures_cell(struct measures *m, size_t number, size_t row)
{
    uint32_t at = numbers_intern(&m->index, key_of(number, row));
    if (at < m->cell_count)
        return &m->cells[at];
    mem_reserve(&m->cells, &m->capacity, m->cell_count + 1, sizeof *m->cells);
    struct measure_cell *cell = &m->cells[m->cell_count++];
    *cell = (struct measure_cell){.row = (uint32_t)row, .measure = (uint32_t)number};
    return cell;
}

const struct measure_cell *measures_get(const struct measures *m, size_t number, size_t row)
{
    uint32_t at = numbers_find(&m->index, key_of(number, row));
    return at == INTERN_NONE || m->cells[at].unknown ? NULL : &m->cells[at];
}

/* Joins FROM, in the same run, with TO. */
static bool join_now(struct measure_cell *to, exact from, enum pbin_measure_join join)
{
    bool overflow = false;
    if (!to->touched)
        to->now = from;
    else if (join == PBIN_MIN)
        to->now = from < to->now ? from : to->now;
    else if (join == PBIN_MAX)
        to->now = from > to->now ? from : to->now;
    else
        overflow = __builtin_add_overflow(to->now, from, &to->now);
    to->touched = true;
    return !overflow;
}

void measures_put(struct measures *m, size_t number, size_t row, exact value)
{
    m->overflow |= !join_now(measures_cell(m, number, row), value, m->kind[number].join);
}

void measures_put_buckets(struct measures *m, size_t number, size_t row,
                          const struct pbin_bucket *add, size_t count)
{
    struct measure_cell *cell = measures_cell(m, number, row);
    struct pbin_bucket *all = mem_zalloc(cell->buckets + count + 1, sizeof *all);
    size_t mine = 0, theirs = 0, n = 0;
    while (mine < cell->buckets || theirs < count) {
        bool take = theirs == count ||
                    (mine < cell->buckets && cell->bucket[mine].bucket <= add[theirs].bucket);
        struct pbin_bucket next = take ? cell->bucket[mine++] : add[theirs++];
        if (n > 0 && all[n - 1].bucket == next.bucket)
            m->overflow |= __builtin_add_overflow(all[n - 1].count, next.count, &all[n - 1].count);
        else
            all[n++] = next;
    }
    free(cell->bucket);
    cell->bucket = all;
    cell->buckets = n;
}

void measures_end_run(struct measures *m)
{
    for (size_t i = 0; i < m->cell_count; i++) {
        struct measure_cell *cell = &m->cells[i];
        if (!cell->touched)
            continue;
        struct pbin_value value = pbin_value_of_run(cell->now);
        m->overflow |= !pbin_value_merge(&cell->total, &value, m->kind[cell->measure].join);
        cell->touched = false;
        cell->now = 0;
    }
}

static void merge_cell(struct measures *to, size_t number, size_t row,
                       const struct measure_cell *from)
{
    struct measure_cell *mine = measures_cell(to, number, row);
    mine->unknown |= from->unknown;
    to->overflow |= !pbin_value_merge(&mine->total, &from->total, to->kind[number].join);
    if (from->touched)
        measures_put(to, number, row, from->now);
    if (from->buckets > 0)
        measures_put_buckets(to, number, row, from->bucket, from->buckets);
}

int measures_merge(struct measures *to, struct strings *to_texts, const struct measures *from,
                   const struct strings *from_texts, const uint32_t *row, struct error *err)
{
    int number[PBIN_MAX_MEASURES];
    for (size_t i = 0; i < from->count; i++) {
        struct pbin_measure kind = from->kind[i];
        kind.name = strings_intern(to_texts, strings_get(from_texts, kind.name));
        kind.unit = strings_intern(to_texts, strings_get(from_texts, kind.unit));
        number[i] = measures_add(to, &kind, to_texts, NULL, err);
        if (number[i] < 0)
            return -1;
    }
    for (size_t i = 0; i < from->cell_count; i++) {
        const struct measure_cell *cell = &from->cells[i];
        merge_cell(to, (size_t)number[cell->measure], row[cell->row], cell);
    }
    to->overflow |= from->overflow;
    return 0;
}

struct named {
    const char *name;
    uint32_t number;
};

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->name, ((const struct named *)right)->name);
}

void measures_sort(struct measures *m, const struct strings *texts, const uint32_t *position)
{
    struct pbin_measure before[PBIN_MAX_MEASURES];
    struct named order[PBIN_MAX_MEASURES];
    uint32_t number[PBIN_MAX_MEASURES];
    memcpy(before, m->kind, sizeof before);
    for (uint32_t i = 0; i < m->count; i++)
        order[i] = (struct named){strings_get(texts, m->kind[i].name), i};
    qsort(order, m->count, sizeof *order, by_name);
    for (uint32_t i = 0; i < m->count; i++) {
        m->kind[i] = before[order[i].number];
        number[order[i].number] = i;
    }
    numbers_free(&m->index);
    m->index = (struct numbers){0};
    for (size_t i = 0; i < m->cell_count; i++) {
        struct measure_cell *cell = &m->cells[i];
        cell->measure = number[cell->measure];
        cell->row = position[cell->row];
        numbers_intern(&m->index, key_of(cell->measure, cell->row));
    }
}

/* Rows found by their key.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/rowset.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/memory.h"

void rowset_init(struct rowset *set, const struct pbin_keys *keys)
{
    *set =
        (struct rowset){.texts = strings_new(), .tuples = strings_new(), .key_count = keys->count};
    for (size_t i = 0; i < keys->count; i++)
        set->is_text[i] = pbin_key_get((size_t)keys->key[i])->is_text;
    set->binary_key = pbin_keys_index(keys, "binary");
    set->file_key = pbin_keys_index(keys, "file");
    set->checksums = strings_new();
}

void rowset_free(struct rowset *set)
{
    strings_delete(set->texts);
    strings_delete(set->tuples);
    strings_delete(set->checksums);
    free(set->rows);
    free(set->sums);
    free(set->packed);
}

/* Loading a sum just after it was stored is slow, so each row has several lanes if there are few
 * rows. */
enum { LANES_ROWS = 1 << 12 };

/* Memory is aligned, so that no row straddles cache lines. */
static void reserve_packed(struct rowset *set)
{
    if (set->count <= set->packed_rows)
        return;
    rowset_fold(set);
    free(set->packed);
    set->lanes = set->row_capacity <= LANES_ROWS ? PACKED_LANES : 1;
    set->packed_rows = set->row_capacity;
    set->packed = mem_aligned(64, set->packed_rows * set->lanes, sizeof *set->packed);
    memset(set->packed, 0, set->packed_rows * set->lanes * sizeof *set->packed);
}

uint32_t rowset_find(struct rowset *set, const uint64_t *key)
{
    size_t size = set->key_count * sizeof *key;
    uint32_t index = strings_intern_bytes(set->tuples, (const char *)key, size) - 1;
    if (index < set->count)
        return index;
    set->count++;
    mem_reserve(&set->rows, &set->row_capacity, set->count, sizeof *set->rows);
    mem_reserve(&set->sums, &set->sums_capacity, set->count, sizeof *set->sums);
    reserve_packed(set);
    set->rows[index] = (struct pbin_row){0};
    set->sums[index] = (struct row_sums){0};
    memcpy(set->rows[index].key, key, size);
    return index;
}

uint32_t rowset_adopt(struct rowset *set, const struct rowset *from, size_t number)
{
    uint64_t key[PBIN_MAX_KEYS] = {0};
    for (size_t i = 0; i < from->key_count; i++) {
        key[i] = from->rows[number].key[i];
        if (from->is_text[i])
            key[i] = strings_intern(set->texts, strings_get(from->texts, (uint32_t)key[i]));
    }
    return rowset_find(set, key);
}

uint32_t rowset_find_label(struct rowset *set, const char *label)
{
    uint64_t key[PBIN_MAX_KEYS] = {0};
    for (size_t i = 0; i < set->key_count; i++)
        key[i] = set->is_text[i] ? strings_intern(set->texts, label) : number_of_label(label);
    return rowset_find(set, key);
}

void rowset_packed_room(struct rowset *set, size_t count)
{
    if (set->packed_added + count > PACKED_MAX_ADDED)
        rowset_fold(set);
    set->packed_added += count;
}

static bool fold(struct row_sums *to, const packed_sums *sums, size_t lanes)
{
    bool overflow = false;
    for (size_t lane = 0; lane < lanes; lane++) {
        uint64_t seen = sums[lane][PACKED_SEEN];
        exact energy = packed_energy(sums[lane][PACKED_HIGH], sums[lane][PACKED_LOW]);
        to->touched |= seen > 0;
        to->entries += seen >> 32;
        to->samples += (exact)(uint32_t)seen << SAMPLES_SHIFT;
        to->time += (exact)sums[lane][PACKED_CPU] << TIME_SHIFT;
        overflow |= __builtin_add_overflow(to->energy, energy, &to->energy);
    }
    return !overflow;
}

void rowset_fold(struct rowset *set)
{
    if (set->packed_added == 0)
        return;
    size_t rows = set->count < set->packed_rows ? set->count : set->packed_rows;
    for (size_t i = 0; i < rows; i++)
        set->overflow |= !fold(&set->sums[i], &set->packed[set->lanes * i], set->lanes);
    if (rows > 0) /* samples without threads may come before any row */
        memset(set->packed, 0, rows * set->lanes * sizeof *set->packed);
    set->packed_added = 0;
}

bool row_sums_merge(struct row_sums *to, const struct row_sums *from)
{
    bool overflow = __builtin_add_overflow(to->entries, from->entries, &to->entries);
    to->touched |= from->touched;
    to->entries_unknown |= from->entries_unknown;
    overflow &= !to->entries_unknown;
    overflow |= __builtin_add_overflow(to->samples, from->samples, &to->samples);
    overflow |= __builtin_add_overflow(to->time, from->time, &to->time);
    overflow |= __builtin_add_overflow(to->energy, from->energy, &to->energy);
    return !overflow;
}

void rowset_end_run(struct rowset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct row_sums *c = &set->sums[i];
        if (!c->touched)
            continue;
        struct pbin_sums sums = pbin_sums_of_run(
            c->samples, c->entries_unknown ? UINT64_MAX : c->entries, c->time, c->energy);
        set->overflow |= !pbin_sums_merge(&set->rows[i].sums, &sums);
        *c = (struct row_sums){.input = c->input};
    }
}

static int compare(const void *left, const void *right, void *opaque)
{
    const struct rowset *set = opaque;
    const struct pbin_row *a = left, *b = right;
    for (size_t i = 0; i < set->key_count; i++) {
        if (a->key[i] == b->key[i])
            continue;
        if (!set->is_text[i])
            return a->key[i] < b->key[i] ? -1 : 1;
        return strcmp(strings_get(set->texts, (uint32_t)a->key[i]),
                      strings_get(set->texts, (uint32_t)b->key[i]));
    }
    return 0;
}

void rowset_sort(struct rowset *set)
{
    if (set->count > 0) /* without rows, the array is NULL */
        qsort_r(set->rows, set->count, sizeof *set->rows, compare, set);
}

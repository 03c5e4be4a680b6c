/* Checksums of the source files of rows.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "analyze/attribute/rowset.h"
#include "base/memory.h"

void rowset_add_checksums(struct rowset *set, const struct strings *texts,
                          const struct pbin_checksum *checksums, size_t count)
{
    if (set->file_key == set->key_count)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct pbin_checksum *from = &checksums[i];
        struct pbin_checksum own = {
            .file = strings_find(set->texts, label_unlike(strings_get(texts, from->file)))};
        if (set->binary_key < set->key_count)
            own.binary = strings_find(set->texts, label_unlike(strings_get(texts, from->binary)));
        if (own.file == INTERN_NONE || own.binary == INTERN_NONE)
            continue;
        own.md5 = strings_intern(set->texts, strings_get(texts, from->md5));
        strings_intern_bytes(set->checksums, (const char *)&own, sizeof own);
    }
}

void rowset_adopt_checksums(struct rowset *set, const struct rowset *from)
{
    struct pbin_checksum checksum;
    for (uint32_t i = 1; i < strings_count(from->checksums); i++) {
        memcpy(&checksum, strings_get(from->checksums, i), sizeof checksum);
        rowset_add_checksums(set, from->texts, &checksum, 1);
    }
}

static uint64_t pair(uint64_t binary, uint64_t file)
{
    return binary << 32 | file;
}

static int compare(const void *left, const void *right, void *opaque)
{
    const struct pbin_checksum *a = left, *b = right;
    const struct strings *texts = opaque;
    int order = strcmp(strings_get(texts, a->binary), strings_get(texts, b->binary));
    if (order == 0)
        order = strcmp(strings_get(texts, a->file), strings_get(texts, b->file));
    return order != 0 ? order : strcmp(strings_get(texts, a->md5), strings_get(texts, b->md5));
}

struct pbin_checksum *rowset_checksums(const struct rowset *set, size_t *count)
{
    const uint32_t known = strings_count(set->checksums);
    struct pbin_checksum *found = mem_alloc(known * sizeof *found);
    struct numbers files = {0};
    *count = 0;
    for (size_t i = 0; i < set->count && known > 1; i++) {
        const uint64_t *key = set->rows[i].key;
        uint64_t binary = set->binary_key < set->key_count ? key[set->binary_key] : 0;
        if (set->rows[i].sums.runs > 0)
            numbers_intern(&files, pair(binary, key[set->file_key]));
    }
    for (uint32_t i = 1; i < known; i++) {
        memcpy(&found[*count], strings_get(set->checksums, i), sizeof *found);
        if (numbers_find(&files, pair(found[*count].binary, found[*count].file)) != INTERN_NONE)
            ++*count;
    }
    numbers_free(&files);
    if (*count > 0)
        qsort_r(found, *count, sizeof *found, compare, set->texts);
    return found;
}

/* Blocks of code, which are the same in all processes that map the same file.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/code_blocks.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/memory.h"

enum { MAX_FORKS = 64 }; /* in a row, without an exec */

/* A mapping of a file. */
struct piece {
    uint64_t address, size, offset; /* [bytes] */
    uint32_t image, file;
};

struct code_blocks {
    const struct raw_extension *ext;
    struct piece *pieces; /* by image and address */
    size_t count;
    size_t *first; /* [images + 1] the first piece of each */
};

static int compare(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Texts of the extension are interned: equal ones are one pointer. */
struct code_blocks *code_blocks_new(const struct raw_extension *ext)
{
    struct code_blocks *b = mem_zalloc(1, sizeof *b);
    struct numbers files = {0};
    b->ext = ext;
    b->pieces = mem_alloc((ext->mapx_count + 1) * sizeof *b->pieces);
    b->first = mem_zalloc(ext->image_count + 1, sizeof *b->first);
    for (size_t i = 0; i < ext->mapx_count; i++) {
        const struct raw_mapx *map = &ext->mapx[i];
        if (map->kind != RAW_MAP_FILE && map->kind != RAW_MAP_VDSO)
            continue;
        uint32_t file = numbers_intern(&files, (uint64_t)(uintptr_t)map->path);
        b->pieces[b->count++] =
            (struct piece){map->address, map->size, map->offset, map->image, file};
    }
    if (b->count > 0)
        qsort(b->pieces, b->count, sizeof *b->pieces, compare);
    for (size_t image = 0, i = 0; image <= ext->image_count; image++) {
        while (i < b->count && b->pieces[i].image < image)
            i++;
        b->first[image] = i;
    }
    numbers_free(&files);
    return b;
}

void code_blocks_delete(struct code_blocks *b)
{
    if (b == NULL)
        return;
    free(b->pieces);
    free(b->first);
    free(b);
}

/* Returns the mapping of IMAGE itself that contains PC; NULL for none. */
static const struct piece *find(const struct code_blocks *b, uint32_t image, uint64_t pc)
{
    size_t low = b->first[image], high = b->first[image + 1], begin = low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->pieces[middle].address <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == begin)
        return NULL;
    const struct piece *piece = &b->pieces[low - 1];
    return pc - piece->address < piece->size ? piece : NULL;
}

uint64_t code_blocks_at(const struct code_blocks *b, uint32_t image, uint64_t pc)
{
    const uint64_t of_file = UINT64_C(1) << 63;
    uint32_t from = image;
    for (int i = 0; i < MAX_FORKS && from < b->ext->image_count; i++) {
        const struct piece *piece = find(b, from, pc);
        if (piece != NULL)
            return of_file | ((uint64_t)piece->file << 40 ^
                              (pc - piece->address + piece->offset) / CODE_BLOCK);
        if (b->ext->images[from].how != RAW_FORK)
            break;
        from = b->ext->images[from].parent;
    }
    return (pc / CODE_BLOCK ^ (uint64_t)image << 58 ^ (uint64_t)image >> 6) & ~of_file;
}

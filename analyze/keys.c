/* Which row a sample's thread and location belong to.
 * SPDX-License-Identifier: MIT */
#include "analyze/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* In the order of pbin_key_get. */
enum { KEY_PROCESS, KEY_THREAD, KEY_BINARY, KEY_FILE, KEY_FUNCTION, KEY_INLINE, KEY_LINE, KEY_PC };

void key_map_init(struct key_map *map, struct rowset *rows, const int *keys, size_t key_count)
{
    *map = (struct key_map){.rows = rows, .keys = keys, .key_count = key_count};
    for (size_t i = 0; i < key_count; i++)
        map->by_thread |= keys[i] == KEY_PROCESS || keys[i] == KEY_THREAD;
}

void key_map_free(struct key_map *map)
{
    numbers_free(&map->pairs);
    free(map->row);
    free(map->texts);
}

static void extend(uint32_t **array, size_t *count, size_t *capacity, size_t need)
{
    if (need <= *count)
        return;
    mem_reserve(array, capacity, need, sizeof **array);
    memset(*array + *count, 0xff, (*capacity - *count) * sizeof **array);
    *count = *capacity;
}

uint32_t key_map_text(struct key_map *map, const struct pbin_definitions *all, uint64_t number)
{
    extend(&map->texts, &map->text_count, &map->text_capacity, number + 1);
    if (map->texts[number] == NO_ROW)
        map->texts[number] =
            strings_intern(map->rows->texts, strings_get(all->strings, (uint32_t)number));
    return map->texts[number];
}

static uint64_t key_value(struct key_map *map, int key, const struct pbin_definitions *all,
                          uint64_t thread, uint64_t location)
{
    const struct pbin_location *at = &all->locations[location];
    const struct pbin_frame *inner = &all->frames[at->first_frame];
    const struct pbin_frame *outer = inner + at->frame_count - 1;
    switch (key) {
    case KEY_PROCESS:
        return all->threads[thread].pid;
    case KEY_THREAD:
        return all->threads[thread].tid;
    case KEY_BINARY:
        return key_map_text(map, all, at->binary);
    case KEY_FILE:
        return key_map_text(map, all, inner->file);
    case KEY_FUNCTION:
        return key_map_text(map, all, outer->demangled);
    case KEY_INLINE:
        return key_map_text(map, all, inner->demangled);
    case KEY_LINE:
        return inner->line;
    default:
        return at->pc;
    }
}

uint32_t key_map_find(struct key_map *map, const struct pbin_definitions *all, uint64_t thread,
                      uint64_t location)
{
    uint64_t slot = location;
    if (map->by_thread)
        slot = numbers_intern(&map->pairs, thread << 32 | location);
    extend(&map->row, &map->count, &map->capacity, slot + 1);
    if (map->row[slot] == NO_ROW) {
        uint64_t key[PBIN_KEYS_MOST] = {0};
        for (size_t i = 0; i < map->key_count; i++)
            key[i] = key_value(map, map->keys[i], all, thread, location);
        map->row[slot] = rowset_find(map->rows, key);
    }
    return map->row[slot];
}

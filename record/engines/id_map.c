/* Items by process or thread ID.
 * SPDX-License-Identifier: MIT */
#include "record/engines/id_map.h"

#include <stdlib.h>

#include "base/memory.h"

enum { MIN_COMPACTED = 1024 }; /* fewer places are not compacted */

void id_map_free(struct id_map *map)
{
    numbers_free(&map->numbers);
    free(map->items);
    *map = (struct id_map){0};
}

/* Threads come and go throughout a run: removes free places before they dominate. */
static void compact(struct id_map *map)
{
    size_t kept = 0;
    numbers_free(&map->numbers);
    for (size_t i = 0; i < map->used; i++)
        if (map->items[i].item != NULL) {
            map->items[kept] = map->items[i];
            numbers_intern(&map->numbers, map->items[kept++].id);
        }
    map->used = kept;
}

void id_map_set(struct id_map *map, uint32_t id, void *item)
{
    uint32_t place = numbers_find(&map->numbers, id);
    if (place == INTERN_NONE) {
        if (item == NULL)
            return;
        if (map->used >= MIN_COMPACTED && map->used / 4 > map->count)
            compact(map);
        place = numbers_intern(&map->numbers, id);
        mem_reserve(&map->items, &map->capacity, (size_t)place + 1, sizeof *map->items);
        map->items[place] = (struct id_item){.id = id};
        map->used = (size_t)place + 1;
    }
    struct id_item *at = &map->items[place];
    map->count += (size_t)(item != NULL) - (size_t)(at->item != NULL);
    at->item = item;
}

void *id_map_next(const struct id_map *map, size_t *place)
{
    while (*place < map->used) {
        void *item = map->items[(*place)++].item;
        if (item != NULL)
            return item;
    }
    return NULL;
}

/* Items by process or thread ID. A zeroed map is empty. Items are not owned by the map.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_ID_MAP_H
#define RECORD_ENGINES_ID_MAP_H

#include "base/intern.h"

struct id_map {
    struct numbers numbers; /* IDs; the number of an ID is its place in ITEMS */
    struct id_item {
        uint32_t id;
        void *item; /* NULL: removed */
    } * items;
    size_t used, capacity; /* places, including free ones */
    size_t count;          /* number of items */
};

/* Frees the map, but not its items. */
void id_map_free(struct id_map *map);

/* The item of ID; NULL if there is none. */
static inline void *id_map_find(const struct id_map *map, uint32_t id)
{
    uint32_t place = numbers_find(&map->numbers, id);
    return place != INTERN_NONE ? map->items[place].item : NULL;
}

/* Sets the item of ID to ITEM; NULL removes it. Adding an item may move others; removing one does
 * not. */
void id_map_set(struct id_map *map, uint32_t id, void *item);

/* Returns the next item at or after place *PLACE, and sets *PLACE to the place after it; NULL at
 * the end. Items may be removed between two calls. */
void *id_map_next(const struct id_map *map, size_t *place);

#endif

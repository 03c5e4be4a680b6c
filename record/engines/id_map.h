/* Things by process or thread ID. Zeroed, a map is empty; it owns nothing.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_ID_MAP_H
#define RECORD_ENGINES_ID_MAP_H

#include "base/intern.h"

struct id_map {
    struct numbers numbers; /* of the IDs: places in ITEMS */
    struct id_item {
        uint32_t id;
        void *item; /* NULL: removed */
    } * items;
    size_t used, capacity; /* places, free ones included */
    size_t count;          /* items */
};

/* The items stay the caller's. */
void id_map_free(struct id_map *map);

/* The item of ID, NULL: none. */
static inline void *id_map_find(const struct id_map *map, uint32_t id)
{
    uint32_t place = numbers_find(&map->numbers, id);
    return place != INTERN_NONE ? map->items[place].item : NULL;
}

/* ID gets ITEM in place of the one that it had; NULL removes it. Removing moves no other item, adding may. */
void id_map_set(struct id_map *map, uint32_t id, void *item);

/* The next item from place *PLACE on, which is set to the place after it; NULL at the end. Items may be removed
 * between two calls. */
void *id_map_next(const struct id_map *map, size_t *place);

#endif

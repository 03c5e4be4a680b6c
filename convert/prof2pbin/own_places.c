/* Records where threads were first seen in user code.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/own_places.h"

#include <stdlib.h>

#include "base/memory.h"

struct own_list {
    uint32_t first[OWN_KINDS], last[OWN_KINDS], count[OWN_KINDS];
};

static uint64_t key_of(uint32_t thread, uint32_t image)
{
    return (uint64_t)thread << 32 | image;
}

static struct own_list *list_at(struct own_places *own, uint64_t key)
{
    uint32_t number = numbers_intern(&own->owners, key);
    mem_extend(&own->lists, &own->list_count, &own->list_capacity, (size_t)number + 1,
               sizeof *own->lists);
    return &own->lists[number];
}

void own_places_add(struct own_places *own, uint32_t thread, uint32_t image, enum own_kind kind,
                    uint64_t pc, uint64_t time_ns)
{
    struct own_list *list = list_at(own, key_of(thread, image));
    if (list->count[kind] == OWN_PLACES || own->count >= INTERN_NONE)
        return;
    uint32_t number = (uint32_t)own->count;
    *MEM_APPEND(own->places, own->count, own->capacity) =
        (struct own_place){pc, time_ns, INTERN_NONE};
    if (list->count[kind]++ == 0)
        list->first[kind] = number;
    else
        own->places[list->last[kind]].next = number;
    list->last[kind] = number;
}

size_t own_places_get(const struct own_places *own, uint32_t thread, uint32_t image,
                      enum own_kind kind, struct own_place *places)
{
    uint32_t number = numbers_find(&own->owners, key_of(thread, image));
    size_t count = 0;
    if (number == INTERN_NONE || own->lists[number].count[kind] == 0)
        return 0;
    for (uint32_t at = own->lists[number].first[kind]; at != INTERN_NONE; at = own->places[at].next)
        places[count++] = own->places[at];
    return count;
}

void own_places_free(struct own_places *own)
{
    numbers_free(&own->owners);
    free(own->lists);
    free(own->places);
    *own = (struct own_places){0};
}

/* Finds the row of a thread sample from its thread and location.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_KEYS_H
#define ANALYZE_ATTRIBUTE_KEYS_H

#include "analyze/attribute/labels.h"
#include "analyze/attribute/name_rules.h"
#include "analyze/attribute/rowset.h"
#include "analyze/attribute/selection.h"
#include "analyze/code/code_names.h"
#include "formats/pbin/pbin.h"

#define NO_ROW UINT32_MAX

/* For the current profile: a cache from locations to rows. */
struct key_map {
    struct rowset *rows;
    const struct pbin_keys *keys;
    const struct selection *selection;
    const char *target; /* the binary that --exclude-external keeps; only_target also requires it */
    struct code_names *code;        /* for the keys basic-block, instruction and opcode */
    const struct name_rules *names; /* for names in rows; NULL: they are unchanged */
    bool by_thread;                 /* some key depends on the thread */
    uint32_t *row;                  /* [locations], or by number in PAIRS */
    size_t count, capacity;
    struct numbers pairs; /* thread << 32 | location */
    uint32_t *texts;      /* [strings of the profile]: string number in ROWS */
    size_t text_count, text_capacity;
};

/* All arguments are borrowed until key_map_free. CODE is NULL if no key or filter needs it. */
void key_map_init(struct key_map *map, struct rowset *rows, const struct pbin_keys *keys,
                  const struct selection *selection, const char *target, struct code_names *code);
void key_map_free(struct key_map *map);

/* Converts PC, an address in one of the mappings of BINARY in ALL, to an offset in the file.
 * Returns PC itself if no mapping contains it. */
uint64_t key_offset(const struct pbin_definitions *all, const char *binary, uint64_t pc);

/* The index in ROWS of the row that collects what filters exclude. */
uint32_t key_find_excluded(struct rowset *rows);

/* The sums of the row of LABEL, which has no code; adds the row if it is new. Filters apply to it
 * as if all its keys were LABEL; if they exclude it, these are the sums of the row that collects
 * what they exclude. Borrowed until a row is added. */
struct row_sums *key_map_label(struct key_map *map, const char *label);

/* Makes room in ROW for an element per location if rows depend only on the location. */
void key_map_reserve(struct key_map *map, const struct pbin_definitions *all);

/* The location to which samples at LOCATION are charged: LOCATION itself or, with --kernel=caller,
 * that of its caller. */
static inline uint64_t key_map_location(const struct key_map *map,
                                        const struct pbin_definitions *all, uint64_t location)
{
    bool called =
        map->keys->caller && all->callers != NULL && all->callers[location] != PBIN_NO_CALLER;
    return called ? all->callers[location] : location;
}

/* The slow path of key_map_row. */
uint32_t key_map_find(struct key_map *map, const struct pbin_definitions *all, uint64_t thread,
                      uint64_t location);

/* The index in ROWS of the row for LOCATION in THREAD (numbers of the profile). */
static inline uint32_t key_map_row(struct key_map *map, const struct pbin_definitions *all,
                                   uint64_t thread, uint64_t location)
{
    if (!map->by_thread && location < map->count && map->row[location] != NO_ROW)
        return map->row[location];
    return key_map_find(map, all, thread, location);
}

#endif

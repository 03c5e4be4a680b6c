/* The locations of a profile that is being written.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/locations.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"

struct locations {
    struct pbin_writer *writer;
    struct symbolizer *symbolizer;
    struct code_map *maps;
    uint32_t *map_numbers; /* in the pbin, PBIN_NO_MAP: not defined yet */
    size_t map_count;
    struct numbers pcs;
    struct numbers tids;             /* of the threads with known names ... */
    const struct raw_thread **named; /* ... by number in tids */
    struct location_place *pending;  /* not resolved yet */
    size_t pending_count, pending_capacity;
    struct strings *places; /* as bytes; place N is location number N - 1 */
    bool wants_keys;
    uint64_t (*keys)[LOCATION_KEY_COUNT]; /* only if they are wanted */
    size_t key_count, key_capacity;
};

/* If a tid occurs twice (renamed or reused), the last name counts. */
static void name_threads(struct locations *l, const struct location_facts *facts)
{
    l->named = mem_zalloc(facts->thread_count, sizeof(struct raw_thread *));
    for (size_t i = 0; i < facts->thread_count; i++)
        l->named[numbers_intern(&l->tids, facts->threads[i].tid)] = &facts->threads[i];
}

struct locations *locations_new(const struct location_facts *facts, struct pbin_writer *writer,
                                const struct symbolizer_options *options, struct reporter *reporter,
                                struct error *err)
{
    struct locations *l = mem_zalloc(1, sizeof *l);
    l->writer = writer;
    l->wants_keys = facts->keys;
    l->map_count = facts->map_count;
    l->maps = mem_zalloc(l->map_count + 1, sizeof *l->maps);
    if (l->map_count > 0)
        memcpy(l->maps, facts->maps, l->map_count * sizeof *l->maps);
    l->map_numbers = mem_alloc((l->map_count + 1) * sizeof *l->map_numbers);
    for (size_t i = 0; i < l->map_count; i++)
        l->map_numbers[i] = PBIN_NO_MAP;
    name_threads(l, facts);
    l->symbolizer = symbolizer_new(l->maps, l->map_count, options, reporter, err);
    if (l->symbolizer != NULL)
        return l;
    locations_delete(l);
    return NULL;
}

void locations_delete(struct locations *l)
{
    if (l == NULL)
        return;
    symbolizer_delete(l->symbolizer);
    numbers_free(&l->pcs);
    numbers_free(&l->tids);
    free(l->named);
    free(l->maps);
    free(l->map_numbers);
    free(l->pending);
    strings_delete(l->places);
    free(l->keys);
    free(l);
}

struct symbolizer *locations_symbolizer(struct locations *l)
{
    return l->symbolizer;
}

uint32_t locations_number(struct locations *l, uint64_t pc)
{
    uint32_t known = l->pcs.count;
    uint32_t number = numbers_intern(&l->pcs, pc);
    if (number == known)
        *MEM_APPEND(l->pending, l->pending_count, l->pending_capacity) =
            (struct location_place){.pc = pc, .map = LOCATION_FIND, .caller = PBIN_NO_CALLER};
    return number;
}

uint32_t locations_place(struct locations *l, const struct location_place *place)
{
    static_assert(sizeof *place == sizeof(uint64_t) + 2 * sizeof(uint32_t) + 2 * sizeof(char *),
                  "no padding: places are compared as bytes");
    if (l->places == NULL)
        l->places = strings_new();
    uint32_t known = strings_count(l->places);
    uint32_t number = strings_intern_bytes(l->places, (const char *)place, sizeof *place);
    if (number == known)
        *MEM_APPEND(l->pending, l->pending_count, l->pending_capacity) = *place;
    return number - 1;
}

const struct numbers *locations_numbers(const struct locations *l)
{
    return &l->pcs;
}

/* Maps are defined when a location first refers to them, because the search for their file starts
 * only then. */
static uint32_t define_map(struct locations *l, uint32_t index, bool used)
{
    if (index >= l->map_count)
        return PBIN_NO_MAP;
    if (l->map_numbers[index] != PBIN_NO_MAP)
        return l->map_numbers[index];
    const struct code_map *from = &l->maps[index];
    const char *build_id = used ? symbolizer_build_id(l->symbolizer, index) : from->build_id;
    uint64_t offset = used               ? symbolizer_offset(l->symbolizer, index)
                      : from->has_offset ? from->offset
                                         : UINT64_MAX;
    struct pbin_map map = {
        .address = from->address,
        .size = from->size,
        .offset = offset,
        .label = pbin_define_string(l->writer, from->label),
        .path = used ? pbin_define_string(l->writer, symbolizer_path(l->symbolizer, index)) : 0,
        .build_id = pbin_define_string(l->writer, build_id),
    };
    l->map_numbers[index] = pbin_define_map(l->writer, &map);
    return l->map_numbers[index];
}

void locations_define_maps(struct locations *l)
{
    for (size_t i = 0; i < l->map_count; i++)
        define_map(l, (uint32_t)i, false);
}

/* Returns TEXT, the name of the code at FROM or a label for code without a name, as the value of a
 * key. */
static uint32_t key_text(struct locations *l, const struct code_location *from, const char *text)
{
    bool nameless = label_is_nameless(text, from->map < l->map_count);
    return pbin_define_string(l->writer, nameless ? text : label_unlike(text));
}

static void keep_key(struct locations *l, const struct code_location *from)
{
    const struct code_frame *frames = from->frames;
    mem_reserve(&l->keys, &l->key_capacity, l->key_count + 1, sizeof *l->keys);
    uint64_t *key = l->keys[l->key_count++];
    key[0] = key_text(l, from, from->binary);
    key[1] = key_text(l, from, frames[0].file);
    key[2] = key_text(l, from, frames[from->frame_count - 1].demangled);
    key[3] = key_text(l, from, frames[0].demangled);
    key[4] = frames[0].line;
    key[5] = from->pc;
}

static uint32_t define_location(struct locations *l, const struct code_location *from)
{
    struct pbin_frame *frames = mem_zalloc(from->frame_count, sizeof *frames);
    for (size_t i = 0; i < from->frame_count; i++) {
        const struct code_frame *frame = &from->frames[i];
        frames[i] = (struct pbin_frame){pbin_define_string(l->writer, frame->function),
                                        pbin_define_string(l->writer, frame->demangled),
                                        pbin_define_string(l->writer, frame->file), frame->line};
    }
    struct pbin_location location = {.pc = from->pc,
                                     .binary = pbin_define_string(l->writer, from->binary),
                                     .map = define_map(l, from->map, true),
                                     .frame_count = (uint32_t)from->frame_count};
    uint32_t number = pbin_define_location(l->writer, &location, frames);
    for (size_t i = 0; i < from->frame_count; i++)
        pbin_define_checksum(l->writer, location.binary, frames[i].file,
                             pbin_define_string(l->writer, from->frames[i].checksum));
    if (l->wants_keys)
        keep_key(l, from);
    free(frames);
    return number;
}

/* Defines all pending locations in the order of their numbers; FOUND has the answers. */
static void define_pending(struct locations *l, const struct code_location *found)
{
    for (size_t i = 0, next = 0; i < l->pending_count; i++) {
        const struct location_place *place = &l->pending[i];
        const struct code_frame frame = {place->name, place->name, "", 0, "", 0};
        const struct code_location named = {.pc = place->pc,
                                            .binary = place->binary,
                                            .map = place->map,
                                            .frames = &frame,
                                            .frame_count = 1};
        uint32_t number = define_location(l, place->name != NULL ? &named : &found[next++]);
        if (place->caller != PBIN_NO_CALLER)
            pbin_define_caller(l->writer, number, place->caller);
    }
}

void locations_resolve(struct locations *l)
{
    size_t count = 0;
    if (l->pending_count == 0)
        return;
    struct code_location *found = mem_zalloc(l->pending_count, sizeof *found);
    uint64_t *pcs = mem_alloc(l->pending_count * sizeof *pcs);
    uint32_t *maps = mem_alloc(l->pending_count * sizeof *maps);
    for (size_t i = 0; i < l->pending_count; i++) {
        const struct location_place *place = &l->pending[i];
        if (place->name != NULL)
            continue;
        pcs[count] = place->pc;
        maps[count++] = place->map == LOCATION_FIND ? symbolizer_find_map(l->symbolizer, place->pc)
                                                    : place->map;
    }
    symbolizer_resolve_in(l->symbolizer, pcs, maps, count, found);
    define_pending(l, found);
    l->pending_count = 0;
    free(found);
    free(pcs);
    free(maps);
}

void locations_label(const struct locations *l, const char *label, struct pbin_row *row)
{
    uint32_t name = pbin_define_string(l->writer, label);
    const uint64_t key[LOCATION_KEY_COUNT] = {name, 0, name, name, 0, 0};
    for (int i = 0; i < LOCATION_KEY_COUNT; i++)
        row->key[i] = key[i];
}

void locations_key(const struct locations *l, uint32_t number, struct pbin_row *row)
{
    for (int i = 0; i < LOCATION_KEY_COUNT; i++)
        row->key[i] = l->keys[number][i];
}

uint32_t locations_define_thread(struct locations *l, uint32_t tid)
{
    struct pbin_thread thread = {.tid = tid};
    uint32_t number = numbers_find(&l->tids, tid);
    if (number != INTERN_NONE) {
        thread.pid = l->named[number]->pid;
        thread.name = pbin_define_string(l->writer, l->named[number]->name);
    }
    return pbin_define_thread(l->writer, &thread);
}

uint32_t locations_define_task(struct locations *l, uint32_t tid, uint32_t pid, const char *name,
                               const char *program)
{
    struct pbin_thread thread = {.tid = tid,
                                 .pid = pid,
                                 .name = pbin_define_string(l->writer, name),
                                 .program = pbin_define_string(l->writer, program)};
    return pbin_define_thread(l->writer, &thread);
}

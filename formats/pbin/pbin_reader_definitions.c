/* Reads the definitions of a pbin: strings, maps, threads, locations.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/memory.h"
#include "formats/pbin/pbin_reader_inside.h"

enum { FRAMES_MOST = 4096 };

uint32_t pbin_string_number(struct pbin_reader *r, struct cursor *in)
{
    uint32_t number = cursor_u32(in);
    if (number < strings_count(r->strings))
        return number;
    in->bad = true;
    return 0;
}

static void read_string(struct pbin_reader *r, struct cursor *in)
{
    size_t length;
    uint32_t expected = strings_count(r->strings);
    const char *text = cursor_string(in, &length);
    if (in->bad || memchr(text, '\0', length) != NULL ||
        strings_intern_bytes(r->strings, text, length) != expected)
        in->bad = true; /* cut, with a NUL inside, or defined twice */
}

static void read_map(struct pbin_reader *r, struct cursor *in)
{
    mem_reserve(&r->maps, &r->map_capacity, r->all.map_count + 1, sizeof *r->maps);
    struct pbin_map *map = &r->maps[r->all.map_count++];
    map->address = cursor_u64(in);
    map->size = cursor_u64(in);
    map->offset = cursor_u64(in);
    map->label = pbin_string_number(r, in);
    map->path = pbin_string_number(r, in);
    map->build_id = pbin_string_number(r, in);
}

static void read_thread(struct pbin_reader *r, struct cursor *in)
{
    mem_reserve(&r->threads, &r->thread_capacity, r->all.thread_count + 1, sizeof *r->threads);
    struct pbin_thread *thread = &r->threads[r->all.thread_count++];
    thread->tid = cursor_u32(in);
    thread->pid = cursor_u32(in);
    thread->name = pbin_string_number(r, in);
}

static void read_frame(struct pbin_reader *r, struct cursor *in)
{
    mem_reserve(&r->frames, &r->frame_capacity, r->all.frame_count + 1, sizeof *r->frames);
    struct pbin_frame *frame = &r->frames[r->all.frame_count++];
    frame->function = pbin_string_number(r, in);
    frame->demangled = pbin_string_number(r, in);
    frame->file = pbin_string_number(r, in);
    frame->line = cursor_u32(in);
}

static void read_location(struct pbin_reader *r, struct cursor *in)
{
    mem_reserve(&r->locations, &r->location_capacity, r->all.location_count + 1,
                sizeof *r->locations);
    struct pbin_location *location = &r->locations[r->all.location_count++];
    location->pc = cursor_u64(in);
    location->binary = pbin_string_number(r, in);
    location->map = cursor_u32(in);
    location->frame_count = cursor_u32(in);
    location->first_frame = (uint32_t)r->all.frame_count;
    if (location->map != PBIN_NO_MAP && location->map >= r->all.map_count)
        in->bad = true;
    if (location->frame_count == 0 || location->frame_count > FRAMES_MOST)
        in->bad = true;
    for (uint32_t i = 0; i < location->frame_count && !in->bad; i++)
        read_frame(r, in);
}

typedef void read_one(struct pbin_reader *r, struct cursor *in);

static int read_all(struct pbin_reader *r, read_one *one, struct error *err)
{
    struct cursor *in = &r->block.in;
    const struct pbin_definitions before = r->all;
    for (uint32_t left = cursor_u32(in); left > 0 && !in->bad; left--)
        one(r, in);
    if (in->bad) { /* a salvaged profile is used without what a damaged block defines */
        r->all = before;
        pbin_reader_fail(r, err, "shorter than what it counts, or refers to what is not defined");
    }
    r->all.strings = r->strings;
    r->all.maps = r->maps;
    r->all.threads = r->threads;
    r->all.locations = r->locations;
    r->all.frames = r->frames;
    return in->bad ? -1 : 0;
}

int pbin_read_definitions(struct pbin_reader *r, struct error *err)
{
    static const struct {
        const char *type;
        read_one *one;
    } kinds[] = {
        {"STRS", read_string}, {"MAPS", read_map}, {"THRD", read_thread}, {"LOCS", read_location}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(r->block.type, kinds[i].type) == 0)
            return read_all(r, kinds[i].one, err) != 0 ? -1 : 1;
    return 0;
}

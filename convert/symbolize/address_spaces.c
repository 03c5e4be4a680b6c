/* Finds the mapping that contained an address of a process at a given time.
 *
 * The mappings of an image are a treap: a binary tree of disjoint pieces by address, with random
 * priorities. A forked image begins with its parent's tree. Each node has an owner; other images
 * copy the node before they change it, so that a fork costs nothing and a mapping costs O(log n).
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/address_spaces.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/intern.h"
#include "base/memory.h"

enum { NONE = 0 }; /* no node */

/* The ptrace engine records a mapping when it notices it, which may be this long after code ran there. */
static const uint64_t max_notice_ns = 1000000000;

struct node {
    uint64_t begin, last; /* addresses, both inclusive */
    uint32_t map;
    uint32_t priority; /* not below those of its children */
    uint32_t left, right;
    uint32_t owner;
};

/* A mapping that an image adds; in order of time. */
struct event {
    uint64_t time;
    uint32_t image, mapx;
};

struct space {
    uint32_t root, owner;
    uint32_t token;
    size_t next, end; /* events that have not been applied yet */
    size_t soon;      /* events before SOON may have happened already: they are noticed next */
    uint64_t until;   /* all this is valid until then */
    bool started;
};

struct address_spaces {
    const struct raw_extension *ext;
    uint64_t notice_ns; /* 0: mappings are recorded as they happen */
    struct code_map *maps;
    bool *is_anonymous; /* [map_count] */
    size_t map_count;
    uint32_t *map_of; /* [ext->mapx_count] */
    char **labels;    /* [map_count] labels owned by us, NULL */
    struct event *events;
    struct space *spaces;
    uint32_t *starts; /* images by start */
    size_t next_start;
    uint64_t next_start_ns;
    struct node *nodes; /* number 0 is not used */
    size_t node_count, node_capacity;
    uint32_t owners, tokens;
    uint64_t random;
};

/* ---- the tree ---- */

static uint32_t next_random(struct address_spaces *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)(s->random >> 32);
}

static uint32_t new_node(struct address_spaces *s, struct node node)
{
    *MEM_AT(s->nodes, s->node_count, s->node_capacity) = node;
    return (uint32_t)s->node_count++;
}

/* Returns a node equal to AT that OWNER may change. */
static uint32_t own(struct address_spaces *s, uint32_t at, uint32_t owner)
{
    if (s->nodes[at].owner == owner)
        return at;
    struct node copy = s->nodes[at];
    copy.owner = owner;
    return new_node(s, copy);
}

/* Splits the tree AT into pieces that begin before ADDRESS, and the others. */
/* NOLINTNEXTLINE(misc-no-recursion): a treap is as deep as the logarithm of its pieces */
static void split(struct address_spaces *s, uint32_t at, uint64_t address, uint32_t owner,
                  uint32_t *before, uint32_t *after)
{
    uint32_t part;
    if (at == NONE) {
        *before = *after = NONE;
        return;
    }
    at = own(s, at, owner);
    if (s->nodes[at].begin < address) {
        split(s, s->nodes[at].right, address, owner, &part, after);
        s->nodes[at].right = part;
        *before = at;
    } else {
        split(s, s->nodes[at].left, address, owner, before, &part);
        s->nodes[at].left = part;
        *after = at;
    }
}

/* Joins two trees; all pieces of A are before those of B. */
/* NOLINTNEXTLINE(misc-no-recursion): a treap is as deep as the logarithm of its pieces */
static uint32_t join(struct address_spaces *s, uint32_t a, uint32_t b, uint32_t owner)
{
    if (a == NONE || b == NONE)
        return a == NONE ? b : a;
    if (s->nodes[a].priority >= s->nodes[b].priority) {
        a = own(s, a, owner);
        uint32_t right = join(s, s->nodes[a].right, b, owner);
        s->nodes[a].right = right;
        return a;
    }
    b = own(s, b, owner);
    uint32_t left = join(s, a, s->nodes[b].left, owner);
    s->nodes[b].left = left;
    return b;
}

/* Returns the last piece of the tree AT, NONE if it is empty. */
static uint32_t last_piece(const struct address_spaces *s, uint32_t at)
{
    while (at != NONE && s->nodes[at].right != NONE)
        at = s->nodes[at].right;
    return at;
}

/* Ends the last piece of the tree AT before ADDRESS. Returns the tree. */
/* NOLINTNEXTLINE(misc-no-recursion): a treap is as deep as the logarithm of its pieces */
static uint32_t trim(struct address_spaces *s, uint32_t at, uint64_t address, uint32_t owner)
{
    at = own(s, at, owner);
    if (s->nodes[at].right != NONE) {
        uint32_t right = trim(s, s->nodes[at].right, address, owner);
        s->nodes[at].right = right;
    } else {
        s->nodes[at].last = address - 1;
    }
    return at;
}

static uint32_t new_piece(struct address_spaces *s, uint64_t begin, uint64_t last, uint32_t map,
                          uint32_t owner)
{
    return new_node(s, (struct node){begin, last, map, next_random(s), NONE, NONE, owner});
}

/* Maps MAP at BEGIN..LAST, over the previous pieces. */
static void cover(struct address_spaces *s, struct space *space, uint64_t begin, uint64_t last,
                  uint32_t map)
{
    uint32_t before, middle, after = NONE, owner = space->owner;
    split(s, space->root, begin, owner, &before, &middle);
    if (last < UINT64_MAX)
        split(s, middle, last + 1, owner, &middle, &after);
    /* the piece that extends furthest: inside, else the one before */
    uint32_t over = last_piece(s, middle), cut = last_piece(s, before);
    struct node rest = s->nodes[over != NONE ? over : cut];
    bool has_rest = (over != NONE || cut != NONE) && rest.last > last;
    if (cut != NONE && s->nodes[cut].last >= begin)
        before = trim(s, before, begin, owner);
    space->root = join(s, before, new_piece(s, begin, last, map, owner), owner);
    if (has_rest)
        space->root =
            join(s, space->root, new_piece(s, last + 1, rest.last, rest.map, owner), owner);
    space->root = join(s, space->root, after, owner);
}

/* Returns the piece of SPACE that contains ADDRESS, NONE if there is none. */
static uint32_t piece_at(const struct address_spaces *s, const struct space *space,
                         uint64_t address)
{
    uint32_t at = space->root, best = NONE;
    while (at != NONE) {
        if (s->nodes[at].begin <= address)
            best = at;
        at = s->nodes[at].begin <= address ? s->nodes[at].right : s->nodes[at].left;
    }
    return best != NONE && s->nodes[best].last >= address ? best : NONE;
}

/* Returns whether MAPX is memory without a file inside the code of a file, which continues before
 * and after it. Programs map such memory to use large pages (node --use-largepages, iodlr): they
 * copy their own code there. */
static bool is_own_code(const struct address_spaces *s, const struct space *space, uint32_t mapx)
{
    const struct raw_mapx *map = &s->ext->mapx[mapx];
    if (map->kind != RAW_MAP_ANONYMOUS || map->address == 0 || map->size == 0)
        return false;
    const uint32_t before = piece_at(s, space, map->address - 1);
    const uint32_t over = piece_at(s, space, map->address);
    if (before == NONE || over == NONE || s->nodes[over].last - map->address < map->size)
        return false;
    const struct code_map *a = &s->maps[s->nodes[before].map], *b = &s->maps[s->nodes[over].map];
    return !a->no_file && a->label == b->label && a->address - a->offset == b->address - b->offset;
}

/* Returns the last mapping at PC among the next events of SPACE, up to END; UINT32_MAX if there is
 * none. */
static uint32_t find_next(const struct address_spaces *s, const struct space *space, size_t end,
                          uint64_t pc)
{
    for (size_t i = end; i-- > space->next;) {
        const struct raw_mapx *map = &s->ext->mapx[s->events[i].mapx];
        if (pc - map->address < map->size && !is_own_code(s, space, s->events[i].mapx))
            return s->map_of[s->events[i].mapx];
    }
    return UINT32_MAX;
}

uint32_t address_spaces_find(const struct address_spaces *s, uint32_t image, uint64_t pc)
{
    const struct space *space = &s->spaces[image];
    const uint32_t at = piece_at(s, space, pc);
    return at != NONE ? s->nodes[at].map : find_next(s, space, space->soon, pc);
}

uint32_t address_spaces_find_later(const struct address_spaces *s, uint32_t image, uint64_t pc,
                                   uint64_t time_ns)
{
    const struct space *space = &s->spaces[image];
    size_t end = space->next;
    while (end < space->end && s->events[end].time <= time_ns)
        end++;
    uint32_t map = find_next(s, space, end, pc);
    return map != UINT32_MAX ? map : address_spaces_find(s, image, pc);
}

/* ---- time ---- */

/* Finds the events that are noticed next, if they are near. */
static void look_ahead(const struct address_spaces *s, struct space *space, uint64_t time_ns)
{
    space->soon = space->next;
    space->until = space->next < space->end ? s->events[space->next].time : UINT64_MAX;
    if (space->until == UINT64_MAX)
        return;
    if (space->until - time_ns > s->notice_ns) {
        space->until -= s->notice_ns;
        return;
    }
    while (space->soon < space->end && s->events[space->soon].time == space->until)
        space->soon++;
}

static void apply_events(struct address_spaces *s, struct space *space, uint64_t time_ns)
{
    for (; space->next < space->end && s->events[space->next].time <= time_ns; space->next++) {
        uint32_t mapx = s->events[space->next].mapx;
        const struct raw_mapx *map = &s->ext->mapx[mapx];
        uint64_t last;
        if (map->size == 0 || is_own_code(s, space, mapx))
            continue;
        if (__builtin_add_overflow(map->address, map->size - 1, &last))
            last = UINT64_MAX;
        cover(s, space, map->address, last, s->map_of[mapx]);
    }
    look_ahead(s, space, time_ns);
    space->token = ++s->tokens;
}

/* Starts IMAGE. A forked image shares the mappings of its parent at the time of the fork; after
 * that, both copy nodes that they change. */
static void start(struct address_spaces *s, uint32_t image)
{
    struct space *space = &s->spaces[image];
    uint32_t parent = s->ext->images[image].parent;
    if (space->started)
        return;
    if (parent != RAW_NO_IMAGE) {
        apply_events(s, &s->spaces[parent], s->ext->images[image].start);
        space->root = s->spaces[parent].root;
        s->spaces[parent].owner = ++s->owners;
    }
    space->owner = ++s->owners;
    space->started = true;
}

static void start_images(struct address_spaces *s, uint64_t time_ns)
{
    size_t count = s->ext->image_count;
    while (s->next_start < count && s->ext->images[s->starts[s->next_start]].start <= time_ns)
        start(s, s->starts[s->next_start++]);
    s->next_start_ns =
        s->next_start < count ? s->ext->images[s->starts[s->next_start]].start : UINT64_MAX;
}

uint32_t address_spaces_at(struct address_spaces *s, uint32_t image, uint64_t time_ns,
                           uint64_t *until_ns)
{
    struct space *space = &s->spaces[image];
    if (time_ns >= s->next_start_ns)
        start_images(s, time_ns);
    if (!space->started) /* its thread was seen a moment too early */
        start(s, image);
    if (time_ns >= space->until || space->token == 0)
        apply_events(s, space, time_ns);
    *until_ns = space->until;
    return space->token;
}

/* ---- mappings and events ---- */

static int compare_events(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->mapx < b->mapx ? -1 : a->mapx > b->mapx;
}

static void list_events(struct address_spaces *s)
{
    const struct raw_extension *ext = s->ext;
    s->events = mem_alloc((ext->mapx_count + 1) * sizeof *s->events);
    for (uint32_t i = 0; i < ext->mapx_count; i++)
        s->events[i] = (struct event){ext->mapx[i].from, ext->mapx[i].image, i};
    if (ext->mapx_count > 0)
        qsort(s->events, ext->mapx_count, sizeof *s->events, compare_events);
    for (size_t i = 0; i < ext->mapx_count; i++) {
        struct space *space = &s->spaces[s->events[i].image];
        if (space->end == 0)
            space->next = i;
        space->end = i + 1;
    }
}

static void list_starts(struct address_spaces *s)
{
    size_t count = s->ext->image_count;
    struct event *order = mem_alloc((count + 1) * sizeof *order);
    s->starts = mem_alloc((count + 1) * sizeof *s->starts);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (struct event){s->ext->images[i].start, 0, i};
    if (count > 0)
        qsort(order, count, sizeof *order, compare_events);
    for (size_t i = 0; i < count; i++)
        s->starts[i] = order[i].mapx;
    free(order);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the name of a mapping without a code file; caller frees. NULL for a file. */
static char *anonymous_name(const struct raw_mapx *map)
{
    static const char *const names[RAW_MAPPINGS] = {
        [RAW_MAP_ANONYMOUS] = "[anon]",    [RAW_MAP_HEAP] = "[heap]",
        [RAW_MAP_STACK] = "[stack]",       [RAW_MAP_VDSO] = "[vdso]",
        [RAW_MAP_VSYSCALL] = "[vsyscall]", [RAW_MAP_JIT] = "[jit]"};
    if (begins(map->path, "/memfd:")) {
        const char *name = map->path + 1, *end = strstr(name, " (deleted)");
        return mem_printf("[%.*s]", (int)(end != NULL ? (size_t)(end - name) : strlen(name)), name);
    }
    if (begins(map->path, "/dev/zero") || begins(map->path, "/SYSV"))
        return mem_strdup("[anon]");
    if (map->kind == RAW_MAP_FILE)
        return NULL;
    bool named = map->kind == RAW_MAP_ANONYMOUS && map->path[0] == '[';
    return mem_strdup(named ? map->path : names[map->kind]);
}

static struct code_map describe(const struct address_spaces *s, const struct raw_mapx *map,
                                const char *name)
{
    struct code_map to = {.address = map->address,
                          .size = map->size,
                          .label = name != NULL ? name : map->path,
                          .has_offset = true,
                          .offset = map->offset,
                          .build_id = name != NULL ? NULL : map->build_id,
                          .no_file = name != NULL};
    if (map->kind == RAW_MAP_VDSO && s->ext->vdso != NULL) {
        to.image = s->ext->vdso;
        to.image_size = s->ext->vdso_size;
        to.offset = 0;
    }
    return to;
}

/* Gives the same number to mappings that differ only in image and time. Texts are interned: equal
 * texts are one pointer. */
static void list_maps(struct address_spaces *s)
{
    const struct raw_extension *ext = s->ext;
    struct strings *known = strings_new();
    struct buffer key = {0};
    s->maps = mem_zalloc(ext->mapx_count + 1, sizeof *s->maps);
    s->labels = mem_zalloc(ext->mapx_count + 1, sizeof *s->labels);
    s->is_anonymous = mem_zalloc(ext->mapx_count + 1, sizeof *s->is_anonymous);
    s->map_of = mem_alloc((ext->mapx_count + 1) * sizeof *s->map_of);
    for (size_t i = 0; i < ext->mapx_count; i++) {
        const struct raw_mapx *map = &ext->mapx[i];
        key.size = 0;
        buffer_u64(&key, map->address);
        buffer_u64(&key, map->size);
        buffer_u64(&key, map->offset);
        buffer_u8(&key, map->kind);
        buffer_u64(&key, (uintptr_t)map->path);
        buffer_u64(&key, (uintptr_t)map->build_id);
        uint32_t number =
            strings_intern_bytes(known, (const char *)key.data, key.size) - 1; /* "" is 0 */
        s->map_of[i] = number;
        if (number < s->map_count)
            continue;
        s->labels[number] = anonymous_name(map);
        s->maps[number] = describe(s, map, s->labels[number]);
        s->is_anonymous[number] =
            s->labels[number] != NULL && map->kind != RAW_MAP_VDSO && map->kind != RAW_MAP_VSYSCALL;
        s->map_count++;
    }
    buffer_free(&key);
    strings_delete(known);
}

struct address_spaces *address_spaces_new(const struct raw_extension *ext)
{
    struct address_spaces *s = mem_zalloc(1, sizeof *s);
    struct timespec now = {0};
    s->ext = ext;
    if (raw_facts_engine(&ext->facts, "ptrace"))
        s->notice_ns = max_notice_ns;
    s->spaces = mem_zalloc(ext->image_count + 1, sizeof *s->spaces);
    s->node_count = 1;
    mem_reserve(&s->nodes, &s->node_capacity, 1, sizeof *s->nodes);
    s->nodes[NONE] = (struct node){0};
    clock_gettime(CLOCK_MONOTONIC, &now); /* unpredictable for the author of a hostile file */
    s->random = (uint64_t)now.tv_nsec << 32 | 0x9e3779b9;
    list_maps(s);
    list_events(s);
    list_starts(s);
    return s;
}

void address_spaces_delete(struct address_spaces *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->map_count; i++)
        free(s->labels[i]);
    free(s->labels);
    free(s->maps);
    free(s->is_anonymous);
    free(s->map_of);
    free(s->events);
    free(s->spaces);
    free(s->starts);
    free(s->nodes);
    free(s);
}

const struct code_map *address_spaces_maps(const struct address_spaces *s, size_t *count)
{
    *count = s->map_count;
    return s->maps;
}

bool address_spaces_is_anonymous(const struct address_spaces *s, uint32_t index)
{
    return index == UINT32_MAX || s->is_anonymous[index];
}

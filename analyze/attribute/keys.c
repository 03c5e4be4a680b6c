/* Finds the row of a thread sample from its thread and location.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"

/* The keys, in the order of pbin_key_get. */
enum {
    KEY_PROCESS,
    KEY_THREAD,
    KEY_BINARY,
    KEY_FILE,
    KEY_FUNCTION,
    KEY_INLINE,
    KEY_LINE,
    KEY_PC,
    KEY_COMM,
    KEY_PROGRAM,
    KEY_LINKAGE_NAME,
    KEY_OUTER_LINE,
    KEY_BASIC_BLOCK,
    KEY_INSTRUCTION,
    KEY_STACK_INLINE,
    KEY_OPCODE
};

static bool needs_thread(int key)
{
    return key == KEY_PROCESS || key == KEY_THREAD || key == KEY_COMM || key == KEY_PROGRAM;
}

void key_map_init(struct key_map *map, struct rowset *rows, const struct pbin_keys *keys,
                  const struct selection *selection, const char *target, struct code_names *code)
{
    *map = (struct key_map){
        .rows = rows, .keys = keys, .selection = selection, .target = target, .code = code};
    for (size_t i = 0; i < keys->count; i++)
        map->by_thread |= needs_thread(keys->key[i]);
    for (size_t i = 0; i < selection->filter_count; i++)
        map->by_thread |= needs_thread(selection->filters[i].key);
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

/* The string number in ROWS for the name that is string NUMBER of the profile. */
static uint32_t name_text(struct key_map *map, const struct pbin_definitions *all, uint64_t number)
{
    extend(&map->texts, &map->text_count, &map->text_capacity, number + 1);
    if (map->texts[number] == NO_ROW) {
        const char *name = label_unlike(strings_get(all->strings, (uint32_t)number));
        map->texts[number] = strings_intern(map->rows->texts, name);
    }
    return map->texts[number];
}

/* Does the same for a string that is the name of the code at AT, or one of the labels of code
 * without a name. */
static uint32_t code_text(struct key_map *map, const struct pbin_definitions *all,
                          const struct pbin_location *at, uint32_t number)
{
    const char *text = strings_get(all->strings, number);
    if (label_is_nameless(text, at->map != PBIN_NO_MAP))
        return strings_intern(map->rows->texts, text);
    return name_text(map, all, number);
}

/* The base name of the program of THREAD. */
static uint32_t program_text(struct key_map *map, const struct pbin_definitions *all,
                             uint64_t thread)
{
    const char *path = strings_get(all->strings, all->threads[thread].program);
    const char *slash = strrchr(path, '/');
    return strings_intern(map->rows->texts, label_unlike(slash != NULL ? slash + 1 : path));
}

static uint64_t offset_in(const struct pbin_map *map, uint64_t pc)
{
    return pc - map->address + (map->offset != UINT64_MAX ? map->offset : 0);
}

/* The program counter at AT as an offset in its file, which is the same wherever the file is
 * mapped. Without a mapping, the program counter itself. */
static uint64_t offset_of(const struct pbin_definitions *all, const struct pbin_location *at)
{
    return at->map == PBIN_NO_MAP ? at->pc : offset_in(&all->maps[at->map], at->pc);
}

uint64_t key_offset(const struct pbin_definitions *all, const char *binary, uint64_t pc)
{
    for (size_t i = 0; i < all->map_count; i++) {
        const struct pbin_map *map = &all->maps[i];
        const char *name = elf_base_name(strings_get(all->strings, map->label));
        if (pc >= map->address && pc - map->address < map->size &&
            strcmp(label_unlike(name), binary) == 0)
            return offset_in(map, pc);
    }
    return pc;
}

/* The text that decoding the code at AT yields. */
static uint64_t decoded_text(struct key_map *map, const struct pbin_definitions *all,
                             const struct pbin_location *at, enum code_name wanted)
{
    return strings_intern(map->rows->texts, code_names_get(map->code, all, at, wanted));
}

/* The name of the function of FRAME, as a text of the profile. */
static uint32_t function_of(const struct pbin_frame *frame, bool linkage)
{
    return linkage && frame->function != 0 ? frame->function : frame->demangled;
}

/* "outer;inner": the function that contains the code at AT, and the functions inlined there. */
static uint64_t stack_text(struct key_map *map, const struct pbin_definitions *all,
                           const struct pbin_location *at, bool linkage)
{
    char *chain = NULL;
    for (uint64_t i = at->frame_count; i > 0; i--) {
        const struct pbin_frame *frame = &all->frames[at->first_frame + i - 1];
        const char *name =
            strings_get(map->rows->texts, code_text(map, all, at, function_of(frame, linkage)));
        char *longer = chain != NULL ? mem_printf("%s;%s", chain, name) : mem_strdup(name);
        free(chain);
        chain = longer;
    }
    uint32_t text = strings_intern(map->rows->texts, chain);
    free(chain);
    return text;
}

/* The value of KEY. LINKAGE: functions have the names that linkers use. */
static uint64_t key_value(struct key_map *map, int key, const struct pbin_definitions *all,
                          uint64_t thread, uint64_t location, bool linkage)
{
    const struct pbin_location *at = &all->locations[location];
    const struct pbin_frame *inner = &all->frames[at->first_frame];
    const struct pbin_frame *outer = inner + at->frame_count - 1;
    switch (key) {
    case KEY_PROCESS:
        return all->threads[thread].pid;
    case KEY_THREAD:
        return all->threads[thread].tid;
    case KEY_COMM:
        return name_text(map, all, all->threads[thread].name);
    case KEY_PROGRAM:
        return program_text(map, all, thread);
    case KEY_BINARY:
        return code_text(map, all, at, at->binary);
    case KEY_FILE:
        return name_text(map, all, inner->file);
    case KEY_FUNCTION:
        return code_text(map, all, at, function_of(outer, linkage));
    case KEY_INLINE:
        return code_text(map, all, at, function_of(inner, linkage));
    case KEY_LINE:
        return inner->line;
    case KEY_LINKAGE_NAME:
        return code_text(map, all, at, outer->function);
    case KEY_OUTER_LINE:
        return outer->line;
    case KEY_BASIC_BLOCK:
        return decoded_text(map, all, at, CODE_BLOCK);
    case KEY_INSTRUCTION:
        return decoded_text(map, all, at, CODE_INSTRUCTION);
    case KEY_OPCODE:
        return decoded_text(map, all, at, CODE_OPCODE);
    case KEY_STACK_INLINE:
        return stack_text(map, all, at, linkage);
    default:
        return map->keys->offsets ? offset_of(all, at) : at->pc;
    }
}

static bool is_external(const struct key_map *map, const struct pbin_definitions *all,
                        uint64_t location)
{
    return strcmp(strings_get(all->strings, all->locations[location].binary), map->target) != 0;
}

/* The value of KEY for a row, which the rules for names may rewrite. */
static uint64_t row_value(struct key_map *map, int key, const struct pbin_definitions *all,
                          uint64_t thread, uint64_t location)
{
    const struct pbin_key *what = pbin_key_get((size_t)key);
    uint64_t value =
        key_value(map, key, all, thread, location, name_rules_linkage(map->names, what->name));
    if (!name_rules_apply(map->names, what->name))
        return value;
    char *text =
        name_rules_rewrite(map->names, what->name, strings_get(map->rows->texts, (uint32_t)value));
    value = strings_intern(map->rows->texts, text);
    free(text);
    return value;
}

/* A thread sample to which filters are applied. */
struct question {
    struct key_map *map;
    const struct pbin_definitions *all;
    uint64_t thread, location;
    char number[24];
};

static const char *text_of(void *context, int key)
{
    struct question *q = context;
    uint64_t value = key_value(q->map, key, q->all, q->thread, q->location, false);
    if (pbin_key_get((size_t)key)->is_text)
        return strings_get(q->map->rows->texts, (uint32_t)value);
    snprintf(q->number, sizeof q->number, key == KEY_PC ? "0x%" PRIx64 : "%" PRIu64, value);
    return q->number;
}

static bool is_selected(struct key_map *map, const struct pbin_definitions *all, uint64_t thread,
                        uint64_t location)
{
    struct question question = {.map = map, .all = all, .thread = thread, .location = location};
    if (map->selection->exclude_external && is_external(map, all, location))
        return false;
    return selection_passes(map->selection, text_of, &question);
}

uint32_t key_find_excluded(struct rowset *rows)
{
    uint64_t key[PBIN_MAX_KEYS] = {0};
    for (size_t i = 0; i < rows->key_count; i++)
        key[i] = rows->is_text[i] ? strings_intern(rows->texts, LABEL_EXCLUDED) : NUMBER_EXCLUDED;
    return rowset_find(rows, key);
}

static const char *label_text(void *context, int key)
{
    (void)key;
    return context;
}

struct row_sums *key_map_label(struct key_map *map, const char *label)
{
    /* the callback does not change its context, which is the label itself */
    bool selected = !map->selection->exclude_external &&
                    selection_passes(map->selection, label_text, (void *)(uintptr_t)label);
    uint32_t row = selected ? rowset_find_label(map->rows, label) : key_find_excluded(map->rows);
    map->rows->sums[row].touched = true;
    return &map->rows->sums[row];
}

void key_map_reserve(struct key_map *map, const struct pbin_definitions *all)
{
    if (!map->by_thread)
        extend(&map->row, &map->count, &map->capacity, all->location_count);
}

static void fill_key(struct key_map *map, const struct pbin_definitions *all, uint64_t thread,
                     uint64_t location, uint64_t *key)
{
    const struct pbin_keys *keys = map->keys;
    bool external = keys->only_target != 0 && is_external(map, all, location);
    for (size_t i = 0; i < keys->count; i++)
        if (external && (keys->only_target >> keys->key[i] & 1) != 0)
            key[i] =
                map->rows->is_text[i] ? strings_intern(map->rows->texts, LABEL_ANY) : NUMBER_ANY;
        else
            key[i] = row_value(map, keys->key[i], all, thread, location);
}

uint32_t key_map_find(struct key_map *map, const struct pbin_definitions *all, uint64_t thread,
                      uint64_t location)
{
    uint64_t slot = location;
    if (map->by_thread)
        slot = numbers_intern(&map->pairs, thread << 32 | location);
    location = key_map_location(map, all, location);
    extend(&map->row, &map->count, &map->capacity, slot + 1);
    if (map->row[slot] == NO_ROW && !is_selected(map, all, thread, location)) {
        map->row[slot] = key_find_excluded(map->rows);
    } else if (map->row[slot] == NO_ROW) {
        uint64_t key[PBIN_MAX_KEYS] = {0};
        fill_key(map, all, thread, location, key);
        map->row[slot] = rowset_find(map->rows, key);
    }
    return map->row[slot];
}

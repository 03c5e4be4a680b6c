/* Names of code that a process generated at run time.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/jit_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/interval_map.h"
#include "base/memory.h"

enum { MAX_NAME = 64 * 1024 };

/* The code of one image. */
struct table {
    bool parsed;
    uint32_t *names; /* by value in the map */
    struct interval_map by_address;
};

struct jit_names {
    const struct raw_extension *ext;
    uint32_t *owner;      /* [image]: the image whose JIT maps it uses, or NO_JIT */
    struct table *tables; /* [image] */
    struct strings *strings;
};

/* A table that is being filled. */
struct list {
    struct strings *strings;
    struct interval *pieces;
    uint32_t *names;
    size_t count, piece_capacity, name_capacity;
};

static void add(struct list *list, uint64_t address, uint64_t size, uint32_t name)
{
    uint64_t last;
    if (size == 0 || list->count >= INTERVAL_NONE)
        return;
    if (__builtin_add_overflow(address, size - 1, &last))
        last = UINT64_MAX;
    mem_reserve(&list->pieces, &list->piece_capacity, list->count + 1, sizeof *list->pieces);
    mem_reserve(&list->names, &list->name_capacity, list->count + 1, sizeof *list->names);
    list->pieces[list->count] = (struct interval){address, last, (uint32_t)list->count};
    list->names[list->count++] = name;
}

static uint32_t name_number(struct list *list, const char *name, size_t length)
{
    return strings_intern_bytes(list->strings, name, length < MAX_NAME ? length : MAX_NAME);
}

/* Reads a hexadecimal number, with or without 0x, and the blank after it. */
static bool take_hex(const char **at, const char *end, uint64_t *value)
{
    const char *p = *at;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    const char *first = p;
    *value = 0;
    for (; p < end; p++) {
        int digit = *p >= '0' && *p <= '9'                     ? *p - '0'
                    : (*p | 0x20) >= 'a' && (*p | 0x20) <= 'f' ? (*p | 0x20) - 'a' + 10
                                                               : -1;
        if (digit < 0)
            break;
        *value = *value << 4 | (uint64_t)digit;
    }
    if (p == first || p - first > 16 || p == end || *p != ' ')
        return false;
    *at = p + 1;
    return true;
}

static void parse_text(struct list *list, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text)), *at = text;
        uint64_t address, length;
        if (line_end == NULL)
            line_end = end; /* the process was still writing it */
        if (take_hex(&at, line_end, &address) && take_hex(&at, line_end, &length))
            add(list, address, length, name_number(list, at, strnlen(at, (size_t)(line_end - at))));
        text = line_end + (line_end < end);
    }
}

/*   header  u32 magic "JiTD" | u32 version | u32 size of the header | ...
 *   record  u32 type | u32 size | u64 time | payload
 *   load 0: u32 pid, tid | u64 vma, address, size, index | name, NUL | code
 *   move 1: u32 pid, tid | u64 vma, old address, address, size, index                         */
enum {
    JITDUMP_MAGIC = 0x4A695444,
    RECORD_HEAD = 16,
    LOAD_ADDRESS = RECORD_HEAD + 16,
    LOAD_NAME = RECORD_HEAD + 40,
    MOVE_INDEX = RECORD_HEAD + 40
};

/* Names that moved code keeps: by index of the code. */
struct moves {
    struct numbers indices;
    uint32_t *names;
    size_t capacity;
};

static void take_record(struct list *list, struct moves *moves, const uint8_t *record, size_t size,
                        bool big)
{
    uint32_t type = get_u32(record, big);
    if (type == 0 && size > LOAD_NAME) {
        const char *text = (const char *)record + LOAD_NAME;
        const uint32_t known = moves->indices.count;
        const uint32_t name = name_number(list, text, strnlen(text, size - LOAD_NAME));
        add(list, get_u64(record + LOAD_ADDRESS, big), get_u64(record + LOAD_ADDRESS + 8, big),
            name);
        uint32_t number = numbers_intern(&moves->indices, get_u64(record + LOAD_ADDRESS + 16, big));
        if (number == known)
            mem_reserve(&moves->names, &moves->capacity, (size_t)number + 1, sizeof *moves->names);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): mem_reserve made room for the number */
        moves->names[number] = name;
    } else if (type == 1 && size >= MOVE_INDEX + 8) {
        uint32_t number = numbers_find(&moves->indices, get_u64(record + MOVE_INDEX, big));
        const bool is_known = number != INTERN_NONE && moves->names != NULL;
        add(list, get_u64(record + MOVE_INDEX - 16, big), get_u64(record + MOVE_INDEX - 8, big),
            is_known ? moves->names[number] : 0);
    }
}

static void parse_dump(struct list *list, const uint8_t *data, size_t size)
{
    struct moves moves = {0};
    if (size < RECORD_HEAD)
        return;
    bool big = get_u32(data, true) == JITDUMP_MAGIC;
    if (!big && get_u32(data, false) != JITDUMP_MAGIC)
        return;
    for (uint64_t at = get_u32(data + 8, big), length;
         size >= RECORD_HEAD && at <= size - RECORD_HEAD; at += length) {
        length = get_u32(data + at + 4, big);
        if (length < RECORD_HEAD || length > size - at)
            break; /* the process was still writing it */
        take_record(list, &moves, data + at, length, big);
    }
    numbers_free(&moves.indices);
    free(moves.names);
}

static void parse(struct jit_names *j, uint32_t image)
{
    struct list list = {.strings = j->strings};
    struct table *table = &j->tables[image];
    for (unsigned kind = 0; kind < RAW_JITS; kind++) {
        uint32_t number = numbers_find(&j->ext->jit_numbers, (uint64_t)image << 8 | kind);
        if (number == INTERN_NONE)
            continue;
        const struct buffer *bytes = &j->ext->jits[number].bytes;
        if (kind == RAW_JIT_TEXT)
            parse_text(&list, (const char *)bytes->data, bytes->size);
        else
            parse_dump(&list, bytes->data, bytes->size);
    }
    interval_map_build(&table->by_address, list.pieces, list.count);
    table->names = list.names;
    table->parsed = true;
    free(list.pieces);
}

struct jit_names *jit_names_new(const struct raw_extension *ext)
{
    struct jit_names *j = mem_zalloc(1, sizeof *j);
    j->ext = ext;
    j->owner = mem_alloc((ext->image_count + 1) * sizeof *j->owner);
    j->tables = mem_zalloc(ext->image_count + 1, sizeof *j->tables);
    j->strings = strings_new();
    memset(j->owner, 0xff, (ext->image_count + 1) * sizeof *j->owner);
    for (size_t i = 0; i < ext->jit_count; i++)
        j->owner[ext->jits[i].image] = ext->jits[i].image;
    for (size_t i = 0; i < ext->image_count; i++) /* parents come first */
        if (j->owner[i] == NO_JIT && ext->images[i].parent != RAW_NO_IMAGE)
            j->owner[i] = j->owner[ext->images[i].parent];
    return j;
}

void jit_names_delete(struct jit_names *j)
{
    if (j == NULL)
        return;
    for (size_t i = 0; i < j->ext->image_count; i++) {
        interval_map_free(&j->tables[i].by_address);
        free(j->tables[i].names);
    }
    free(j->owner);
    free(j->tables);
    strings_delete(j->strings);
    free(j);
}

uint32_t jit_names_find(struct jit_names *j, uint32_t image, uint64_t pc)
{
    uint32_t owner = j->owner[image];
    if (owner == NO_JIT)
        return NO_JIT;
    struct table *table = &j->tables[owner];
    if (!table->parsed)
        parse(j, owner);
    uint32_t value = interval_map_find(&table->by_address, pc);
    uint32_t name = value == INTERVAL_NONE || table->names == NULL ? 0 : table->names[value];
    return name != 0 ? name : NO_JIT;
}

const char *jit_names_get(const struct jit_names *j, uint32_t number)
{
    return strings_get(j->strings, number);
}

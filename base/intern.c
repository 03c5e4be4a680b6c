/* Numbers for strings and for 64-bit keys.
 * SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/memory.h"

/* Texts are stored in chunks that are never moved, so that borrowed pointers remain valid. */
struct strings {
    const char **texts;
    uint32_t *lengths;
    size_t capacity, length_capacity;
    uint32_t count;
    struct string_slot {
        uint32_t number; /* INTERN_NONE: a free slot */
        uint32_t hash;   /* distinguishes most strings without comparing their texts */
    } * slots;
    uint32_t mask;
    char **chunks;
    size_t chunk_count, chunk_capacity;
    char *free; /* free part of the newest chunk */
    size_t room;
};

enum { CHUNK = 64 * 1024, FIRST_SLOTS = 64, FIRST_NUMBERS = 512 };

static struct string_slot *new_slots(uint32_t count)
{
    struct string_slot *slots = mem_alloc(count * sizeof *slots);
    memset(slots, 0xff, count * sizeof *slots);
    return slots;
}

struct strings *strings_new(void)
{
    struct strings *s = mem_zalloc(1, sizeof *s);
    s->slots = new_slots(FIRST_SLOTS);
    s->mask = FIRST_SLOTS - 1;
    strings_intern_bytes(s, "", 0);
    return s;
}

void strings_delete(struct strings *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->chunk_count; i++)
        free(s->chunks[i]);
    free(s->chunks);
    free(s->texts);
    free(s->lengths);
    free(s->slots);
    free(s);
}

static uint32_t hash_of(const char *text, size_t length)
{
    return (uint32_t)XXH3_64bits(text, length);
}

static struct string_slot *find_slot(const struct strings *s, const char *text, size_t length,
                                     uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        struct string_slot *slot = &s->slots[i & s->mask];
        uint32_t number = slot->number;
        if (number == INTERN_NONE || (slot->hash == hash && s->lengths[number] == length &&
                                      memcmp(s->texts[number], text, length) == 0))
            return slot;
    }
}

static void grow(struct strings *s)
{
    struct string_slot *old = s->slots;
    const uint32_t old_mask = s->mask;
    s->mask = s->mask * 2 + 1;
    s->slots = new_slots(s->mask + 1);
    for (uint32_t n = 0; n <= old_mask; n++) {
        if (old[n].number == INTERN_NONE)
            continue;
        uint32_t i = old[n].hash;
        while (s->slots[i & s->mask].number != INTERN_NONE)
            i++;
        s->slots[i & s->mask] = old[n];
    }
    free(old);
}

static const char *keep(struct strings *s, const char *text, size_t length)
{
    if (length + 1 > s->room) {
        s->room = length + 1 > CHUNK ? length + 1 : CHUNK;
        s->free = mem_alloc(s->room);
        *MEM_APPEND(s->chunks, s->chunk_count, s->chunk_capacity) = s->free;
    }
    char *kept = s->free;
    memcpy(kept, text, length);
    kept[length] = '\0';
    s->free += length + 1;
    s->room -= length + 1;
    return kept;
}

uint32_t strings_intern_bytes(struct strings *s, const char *text, size_t length)
{
    const uint32_t hash = hash_of(text, length);
    struct string_slot *slot = find_slot(s, text, length, hash);
    if (slot->number != INTERN_NONE)
        return slot->number;
    uint32_t number = s->count++;
    mem_reserve(&s->texts, &s->capacity, s->count, sizeof *s->texts);
    mem_reserve(&s->lengths, &s->length_capacity, s->count, sizeof *s->lengths);
    s->texts[number] = keep(s, text, length);
    s->lengths[number] = (uint32_t)length;
    *slot = (struct string_slot){number, hash};
    if (s->count > s->mask / 2)
        grow(s);
    return number;
}

uint32_t strings_intern(struct strings *s, const char *text)
{
    return text == NULL ? 0 : strings_intern_bytes(s, text, strlen(text));
}

uint32_t strings_find(const struct strings *s, const char *text)
{
    const size_t length = strlen(text);
    return find_slot(s, text, length, hash_of(text, length))->number;
}

uint32_t strings_count(const struct strings *s)
{
    return s->count;
}

const char *strings_get(const struct strings *s, uint32_t number)
{
    return s->texts[number];
}

void numbers_free(struct numbers *n)
{
    free(n->slots);
    *n = (struct numbers){0};
}

static struct number_slot *free_slot(struct numbers *n, uint64_t key)
{
    uint32_t i = numbers_hash(key);
    while (n->slots[i & n->mask].number != INTERN_NONE)
        i++;
    return &n->slots[i & n->mask];
}

static void grow_numbers(struct numbers *n)
{
    struct number_slot *old = n->slots;
    uint32_t old_slots = old == NULL ? 0 : n->mask + 1;
    n->mask = old == NULL ? FIRST_NUMBERS - 1 : n->mask * 2 + 1;
    n->slots = mem_alloc(((size_t)n->mask + 1) * sizeof *n->slots);
    for (uint32_t i = 0; i <= n->mask; i++)
        n->slots[i] = (struct number_slot){0, INTERN_NONE};
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i].number != INTERN_NONE)
            *free_slot(n, old[i].key) = old[i];
    free(old);
}

uint32_t numbers_add(struct numbers *n, uint64_t key)
{
    if (n->slots == NULL || n->count >= n->mask / 4)
        grow_numbers(n);
    struct number_slot *slot = free_slot(n, key);
    slot->key = key;
    slot->number = n->count++;
    return slot->number;
}

/* Numbers for strings and for 64-bit keys: 0, 1, 2, ... in order of first appearance.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERN_NONE UINT32_MAX

/* Strings. Number 0 is always "". */
struct strings;

struct strings *strings_new(void);
void strings_delete(struct strings *strings);

/* The number of TEXT, assigned if it is new. NULL counts as "". */
uint32_t strings_intern(struct strings *strings, const char *text);
uint32_t strings_intern_bytes(struct strings *strings, const char *text, size_t length);

/* The number of TEXT, or INTERN_NONE if it is not interned. */
uint32_t strings_find(const struct strings *strings, const char *text);

/* The number of strings; the text of a number, borrowed until strings_delete. */
uint32_t strings_count(const struct strings *strings);
const char *strings_get(const struct strings *strings, uint32_t number);

/* 64-bit keys. The struct is public for the inlined lookup; zeroed, it is an empty table. */
struct numbers {
    struct number_slot {
        uint64_t key;
        uint32_t number; /* INTERN_NONE: free */
    } * slots;
    uint32_t mask;  /* slots - 1; slots are a power of two, at most a quarter full:
                     * most lookups then end at the first slot, which branch prediction learns */
    uint32_t count; /* number of keys */
};

void numbers_free(struct numbers *numbers);

/* Slow path of numbers_intern. */
uint32_t numbers_add(struct numbers *numbers, uint64_t key);

/* Mixes the bits of KEY: the upper ones of the result depend on all of KEY. */
static inline uint64_t numbers_mix(uint64_t key)
{
    return key * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint32_t numbers_hash(uint64_t key)
{
    return (uint32_t)(numbers_mix(key) >> 32);
}

/* The number of KEY, or INTERN_NONE. */
static inline uint32_t numbers_find(const struct numbers *numbers, uint64_t key)
{
    if (numbers->slots == NULL)
        return INTERN_NONE;
    for (uint32_t i = numbers_hash(key);; i++) {
        const struct number_slot *slot = &numbers->slots[i & numbers->mask];
        if (slot->key == key || slot->number == INTERN_NONE)
            return slot->number; /* INTERN_NONE marks a free slot, whatever its key */
    }
}

/* The number of KEY, assigned if it is new. */
static inline uint32_t numbers_intern(struct numbers *numbers, uint64_t key)
{
    uint32_t number = numbers_find(numbers, key);
    return number != INTERN_NONE ? number : numbers_add(numbers, key);
}

#endif

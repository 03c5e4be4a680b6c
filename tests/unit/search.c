/* Binary search, against a linear one.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/search.h"

struct item {
    char other;
    uint64_t number;
};

static size_t linear(const struct item *items, size_t count, uint64_t key, bool after)
{
    size_t at = 0;
    while (at < count && (items[at].number < key || (after && items[at].number == key)))
        at++;
    return at;
}

/* Every ascending array of up to four of these numbers, with repetitions. */
static void every_array(struct check *check)
{
    static const uint64_t numbers[] = {0, 1, 2, UINT64_MAX - 1, UINT64_MAX};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0], MAX_ITEMS = 4 };
    for (size_t count = 0; count <= MAX_ITEMS; count++)
        for (size_t code = 0; code < 625; code++) {
            struct item items[MAX_ITEMS];
            for (size_t i = 0, rest = code; i < MAX_ITEMS; i++, rest /= NUMBERS)
                items[i] = (struct item){'x', numbers[rest % NUMBERS]};
            bool sorted = true;
            for (size_t i = 1; i < count; i++)
                sorted = sorted && items[i - 1].number <= items[i].number;
            for (size_t k = 0; sorted && k < NUMBERS; k++) {
                uint64_t key = numbers[k];
                CHECK(SEARCH_FROM(items, count, number, key) == linear(items, count, key, false));
                CHECK(SEARCH_AFTER(items, count, number, key) == linear(items, count, key, true));
            }
        }
}

static void nothing(struct check *check)
{
    const struct item *none = NULL;
    CHECK(SEARCH_FROM(none, 0, number, 1) == 0);
    CHECK(SEARCH_AFTER(none, 0, number, 1) == 0);
}

CHECK_MAIN({"every_array", every_array}, {"nothing", nothing})

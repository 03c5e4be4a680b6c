/* Interned strings and numbers.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/intern.h"
#include "base/memory.h"

enum { MANY = 1000000 };

static void strings_basic(struct check *check)
{
    struct strings *s = strings_new();
    CHECK_EQ(strings_count(s), 1);
    CHECK_STR(strings_get(s, 0), "");
    CHECK_EQ(strings_intern(s, NULL), 0);
    CHECK_EQ(strings_intern(s, ""), 0);
    CHECK_EQ(strings_intern(s, "main"), 1);
    CHECK_EQ(strings_intern(s, "main2"), 2);
    CHECK_EQ(strings_intern_bytes(s, "main2!", 5), 2);
    CHECK_EQ(strings_intern_bytes(s, "main2!", 4), 1);
    CHECK_EQ(strings_find(s, "main"), 1);
    CHECK_EQ(strings_find(s, "mai"), INTERN_NONE);
    CHECK_EQ(strings_count(s), 3);
    strings_delete(s);
    strings_delete(NULL);
}

static void strings_many(struct check *check)
{
    struct strings *s = strings_new();
    char text[32];
    const char *first = NULL;
    for (uint32_t i = 0; i < 200000; i++) {
        snprintf(text, sizeof text, "function_%u", i);
        CHECK_EQ(strings_intern(s, text), i + 1);
        if (i == 0)
            first = strings_get(s, 1);
    }
    CHECK_STR(first, "function_0"); /* borrowed pointers remain valid while the table grows */
    CHECK(first == strings_get(s, 1));
    for (uint32_t i = 0; i < 200000; i++) {
        snprintf(text, sizeof text, "function_%u", i);
        CHECK_EQ(strings_find(s, text), i + 1);
        CHECK_STR(strings_get(s, i + 1), text);
    }
    strings_delete(s);
}

static void strings_large(struct check *check)
{
    struct strings *s = strings_new();
    char *large = mem_alloc(1000001);
    memset(large, 'x', 1000000);
    large[1000000] = '\0';
    CHECK_EQ(strings_intern(s, large), 1);
    CHECK_EQ(strings_intern(s, "small"), 2);
    CHECK_STR(strings_get(s, 1), large);
    CHECK_EQ(strings_intern(s, large), 1);
    free(large);
    strings_delete(s);
}

static void numbers_many(struct check *check)
{
    struct numbers n = {0};
    CHECK_EQ(numbers_find(&n, 0), INTERN_NONE);
    for (uint64_t i = 0; i < MANY; i++) {
        CHECK_EQ(numbers_intern(&n, i * 16), i); /* code addresses: low bits alike */
        CHECK_EQ(numbers_intern(&n, i * 16), i);
    }
    CHECK_EQ(n.count, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        CHECK_EQ(numbers_find(&n, i * 16), i);
    CHECK_EQ(numbers_find(&n, 8), INTERN_NONE);
    numbers_free(&n);
    CHECK_EQ(numbers_find(&n, 16), INTERN_NONE);
}

static void numbers_extreme(struct check *check)
{
    struct numbers n = {0};
    CHECK_EQ(numbers_intern(&n, UINT64_MAX), 0);
    CHECK_EQ(numbers_intern(&n, 0), 1);
    CHECK_EQ(numbers_intern(&n, UINT64_C(1) << 63), 2);
    CHECK_EQ(numbers_find(&n, UINT64_MAX), 0);
    CHECK_EQ(numbers_find(&n, 0), 1);
    CHECK_EQ(n.count, 3);
    numbers_free(&n);
}

CHECK_MAIN({"strings_basic", strings_basic}, {"strings_many", strings_many},
           {"strings_large", strings_large}, {"numbers_many", numbers_many},
           {"numbers_extreme", numbers_extreme})

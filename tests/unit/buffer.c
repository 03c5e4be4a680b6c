/* Buffers, cursors and byte order.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/buffer.h"
#include "base/bytes.h"

static void round_trip(struct check *check)
{
    struct buffer b = {0};
    buffer_u8(&b, 0xfe);
    buffer_u32(&b, 0x12345678);
    buffer_u64(&b, UINT64_C(0xfedcba9876543210));
    buffer_f64(&b, -0.1);
    buffer_string(&b, "abc");
    buffer_string(&b, NULL);
    struct cursor c = {.data = b.data, .size = b.size};
    CHECK_EQ(b.size, 1 + 4 + 8 + 8 + 7 + 4);
    CHECK_EQ(cursor_u8(&c), 0xfe);
    CHECK_EQ(cursor_u32(&c), 0x12345678);
    CHECK_EQ(cursor_u64(&c), UINT64_C(0xfedcba9876543210));
    CHECK(cursor_f64(&c) == -0.1);
    size_t length;
    const char *text = cursor_string(&c, &length);
    CHECK_EQ(length, 3);
    CHECK_MEM(text, "abc", 3);
    cursor_string(&c, &length);
    CHECK_EQ(length, 0);
    CHECK_EQ(cursor_left(&c), 0);
    CHECK(!c.bad);
    buffer_free(&b);
    CHECK(b.data == NULL && b.size == 0);
}

static void little_endian(struct check *check)
{
    struct buffer b = {0};
    buffer_u32(&b, 0x01020304);
    buffer_f64(&b, 1.0);
    CHECK_MEM(b.data, "\4\3\2\1\0\0\0\0\0\0\xf0\x3f", 12);
    CHECK_EQ(get_u32(b.data, true), 0x04030201);
    CHECK_EQ(get_u16(b.data, false), 0x0304);
    CHECK_EQ(get_u16(b.data, true), 0x0403);
    CHECK_EQ(get_u64(b.data + 4, true), 0xf03f);
    buffer_free(&b);
}

static void nothing_after_the_end(struct check *check)
{
    uint8_t data[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (size_t size = 0; size < 8; size++) {
        struct cursor c = {.data = data, .size = size};
        CHECK_EQ(cursor_u64(&c), 0);
        CHECK(c.bad);
        CHECK_EQ(cursor_u8(&c), 0); /* bad stays bad */
    }
    struct cursor c = {.data = data, .size = sizeof data};
    CHECK(cursor_bytes(&c, 12) == NULL && c.bad);
    c = (struct cursor){.data = data, .size = sizeof data};
    CHECK(cursor_bytes(&c, SIZE_MAX) == NULL && c.bad);
}

static void string_longer_than_data(struct check *check)
{
    uint8_t data[8] = {0xff, 0xff, 0xff, 0xff, 'a', 'b', 'c', 'd'};
    struct cursor c = {.data = data, .size = sizeof data};
    size_t length = 77;
    const char *text = cursor_string(&c, &length);
    CHECK(c.bad && text != NULL);
    CHECK_EQ(length, 0);
}

static void grows(struct check *check)
{
    struct buffer b = {0};
    for (uint32_t i = 0; i < 300000; i++)
        buffer_u32(&b, i);
    CHECK_EQ(b.size, 1200000);
    struct cursor c = {.data = b.data, .size = b.size};
    for (uint32_t i = 0; i < 300000; i++)
        CHECK_EQ(cursor_u32(&c), i);
    buffer_free(&b);
}

static void nothing_of_nothing(struct check *check)
{
    struct cursor c = {0};
    CHECK(cursor_bytes(&c, 0) != NULL);
    CHECK(!c.bad);
    CHECK(cursor_bytes(&c, 1) == NULL);
    CHECK(c.bad);
}

CHECK_MAIN({"round_trip", round_trip}, {"little_endian", little_endian},
           {"nothing_after_the_end", nothing_after_the_end},
           {"string_longer_than_data", string_longer_than_data}, {"grows", grows},
           {"nothing_of_nothing", nothing_of_nothing})

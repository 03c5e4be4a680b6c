/* Blocks: every truncation and every changed bit is detected.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "formats/pbin/block.h"
#include "formats/pbin/block_sum.h"
#include "tests/unit/scratch.h"

static struct buffer two_blocks(void)
{
    struct buffer b = {0};
    size_t begin = block_begin(&b, "Test");
    buffer_string(&b, "payload of the first block");
    buffer_u64(&b, 42);
    block_end(&b, begin);
    begin = block_begin(&b, "more");
    block_end(&b, begin);
    return b;
}

/* Reads all blocks of DATA. Returns their number or, on an error, -1 minus the number of blocks
 * before it. */
static int count_blocks(const uint8_t *data, size_t size, struct error *err)
{
    int got, count = 0;
    struct block block;
    scratch_write("blocks", data, size);
    struct stream *s = stream_open("blocks", err);
    while ((got = block_next(s, &block, err)) > 0)
        count++;
    stream_close(s);
    return got == 0 ? count : -1 - count;
}

static void round_trip(struct check *check)
{
    struct error err = {0};
    struct block block;
    size_t length;
    struct buffer b = two_blocks();
    scratch_write("blocks", b.data, b.size);
    struct stream *s = stream_open("blocks", &err);
    CHECK_EQ(block_next(s, &block, &err), 1);
    CHECK_STR(block.type, "Test");
    CHECK(!block_is_optional(&block));
    CHECK_EQ(block.offset, 0);
    const char *text = cursor_string(&block.in, &length);
    CHECK_EQ(length, 26);
    CHECK_MEM(text, "payload of the first block", 26);
    CHECK_EQ(cursor_u64(&block.in), 42);
    CHECK_EQ(cursor_left(&block.in), 0);
    CHECK_EQ(block_next(s, &block, &err), 1);
    CHECK_STR(block.type, "more");
    CHECK(block_is_optional(&block));
    CHECK_EQ(block.in.size, 0);
    CHECK_EQ(block_next(s, &block, &err), 0);
    stream_close(s);
    buffer_free(&b);
}

static void every_truncation(struct check *check)
{
    struct buffer b = two_blocks();
    size_t first = b.size - BLOCK_OVERHEAD;
    for (size_t size = 0; size <= b.size; size++) {
        struct error err = {0};
        int whole = (size >= first) + (size >= b.size);
        bool boundary = size == 0 || size == first || size == b.size;
        CHECK_EQ(count_blocks(b.data, size, &err), boundary ? whole : -1 - whole);
        if (!boundary)
            CHECK_HAS(err.text, "cut short");
    }
    buffer_free(&b);
}

static void every_bit(struct check *check)
{
    struct buffer b = two_blocks();
    for (size_t i = 0; i < b.size * 8; i++) {
        struct error err = {0};
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
        if (count_blocks(b.data, b.size, &err) >= 0)
            CHECK_FAIL("bit %zu changed, not noticed", i);
        b.data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    buffer_free(&b);
}

static void largest(struct check *check)
{
    struct error err = {0};
    struct buffer noise = scratch_noise(BLOCK_MAX_PAYLOAD), b = {0};
    size_t begin = block_begin(&b, "Huge");
    buffer_bytes(&b, noise.data, noise.size);
    block_end(&b, begin);
    CHECK_EQ(count_blocks(b.data, b.size, &err), 1);
    b.size = 0;
    begin = block_begin(&b, "Huge");
    buffer_bytes(&b, noise.data, noise.size);
    buffer_u8(&b, 0);
    block_end(&b, begin);
    CHECK_EQ(count_blocks(b.data, b.size, &err), -1);
    CHECK_HAS(err.text, "at most");
    buffer_free(&noise);
    buffer_free(&b);
}

/* The checksum depends neither on the instructions that the processor has nor on alignment. */
static void sums(struct check *check)
{
    enum { MAX_NOISE = 5000, EACH = 17 };
    struct buffer noise = scratch_noise(MAX_NOISE);
    for (size_t size = 0; size + EACH < MAX_NOISE; size += EACH) {
        const uint8_t *data = noise.data + size % EACH;
        uint64_t expected = XXH3_64bits(data, size);
        if (block_sum(data, size) != expected)
            CHECK_FAIL("%zu bytes: another checksum", size);
#ifdef BLOCK_SUM_COPIES
        if (__builtin_cpu_supports("avx2") && block_sum_avx2(data, size) != expected)
            CHECK_FAIL("%zu bytes: another checksum with AVX2", size);
#endif
    }
    buffer_free(&noise);
}

CHECK_MAIN({"round_trip", round_trip}, {"every_truncation", every_truncation},
           {"every_bit", every_bit}, {"largest", largest}, {"sums", sums})

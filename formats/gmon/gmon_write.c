/* Writes a gmon.out, GNU or BSD, with either pointer size and byte order.
 * SPDX-License-Identifier: MIT */
#include "base/buffer.h"
#include "formats/gmon/gmon_internal.h"

static void put_number(struct buffer *b, uint64_t value, size_t size, bool big)
{
    for (size_t i = 0; i < size; i++)
        buffer_u8(b, (uint8_t)(value >> 8 * (big ? size - 1 - i : i)));
}

static void put_word(struct buffer *b, const struct gmon *g, uint64_t value)
{
    put_number(b, value, gmon_word(g), g->big_endian);
}

static void put_u32(struct buffer *b, const struct gmon *g, uint64_t value)
{
    put_number(b, value, 4, g->big_endian);
}

static void put_gnu_histogram(struct buffer *b, const struct gmon *g,
                              const struct gmon_histogram *h)
{
    static const char dimension[16] = {'s', 'e', 'c', 'o', 'n', 'd', 's', [15] = 's'};
    buffer_u8(b, GMON_TAG_HISTOGRAM);
    put_word(b, g, h->low);
    put_word(b, g, h->high);
    put_u32(b, g, h->bin_count);
    put_u32(b, g, h->rate);
    buffer_bytes(b, dimension, sizeof dimension);
    buffer_bytes(b, h->bins, 2 * h->bin_count);
}

static void put_gnu(struct buffer *b, const struct gmon *g)
{
    static const uint8_t spare[12];
    buffer_bytes(b, "gmon", 4);
    put_u32(b, g, 1);
    buffer_bytes(b, spare, sizeof spare);
    for (size_t i = 0; i < g->histogram_count; i++)
        put_gnu_histogram(b, g, &g->histograms[i]);
    for (size_t i = 0; i < g->call_count; i++) {
        buffer_u8(b, GMON_TAG_ARC);
        put_word(b, g, g->calls[i].from);
        put_word(b, g, g->calls[i].self);
        put_u32(b, g, g->calls[i].count > INT32_MAX ? INT32_MAX : g->calls[i].count);
    }
}

static void put_bsd(struct buffer *b, const struct gmon *g)
{
    const struct gmon_histogram *h = &g->histograms[0];
    uint64_t most = g->is_64 ? INT64_MAX : INT32_MAX;
    put_word(b, g, h->low);
    put_word(b, g, h->high);
    put_u32(b, g, gmon_bsd_header(g) + 2 * h->bin_count);
    put_u32(b, g, GMON_BSD_VERSION);
    put_u32(b, g, h->rate);
    put_u32(b, g, g->call_count * 3 * gmon_word(g));
    put_u32(b, g, 0);
    put_u32(b, g, 0);
    buffer_bytes(b, h->bins, 2 * h->bin_count);
    for (size_t i = 0; i < g->call_count; i++) {
        put_word(b, g, g->calls[i].from);
        put_word(b, g, g->calls[i].self);
        put_word(b, g, g->calls[i].count > most ? most : g->calls[i].count);
    }
}

int gmon_write(const struct gmon *g, struct output *out)
{
    struct buffer b = {0};
    if (g->dialect == GMON_GNU)
        put_gnu(&b, g);
    else
        put_bsd(&b, g);
    int result = output_write(out, b.data, b.size);
    buffer_free(&b);
    return result;
}

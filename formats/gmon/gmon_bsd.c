/* gmon.out as the BSDs write it: header, histogram, then arcs to the end of the file.
 *
 *   low  high  bytes(u32)  [ 0x51879(u32)  rate(u32)  totarc(u32)  spare(8) ]   u16 bins   { from
 * self  count }
 *
 * `bytes` is the histogram's and the header's; totarc came in 2025, it was 0 before.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "formats/gmon/gmon.h"

static int take_bins(struct gmon *g, bool salvage, uint64_t *end, struct error *err)
{
    size_t word = gmon_word(g), header = gmon_bsd_header(g);
    uint32_t bytes = get_u32(g->data + 2 * word, g->big_endian);
    struct gmon_histogram h = {.low = gmon_get_word(g, 0), .high = gmon_get_word(g, word)};
    if (g->dialect == GMON_BSD)
        h.rate = get_u32(g->data + 2 * word + 8, g->big_endian);
    if (bytes < header || (bytes - header) % 2 != 0)
        return error_set(err, g->name, 2 * word,
                         "histogram size is %" PRIu32
                         " bytes, expected the header's %zu and an even "
                         "number more",
                         bytes, header);
    h.bin_count = (bytes - header) / 2;
    if (h.rate > INT32_MAX)
        return error_set(err, g->name, 2 * word + 8, "sampling rate is negative: %" PRId32,
                         (int32_t)h.rate);
    if (gmon_take_histogram(g, &h, 0, header, salvage, err) != 0)
        return -1;
    *end = header + 2 * h.there;
    return 0;
}

/* Are the arcs from AT on whole, and as many as the header says? */
static int check_arcs(struct gmon *g, uint64_t at, bool salvage, struct error *err)
{
    size_t word = gmon_word(g);
    uint64_t there = g->size - at;
    uint32_t told = g->dialect == GMON_BSD ? get_u32(g->data + 2 * word + 12, g->big_endian) : 0;
    bool whole = there % (3 * word) == 0 && (told == 0 || told == there);
    if (whole)
        return 0;
    g->cut = salvage && (told == 0 || told > there);
    if (g->cut)
        return 0;
    if (told != 0)
        return error_set(err, g->name, at, "%" PRIu64 " bytes of arcs, the header says %" PRIu32,
                         there, told);
    return error_set(err, g->name, at + there / (3 * word) * (3 * word),
                     "call arc cut short: %" PRIu64
                     " of %zu bytes are there (--salvage keeps what is "
                     "whole)",
                     there % (3 * word), 3 * word);
}

int gmon_parse_bsd(struct gmon *g, bool salvage, struct error *err)
{
    size_t word = gmon_word(g), header = gmon_bsd_header(g);
    uint64_t at = 0;
    if (g->size < header)
        return error_set(err, g->name, 0, "header cut short: %" PRIu64 " of %zu bytes are there",
                         g->size, header);
    if (take_bins(g, salvage, &at, err) != 0)
        return -1;
    if (g->cut)
        return 0;
    if (check_arcs(g, at, salvage, err) != 0)
        return -1;
    for (; g->size - at >= 3 * word; at += 3 * word)
        if (gmon_take_call(g, gmon_get_word(g, at), gmon_get_word(g, at + word),
                           gmon_get_word(g, at + 2 * word), at, err) != 0)
            return -1;
    return 0;
}

/* gmon.out as glibc and OP-TEE write it: "gmon", version 1, twelve zero bytes, tagged records.
 *
 *   00  low  high  bins(u32)  rate(u32)  "seconds"(15)  's'  u16 * bins
 *   01  from  self  count(u32)
 *   02  count  { address  count } * count
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "formats/gmon/gmon.h"

/* Where the parser stands. */
struct walk {
    struct gmon *gmon;
    uint64_t at;
    bool salvage;
};

static uint64_t left(const struct walk *w)
{
    return w->gmon->size - w->at;
}

/* A record of NEED bytes does not fit: an error, or under salvage the end. */
static int cut_short(struct walk *w, const char *what, uint64_t need, struct error *err)
{
    if (!w->salvage)
        return error_set(err, w->gmon->name, w->at,
                         "%s cut short: %" PRIu64 " of %" PRIu64
                         " bytes are there (--salvage keeps "
                         "what is whole)",
                         what, left(w), need);
    w->gmon->cut = true;
    w->at = w->gmon->size;
    return 0;
}

static bool is_printable(const uint8_t *text, size_t size)
{
    bool ended = false;
    for (size_t i = 0; i < size; i++) {
        ended |= text[i] == 0;
        if (ended ? text[i] != 0 : text[i] < 0x20 || text[i] > 0x7e)
            return false;
    }
    return true;
}

static int take_histogram(struct walk *w, struct error *err)
{
    struct gmon *g = w->gmon;
    size_t word = gmon_word(g), fields = gmon_histogram_fields(g);
    uint64_t at = w->at + 1;
    if (left(w) < 1 + fields)
        return cut_short(w, "histogram header", 1 + fields, err);
    const uint8_t *dimension = g->data + at + 2 * word + 8;
    struct gmon_histogram h = {.low = gmon_get_word(g, at),
                               .high = gmon_get_word(g, at + word),
                               .bin_count = get_u32(g->data + at + 2 * word, g->big_endian),
                               .rate = get_u32(g->data + at + 2 * word + 4, g->big_endian)};
    if (!is_printable(dimension, 15) || !is_printable(dimension + 15, 1))
        return error_set(err, g->name, at + 2 * word + 8,
                         "histogram's dimension is not text, expected \"seconds\"");
    if (gmon_take_histogram(g, &h, at, at + fields, w->salvage, err) != 0)
        return -1;
    w->at = at + fields + 2 * h.there;
    return 0;
}

static int take_arc(struct walk *w, struct error *err)
{
    struct gmon *g = w->gmon;
    size_t word = gmon_word(g);
    if (left(w) < 1 + 2 * word + 4)
        return cut_short(w, "call arc", 1 + 2 * word + 4, err);
    uint64_t at = w->at + 1;
    w->at = at + 2 * word + 4;
    return gmon_take_call(g, gmon_get_word(g, at), gmon_get_word(g, at + word),
                          get_u32(g->data + at + 2 * word, g->big_endian), at, err);
}

/* Where a record of basic blocks ends that counts them in SIZE bytes; 0: not in the file. */
static uint64_t end_of_blocks(const struct walk *w, size_t size)
{
    const struct gmon *g = w->gmon;
    if (left(w) < 1 + size)
        return 0;
    uint64_t count = size == 8 ? get_u64(g->data + w->at + 1, g->big_endian)
                               : get_u32(g->data + w->at + 1, g->big_endian);
    uint64_t pair = 2 * gmon_word(g);
    return count > (left(w) - 1 - size) / pair ? 0 : w->at + 1 + size + count * pair;
}

/* glibc counts the blocks in a word, gprof reads 4 bytes: right is what a record or the end
 * follows. */
static int skip_blocks(struct walk *w, struct error *err)
{
    const size_t sizes[] = {gmon_word(w->gmon), 4};
    for (int i = 0; i < 2; i++) {
        uint64_t end = end_of_blocks(w, sizes[i]);
        if (end != 0 && (end == w->gmon->size || w->gmon->data[end] <= GMON_TAG_BLOCKS)) {
            w->gmon->blocks++;
            w->at = end;
            return 0;
        }
    }
    if (w->salvage)
        return cut_short(w, "", 0, err);
    return error_set(err, w->gmon->name, w->at,
                     "basic-block record does not fit into the %" PRIu64 " bytes that are left",
                     left(w));
}

static int take_record(struct walk *w, struct error *err)
{
    unsigned tag = w->gmon->data[w->at];
    switch (tag) {
    case GMON_TAG_HISTOGRAM:
        return take_histogram(w, err);
    case GMON_TAG_ARC:
        return take_arc(w, err);
    case GMON_TAG_BLOCKS:
        return skip_blocks(w, err);
    default:
        return error_set(err, w->gmon->name, w->at, "record with tag %u, expected 0, 1 or 2", tag);
    }
}

int gmon_parse_gnu(struct gmon *g, bool salvage, struct error *err)
{
    struct walk w = {g, GMON_GNU_HEADER, salvage};
    while (w.at < g->size)
        if (take_record(&w, err) != 0)
            return -1;
    if (g->histogram_count == 0 && g->call_count == 0 && g->blocks == 0)
        return error_set(err, g->name, g->size,
                         "no record behind the header: the profile is empty");
    return 0;
}

/* Reads a gmon.out: finds the only layout in which the file makes sense up to its last byte.
 *
 * GNU and OP-TEE: "gmon", version 1, twelve zero bytes, then tagged records:
 *
 *   00  low  high  bins(u32)  rate(u32)  "seconds"(15)  's'  u16 * bins
 *   01  from  self  count(u32)
 *   02  count  { address  count } * count
 *
 * BSD: header, one histogram, then arcs up to the end of the file:
 *
 *   low  high  bytes(u32)  [ 0x51879(u32)  rate(u32)  totarc(u32)  spare(8) ]
 *   u16 * (bytes - header) / 2
 *   { from  self  count } *
 *
 * The old BSD header lacks the part in brackets. `bytes` is the size of header and histogram;
 * totarc was 0 before 2025.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/gmon/gmon_internal.h"

enum {
    MAX_FILE = 256 * 1024 * 1024, /* 512 MiB of text at 4 bytes per bin */
    PIECE = 64 * 1024,
    MAX_SPAN_LOG2 = 40 /* no text section is larger than 1 TiB */
};

static const char *const names[GMON_DIALECTS] = {"any", "gnu", "bsd", "bsd-old"};

const char *gmon_dialect_name(enum gmon_dialect dialect)
{
    return names[dialect];
}

static uint64_t get_word(const struct gmon *g, uint64_t at)
{
    return g->is_64 ? get_u64(g->data + at, g->big_endian) : get_u32(g->data + at, g->big_endian);
}

static int take_histogram(struct gmon *g, struct gmon_histogram *h, uint64_t at_header, uint64_t at,
                          bool salvage, struct error *err)
{
    if (h->bin_count > 0 && (h->low >= h->high || (h->high - h->low) >> MAX_SPAN_LOG2 != 0))
        return error_set(err, g->name, at_header,
                         "histogram of addresses 0x%" PRIx64 " to 0x%" PRIx64
                         ", expected ascending addresses at most 1 TiB apart",
                         h->low, h->high);
    h->there = (g->size - at) / 2 < h->bin_count ? (g->size - at) / 2 : h->bin_count;
    if (h->there < h->bin_count && !salvage)
        return error_set(err, g->name, at,
                         "histogram cut short: %" PRIu64 " of %" PRIu64
                         " bytes (--salvage keeps the complete part)",
                         g->size - at, 2 * h->bin_count);
    g->cut |= h->there < h->bin_count;
    h->bins = g->data + at;
    h->offset = at;
    *MEM_APPEND(g->histograms, g->histogram_count, g->histogram_capacity) = *h;
    return 0;
}

static int take_call(struct gmon *g, uint64_t from, uint64_t self, uint64_t count, uint64_t at,
                     struct error *err)
{
    if (g->dialect != GMON_GNU && count >> (g->is_64 ? 63 : 31) != 0)
        return error_set(err, g->name, at, "call arc with a negative count of 0x%" PRIx64, count);
    *MEM_APPEND(g->calls, g->call_count, g->call_capacity) = (struct gmon_call){from, self, count};
    return 0;
}

/* The position of the parser. */
struct walk {
    struct gmon *gmon;
    uint64_t at;
    bool salvage;
};

static uint64_t left(const struct walk *w)
{
    return w->gmon->size - w->at;
}

/* Handles a record of NEED bytes that does not fit: an error or, with salvage, the end. */
static int record_cut_short(struct walk *w, const char *what, uint64_t need, struct error *err)
{
    if (!w->salvage)
        return error_set(err, w->gmon->name, w->at,
                         "%s cut short: %" PRIu64 " of %" PRIu64 " bytes (--salvage keeps "
                         "the complete part)",
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

static int take_gnu_histogram(struct walk *w, struct error *err)
{
    struct gmon *g = w->gmon;
    size_t word = gmon_word(g), fields = 2 * word + 4 + 4 + 15 + 1;
    uint64_t at = w->at + 1;
    if (left(w) < 1 + fields)
        return record_cut_short(w, "histogram header", 1 + fields, err);
    const uint8_t *dimension = g->data + at + 2 * word + 8;
    struct gmon_histogram h = {.low = get_word(g, at),
                               .high = get_word(g, at + word),
                               .bin_count = get_u32(g->data + at + 2 * word, g->big_endian),
                               .rate = get_u32(g->data + at + 2 * word + 4, g->big_endian)};
    if (!is_printable(dimension, 15) || !is_printable(dimension + 15, 1))
        return error_set(err, g->name, at + 2 * word + 8,
                         "dimension of the histogram is not text, expected \"seconds\"");
    if (take_histogram(g, &h, at, at + fields, w->salvage, err) != 0)
        return -1;
    w->at = at + fields + 2 * h.there;
    return 0;
}

static int take_gnu_arc(struct walk *w, struct error *err)
{
    struct gmon *g = w->gmon;
    size_t word = gmon_word(g);
    if (left(w) < 1 + 2 * word + 4)
        return record_cut_short(w, "call arc", 1 + 2 * word + 4, err);
    uint64_t at = w->at + 1;
    w->at = at + 2 * word + 4;
    return take_call(g, get_word(g, at), get_word(g, at + word),
                     get_u32(g->data + at + 2 * word, g->big_endian), at, err);
}

/* The end of a basic-block record whose count has SIZE bytes; 0 if it is beyond the end of the
 * file. */
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

/* Skips a basic-block record. glibc writes the count as a word, but gprof reads 4 bytes: the right
 * size is the one that is followed by a record or the end of the file. */
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
        return record_cut_short(w, "", 0, err);
    return error_set(err, w->gmon->name, w->at,
                     "basic-block record does not fit in the remaining %" PRIu64 " bytes", left(w));
}

static int take_gnu_record(struct walk *w, struct error *err)
{
    unsigned tag = w->gmon->data[w->at];
    switch (tag) {
    case GMON_TAG_HISTOGRAM:
        return take_gnu_histogram(w, err);
    case GMON_TAG_ARC:
        return take_gnu_arc(w, err);
    case GMON_TAG_BLOCKS:
        return skip_blocks(w, err);
    default:
        return error_set(err, w->gmon->name, w->at, "record tag %u, expected 0, 1 or 2", tag);
    }
}

static int parse_gnu(struct gmon *g, bool salvage, struct error *err)
{
    struct walk w = {g, GMON_GNU_HEADER, salvage};
    while (w.at < g->size)
        if (take_gnu_record(&w, err) != 0)
            return -1;
    if (g->histogram_count == 0 && g->call_count == 0 && g->blocks == 0)
        return error_set(err, g->name, g->size,
                         "no records after the header: the profile is empty");
    return 0;
}

static int take_bsd_bins(struct gmon *g, bool salvage, uint64_t *end, struct error *err)
{
    size_t word = gmon_word(g), header = gmon_bsd_header(g);
    uint32_t bytes = get_u32(g->data + 2 * word, g->big_endian);
    struct gmon_histogram h = {.low = get_word(g, 0), .high = get_word(g, word)};
    if (g->dialect == GMON_BSD)
        h.rate = get_u32(g->data + 2 * word + 8, g->big_endian);
    if (bytes < header || (bytes - header) % 2 != 0)
        return error_set(err, g->name, 2 * word,
                         "histogram size is %" PRIu32 " bytes, expected the %zu of the header plus "
                         "an even number",
                         bytes, header);
    h.bin_count = (bytes - header) / 2;
    if (h.rate > INT32_MAX)
        return error_set(err, g->name, 2 * word + 8, "sampling rate is negative: %" PRId32,
                         (int32_t)h.rate);
    if (take_histogram(g, &h, 0, header, salvage, err) != 0)
        return -1;
    *end = header + 2 * h.there;
    return 0;
}

/* Whether the arcs from AT are complete and match the size in the header. */
static int check_bsd_arcs(struct gmon *g, uint64_t at, bool salvage, struct error *err)
{
    size_t word = gmon_word(g);
    uint64_t there = g->size - at;
    uint32_t stated = g->dialect == GMON_BSD ? get_u32(g->data + 2 * word + 12, g->big_endian) : 0;
    bool whole = there % (3 * word) == 0 && (stated == 0 || stated == there);
    if (whole)
        return 0;
    g->cut = salvage && (stated == 0 || stated > there);
    if (g->cut)
        return 0;
    if (stated != 0)
        return error_set(err, g->name, at,
                         "%" PRIu64 " bytes of arcs, expected %" PRIu32 " as in the header", there,
                         stated);
    return error_set(err, g->name, at + there / (3 * word) * (3 * word),
                     "call arc cut short: %" PRIu64 " of %zu bytes (--salvage keeps the "
                     "complete part)",
                     there % (3 * word), 3 * word);
}

static int parse_bsd(struct gmon *g, bool salvage, struct error *err)
{
    size_t word = gmon_word(g), header = gmon_bsd_header(g);
    uint64_t at = 0;
    if (g->size < header)
        return error_set(err, g->name, 0, "header cut short: %" PRIu64 " of %zu bytes", g->size,
                         header);
    if (take_bsd_bins(g, salvage, &at, err) != 0)
        return -1;
    if (g->cut)
        return 0;
    if (check_bsd_arcs(g, at, salvage, err) != 0)
        return -1;
    for (; g->size - at >= 3 * word; at += 3 * word)
        if (take_call(g, get_word(g, at), get_word(g, at + word), get_word(g, at + 2 * word), at,
                      err) != 0)
            return -1;
    return 0;
}

static int load(struct gmon *g, struct stream *in, struct error *err)
{
    size_t capacity = 0;
    const uint8_t *data;
    int64_t got;
    while ((got = stream_peek(in, PIECE, &data, err)) > 0) {
        if (g->size + (uint64_t)got > MAX_FILE)
            return error_set(err, g->name, NO_OFFSET,
                             "more than 256 MiB: too large for a gmon.out");
        mem_reserve(&g->data, &capacity, g->size + (uint64_t)got, 1);
        memcpy(g->data + g->size, data, (size_t)got);
        g->size += (uint64_t)got;
        stream_advance(in, (size_t)got);
    }
    if (got == 0 && g->size == 0)
        return stream_fail_empty(in, "a gmon.out", err);
    return got < 0 ? -1 : 0;
}

static void forget(struct gmon *g)
{
    free(g->histograms);
    free(g->calls);
    g->histograms = NULL;
    g->calls = NULL;
    g->histogram_count = g->histogram_capacity = g->call_count = g->call_capacity = 0;
    g->blocks = 0;
    g->cut = false;
}

/* The oldest header has no magic. Therefore the width of a bin must be one that profil(2) can
 * produce, 2 bytes or more, and not absurd, in addition to consistent sizes. */
static bool is_plausible_old(const struct gmon *g)
{
    const struct gmon_histogram *h = &g->histograms[0];
    uint64_t width = h->bin_count > 0 ? (h->high - h->low) / h->bin_count : 0;
    return width >= 2 && width <= 0x20000;
}

/* Whether the file has the magic of this layout; the oldest layout has none. */
static bool has_magic(const struct gmon *g)
{
    size_t at = 2 * gmon_word(g) + 4;
    if (g->dialect == GMON_GNU)
        return g->size >= 8 && memcmp(g->data, "gmon", 4) == 0 &&
               get_u32(g->data + 4, g->big_endian) == 1;
    if (g->dialect == GMON_BSD)
        return g->size >= at + 4 && get_u32(g->data + at, g->big_endian) == GMON_BSD_VERSION;
    return g->size >= gmon_bsd_header(g);
}

static int parse(struct gmon *g, bool salvage, struct error *err)
{
    forget(g);
    if (g->dialect == GMON_GNU)
        return parse_gnu(g, salvage, err);
    return parse_bsd(g, salvage, err);
}

/* The results of trying layouts on the file. */
struct trials {
    struct gmon *gmon;
    const struct gmon_options *options;
    unsigned fits, magics;
    bool is_64, big_endian;             /* of the last layout that fits */
    bool first_is_64, first_big_endian; /* of the first layout that fits */
    struct error furthest;              /* in the layout that fits most of the file */
};

static void try_layout(struct trials *t, bool is_64, bool big_endian, bool salvage)
{
    struct gmon *g = t->gmon;
    struct error err = {0};
    g->is_64 = is_64;
    g->big_endian = big_endian;
    if (!has_magic(g))
        return;
    if (g->dialect != GMON_BSD_OLD)
        t->magics++;
    if (parse(g, salvage, &err) != 0) {
        if (t->furthest.text[0] == '\0' || err.offset > t->furthest.offset)
            t->furthest = err;
        return;
    }
    if (g->dialect == GMON_BSD_OLD && !is_plausible_old(g))
        return;
    if (t->fits++ == 0) {
        t->first_is_64 = is_64;
        t->first_big_endian = big_endian;
    }
    t->is_64 = is_64;
    t->big_endian = big_endian;
}

static void try_dialect(struct trials *t, enum gmon_dialect dialect, bool salvage)
{
    const struct gmon_options *o = t->options;
    t->gmon->dialect = dialect;
    t->fits = 0;
    for (int bits = 64; bits >= 32; bits -= 32)
        for (int big = 0; big < 2; big++)
            if ((o->bits == 0 || o->bits == bits) &&
                (o->order == 0 || o->order == (big ? 'b' : 'l')))
                try_layout(t, bits == 64, big, salvage);
}

static int ambiguous(const struct trials *t, struct error *err)
{
    return error_set(
        err, t->gmon->name, NO_OFFSET,
        "ambiguous: fits as %s with %d bits, %s-endian, and with %d bits, %s-endian; choose "
        "with --bits and -l or -b",
        gmon_dialect_name(t->gmon->dialect), t->first_is_64 ? 64 : 32,
        t->first_big_endian ? "big" : "little", t->is_64 ? 64 : 32,
        t->big_endian ? "big" : "little");
}

/* Parses the data in the layout of DIALECT that fits. Returns 1, 0 if none fits, or -1 with ERR
 * filled. */
static int settle(struct trials *t, enum gmon_dialect dialect, bool salvage, struct error *err)
{
    try_dialect(t, dialect, salvage);
    if (t->fits == 0)
        return 0;
    if (t->fits > 1)
        return ambiguous(t, err);
    t->gmon->is_64 = t->is_64;
    t->gmon->big_endian = t->big_endian;
    return parse(t->gmon, salvage, err) == 0 ? 1 : -1;
}

static int unrecognised(const struct trials *t, struct error *err)
{
    const struct gmon *g = t->gmon;
    if (t->magics > 0 || t->options->dialect == GMON_BSD_OLD) {
        *err = t->furthest;
        if (err->text[0] != '\0')
            return -1;
    }
    if (g->size >= 8 && memcmp(g->data, "gmon", 4) == 0)
        return error_set(err, g->name, 4, "gmon.out version 0x%x, expected 1",
                         get_u32(g->data + 4, false));
    return error_set(
        err, g->name, NO_OFFSET,
        "not a gmon.out: no \"gmon\" at 0, no 0x51879 at 12 or 20, and its sizes do not "
        "fit the oldest kind");
}

/* Tries complete files first, then, if salvage is allowed, truncated ones. The oldest layout is
 * tried neither on files with the magic of another one nor on truncated files, because without a
 * magic the rest of a file could be anything. */
static int recognise(struct gmon *g, const struct gmon_options *options, struct error *err)
{
    struct trials t = {.gmon = g, .options = options};
    for (int salvage = 0; salvage <= options->salvage; salvage++)
        for (int d = GMON_GNU; d < GMON_DIALECTS; d++) {
            if (options->dialect != GMON_ANY ? (int)options->dialect != d
                                             : d == GMON_BSD_OLD && (t.magics > 0 || salvage))
                continue;
            int result = settle(&t, (enum gmon_dialect)d, salvage, err);
            if (result != 0)
                return result;
        }
    return unrecognised(&t, err);
}

struct gmon *gmon_read(struct stream *stream, const struct gmon_options *options, struct error *err)
{
    struct gmon *g = mem_zalloc(1, sizeof *g);
    g->name = mem_strdup(stream_name(stream));
    if (load(g, stream, err) == 0 && recognise(g, options, err) > 0)
        return g;
    gmon_delete(g);
    return NULL;
}

void gmon_delete(struct gmon *g)
{
    if (g == NULL)
        return;
    forget(g);
    free(g->data);
    free(g->name);
    free(g);
}

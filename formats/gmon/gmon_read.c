/* Reads a gmon.out: finds the one layout under which the file makes sense to its last byte.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/gmon/gmon.h"

enum {
    FILE_MOST = 256 * 1024 * 1024, /* text of 512 MiB at 4 bytes a bin */
    PIECE = 64 * 1024,
    SPAN_MOST_LOG2 = 40 /* text of more than 1 TiB is no text */
};

static const char *const names[GMON_DIALECTS] = {"any", "gnu", "bsd", "bsd-old"};

const char *gmon_dialect_name(enum gmon_dialect dialect)
{
    return names[dialect];
}

uint64_t gmon_get_word(const struct gmon *g, uint64_t at)
{
    return g->is_64 ? get_u64(g->data + at, g->big_endian) : get_u32(g->data + at, g->big_endian);
}

int gmon_take_histogram(struct gmon *g, struct gmon_histogram *h, uint64_t at_header, uint64_t at,
                        bool salvage, struct error *err)
{
    if (h->bin_count > 0 && (h->low >= h->high || (h->high - h->low) >> SPAN_MOST_LOG2 != 0))
        return error_set(err, g->name, at_header,
                         "histogram of addresses 0x%" PRIx64 " to 0x%" PRIx64
                         ", expected ascending ones at most 1 TiB apart",
                         h->low, h->high);
    h->there = (g->size - at) / 2 < h->bin_count ? (g->size - at) / 2 : h->bin_count;
    if (h->there < h->bin_count && !salvage)
        return error_set(err, g->name, at,
                         "histogram cut short: %" PRIu64 " of %" PRIu64
                         " bytes are there (--salvage keeps what is whole)",
                         g->size - at, 2 * h->bin_count);
    g->cut |= h->there < h->bin_count;
    h->bins = g->data + at;
    h->offset = at;
    mem_reserve(&g->histograms, &g->histogram_capacity, g->histogram_count + 1,
                sizeof *g->histograms);
    g->histograms[g->histogram_count++] = *h;
    return 0;
}

int gmon_take_call(struct gmon *g, uint64_t from, uint64_t self, uint64_t count, uint64_t at,
                   struct error *err)
{
    if (g->dialect != GMON_GNU && count >> (g->is_64 ? 63 : 31) != 0)
        return error_set(err, g->name, at, "call arc with a negative count of 0x%" PRIx64, count);
    mem_reserve(&g->calls, &g->call_capacity, g->call_count + 1, sizeof *g->calls);
    g->calls[g->call_count++] = (struct gmon_call){from, self, count};
    return 0;
}

static int load(struct gmon *g, struct stream *in, struct error *err)
{
    size_t capacity = 0;
    const uint8_t *data;
    int64_t got;
    while ((got = stream_peek(in, PIECE, &data, err)) > 0) {
        if (g->size + (uint64_t)got > FILE_MOST)
            return error_set(err, g->name, NO_OFFSET, "more than 256 MiB: no gmon.out is as large");
        mem_reserve(&g->data, &capacity, g->size + (uint64_t)got, 1);
        memcpy(g->data + g->size, data, (size_t)got);
        g->size += (uint64_t)got;
        stream_advance(in, (size_t)got);
    }
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

/* The oldest header has nothing that tells it: besides the sizes the width of a bin must be one
 * that profil(2) makes, 2 bytes or more, and not absurd. */
static bool is_plausible_old(const struct gmon *g)
{
    const struct gmon_histogram *h = &g->histograms[0];
    uint64_t width = h->bin_count > 0 ? (h->high - h->low) / h->bin_count : 0;
    return width >= 2 && width <= 0x20000;
}

/* Does the file show the mark of this layout? */
static bool has_mark(const struct gmon *g)
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
        return gmon_parse_gnu(g, salvage, err);
    return gmon_parse_bsd(g, salvage, err);
}

/* The layouts under which the file was tried. */
struct trials {
    struct gmon *gmon;
    const struct gmon_options *options;
    unsigned fits, marked;
    bool is_64, big_endian;             /* of the last one that fits */
    bool first_is_64, first_big_endian; /* of the first one that fits */
    struct error furthest;              /* of the marked layout that got furthest */
};

static void try_layout(struct trials *t, bool is_64, bool big_endian, bool salvage)
{
    struct gmon *g = t->gmon;
    struct error err = {0};
    g->is_64 = is_64;
    g->big_endian = big_endian;
    if (!has_mark(g))
        return;
    if (g->dialect != GMON_BSD_OLD)
        t->marked++;
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
    return error_set(err, t->gmon->name, NO_OFFSET,
                     "fits as %s of %d bits, %s endian, and of %d bits, %s endian: choose with "
                     "--bits and -l or -b",
                     gmon_dialect_name(t->gmon->dialect), t->first_is_64 ? 64 : 32,
                     t->first_big_endian ? "big" : "little", t->is_64 ? 64 : 32,
                     t->big_endian ? "big" : "little");
}

/* Parses the layout for good. Returns 1: done; 0: none fits; -1 with ERR filled. */
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
    if (t->marked > 0 || t->options->dialect == GMON_BSD_OLD) {
        *err = t->furthest;
        if (err->text[0] != '\0')
            return -1;
    }
    if (g->size >= 8 && memcmp(g->data, "gmon", 4) == 0)
        return error_set(err, g->name, 4, "gmon.out of version 0x%x, expected 1",
                         get_u32(g->data + 4, false));
    return error_set(
        err, g->name, NO_OFFSET,
        "not a gmon.out: no \"gmon\" at 0, no 0x51879 at 12 or 20, and its sizes do not "
        "fit as the oldest kind");
}

/* Whole files first; then, when that is allowed, what is left of one. The oldest kind has no mark:
 * it is not looked for in a file that has one, and a part of it could be anything. */
static int recognise(struct gmon *g, const struct gmon_options *options, struct error *err)
{
    struct trials t = {.gmon = g, .options = options};
    for (int salvage = 0; salvage <= options->salvage; salvage++)
        for (int d = GMON_GNU; d < GMON_DIALECTS; d++) {
            if (options->dialect != GMON_ANY ? (int)options->dialect != d
                                             : d == GMON_BSD_OLD && (t.marked > 0 || salvage))
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

/* Reads CPU profiles of gperftools in one pass.
 * SPDX-License-Identifier: MIT */
#include "formats/gperf/gperf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum { HEADER_WORDS = 5, MIN_SLOTS = 3, MAX_SLOTS = 1024 };
#define MAX_PERIOD UINT64_C(1000000000) /* [us] */

struct gperf {
    struct stream *stream;
    bool big, salvage, cut;
    size_t word; /* [bytes] */
    uint64_t period, line;
    char *text; /* the last line of text */
};

static uint64_t word_at(const uint8_t *data, size_t number, size_t size, bool big)
{
    return size == 8 ? get_u64(data + number * 8, big) : get_u32(data + number * 4, big);
}

static bool is_header(const uint8_t *data, int64_t have, size_t size, bool big)
{
    if (have < (int64_t)(HEADER_WORDS * size))
        return false;
    uint64_t slots = word_at(data, 1, size, big), period = word_at(data, 3, size, big);
    return word_at(data, 0, size, big) == 0 && slots >= MIN_SLOTS && slots <= MAX_SLOTS &&
           word_at(data, 2, size, big) == 0 && period > 0 && period <= MAX_PERIOD;
}

static int read_header(struct gperf *g, const struct gperf_options *o, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(g->stream, HEADER_WORDS * (size_t)8, &data, err);
    if (have < 0)
        return -1;
    if (have == 0)
        return stream_fail_empty(g->stream, "a CPU profile of gperftools", err);
    for (int i = 0; i < 4; i++) {
        size_t size = i < 2 ? 8 : 4;
        bool big = i % 2 != 0;
        bool asked = (o->bits == 0 || o->bits == (int)size * 8) &&
                     (o->order == 0 || (o->order == 'b') == big);
        if (!asked || !is_header(data, have, size, big))
            continue;
        g->word = size;
        g->big = big;
        g->period = word_at(data, 3, size, big);
        return stream_skip(g->stream, (2 + word_at(data, 1, size, big)) * size, err);
    }
    return error_set(
        err, stream_name(g->stream), 0,
        "expected a CPU profile of gperftools, which begins with the words 0, 3, 0 and "
        "a period of 1 to %" PRIu64 " us%s; found something else",
        MAX_PERIOD, o->bits != 0 || o->order != 0 ? ", as asked for" : "");
}

struct gperf *gperf_open(struct stream *stream, const struct gperf_options *options,
                         struct error *err)
{
    struct gperf *g = mem_zalloc(1, sizeof *g);
    g->stream = stream;
    g->salvage = options->salvage;
    if (read_header(g, options, err) == 0)
        return g;
    gperf_close(g);
    return NULL;
}

void gperf_close(struct gperf *g)
{
    if (g != NULL)
        free(g->text);
    free(g);
}

uint64_t gperf_period(const struct gperf *g)
{
    return g->period;
}

bool gperf_is_big(const struct gperf *g)
{
    return g->big;
}

int gperf_bits(const struct gperf *g)
{
    return (int)g->word * 8;
}

bool gperf_is_cut(const struct gperf *g)
{
    return g->cut;
}

/* ---- stacks ---- */

/* Handles a file that ends inside WHAT. */
static int end_inside(struct gperf *g, const char *what, uint64_t words, int64_t have,
                      struct error *err)
{
    if (g->salvage) {
        g->cut = true;
        return 0;
    }
    return error_set(err, stream_name(g->stream), stream_offset(g->stream),
                     "expected %s of %" PRIu64 " words, found %" PRId64
                     " bytes: truncated (--salvage keeps the complete part)",
                     what, words, have);
}

int gperf_next(struct gperf *g, struct gperf_stack *stack, struct error *err)
{
    const uint8_t *data;
    if (g->cut)
        return 0;
    int64_t have = stream_peek(g->stream, 3 * g->word, &data, err);
    if (have < 0)
        return -1;
    if (have < (int64_t)(3 * g->word))
        return end_inside(g, "a stack or the end of the list", 3, have, err);
    *stack = (struct gperf_stack){word_at(data, 0, g->word, g->big),
                                  .depth = word_at(data, 1, g->word, g->big),
                                  .pc = word_at(data, 2, g->word, g->big)};
    if (stack->count == 0 && stack->depth == 1 && stack->pc == 0) {
        stream_advance(g->stream, 3 * g->word);
        return 0;
    }
    if (stack->count == 0 || stack->depth == 0 || stack->depth > GPERF_MAX_DEPTH)
        return error_set(err, stream_name(g->stream), stream_offset(g->stream),
                         "expected a stack with a count of 1 or more and 1 to %d program counters, "
                         "found a count of %" PRIu64 " and %" PRIu64,
                         GPERF_MAX_DEPTH, stack->count, stack->depth);
    const size_t size = (size_t)(2 + stack->depth) * g->word;
    have = stream_peek(g->stream, size, &data, err);
    if (have < 0)
        return -1;
    if (have < (int64_t)size)
        return end_inside(g, "a stack", 2 + stack->depth, have, err);
    stream_advance(g->stream, size);
    return 1;
}

/* ---- mappings ---- */

/* Reads the next line of text, without its end. Returns 1, 0 at the end or where the file is
 * truncated, or -1. */
static int next_line(struct gperf *g, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(g->stream, 1, &data, err);
    if (have > 0 && memchr(data, '\n', (size_t)have) == NULL)
        have = stream_peek(g->stream, GPERF_MAX_LINE, &data, err);
    if (have <= 0)
        return (int)have;
    g->line++;
    const uint8_t *end = memchr(data, '\n', (size_t)have);
    if (end == NULL && have >= GPERF_MAX_LINE)
        return error_set(err, stream_name(g->stream), stream_offset(g->stream),
                         "expected lines of at most %d bytes in the list of mappings, found a "
                         "longer one",
                         GPERF_MAX_LINE);
    if (end == NULL && g->salvage) {
        g->cut = true;
        return 0;
    }
    if (end == NULL)
        return error_set(err, stream_name(g->stream), stream_offset(g->stream),
                         "expected a newline after line %" PRIu64
                         " of the list of mappings, found the end: truncated (--salvage keeps the "
                         "complete part)",
                         g->line);
    size_t length = (size_t)(end - data);
    free(g->text);
    g->text = mem_strndup((const char *)data, length);
    stream_advance(g->stream, length + 1);
    return 1;
}

/* Reads a hexadecimal number at *TEXT and the character AFTER that must follow. */
static bool take_hex(const char **text, char after, uint64_t *value)
{
    char *end;
    if (!((**text >= '0' && **text <= '9') || (**text >= 'a' && **text <= 'f') ||
          (**text >= 'A' && **text <= 'F')))
        return false;
    *value = strtoull(*text, &end, 16);
    if (*end != after)
        return false;
    *text = end + 1;
    return true;
}

/* Parses "ADDRESS-END rwxp OFFSET DEVICE INODE   PATH". */
static bool parse_map(const char *text, struct gperf_map *map, bool *executable)
{
    uint64_t end;
    if (!take_hex(&text, '-', &map->address) || !take_hex(&text, ' ', &end) || end < map->address)
        return false;
    text += strspn(text, " ");
    size_t length = strcspn(text, " ");
    *executable = length >= 3 && text[2] == 'x';
    if (length < 3 || text[length] != ' ')
        return false;
    text += length + 1;
    map->size = end - map->address;
    if (!take_hex(&text, ' ', &map->offset))
        return false;
    text += strcspn(text, " "); /* device */
    char *rest;
    map->inode = strtoull(text, &rest, 10);
    map->path = rest + strspn(rest, " ");
    return true;
}

int gperf_next_map(struct gperf *g, struct gperf_map *map, struct error *err)
{
    int got;
    while ((got = next_line(g, err)) > 0) {
        bool executable = false;
        if (g->text[0] == '\0' || strncmp(g->text, "build=", 6) == 0)
            continue;
        if (!parse_map(g->text, map, &executable)) {
            if (g->salvage) {
                g->cut = true;
                return 0;
            }
            return error_set(
                err, stream_name(g->stream), stream_offset(g->stream),
                "expected a mapping, ADDRESS-END PERMISSIONS OFFSET DEVICE INODE PATH, "
                "in line %" PRIu64 " of the list, found '%.60s'",
                g->line, g->text);
        }
        if (executable && map->size > 0)
            return 1;
    }
    return got;
}

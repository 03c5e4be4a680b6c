/* Reads dumps of IgProf in one pass; checks every number against the preceding lines.
 * SPDX-License-Identifier: MIT */
#include "formats/igprof/igprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/number.h"

struct igprof {
    struct stream *stream;
    const uint8_t *data; /* visible bytes of the stream, of which AT have been read */
    size_t have, at;
    uint64_t line;
    unsigned base; /* of numbers */
    double tick;
    struct buffer text; /* the text read last */
    char *program;
    struct strings *texts, *counters;     /* COUNTERS are numbered from 1 */
    struct numbers files, functions, ids; /* numbers in the dump */
    uint32_t *file;                       /* text of each file */
    struct igprof_function *function;
    struct strings *keys; /* keys of FUNCTION, numbered from 1 */
    uint32_t *of_id;      /* number of the function for each number in the dump */
    size_t of_id_capacity;
    uint32_t *counter; /* of each number in the dump */
    size_t file_capacity, function_capacity, counter_capacity;
    size_t file_count, function_count, id_count;
    size_t depth; /* of the previous node */
    struct igprof_value value[IGPROF_MAX_COUNTERS];
    bool failed; /* reading failed, and ERR is filled */
};

enum { AHEAD = 1 << 16, END = -1 };

/* The next byte, without consuming it; END if there is none. */
static int look(struct igprof *g, struct error *err)
{
    if (g->at < g->have)
        return g->data[g->at];
    stream_advance(g->stream, g->at);
    g->at = g->have = 0;
    int64_t have = g->failed ? 0 : stream_peek(g->stream, 1, &g->data, err);
    g->failed |= have < 0;
    if (have <= 0)
        return END;
    g->have = (size_t)have < AHEAD ? (size_t)have : AHEAD;
    return g->data[0];
}

static int fail(struct igprof *g, struct error *err, const char *expected)
{
    int next = look(g, err);
    if (g->failed)
        return -1;
    char found[24] = "the end of the file";
    if (next == '\n')
        snprintf(found, sizeof found, "the end of the line");
    else if (next > 32 && next < 127)
        snprintf(found, sizeof found, "'%c'", next);
    else if (next != END)
        snprintf(found, sizeof found, "byte 0x%02x", (unsigned)next);
    return error_set(err, stream_name(g->stream), stream_offset(g->stream) + g->at,
                     "line %" PRIu64 ": expected %s, found %s", g->line, expected, found);
}

/* Reads TEXT, which must be next. */
static int take(struct igprof *g, const char *text, struct error *err)
{
    char expected[32];
    snprintf(expected, sizeof expected, "'%s'", text[0] != '\n' ? text : "end of line");
    for (const char *c = text; *c != '\0'; c++, g->at++)
        if (look(g, err) != (unsigned char)*c)
            return fail(g, err, expected);
    return 0;
}

static int digit_of(int c, unsigned base)
{
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;
    return digit < (int)base ? digit : -1;
}

static int take_number(struct igprof *g, unsigned base, uint64_t *value, struct error *err)
{
    int digit = digit_of(look(g, err), base);
    *value = 0;
    if (digit < 0)
        return fail(g, err, "a number");
    for (; digit >= 0; digit = digit_of(look(g, err), base)) {
        if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit, value))
            return fail(g, err, "a number below 2^64");
        g->at++;
    }
    return 0;
}

/* Reads an offset, which may be negative in old dumps. */
static int take_offset(struct igprof *g, uint64_t *value, struct error *err)
{
    bool negative = look(g, err) == '-';
    g->at += negative;
    if (take_number(g, g->base, value, err) != 0)
        return -1;
    *value = negative ? -*value : *value;
    return 0;
}

/* Reads a text and the STOP after it; texts are not quoted, so that they may contain
 * parentheses. */
static int take_text(struct igprof *g, const char *stop, uint32_t *text, struct error *err)
{
    size_t length = strlen(stop);
    g->text.size = 0;
    for (;;) {
        int next = look(g, err);
        if (next == END || next == '\n' || next == '\0')
            return fail(g, err, stop);
        buffer_u8(&g->text, (uint8_t)next);
        g->at++;
        if (g->text.size >= length &&
            memcmp(g->text.data + g->text.size - length, stop, length) == 0)
            break;
        if (g->text.size > IGPROF_MAX_NAME)
            return fail(g, err, "a shorter name");
    }
    *text = strings_intern_bytes(g->texts, (const char *)g->text.data, g->text.size - length);
    return 0;
}

/* P=([HEX ]ID=1f N=(program) T=0.010000) */
static int read_head(struct igprof *g, struct error *err)
{
    uint64_t unused;
    uint32_t program = 0, tick = 0;
    const uint8_t *data;
    int64_t have = stream_peek(g->stream, 3, &data, err);
    if (have < 0)
        return -1;
    if (have == 0)
        return stream_fail_empty(g->stream, "a dump of IgProf", err);
    if (have < 3 || memcmp(data, "P=(", 3) != 0)
        return error_set(err, stream_name(g->stream), 0,
                         "not a dump of IgProf: its first line does not begin with 'P=('");
    take(g, "P=(", err);
    g->base = look(g, err) == 'H' ? 16 : 10;
    if ((g->base == 16 && take(g, "HEX ", err) != 0) || take(g, "ID=", err) != 0 ||
        take_number(g, g->base, &unused, err) != 0 || take(g, " N=(", err) != 0 ||
        take_text(g, ") T=", &program, err) != 0 || take_text(g, ")", &tick, err) != 0)
        return -1;
    g->program = mem_strdup(strings_get(g->texts, program));
    if (!parse_double(strings_get(g->texts, tick), 0, 1e6, &g->tick))
        return error_set(err, stream_name(g->stream), NO_OFFSET,
                         "line 1: expected the time of a tick in s, found '%.40s'",
                         strings_get(g->texts, tick));
    return take(g, "\n", err);
}

struct igprof *igprof_open(struct stream *stream, struct error *err)
{
    struct igprof *g = mem_zalloc(1, sizeof *g);
    g->stream = stream;
    g->texts = strings_new();
    g->counters = strings_new();
    g->keys = strings_new();
    g->line = 1;
    if (read_head(g, err) == 0)
        return g;
    igprof_close(g);
    return NULL;
}

void igprof_close(struct igprof *g)
{
    if (g == NULL)
        return;
    buffer_free(&g->text);
    free(g->program);
    strings_delete(g->texts);
    strings_delete(g->counters);
    numbers_free(&g->files);
    numbers_free(&g->functions);
    numbers_free(&g->ids);
    free(g->file);
    free(g->function);
    strings_delete(g->keys);
    free(g->of_id);
    free(g->counter);
    free(g);
}

static int fail_reference(struct igprof *g, struct error *err, const char *what, uint64_t id,
                          bool defined)
{
    return error_set(err, stream_name(g->stream), stream_offset(g->stream) + g->at,
                     "line %" PRIu64 ": %s %" PRIu64 " is %s", g->line, what, id,
                     defined ? "defined twice" : "not defined");
}

/* F<id>=(path)+offset or F<id>+offset, up to N=(name)) */
static int read_file(struct igprof *g, struct igprof_function *f, struct error *err)
{
    uint64_t id;
    if (take(g, "F", err) != 0 || take_number(g, g->base, &id, err) != 0)
        return -1;
    uint32_t at = numbers_find(&g->files, id);
    if (look(g, err) != '=') {
        if (at == INTERN_NONE)
            return fail_reference(g, err, "file", id, false);
        f->path = g->file[at];
        return take(g, "+", err) != 0 ? -1 : take_offset(g, &f->offset, err);
    }
    if (at != INTERN_NONE)
        return fail_reference(g, err, "file", id, true);
    if (take(g, "=(", err) != 0 || take_text(g, ")+", &f->path, err) != 0)
        return -1;
    *MEM_APPEND(g->file, g->file_count, g->file_capacity) = f->path;
    numbers_intern(&g->files, id);
    return take_offset(g, &f->offset, err);
}

/* The number of F. A function without a name ("@?0x...") is identified by its address. */
static uint32_t number_of(struct igprof *g, const struct igprof_function *f)
{
    bool named = strncmp(strings_get(g->texts, f->name), "@?", 2) != 0;
    const uint64_t key[3] = {f->path, named ? f->name : 0, named ? 0 : f->offset};
    uint32_t number = strings_intern_bytes(g->keys, (const char *)key, sizeof key) - 1;
    if (number < g->function_count)
        return number;
    *MEM_APPEND(g->function, g->function_count, g->function_capacity) = *f;
    return number;
}

/* FN<id>=(F... N=(name))+offset or FN<id>+offset */
static int read_function(struct igprof *g, uint32_t *number, struct error *err)
{
    uint64_t id, unused;
    struct igprof_function f = {0};
    if (take(g, " FN", err) != 0 || take_number(g, g->base, &id, err) != 0)
        return -1;
    uint32_t at = numbers_find(&g->functions, id);
    if (look(g, err) != '=') {
        if (at == INTERN_NONE)
            return fail_reference(g, err, "function", id, false);
        *number = g->of_id[at];
        return take(g, "+", err) != 0 ? -1 : take_offset(g, &unused, err);
    }
    if (at != INTERN_NONE)
        return fail_reference(g, err, "function", id, true);
    if (take(g, "=(", err) != 0 || read_file(g, &f, err) != 0 || take(g, " N=(", err) != 0 ||
        take_text(g, "))+", &f.name, err) != 0)
        return -1;
    *number = number_of(g, &f);
    at = numbers_intern(&g->functions, id);
    *MEM_AT(g->of_id, at, g->of_id_capacity) = *number;
    return take_offset(g, &unused, err);
}

/* Reads the counter in V<id>=(NAME) or V<id>. Each thread has its own numbers of counters. */
static int read_counter(struct igprof *g, uint32_t *counter, struct error *err)
{
    uint64_t id;
    uint32_t name;
    if (take(g, " V", err) != 0 || take_number(g, g->base, &id, err) != 0)
        return -1;
    uint32_t at = numbers_find(&g->ids, id);
    if (look(g, err) != '=') {
        if (at == INTERN_NONE)
            return fail_reference(g, err, "counter", id, false);
        *counter = g->counter[at];
        return 0;
    }
    if (at != INTERN_NONE)
        return fail_reference(g, err, "counter", id, true);
    if (take(g, "=(", err) != 0 || take_text(g, ")", &name, err) != 0)
        return -1;
    *counter = strings_intern(g->counters, strings_get(g->texts, name)) - 1;
    if (name == 0 || *counter >= IGPROF_MAX_COUNTERS)
        return error_set(err, stream_name(g->stream), stream_offset(g->stream) + g->at,
                         "line %" PRIu64 ": %s", g->line,
                         name == 0 ? "counter without a name" : "too many counters");
    *MEM_APPEND(g->counter, g->id_count, g->counter_capacity) = *counter;
    numbers_intern(&g->ids, id);
    return 0;
}

/* Skips any number of ;LK=(0xaddress,size): memory that is still in use, which is included in the
 * value. */
static int skip_leaks(struct igprof *g, struct error *err)
{
    uint64_t unused;
    while (look(g, err) == ';')
        if (take(g, ";LK=(0x", err) != 0 || take_number(g, 16, &unused, err) != 0 ||
            take(g, ",", err) != 0 || take_number(g, g->base, &unused, err) != 0 ||
            take(g, ")", err) != 0)
            return -1;
    return 0;
}

static int read_value(struct igprof *g, struct igprof_node *node, struct error *err)
{
    struct igprof_value v;
    if (read_counter(g, &v.counter, err) != 0 || take(g, ":(", err) != 0 ||
        take_number(g, g->base, &v.ticks, err) != 0 || take(g, ",", err) != 0 ||
        take_number(g, g->base, &v.value, err) != 0 || take(g, ",", err) != 0 ||
        take_number(g, g->base, &v.peak, err) != 0 || take(g, ")", err) != 0 ||
        skip_leaks(g, err) != 0)
        return -1;
    for (size_t i = 0; i < node->value_count; i++)
        if (g->value[i].counter == v.counter)
            return error_set(err, stream_name(g->stream), stream_offset(g->stream) + g->at,
                             "line %" PRIu64 ": counter %s occurs twice", g->line,
                             igprof_counter(g, v.counter));
    g->value[node->value_count++] = v;
    return 0;
}

int igprof_next(struct igprof *g, struct igprof_node *node, struct error *err)
{
    uint64_t depth;
    g->line++;
    if (look(g, err) == END)
        return g->failed ? -1 : 0;
    if (take(g, "C", err) != 0 || take_number(g, g->base, &depth, err) != 0)
        return -1;
    if (depth == 0 || depth > g->depth + 1 || depth > IGPROF_MAX_DEPTH)
        return error_set(err, stream_name(g->stream), stream_offset(g->stream) + g->at,
                         "line %" PRIu64 ": depth %" PRIu64 ", expected 1 to %zu", g->line, depth,
                         g->depth < IGPROF_MAX_DEPTH ? g->depth + 1 : (size_t)IGPROF_MAX_DEPTH);
    *node = (struct igprof_node){.depth = (size_t)depth, .values = g->value};
    g->depth = (size_t)depth;
    if (read_function(g, &node->function, err) != 0)
        return -1;
    while (look(g, err) == ' ')
        if (read_value(g, node, err) != 0)
            return -1;
    return take(g, "\n", err) != 0 ? -1 : 1;
}

const char *igprof_program(const struct igprof *g)
{
    return g->program;
}

double igprof_tick(const struct igprof *g)
{
    return g->tick;
}

const struct strings *igprof_texts(const struct igprof *g)
{
    return g->texts;
}

const struct igprof_function *igprof_functions(const struct igprof *g, size_t *count)
{
    *count = g->function_count;
    return g->function;
}

const char *igprof_counter(const struct igprof *g, uint32_t number)
{
    return strings_get(g->counters, number + 1);
}

bool igprof_counter_is_largest(const struct igprof *g, uint32_t number)
{
    return strcmp(igprof_counter(g, number), "MEM_MAX") == 0;
}

size_t igprof_counter_count(const struct igprof *g)
{
    return strings_count(g->counters) - 1;
}

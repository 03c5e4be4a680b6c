/* Names of the kernel's functions, from a copy of /proc/kallsyms.
 *
 *   ffffffff81000000 T _stext
 *   ffffffffc0001000 t helper	[module]
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/stream.h"

enum { MAX_LINE = 4096 };

struct kernel_symbol {
    uint64_t address;
    uint32_t name, rank;
};

struct kallsyms {
    struct strings *names;
    struct kernel_symbol *symbols; /* ascending */
    size_t count, capacity;
    size_t hidden; /* functions whose address the kernel reports as 0 */
};

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns false if LINE is not "HEXADDR TYPE NAME...". */
static bool add_line(struct kallsyms *k, const uint8_t *line, size_t length)
{
    uint64_t address = 0;
    size_t at = 0;
    for (; at < length && at < 16 && hex_digit(line[at]) >= 0; at++)
        address = address << 4 | (unsigned)hex_digit(line[at]);
    if (at == 0 || at + 3 >= length || line[at] != ' ' || line[at + 2] != ' ')
        return false;
    const uint8_t *name = line + at + 3;
    size_t name_length = 0;
    while (at + 3 + name_length < length && name[name_length] > ' ')
        name_length++;
    if (name_length == 0)
        return false;
    if (strchr("tTwW", line[at + 1]) == NULL || line[at + 1] == '\0')
        return true;
    if (address == 0) {
        k->hidden++;
        return true;
    }
    *MEM_AT(k->symbols, k->count, k->capacity) = (struct kernel_symbol){
        address, strings_intern_bytes(k->names, (const char *)name, name_length),
        (uint32_t)k->count};
    k->count++;
    return true;
}

/* If an address has several names, the first one in the file is found. */
static int compare_symbols(const void *left, const void *right)
{
    const struct kernel_symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->rank > b->rank ? -1 : a->rank < b->rank;
}

static int read_lines(struct kallsyms *k, struct stream *stream, struct error *err)
{
    for (;;) {
        const uint8_t *data;
        int64_t visible = stream_peek(stream, MAX_LINE, &data, err);
        if (visible <= 0)
            return (int)visible;
        size_t seen = visible < MAX_LINE ? (size_t)visible : MAX_LINE;
        const uint8_t *end = memchr(data, '\n', seen);
        size_t length = end != NULL ? (size_t)(end - data) : seen;
        if ((end == NULL && seen == MAX_LINE) || !add_line(k, data, length))
            return error_set(err, stream_name(stream), stream_offset(stream),
                             "not a line of kallsyms: expected ADDRESS TYPE NAME");
        stream_advance(stream, length + (end != NULL));
    }
}

static int check(const struct kallsyms *k, const char *path, struct error *err)
{
    if (k->count > 0)
        return 0;
    if (k->hidden > 0)
        return error_set(err, path, NO_OFFSET,
                         "all %zu functions have address 0: copy /proc/kallsyms as root",
                         k->hidden);
    return error_set(err, path, NO_OFFSET, "no functions: expected lines ADDRESS TYPE NAME");
}

struct kallsyms *kallsyms_read(const char *path, struct error *err)
{
    struct stream *stream = stream_open(path, err);
    if (stream == NULL)
        return NULL;
    struct kallsyms *k = mem_zalloc(1, sizeof *k);
    k->names = strings_new();
    int result = read_lines(k, stream, err);
    if (result == 0)
        result = check(k, stream_name(stream), err);
    stream_close(stream);
    if (result != 0) {
        kallsyms_delete(k);
        return NULL;
    }
    qsort(k->symbols, k->count, sizeof *k->symbols, compare_symbols);
    return k;
}

void kallsyms_delete(struct kallsyms *k)
{
    if (k == NULL)
        return;
    strings_delete(k->names);
    free(k->symbols);
    free(k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
    size_t after = SEARCH_AFTER(k->symbols, k->count, address, address);
    return after > 0 ? strings_get(k->names, k->symbols[after - 1].name) : NULL;
}

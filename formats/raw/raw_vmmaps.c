/* VMMaps: in raw profiles and as text.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

/* Printable (or UTF-8), and nothing but NULs behind the first NUL. */
static bool is_label(const uint8_t *text)
{
    size_t i = 0;
    for (; i < RAW_LABEL_SIZE && text[i] != '\0'; i++)
        if (text[i] < 0x20 || text[i] == 0x7f)
            return false;
    for (; i < RAW_LABEL_SIZE; i++)
        if (text[i] != '\0')
            return false;
    return true;
}

static bool decode(const uint8_t *from, bool big, struct raw_vmmap *map)
{
    map->address = get_u64(from, big);
    map->size = get_u64(from + 8, big);
    memcpy(map->label, from + 16, RAW_LABEL_SIZE);
    map->label[RAW_LABEL_SIZE] = '\0';
    /* one that ends at 2^64 exactly is possible, one that goes round is not */
    return is_label(from + 16) &&
           (map->size == 0 || map->address + (map->size - 1) >= map->address);
}

int raw_vmmaps_read(struct stream *stream, uint64_t offset, size_t count, bool big,
                    struct raw_vmmap *maps, struct error *err)
{
    if (offset > stream_size(stream) || stream_seek(stream, offset, err) != 0)
        return offset > stream_size(stream) ? 2 : -1;
    for (size_t i = 0; i < count; i++) {
        struct raw_vmmap map;
        const uint8_t *data;
        int64_t have = stream_peek(stream, RAW_VMMAP_SIZE, &data, err);
        if (have < 0)
            return -1;
        if (have < RAW_VMMAP_SIZE)
            return 2;
        if (!decode(data, big, &map))
            return 0;
        if (maps != NULL)
            maps[i] = map;
        stream_advance(stream, RAW_VMMAP_SIZE);
    }
    return 1;
}

/* Parses "HEXADDR HEXSIZE LABEL". */
static bool parse_line(const char *line, struct raw_vmmap *map)
{
    char *end;
    errno = 0;
    map->address = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || errno != 0)
        return false;
    line = end + 1;
    map->size = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || errno != 0)
        return false;
    size_t length = strlen(end + 1);
    if (length == 0 || length > RAW_LABEL_SIZE)
        return false;
    memcpy(map->label, end + 1, length + 1);
    return map->size == 0 || map->address + (map->size - 1) >= map->address;
}

/* Reads a line without its end into LINE. Returns 1, 0 at the end, -1 on an error or a line too long. */
static int read_line(struct stream *in, char *line, size_t room, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(in, room, &data, err);
    if (have <= 0)
        return (int)have;
    size_t visible = (uint64_t)have < room ? (size_t)have : room;
    const uint8_t *end = memchr(data, '\n', visible);
    size_t length = end != NULL ? (size_t)(end - data) : visible;
    if (length >= room)
        return error_set(err, stream_name(in), stream_offset(in), "line of more than %zu bytes",
                         room - 1);
    memcpy(line, data, length);
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    stream_advance(in, length + (end != NULL));
    return 1;
}

static int read_lines(struct stream *in, struct raw_vmmap **maps, size_t *count, struct error *err)
{
    char line[512] = "";
    size_t capacity = 0;
    int got;
    uint64_t at = 0;
    while ((got = read_line(in, line, sizeof line, err)) > 0) {
        mem_reserve(maps, &capacity, *count + 1, sizeof **maps);
        if (line[0] != '\0' && line[0] != '#' && !parse_line(line, &(*maps)[(*count)++]))
            return error_set(err, stream_name(in), at,
                             "expected 'HEXADDRESS HEXSIZE LABEL', found '%.60s'", line);
        at = stream_offset(in);
    }
    return got;
}

int raw_vmmap_text_read(const char *path, struct raw_vmmap **maps, size_t *count, struct error *err)
{
    *maps = NULL;
    *count = 0;
    struct stream *in = stream_open(path, err);
    if (in == NULL)
        return -1;
    int result = read_lines(in, maps, count, err);
    stream_close(in);
    if (result != 0) {
        free(*maps);
        *maps = NULL;
        *count = 0;
    }
    return result;
}

int raw_vmmap_text_write(struct output *out, const struct raw_vmmap *maps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (output_printf(out, "%" PRIx64 " %" PRIx64 " %s\n", maps[i].address, maps[i].size,
                          maps[i].label) != 0)
            return -1;
    return 0;
}

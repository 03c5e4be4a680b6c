/* VMMaps as text, a mapping per line: HEXADDRESS HEXSIZE LABEL.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Replaces each \\ooo in TEXT (three octal digits) by that byte, in place. */
static void unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; to++) {
        bool escaped = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
                       text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
        int byte = escaped ? (text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0') : *text;
        *to = (char)byte;
        text += escaped ? 4 : 1;
    }
    *to = '\0';
}

/* Parses "HEXADDR HEXSIZE LABEL". */
static bool parse_line(char *line, struct raw_vmmap *map)
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
    char *label = end + 1;
    unescape(label);
    size_t length = strlen(label);
    if (length == 0 || length > RAW_LABEL_SIZE)
        return false;
    memcpy(map->label, label, length + 1);
    return map->size == 0 || map->address + (map->size - 1) >= map->address;
}

/* Reads a line without its end into LINE. Returns 1, 0 at the end, or -1 on an error or if the line
 * is too long. */
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
    char line[2048]; /* room for a label with every byte escaped */
    size_t capacity = 0;
    int got;
    uint64_t at = 0;
    line[0] = '\0';
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

static int write_label(struct output *out, const char *label)
{
    for (const char *plain = label; *label != '\0'; plain = ++label) {
        while (*label != '\0' && *label != '\n' && *label != '\r' && *label != '\\')
            label++;
        if (output_write(out, plain, (size_t)(label - plain)) != 0)
            return -1;
        if (*label == '\0')
            return 0;
        if (output_printf(out, "\\%03o", (unsigned char)*label) != 0)
            return -1;
    }
    return 0;
}

int raw_vmmap_text_write(struct output *out, const struct raw_vmmap *maps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (output_printf(out, "%" PRIx64 " %" PRIx64 " ", maps[i].address, maps[i].size) != 0 ||
            write_label(out, maps[i].label) != 0 || output_write(out, "\n", 1) != 0)
            return -1;
    return 0;
}

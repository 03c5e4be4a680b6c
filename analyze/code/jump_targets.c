/* The targets of indirect jumps of a binary.
 * SPDX-License-Identifier: MIT */
#include "analyze/code/jump_targets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/search.h"
#include "formats/sthem/sthem_csv.h"

enum { MAX_LINE = 1 << 12 };

/* Parses the number in FIELD. Returns false if it is not a number. */
static bool read_number(const struct csv_text *field, uint64_t *number)
{
    char text[24], *end;
    if (field->length == 0 || field->length >= sizeof text || field->at[0] < '0' ||
        field->at[0] > '9')
        return false;
    memcpy(text, field->at, field->length);
    text[field->length] = '\0';
    bool is_hex = text[0] == '0' && (text[1] | 32) == 'x';
    *number = strtoull(text, &end, is_hex ? 16 : 10);
    return *end == '\0';
}

static void take_line(struct jump_targets *t, struct csv *csv)
{
    struct csv_text field;
    uint64_t jump, target;
    const char *at = csv_field(csv, csv->text, &field);
    if (at == NULL || *at != ',' || !read_number(&field, &jump) ||
        csv_field(csv, at + 1, &field) == NULL || !read_number(&field, &target))
        return;
    mem_reserve(&t->items, &t->capacity, t->count + 1, sizeof *t->items);
    t->items[t->count++] = target;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void jump_targets_read(struct jump_targets *t, const char *binary, struct reporter *reporter)
{
    struct error err = {0};
    struct stat about;
    char *path = mem_printf("%s.dynmap", binary);
    bool is_there = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    struct stream *in = is_there ? stream_open(path, &err) : NULL;
    struct csv csv = {.comments = true, .stream = in, .longest = MAX_LINE, .separator = ','};
    while (in != NULL && csv_next(&csv, &err) > 0)
        take_line(t, &csv);
    if (err.text[0] != '\0')
        report_warning(reporter, "%s: targets of jumps are lost: %s", path, err.text);
    else if (in != NULL && t->count == 0)
        report_warning(
            reporter,
            "%s: expected lines with the addresses of a jump and of its target, found none", path);
    if (t->count > 0)
        qsort(t->items, t->count, sizeof *t->items, compare);
    csv_free(&csv);
    stream_close(in);
    free(path);
}

void jump_targets_free(struct jump_targets *t)
{
    free(t->items);
    *t = (struct jump_targets){0};
}

void jump_targets_mark(const struct jump_targets *t, uint64_t address, size_t size, uint8_t *begins)
{
    size_t i = search_sorted(t->items, t->count, sizeof *t->items, 0, address, false);
    for (; i < t->count && t->items[i] - address < size; i++)
        begins[t->items[i] - address] = 1;
}

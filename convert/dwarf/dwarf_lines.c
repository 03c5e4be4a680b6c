/* The line table of a unit: addresses to lines, and the paths of its files.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

enum { MAX_FILES = 1 << 20 };

/* Appends PART with one '/' between. Callers do not pass an absolute PART. */
static void append(char **path, const char *part)
{
    size_t length = strlen(*path);
    if (part[0] == '\0')
        return;
    bool slash = length > 0 && (*path)[length - 1] == '/';
    while (slash && part[0] == '/')
        part++;
    char *joined =
        mem_printf("%s%s%s", *path, length == 0 || slash || part[0] == '/' ? "" : "/", part);
    free(*path);
    *path = joined;
}

/* In DWARF 5, the list of folders begins at 0 with that of the compilation; in earlier versions, 0 is that folder and
 * the list begins at 1. libdwarf does the same, although its header documents it differently. */
static const char *folder(struct dwarf_units *units, Dwarf_Line_Context context, uint64_t index,
                          uint64_t version)
{
    const char *name = NULL;
    Dwarf_Signed count = 0;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_srclines_include_dir_count(context, &count, &error), error))
        return "";
    if (version >= 5 ? index >= (uint64_t)count : index == 0 || index > (uint64_t)count)
        return "";
    if (!dwarf_ok(units,
                  dwarf_srclines_include_dir_data(context, (Dwarf_Signed)index, &name, &error),
                  error))
        return "";
    return name != NULL ? name : "";
}

/* libdwarf can join the parts itself, but reads beyond the table of folders when it does. */
static uint32_t file_path(struct dwarf_units *units, Dwarf_Line_Context context, Dwarf_Signed index,
                          uint64_t version, const char *compilation)
{
    const char *name = NULL;
    Dwarf_Unsigned folder_index = 0, time, length;
    Dwarf_Form_Data16 *md5;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units,
                  dwarf_srclines_files_data_b(context, index, &name, &folder_index, &time, &length,
                                              &md5, &error),
                  error) ||
        name == NULL)
        return 0;
    if (name[0] == '/')
        return strings_intern(units->strings, name);
    const char *between = folder(units, context, folder_index, version);
    char *path = mem_strdup(between[0] == '/' ? "" : compilation);
    append(&path, between);
    append(&path, name);
    uint32_t number = strings_intern(units->strings, path);
    free(path);
    return number;
}

static void read_files(struct dwarf_units *units, struct unit *unit, Dwarf_Die die,
                       Dwarf_Line_Context context, uint64_t version)
{
    Dwarf_Signed base = 0, count = 0, end = 0;
    Dwarf_Error error = NULL;
    const char *compilation = "";
    if (!dwarf_ok(units, dwarf_srclines_files_indexes(context, &base, &count, &end, &error),
                  error) ||
        base < 0 || end < base || end - base > MAX_FILES)
        return;
    if (!dwarf_text(units, die, DW_AT_comp_dir, &compilation))
        compilation = "";
    unit->lines.file_base = (uint32_t)base;
    unit->lines.file_count = (uint32_t)(end - base);
    unit->lines.files = mem_zalloc((size_t)(end - base), sizeof *unit->lines.files);
    for (Dwarf_Signed i = base; i < end; i++)
        unit->lines.files[i - base] = file_path(units, context, i, version, compilation);
}

struct row_reader {
    struct unit_lines *lines;
    size_t row_count, sequence_count, sequence_capacity, first;
    struct interval_list ranges;
};

/* A sequence is closed: keep it when it is of code that is there. */
static void end_sequence(struct dwarf_units *units, struct row_reader *r, uint64_t end)
{
    struct unit_lines *lines = r->lines;
    uint64_t begin = lines->rows[r->first].address;
    size_t last = r->row_count - 1;
    if (begin >= end || !elf_file_is_code(units->image, begin)) {
        r->row_count = r->first;
        return;
    }
    mem_reserve(&lines->sequences, &r->sequence_capacity, r->sequence_count + 1,
                sizeof *lines->sequences);
    lines->sequences[r->sequence_count] = (struct line_sequence){r->first, last};
    mem_reserve(&r->ranges.items, &r->ranges.capacity, r->ranges.count + 1,
                sizeof *r->ranges.items);
    r->ranges.items[r->ranges.count++] =
        (struct interval){begin, end - 1, (uint32_t)r->sequence_count++};
    r->first = r->row_count;
}

static bool read_row(struct dwarf_units *units, Dwarf_Line line, struct line_row *row, bool *is_end)
{
    Dwarf_Addr address = 0;
    Dwarf_Unsigned number = 0, file = 0;
    Dwarf_Bool end = false;
    Dwarf_Error error = NULL;
    bool ok = dwarf_ok(units, dwarf_lineaddr(line, &address, &error), error) &&
              dwarf_ok(units, dwarf_lineno(line, &number, &error), error) &&
              dwarf_ok(units, dwarf_line_srcfileno(line, &file, &error), error) &&
              dwarf_ok(units, dwarf_lineendsequence(line, &end, &error), error);
    *row = (struct line_row){address, (uint32_t)number, (uint32_t)file};
    *is_end = end;
    return ok;
}

/* See dwarf_line_program.c. */
static struct program_row *right_rows(struct dwarf_units *units, Dwarf_Line_Context context,
                                      size_t count)
{
    Dwarf_Unsigned offset = 0;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_srclines_table_offset(context, &offset, &error), error))
        return NULL;
    struct program_row *rows = dwarf_line_program(units, offset, count);
    units->damaged += rows == NULL;
    return rows;
}

static void read_rows(struct dwarf_units *units, struct unit *unit, Dwarf_Line_Context context)
{
    Dwarf_Line *lines = NULL;
    Dwarf_Signed count = 0;
    Dwarf_Error error = NULL;
    struct row_reader r = {.lines = &unit->lines};
    if (!dwarf_ok(units, dwarf_srclines_from_linecontext(context, &lines, &count, &error), error) ||
        count <= 0)
        return;
    struct program_row *right = right_rows(units, context, (size_t)count);
    unit->lines.rows = mem_alloc((size_t)count * sizeof *unit->lines.rows);
    for (Dwarf_Signed i = 0; i < count; i++) {
        struct line_row *row = &unit->lines.rows[r.row_count];
        bool is_end;
        if (!read_row(units, lines[i], row, &is_end))
            break;
        if (right != NULL) {
            row->file = right[i].file;
            is_end = right[i].ends;
        }
        r.row_count++;
        if (is_end)
            end_sequence(units, &r, row->address);
    }
    interval_map_build(&unit->lines.by_address, r.ranges.items, r.ranges.count);
    free(r.ranges.items);
    free(right);
}

void dwarf_lines_decode(struct dwarf_units *units, struct unit *unit, Dwarf_Die die)
{
    Dwarf_Unsigned version = 0;
    Dwarf_Small tables = 0;
    Dwarf_Line_Context context = NULL;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_srclines_b(die, &version, &tables, &context, &error), error))
        return;
    if (tables <= 1) /* 2: an experiment of libdwarf's author */
        read_files(units, unit, die, context, version);
    if (tables == 1)
        read_rows(units, unit, context);
    dwarf_srclines_dealloc_b(context);
}

const struct line_row *dwarf_lines_find(const struct unit_lines *lines, uint64_t address)
{
    uint32_t index = interval_map_find(&lines->by_address, address);
    if (index == INTERVAL_NONE)
        return NULL;
    size_t low = lines->sequences[index].first + 1, high = lines->sequences[index].end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return &lines->rows[low - 1];
}

uint32_t dwarf_lines_file(const struct unit_lines *lines, uint64_t index)
{
    if (index < lines->file_base || index - lines->file_base >= lines->file_count)
        return 0;
    return lines->files[index - lines->file_base];
}

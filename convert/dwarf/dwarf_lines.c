/* The line table of a unit: lines by address, and the paths of files.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "convert/dwarf/dwarf_units.h"

enum { MAX_FILES = 1 << 20, MAX_FORMATS = 32, MD5_SIZE = 16 };

/* ---- the header ---- */

/* Since DWARF 5: the fields of entries in the tables of folders and files. */
struct entry_format {
    uint64_t content[MAX_FORMATS], form[MAX_FORMATS];
    unsigned count;
};

static void add_file(struct unit_lines *lines, size_t *capacity, const struct line_file *file)
{
    *MEM_APPEND(lines->files, lines->file_count, *capacity) = *file;
}

static void add_folder(struct unit_lines *lines, size_t *capacity, const char *name)
{
    *MEM_APPEND(lines->folders, lines->folder_count, *capacity) = name;
}

/* Before DWARF 5: a list of strings that ends with an empty one; files also have a folder, a time
 * and a size. */
static void read_old_tables(struct unit_lines *lines, struct dwarf_bytes *b)
{
    size_t folders = 0, files = 0;
    for (;;) {
        const char *name = dwarf_string(b);
        if (b->bad || name[0] == '\0')
            break;
        add_folder(lines, &folders, name);
    }
    for (;;) {
        const char *name = dwarf_string(b);
        if (b->bad || name[0] == '\0')
            break;
        struct line_file file = {.name = name, .folder = dwarf_uleb(b)};
        dwarf_uleb(b);
        dwarf_uleb(b);
        add_file(lines, &files, &file);
    }
}

static uint64_t read_format(struct dwarf_bytes *b, struct entry_format *format)
{
    *format = (struct entry_format){0};
    format->count = (unsigned)dwarf_uint(b, 1);
    b->bad |= format->count > MAX_FORMATS;
    for (unsigned i = 0; i < format->count && !b->bad; i++) {
        format->content[i] = dwarf_uleb(b);
        format->form[i] = dwarf_uleb(b);
    }
    uint64_t count = dwarf_uleb(b);
    b->bad |= count > MAX_FILES;
    return b->bad || format->count == 0 ? 0 : count;
}

/* Reads the 16 bytes at B. Returns NULL if they are missing, or all zero, as written by compilers
 * without checksums. */
static const uint8_t *read_md5(struct dwarf_bytes *b)
{
    static const uint8_t none[MD5_SIZE];
    const uint8_t *at = b->at;
    dwarf_skip(b, MD5_SIZE);
    return b->bad || memcmp(at, none, MD5_SIZE) == 0 ? NULL : at;
}

static struct line_file read_entry(struct dwarf_units *units, const struct unit *unit,
                                   const struct dwarf_encoding *encoding,
                                   const struct entry_format *format, struct dwarf_bytes *b)
{
    struct line_file file = {.name = ""};
    for (unsigned i = 0; i < format->count && !b->bad; i++) {
        uint64_t form = dwarf_form_direct(b, format->form[i]), content = format->content[i];
        if (form == DW_FORM_string && content == DW_LNCT_path) {
            file.name = dwarf_string(b);
            continue;
        }
        if (form == DW_FORM_data16 && content == DW_LNCT_MD5) {
            file.md5 = read_md5(b);
            continue;
        }
        uint64_t value = dwarf_form_number(b, form, 0, encoding);
        if (content == DW_LNCT_directory_index)
            file.folder = value;
        else if (content == DW_LNCT_path)
            file.name = dwarf_text_at(units, unit, form, value);
    }
    if (file.name == NULL)
        file.name = "";
    return file;
}

static void read_new_tables(struct dwarf_units *units, struct unit *unit,
                            const struct dwarf_encoding *encoding, struct dwarf_bytes *b)
{
    struct entry_format format;
    size_t folders = 0, files = 0;
    uint64_t count = read_format(b, &format);
    for (uint64_t i = 0; i < count && !b->bad; i++)
        add_folder(&unit->lines, &folders, read_entry(units, unit, encoding, &format, b).name);
    count = read_format(b, &format);
    for (uint64_t i = 0; i < count && !b->bad; i++) {
        const struct line_file file = read_entry(units, unit, encoding, &format, b);
        add_file(&unit->lines, &files, &file);
    }
}

/* Reads the part before the tables, within the sizes that the header states. Returns false if it is
 * damaged. */
static bool read_fixed(struct dwarf_bytes *b, struct dwarf_encoding *encoding,
                       struct line_program *p)
{
    uint64_t length = dwarf_length(b, &encoding->offset_size);
    if (b->bad || length > dwarf_bytes_left(b))
        return false;
    b->end = b->at + length;
    encoding->version = (uint16_t)dwarf_uint(b, 2);
    if (encoding->version < 2 || encoding->version > 5)
        return false;
    if (encoding->version >= 5) {
        encoding->address_size = (uint8_t)dwarf_uint(b, 1);
        dwarf_skip(b, 1);
    }
    uint64_t header = dwarf_uint(b, encoding->offset_size);
    if (b->bad || header > dwarf_bytes_left(b))
        return false;
    p->code = *b;
    dwarf_skip(&p->code, header);
    b->end = p->code.at;
    p->min_instruction = (uint8_t)dwarf_uint(b, 1);
    p->max_operations = encoding->version >= 4 ? (uint8_t)dwarf_uint(b, 1) : 1;
    dwarf_skip(b, 1);
    p->line_base = (int8_t)dwarf_uint(b, 1);
    p->line_range = (uint8_t)dwarf_uint(b, 1);
    p->opcode_base = (uint8_t)dwarf_uint(b, 1);
    p->lengths = b->at;
    dwarf_skip(b, p->opcode_base > 0 ? p->opcode_base - 1u : 0);
    return !b->bad && p->line_range > 0 && p->opcode_base > 0;
}

/* Reads the header of the table of UNIT, and its files. Returns false if it is damaged. */
static bool read_header(struct dwarf_units *units, struct unit *unit, struct line_program *program)
{
    struct dwarf_encoding encoding = unit->encoding;
    struct dwarf_bytes b = dwarf_bytes_at(dwarf_sections_get(units->sections, DEBUG_LINE),
                                          unit->lines_at, units->big_endian);
    if (!read_fixed(&b, &encoding, program))
        return false;
    unit->lines.file_base = encoding.version >= 5 ? 0 : 1;
    if (encoding.version >= 5)
        read_new_tables(units, unit, &encoding, &b);
    else
        read_old_tables(&unit->lines, &b);
    return !b.bad;
}

/* Returns the end of the table at BEGIN of the section; UINT64_MAX if it is damaged. */
static uint64_t table_end(struct dwarf_units *units, uint64_t begin)
{
    struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_LINE);
    struct dwarf_bytes b = dwarf_bytes_at(section, begin, units->big_endian);
    uint8_t offset_size;
    uint64_t length = dwarf_length(&b, &offset_size);
    return b.bad || length > UINT32_MAX ? UINT64_MAX : (uint64_t)(b.at - section.data) + length;
}

void dwarf_lines_unpack(struct dwarf_units *units, bool all)
{
    enum { COMMON = 1 << 16, PARTS = 16, HEADER = 12 }; /* most tables are smaller */
    const uint64_t size = dwarf_sections_size(units->sections, DEBUG_LINE);
    uint64_t last = 0, end;
    for (size_t i = 0; i < units->count; i++)
        if (units->units[i].has_lines && units->units[i].lines_at > last)
            last = units->units[i].lines_at;
    if (!all && last < size) {
        const uint64_t more = size / PARTS > COMMON ? size / PARTS : COMMON;
        if (dwarf_sections_unpacked(units->sections, DEBUG_LINE) < last + HEADER)
            dwarf_sections_limit(units->sections, DEBUG_LINE, last + more);
        end = table_end(units, last);
    } else
        end = UINT64_MAX;
    dwarf_sections_limit(units->sections, DEBUG_LINE, end);
    dwarf_sections_unpack(units->sections, DEBUG_LINE, DEBUG_LINE);
}

void dwarf_lines_decode(struct dwarf_units *units, struct unit *unit)
{
    struct line_program program;
    if (!unit->has_lines)
        return;
    const char *folder = dwarf_late_text(units, unit, &unit->folder);
    unit->lines.compilation = folder != NULL ? folder : "";
    if (!read_header(units, unit, &program) || !dwarf_line_run(units, unit, &program))
        units->damaged++;
}

/* ---- answers ---- */

/* Appends PART after a single '/'. Callers do not pass an absolute PART. */
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

/* Returns the path of FILE as a string number. In DWARF 5, folder 0 of the list is that of the
 * compilation; in earlier versions, 0 also means that folder, but the list begins at 1. */
static uint32_t file_path(struct dwarf_units *units, const struct unit_lines *lines,
                          const struct line_file *file)
{
    uint64_t index = file->folder - lines->file_base;
    if (file->name[0] == '/')
        return strings_intern(units->strings, file->name);
    const char *between = index < lines->folder_count ? lines->folders[index] : "";
    char *path = mem_strdup(between[0] == '/' ? "" : lines->compilation);
    append(&path, between);
    append(&path, file->name);
    uint32_t number = strings_intern(units->strings, path);
    free(path);
    return number;
}

static uint32_t checksum(struct dwarf_units *units, const struct line_file *file)
{
    char text[2 * MD5_SIZE + 1] = "";
    for (size_t i = 0; i < MD5_SIZE && file->md5 != NULL; i++)
        snprintf(text + 2 * i, 3, "%02x", file->md5[i]);
    return strings_intern(units->strings, text);
}

void dwarf_lines_file(struct dwarf_units *units, struct unit_lines *lines, uint64_t index,
                      struct dwarf_frame *frame)
{
    frame->file = frame->checksum = 0;
    if (index < lines->file_base || index - lines->file_base >= lines->file_count)
        return;
    struct line_file *file = &lines->files[index - lines->file_base];
    if (!file->known) {
        file->path = file_path(units, lines, file);
        file->checksum = checksum(units, file);
    }
    file->known = true;
    frame->file = file->path;
    frame->checksum = file->checksum;
}

const struct line_row *dwarf_lines_find(const struct unit_lines *lines, uint64_t address)
{
    uint32_t index = interval_map_find(&lines->by_address, address);
    if (index == INTERVAL_NONE)
        return NULL;
    const struct line_row *rows = &lines->rows[lines->sequences[index].first];
    size_t count = lines->sequences[index].end - lines->sequences[index].first;
    return &rows[SEARCH_AFTER(&rows[1], count - 1, address, address)];
}

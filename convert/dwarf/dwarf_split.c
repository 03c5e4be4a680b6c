/* Split debug information. The program has a skeleton of each unit, with its lines and addresses.
 * The DIEs of the unit are in a separate file, or in a package with other units, and refer to
 * addresses by number.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* Offsets of the parts of sections that belong to a unit of a package [bytes]. */
struct contribution {
    uint64_t info, abbrevs, texts, ranges;
};

struct dwarf_units *dwarf_units_linked(struct dwarf_units *units)
{
    return units->linked != NULL ? units->linked : units;
}

/* .debug_cu_index:
 *   u32 version 2, or since DWARF 5 u16 version 5, u16 0; u32 columns, u32 rows, u32 slots, a power of two
 *   u64 identity for each slot; u32 row for each slot, from 1; 0: free
 *   u32 kind of section for each column; u32 offset for each row and column; sizes, which we do not need */
struct package_index {
    struct dwarf_span section;
    bool big;
    uint64_t version, columns, rows, slots;
};

enum { INDEX_HEADER = 16, MAX_COLUMNS = 16 };

static uint64_t index_word(const struct package_index *x, uint64_t at, unsigned size)
{
    struct dwarf_bytes b = dwarf_bytes_at(x->section, at, x->big);
    return dwarf_uint(&b, size);
}

static bool index_open(struct package_index *x, struct dwarf_span section, bool big)
{
    *x = (struct package_index){.section = section, .big = big};
    struct dwarf_bytes b = dwarf_bytes_at(section, 0, big);
    const uint8_t *start = b.at;
    x->version = dwarf_uint(&b, 4);
    if (x->version != 2) {
        b = (struct dwarf_bytes){start, b.end, big, b.bad};
        x->version = dwarf_uint(&b, 2);
        dwarf_skip(&b, 2);
    }
    x->columns = dwarf_uint(&b, 4);
    x->rows = dwarf_uint(&b, 4);
    x->slots = dwarf_uint(&b, 4);
    uint64_t left = dwarf_bytes_left(&b);
    return !b.bad && (x->version == 2 || x->version == 5) && x->slots > 0 &&
           (x->slots & (x->slots - 1)) == 0 && x->slots <= left / 12 && x->columns > 0 &&
           x->columns <= MAX_COLUMNS && x->rows <= left / (4 * x->columns);
}

/* Returns the row of the unit ID, from 1; 0 for none. */
static uint64_t index_row(const struct package_index *x, uint64_t id)
{
    const uint64_t mask = x->slots - 1, step = (id >> 32 & mask) | 1;
    uint64_t slot = id & mask;
    for (uint64_t tries = 0; tries < x->slots; tries++, slot = (slot + step) & mask) {
        uint64_t row = index_word(x, INDEX_HEADER + 8 * x->slots + 4 * slot, 4);
        if (row == 0)
            return 0;
        if (index_word(x, INDEX_HEADER + 8 * slot, 8) == id)
            return row <= x->rows ? row : 0;
    }
    return 0;
}

static struct contribution index_contribution(const struct package_index *x, uint64_t row)
{
    enum { INFO = 1, ABBREV = 3, STR_OFFSETS = 6, RNGLISTS = 8 }; /* RNGLISTS: since DWARF 5 */
    struct contribution c = {0};
    const uint64_t kinds = INDEX_HEADER + 12 * x->slots;
    for (uint64_t i = 0; i < x->columns; i++) {
        uint64_t kind = index_word(x, kinds + 4 * i, 4);
        uint64_t offset = index_word(x, kinds + 4 * (x->columns * row + i), 4);
        if (kind == INFO)
            c.info = offset;
        else if (kind == ABBREV)
            c.abbrevs = offset;
        else if (kind == STR_OFFSETS)
            c.texts = offset;
        else if (kind == RNGLISTS && x->version == 5)
            c.ranges = offset;
    }
    return c;
}

/* Copies the data that SPLIT needs from its skeleton. */
static void inherit(struct unit *split, const struct unit *skeleton)
{
    split->low = skeleton->low;
    split->address_base = skeleton->address_base;
    split->old_ranges_base = skeleton->old_ranges_base;
}

/* Returns units for the split file with SECTIONS, with room for one unit. UNITS contain its
 * skeleton. */
static struct dwarf_units *new_body(struct dwarf_units *units, struct dwarf_sections *sections)
{
    struct dwarf_units *body = mem_zalloc(1, sizeof *body);
    body->sections = sections;
    body->linked = units;
    body->image = units->image;
    body->strings = units->strings;
    body->big_endian = units->big_endian;
    body->loaded = true;
    mem_reserve(&body->units, &body->capacity, 1, sizeof *body->units);
    return body;
}

/* Returns whether the unit at C belongs to SKELETON; if so, it is in BODY. Sets *NEXT to where the
 * next unit begins. */
static bool take_unit(struct dwarf_units *body, const struct contribution *c,
                      const struct unit *skeleton, uint64_t *next)
{
    struct dwarf_span info = dwarf_sections_get(body->sections, DEBUG_INFO);
    struct dwarf_bytes b = dwarf_bytes_at(info, c->info, body->big_endian);
    struct unit *unit = body->units;
    struct dwarf_place place = {0};
    *unit = (struct unit){.header = c->info, .table = INTERVAL_NONE};
    if (b.bad || info.size == 0 || !dwarf_unit_header(unit, &b)) {
        body->damaged++;
        *next = UINT64_MAX;
        return false;
    }
    *next = unit->end;
    unit->abbrevs += c->abbrevs;
    if (unit->encoding.address_size != skeleton->encoding.address_size ||
        !dwarf_unit_attributes(body, unit, &place) || unit->split_id != skeleton->split_id)
        return false;
    unit->texts_base = c->texts + (unit->encoding.version < 5        ? 0
                                   : unit->encoding.offset_size == 8 ? 16
                                                                     : 8);
    unit->ranges_base += c->ranges;
    inherit(unit, skeleton);
    body->count = 1;
    return true;
}

/* Finds the unit of SKELETON in a file. Some files have type units before it. */
static bool take_from_file(struct dwarf_units *body, const struct unit *skeleton)
{
    struct contribution c = {0};
    struct dwarf_span info = dwarf_sections_get(body->sections, DEBUG_INFO);
    while (c.info < info.size)
        if (take_unit(body, &c, skeleton, &c.info))
            return true;
    return false;
}

static bool take_from_package(struct dwarf_units *body, const struct unit *skeleton)
{
    struct package_index x;
    struct dwarf_span section = dwarf_sections_get(body->sections, DEBUG_CU_INDEX);
    if (!index_open(&x, section, body->big_endian)) {
        body->damaged++;
        return false;
    }
    uint64_t next, row = index_row(&x, skeleton->split_id);
    struct contribution c = row > 0 ? index_contribution(&x, row) : (struct contribution){0};
    return row > 0 && take_unit(body, &c, skeleton, &next);
}

void dwarf_split_find(struct dwarf_units *units, struct unit *unit)
{
    const struct split_files *files = &units->split;
    const char *name = dwarf_late_text(units, unit, &unit->split);
    const char *folder = dwarf_late_text(units, unit, &unit->folder);
    if (name == NULL || files->open == NULL || unit->body != NULL)
        return;
    struct dwarf_units *body = NULL;
    if (files->package != NULL) {
        body = new_body(units, files->package);
        if (take_from_package(body, unit)) {
            unit->body = body;
            return;
        }
        units->damaged += body->damaged;
    }
    struct dwarf_sections *sections =
        files->open(files->context, folder != NULL ? folder : "", name);
    if (sections == NULL)
        return;
    body = new_body(units, sections);
    if (take_from_file(body, unit))
        unit->body = body;
    else if (body->damaged == 0)
        files->refuse(files->context);
    units->damaged += unit->body == NULL ? body->damaged : 0;
}

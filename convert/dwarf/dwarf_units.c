/* Compilation units: found by address, decoded when an address is in them.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_units.h"

#include <stdlib.h>

#include "base/memory.h"

/* Most units have a separate table; a shared table (dwz, LTO) is compiled only once. */
const struct abbrevs *dwarf_unit_abbrevs(struct dwarf_units *units, struct unit *unit)
{
    const struct dwarf_encoding *e = &unit->encoding;
    if (unit->table == INTERVAL_NONE) {
        uint64_t key = unit->abbrevs << 12 | (uint64_t)(e->version & 15) << 8 |
                       (uint64_t)e->address_size << 4 | e->offset_size;
        uint32_t before = units->table_numbers.count;
        unit->table = numbers_intern(&units->table_numbers, key);
        if (unit->table == before) {
            struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_ABBREV);
            struct dwarf_bytes b = dwarf_bytes_at(section, unit->abbrevs, units->big_endian);
            *MEM_AT(units->tables, before, units->table_capacity) = (struct abbrevs){0};
            abbrevs_read(&units->tables[before], &b, section.data, e);
            units->damaged += b.bad;
        }
    }
    return &units->tables[unit->table];
}

/* Returns the unit with the DIEs of UNIT. It may be in another file, to which *UNITS is set. */
static struct unit *body_of(struct dwarf_units **units, struct unit *unit)
{
    if (unit->body == NULL)
        return unit;
    *units = unit->body;
    return unit->body->units;
}

void dwarf_units_decode(struct dwarf_units *units, struct unit *unit)
{
    if (unit->decoded)
        return;
    unit->decoded = true;
    dwarf_lines_decode(units, unit);
    dwarf_split_find(units, unit);
    struct unit *body = body_of(&units, unit);
    dwarf_functions_decode(units, body);
}

/* Adds the ranges of the functions of BODY for the unit with INDEX. */
static void add_ranges_of_functions(struct dwarf_units *units, struct unit *body, uint32_t index,
                                    struct interval_list *list)
{
    struct unit_functions all = {0};
    dwarf_functions_decode_all(units, body, &all);
    for (size_t i = 0; i < all.by_address.count; i++) {
        const struct interval *piece = &all.by_address.pieces[i];
        *MEM_APPEND(list->items, list->count, list->capacity) =
            (struct interval){piece->begin, piece->last, index};
    }
    interval_map_free(&all.by_address);
    free(all.items);
}

/* Adds ranges for a unit without ranges (some assemblers, hand-made files): those of its
 * functions. */
static void add_missing_ranges(struct dwarf_units *units, uint32_t index,
                               struct interval_list *list)
{
    struct unit *unit = &units->units[index];
    dwarf_units_decode(units, unit);
    struct unit *body = body_of(&units, unit);
    add_ranges_of_functions(units, body, index, list);
}

/* Adds ranges that DIEs of units lack: in DWARF 2, they have a single range, and compilers omit
 * code outside .text, in separate sections, such as main in .text.startup, or functions of classes
 * and templates. .debug_aranges lists all ranges; without it, they come from the functions. */
static void add_more_ranges(struct dwarf_units *units, struct interval_list *list)
{
    dwarf_aranges_add(units, list);
    for (size_t i = 0; i < units->count; i++)
        if (units->units[i].has_more)
            add_ranges_of_functions(units, &units->units[i], (uint32_t)i, list);
}

/* Sets default bases: without DW_AT_..._base, an index counts from the end of the first header of
 * the section. */
static void set_bases(struct unit *unit)
{
    const bool is_new = unit->encoding.version >= 5, wide = unit->encoding.offset_size == 8;
    unit->address_base = !is_new ? 0 : wide ? 16 : 8;
    unit->texts_base = unit->address_base;
    unit->ranges_base = wide ? 20 : 12;
}

static void take_text(struct late_text *text, struct die_reader *die)
{
    text->form = dwarf_form_direct(&die->data, die->form);
    die->form = text->form;
    if (text->form == DW_FORM_string)
        text->text = die_text(die);
    else
        text->at = die_number(die);
}

static void take_attribute(struct unit *unit, struct die_reader *die, struct dwarf_place *place)
{
    if (die->attribute == DW_AT_comp_dir) {
        take_text(&unit->folder, die);
        return;
    }
    if (die->attribute == DW_AT_dwo_name || die->attribute == DW_AT_GNU_dwo_name) {
        take_text(&unit->split, die);
        return;
    }
    uint64_t value = die_number(die);
    switch (die->attribute) {
    case DW_AT_low_pc:
    case DW_AT_high_pc:
    case DW_AT_ranges:
        dwarf_place_take(place, die->attribute, die->form, value);
        break;
    case DW_AT_language:
        unit->language = value <= UINT16_MAX ? (uint16_t)value : 0;
        break;
    case DW_AT_stmt_list:
        unit->lines_at = value;
        unit->has_lines = true;
        break;
    case DW_AT_GNU_dwo_id:
        unit->split_id = value;
        break;
    case DW_AT_GNU_ranges_base:
        unit->old_ranges_base = value;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        unit->address_base = value;
        break;
    case DW_AT_rnglists_base:
        unit->ranges_base = value;
        break;
    case DW_AT_str_offsets_base:
        unit->texts_base = value;
        break;
    default:
        break;
    }
}

bool dwarf_unit_attributes(struct dwarf_units *units, struct unit *unit, struct dwarf_place *place)
{
    struct die_reader die;
    if (!die_open(units, unit, unit->die, &die) ||
        (die.tag != DW_TAG_compile_unit && die.tag != DW_TAG_skeleton_unit))
        return false;
    while (die_next(&die))
        take_attribute(unit, &die, place);
    return true;
}

static void add_unit(struct dwarf_units *units, const struct unit *header,
                     struct interval_list *list)
{
    const uint8_t size = header->encoding.address_size;
    struct dwarf_place place = {0};
    mem_reserve(&units->units, &units->capacity, units->count + 1, sizeof *units->units);
    uint32_t index = (uint32_t)units->count++;
    struct unit *unit = &units->units[index];
    *unit = *header;
    if (size != 4 && size != 8 && size != 2) {
        units->damaged++;
        return;
    }
    if (!dwarf_unit_attributes(units, unit, &place))
        return;
    dwarf_place_low(units, unit, &place, &unit->low);
    size_t before = list->count;
    dwarf_place_ranges(units, unit, &place, index, list);
    unit->has_more = unit->encoding.version == 2 && list->count > before && place.ranges_form == 0;
    units->has_more |= unit->has_more;
    if (list->count == before)
        add_missing_ranges(units, index, list);
}

/*   since 5  length, version, type, address size, abbreviations [, for some types: an identity [, what we skip]]
 *   before   length, version, abbreviations, address size */
bool dwarf_unit_header(struct unit *unit, struct dwarf_bytes *b)
{
    const uint8_t *begin = b->at;
    struct dwarf_encoding *e = &unit->encoding;
    uint64_t length = dwarf_length(b, &e->offset_size), type = 0;
    if (b->bad || length > dwarf_bytes_left(b))
        return false;
    unit->end = unit->header + (uint64_t)(b->at - begin) + length;
    b->end = b->at + length;
    e->version = (uint16_t)dwarf_uint(b, 2);
    if (e->version >= 5) {
        type = dwarf_uint(b, 1);
        e->address_size = (uint8_t)dwarf_uint(b, 1);
    }
    unit->abbrevs = dwarf_uint(b, e->offset_size);
    if (e->version < 5)
        e->address_size = (uint8_t)dwarf_uint(b, 1);
    if (type == DW_UT_skeleton || type == DW_UT_split_compile || type == DW_UT_type ||
        type == DW_UT_split_type)
        unit->split_id = dwarf_uint(b, 8);
    if (type == DW_UT_type || type == DW_UT_split_type)
        dwarf_skip(b, e->offset_size);
    unit->die = unit->header + (uint64_t)(b->at - begin);
    set_bases(unit);
    return !b->bad && e->version >= 2 && e->version <= 5;
}

/* Returns the value of a unit in the map of addresses, where the largest value wins. It is smaller
 * for later units, because linkers keep the first of equal functions of several units, and make the
 * debug information of all these units refer to it; and smaller for ranges that its DIE does not
 * list. */
static uint32_t value_of(const struct dwarf_units *units, uint32_t index, bool is_more)
{
    const uint32_t count = (uint32_t)units->count;
    return count - 1 - index + (is_more ? 0 : count);
}

/* Returns whether the unit at HEADER is passed. *NEXT is the first passed unit that may be at
 * HEADER or after it. */
static bool is_passed(const struct dwarf_extent *extent, uint64_t header, size_t *next)
{
    if (extent == NULL)
        return false;
    while (*next < extent->passed_count && extent->passed[*next] < header)
        (*next)++;
    return *next < extent->passed_count && extent->passed[*next] == header;
}

void dwarf_units_load(struct dwarf_units *units, const struct dwarf_extent *extent)
{
    struct interval_list list = {NULL, 0, 0};
    size_t passed = 0;
    struct unit unit = {.table = INTERVAL_NONE};
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    units->loaded = true;
    units->damaged += info.size == 0;
    if (extent != NULL && info.size > extent->end)
        info.size = extent->end;
    for (; unit.header < info.size; unit.header = unit.end) {
        struct dwarf_bytes b = dwarf_bytes_at(info, unit.header, units->big_endian);
        if (!dwarf_unit_header(&unit, &b)) {
            units->damaged++;
            break;
        }
        if (!is_passed(extent, unit.header, &passed))
            add_unit(units, &unit, &list);
    }
    const size_t known = list.count;
    if (units->has_more)
        add_more_ranges(units, &list);
    for (size_t i = 0; i < list.count; i++)
        list.items[i].value = value_of(units, list.items[i].value, i >= known);
    interval_map_build(&units->by_address, list.items, list.count);
    free(list.items);
}

struct dwarf_units *dwarf_units_alternate(struct dwarf_units *units)
{
    struct dwarf_units *alternate = units->alternate;
    if (alternate != NULL && !alternate->loaded)
        dwarf_units_load(alternate, NULL);
    return alternate;
}

void dwarf_units_copy(struct dwarf_units *to, const struct dwarf_units *from,
                      struct strings *strings)
{
    *to = (struct dwarf_units){.sections = from->sections,
                               .split = from->split,
                               .loaded = true,
                               .image = from->image,
                               .strings = strings,
                               .big_endian = from->big_endian,
                               .count = from->count,
                               .capacity = from->count,
                               .by_address = from->by_address};
    to->units = mem_zalloc(to->count, sizeof *to->units);
    for (size_t i = 0; i < to->count; i++) {
        to->units[i] = from->units[i];
        to->units[i].table = INTERVAL_NONE;
    }
}

uint32_t dwarf_units_index(const struct dwarf_units *units, uint64_t address)
{
    const uint32_t value = interval_map_find(&units->by_address, address);
    const uint32_t count = (uint32_t)units->count;
    return value == INTERVAL_NONE ? value : count - 1 - value % count;
}

void dwarf_unit_rest(struct dwarf_units *units, uint32_t index)
{
    const struct unit *unit = &units->units[index];
    dwarf_sections_rest(units->sections, DEBUG_INFO, unit->header, unit->end);
}

size_t dwarf_unit_frames(struct dwarf_units *units, uint32_t index, uint64_t address, bool between,
                         struct dwarf_frame frames[MAX_FRAMES])
{
    struct unit *unit = &units->units[index];
    dwarf_units_decode(units, unit);
    const struct line_row *row = dwarf_lines_find(&unit->lines, address);
    struct dwarf_frame frame = {0};
    size_t count = 0;
    if (row != NULL) {
        frame.line = row->line;
        frame.discriminator = row->discriminator;
        dwarf_lines_file(units, &unit->lines, row->file, &frame);
    }
    struct dwarf_units *owner = units;
    struct unit *body = body_of(&owner, unit);
    struct function_chain chain = dwarf_functions_find(owner, body, address, between);
    struct unit_function *function;
    while (count < MAX_FRAMES - 1 && (function = dwarf_functions_next(&chain)) != NULL) {
        dwarf_function_know(owner, function);
        frame.function = function->name;
        frames[count++] = frame;
        if (!function->inlined)
            break;
        frame = (struct dwarf_frame){.line = function->call_line};
        dwarf_lines_file(units, &unit->lines, function->call_file, &frame);
    }
    if (count == 0 && row != NULL)
        frames[count++] = frame; /* lines without functions: the split unit is missing */
    if (owner != units) {
        units->damaged += owner->damaged;
        owner->damaged = 0;
    }
    return count;
}

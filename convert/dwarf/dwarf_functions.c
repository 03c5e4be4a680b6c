/* Functions and inlined calls of a unit, by address.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* Real programs reach a depth of 65. */
enum { MAX_DEPTH = 512, MAX_FUNCTIONS = 1 << 26 };

/* One pass over the DIEs of a unit, in the order of the file. */
struct walk {
    struct dwarf_units *units;
    const struct unit *unit;
    struct unit_functions *functions;
    const struct abbrevs *abbrevs;
    struct dwarf_bytes data;
    const uint8_t *info; /* offset 0 of .debug_info */
    struct interval_list ranges;
    uint32_t around[MAX_DEPTH]; /* by depth: the function around the DIEs there */
    size_t depth;
    size_t barren; /* DIEs of this depth or more have no code; 0: all may have */
};

/* Nothing below these has code. Below classes there may be: gcc puts the code of a lambda expression
 * there, rustc that of methods. */
static bool is_barren(uint32_t tag)
{
    return tag == DW_TAG_enumeration_type || tag == DW_TAG_array_type ||
           tag == DW_TAG_subroutine_type || tag == DW_TAG_formal_parameter ||
           tag == DW_TAG_GNU_call_site || tag == DW_TAG_call_site;
}

static bool is_function(uint32_t tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* The number of the function at OFFSET, or that of the one around it. */
static uint32_t add_function(struct walk *w, uint64_t offset, uint32_t tag,
                             const struct dwarf_place *place)
{
    struct unit_functions *f = w->functions;
    uint32_t around = w->around[w->depth];
    if (f->count >= MAX_FUNCTIONS)
        return around;
    size_t before = w->ranges.count;
    dwarf_place_ranges(w->units, w->unit, place, (uint32_t)f->count, &w->ranges);
    if (w->ranges.count == before && tag == DW_TAG_subprogram)
        return INTERVAL_NONE; /* a declaration or an abstract one */
    mem_reserve(&f->items, &f->capacity, f->count + 1, sizeof *f->items);
    f->items[f->count] = (struct unit_function){
        .die = offset, .parent = around, .inlined = tag == DW_TAG_inlined_subroutine};
    return (uint32_t)f->count++;
}

void dwarf_steps_read(struct dwarf_bytes *data, const struct abbrevs *table,
                      const struct abbrev *abbrev, const struct dwarf_encoding *encoding,
                      struct dwarf_place *place, uint64_t *sibling)
{
    const struct abbrev_step *step = NULL, *end = NULL;
    if (abbrev->step_count > 0) {
        step = table->steps + abbrev->first_step;
        end = step + abbrev->step_count;
    }
    for (; step < end; step++) {
        dwarf_skip(data, step->skip);
        if (step->attribute == 0) {
            if (step->form != 0)
                dwarf_form_skip(data, step->form, encoding);
            continue;
        }
        uint64_t form = dwarf_form_direct(data, step->form);
        uint64_t value = dwarf_form_number(data, form, step->constant, encoding);
        if (step->attribute != DW_AT_sibling)
            dwarf_place_take(place, step->attribute, form, value);
        else if (form != DW_FORM_ref_addr)
            *sibling = value;
    }
}

/* A sibling is a promise of the file: it must at least be ahead. */
static bool skip_to(struct walk *w, uint64_t sibling)
{
    uint64_t here = (uint64_t)(w->data.at - w->info) - w->unit->header;
    if (sibling < here || sibling - here > dwarf_bytes_left(&w->data))
        return false;
    w->data.at += sibling - here;
    return true;
}

/* The next DIE. Returns false at the end of the unit, or where it is damaged. */
static bool step(struct walk *w)
{
    uint64_t offset = (uint64_t)(w->data.at - w->info), code = dwarf_uleb(&w->data), sibling = 0;
    if (code == 0 && !w->data.bad) {
        if (w->depth == 0) /* the unit has no DIE */
            return false;
        w->depth--;
        if (w->depth < w->barren)
            w->barren = 0;
        return w->depth > 0;
    }
    const struct abbrev *abbrev = abbrevs_find(w->abbrevs, code);
    struct dwarf_place place = {0};
    if (abbrev != NULL)
        dwarf_steps_read(&w->data, w->abbrevs, abbrev, &w->unit->encoding, &place, &sibling);
    if (abbrev == NULL || w->data.bad) {
        w->units->damaged++;
        return false;
    }
    uint32_t function = w->around[w->depth];
    if (is_function(abbrev->tag) && w->barren == 0)
        function = add_function(w, offset, abbrev->tag, &place);
    if (!abbrev->has_children || (is_barren(abbrev->tag) && skip_to(w, sibling)))
        return w->depth > 0;
    if (w->depth + 1 == MAX_DEPTH) {
        w->units->damaged++;
        return false;
    }
    w->around[++w->depth] = function;
    if (w->barren == 0 && is_barren(abbrev->tag))
        w->barren = w->depth;
    return true;
}

void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit)
{
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    if (info.size > unit->end)
        info.size = unit->end;
    struct walk *w = mem_zalloc(1, sizeof *w);
    w->units = units;
    w->unit = unit;
    w->functions = &unit->functions;
    w->abbrevs = dwarf_unit_abbrevs(units, unit);
    w->info = info.data;
    w->data = dwarf_bytes_at(info, unit->die, units->big_endian);
    w->around[0] = INTERVAL_NONE;
    while (dwarf_bytes_left(&w->data) > 0 && step(w))
        ;
    interval_map_build(&unit->functions.by_address, w->ranges.items, w->ranges.count);
    free(w->ranges.items);
    free(w);
}

struct die_naming dwarf_naming_read(struct die_reader *die)
{
    struct die_naming naming = {0};
    struct die_address specification = {0};
    while (die_next(die))
        switch (die->attribute) {
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
            naming.linkage = die_text(die);
            break;
        case DW_AT_name:
            naming.plain = die_text(die);
            break;
        case DW_AT_abstract_origin:
            naming.origin = die_reference(die);
            break;
        case DW_AT_specification:
            specification = die_reference(die);
            break;
        default:
            die_skip(die);
        }
    if (naming.origin.units == NULL)
        naming.origin = specification;
    return naming;
}

/* The linkage name, wherever in the chain of origins it is, else the nearest plain name, qualified. */
static uint32_t name_of(struct die_address at)
{
    struct strings *strings = at.units->strings;
    const char *plain = NULL;
    struct die_address declared = at;
    for (int i = 0; at.units != NULL && i < MAX_CHAIN; i++) {
        struct unit *unit = dwarf_units_of_die(at.units, at.offset);
        struct die_reader die;
        if (unit == NULL) {
            at.units->damaged++;
            break;
        }
        dwarf_unit_abbrevs(at.units, unit);
        if (!die_open(at.units, unit, at.offset, &die))
            break;
        struct die_naming naming = dwarf_naming_read(&die);
        if (naming.linkage != NULL)
            return strings_intern(strings, naming.linkage);
        if (plain == NULL)
            declared = at;
        if (plain == NULL)
            plain = naming.plain;
        at = naming.origin;
    }
    char *name = plain != NULL ? dwarf_qualified_name(declared, plain) : NULL;
    uint32_t number = strings_intern(strings, name);
    free(name);
    return number;
}

void dwarf_function_know(struct dwarf_units *units, struct unit_function *function)
{
    const struct unit *unit = dwarf_units_of_die(units, function->die);
    struct die_reader die;
    if (function->known)
        return;
    function->known = true;
    function->name = name_of((struct die_address){units, function->die});
    if (!function->inlined || unit == NULL || !die_open(units, unit, function->die, &die))
        return;
    while (die_next(&die)) {
        bool file = die.attribute == DW_AT_call_file;
        if (!file && die.attribute != DW_AT_call_line) {
            die_skip(&die);
            continue;
        }
        uint64_t value = die_number(&die);
        if (value <= UINT32_MAX)
            *(file ? &function->call_file : &function->call_line) = (uint32_t)value;
    }
}

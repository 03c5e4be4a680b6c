/* Functions and inlined calls of a unit, by address.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* Limits: real programs reach a depth of 65. */
enum { MAX_DEPTH = 512, MAX_FUNCTIONS = 1 << 26 };

/* One pass over the DIEs of a unit, in the order of the file. */
struct walk {
    struct dwarf_units *units;
    const struct unit *unit;
    struct unit_functions *functions;
    const struct abbrevs *abbrevs;
    struct dwarf_bytes data;
    const uint8_t *info; /* offset 0 of .debug_info */
    enum wanted {
        EVERYTHING,    /* also inlined calls */
        ALL_FUNCTIONS, /* only functions, at any depth */
        MOST_FUNCTIONS /* skips types and other functions, which contain few functions */
    } wanted;
    struct interval_list ranges;
    uint32_t around[MAX_DEPTH]; /* by depth: the function around the DIEs at this depth */
    size_t depth;
    size_t barren; /* DIEs at this depth or more have no code; 0: all may have code */
};

/* Returns whether DIEs below one with TAG cannot have code. Those below classes can: gcc puts the
 * code of lambda expressions there, and rustc that of methods. */
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

/* Returns whether the contents of a DIE with TAG are skipped. Most DIEs of C++ are in declarations
 * of functions, in their bodies, or in types. */
static bool is_passed(const struct walk *w, uint32_t tag)
{
    return is_barren(tag) || (w->wanted == ALL_FUNCTIONS && tag == DW_TAG_inlined_subroutine) ||
           (w->wanted == MOST_FUNCTIONS &&
            (tag == DW_TAG_subprogram || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
             tag == DW_TAG_union_type));
}

/* Returns whether a DIE with TAG is an inlined call in a function that is listed without such
 * calls. */
static bool is_for_later(const struct walk *w, uint32_t tag)
{
    return w->wanted == ALL_FUNCTIONS && tag == DW_TAG_inlined_subroutine;
}

/* Adds the function at OFFSET. Returns its number; that of the function around it if there are too
 * many; or INTERVAL_NONE if it has no code. */
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
        return INTERVAL_NONE; /* a declaration or an abstract instance */
    *MEM_AT(f->items, f->count, f->capacity) = (struct unit_function){
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

/* Skips to SIBLING, unless its offset is wrong: it must at least be ahead. */
static bool skip_to(struct walk *w, uint64_t sibling)
{
    uint64_t here = (uint64_t)(w->data.at - w->info) - w->unit->header;
    if (sibling < here || sibling - here > dwarf_bytes_left(&w->data))
        return false;
    w->data.at += sibling - here;
    return true;
}

/* Continues at SIBLING, after the contents of a DIE with TAG. */
static bool pass_over(struct walk *w, uint32_t tag, uint32_t function, uint64_t sibling)
{
    const uint64_t inside = (uint64_t)(w->data.at - w->info);
    if (!skip_to(w, sibling))
        return false;
    w->functions->gaps |= !is_barren(tag);
    if (tag == DW_TAG_subprogram && function != INTERVAL_NONE)
        w->functions->items[function].body = inside;
    return true;
}

/* Reads the next DIE. Returns false at the end of the unit, or where it is damaged. */
static bool step(struct walk *w)
{
    uint64_t offset = (uint64_t)(w->data.at - w->info), code = dwarf_uleb(&w->data), sibling = 0;
    if (code == 0 && !w->data.bad) {
        if (w->depth == 0) /* the unit has no DIEs */
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
    if (is_function(abbrev->tag) && w->barren == 0 && !is_for_later(w, abbrev->tag))
        function = add_function(w, offset, abbrev->tag, &place);
    if (!abbrev->has_children ||
        (is_passed(w, abbrev->tag) && pass_over(w, abbrev->tag, function, sibling)))
        return w->depth > 0;
    if (w->depth + 1 == MAX_DEPTH) {
        w->units->damaged++;
        return false;
    }
    if (w->wanted == ALL_FUNCTIONS && function != w->around[w->depth] && function != INTERVAL_NONE)
        w->functions->items[function].body = (uint64_t)(w->data.at - w->info);
    w->around[++w->depth] = function;
    if (w->barren == 0 && is_barren(abbrev->tag))
        w->barren = w->depth;
    return true;
}

/* Passes over the DIEs of UNIT from OFFSET, which is at DEPTH, to the end of the list that contains
 * them, and adds functions to TO. */
static void decode(struct dwarf_units *units, struct unit *unit, struct unit_functions *to,
                   uint64_t offset, size_t depth, enum wanted wanted)
{
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    if (info.size > unit->end)
        info.size = unit->end;
    struct walk *w = mem_alloc(sizeof *w);
    w->units = units;
    w->unit = unit;
    w->functions = to;
    w->abbrevs = dwarf_unit_abbrevs(units, unit);
    w->info = info.data;
    w->data = dwarf_bytes_at(info, offset, units->big_endian);
    w->ranges = units->ranges;
    w->ranges.count = 0;
    w->barren = 0;
    w->depth = depth;
    w->around[0] = w->around[depth] = INTERVAL_NONE;
    w->wanted = wanted;
    while (dwarf_bytes_left(&w->data) > 0 && step(w))
        ;
    interval_map_build(&to->by_address, w->ranges.items, w->ranges.count);
    units->ranges = w->ranges;
    free(w);
}

void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit)
{
    decode(units, unit, &unit->functions, unit->die, 0, MOST_FUNCTIONS);
}

void dwarf_functions_decode_all(struct dwarf_units *units, struct unit *unit,
                                struct unit_functions *to)
{
    decode(units, unit, to, unit->die, 0, EVERYTHING);
}

/* Returns the list to search for an address outside all known functions: it may be in a skipped
 * function, unless symbols show that it is BETWEEN functions. */
static struct unit_functions *look_closer(struct dwarf_units *units, struct unit *unit,
                                          bool between)
{
    if (!unit->functions.gaps || between)
        return &unit->functions;
    if (unit->hidden == NULL) {
        unit->hidden = mem_zalloc(1, sizeof *unit->hidden);
        decode(units, unit, unit->hidden, unit->die, 0, ALL_FUNCTIONS);
    }
    return unit->hidden;
}

struct function_chain dwarf_functions_find(struct dwarf_units *units, struct unit *unit,
                                           uint64_t address, bool between)
{
    struct unit_functions *f = &unit->functions;
    uint32_t index = interval_map_find(&f->by_address, address);
    if (index == INTERVAL_NONE) {
        f = look_closer(units, unit, between);
        index = interval_map_find(&f->by_address, address);
    }
    if (index == INTERVAL_NONE || f->items[index].body == 0)
        return (struct function_chain){f, NULL, index};
    struct unit_function *outer = &f->items[index];
    if (outer->inner == NULL) {
        outer->inner = mem_zalloc(1, sizeof *outer->inner);
        decode(units, unit, outer->inner, outer->body, 1, EVERYTHING);
    }
    return (struct function_chain){outer->inner, outer,
                                   interval_map_find(&outer->inner->by_address, address)};
}

struct unit_function *dwarf_functions_next(struct function_chain *chain)
{
    struct unit_function *next = chain->outer;
    if (chain->index == INTERVAL_NONE) {
        chain->outer = NULL;
        return next;
    }
    next = &chain->list->items[chain->index];
    chain->index = next->parent;
    return next;
}

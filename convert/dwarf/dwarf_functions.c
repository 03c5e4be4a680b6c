/* Functions and inlined calls of a unit, by address.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* Real programs reach a depth of 65 and chains of 3. */
enum { MAX_DEPTH = 512, MAX_CHAIN = 16, MAX_FUNCTIONS = 1 << 26 };

struct level {
    Dwarf_Die die;
    uint32_t function; /* around it */
    bool entered;      /* its children are done, or above it on the stack */
};

struct walk {
    struct dwarf_units *units;
    struct unit *unit;
    struct interval_list ranges;
    struct level levels[MAX_DEPTH];
    size_t depth;
};

/* Nothing below these has code, and types are most of the tree. */
static bool is_barren(Dwarf_Half tag)
{
    return tag == DW_TAG_enumeration_type || tag == DW_TAG_array_type ||
           tag == DW_TAG_subroutine_type || tag == DW_TAG_formal_parameter ||
           tag == DW_TAG_GNU_call_site || tag == DW_TAG_call_site;
}

/* The number of DIE as a function, or that of the one around it. */
static uint32_t add_function(struct walk *w, Dwarf_Die die, Dwarf_Half tag, uint32_t around)
{
    struct unit_functions *f = &w->unit->functions;
    struct unit_function function = {.parent = around, .inlined = tag == DW_TAG_inlined_subroutine};
    Dwarf_Error error = NULL;
    if ((tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) || f->count >= MAX_FUNCTIONS)
        return around;
    size_t before = w->ranges.count;
    dwarf_die_ranges(w->units, w->unit, die, (uint32_t)f->count, &w->ranges);
    if (w->ranges.count == before && tag == DW_TAG_subprogram)
        return INTERVAL_NONE; /* a declaration or an abstract one */
    if (!dwarf_ok(w->units, dwarf_dieoffset(die, &function.die, &error), error))
        return around;
    mem_reserve(&f->items, &f->capacity, f->count + 1, sizeof *f->items);
    f->items[f->count] = function;
    return (uint32_t)f->count++;
}

/* Too deep: no compiler made this unit, and to find the siblings of each level libdwarf would walk all below it. */
static void give_up(struct walk *w)
{
    w->units->damaged++;
    while (w->depth > 0)
        dwarf_dealloc_die(w->levels[--w->depth].die);
}

static void push(struct walk *w, Dwarf_Die die, uint32_t function)
{
    if (w->depth == MAX_DEPTH) {
        dwarf_dealloc_die(die);
        give_up(w);
        return;
    }
    w->levels[w->depth++] = (struct level){.die = die, .function = function};
}

/* Adds the DIE on top of the stack, and puts its first child there. */
static void enter(struct walk *w, struct level *top)
{
    Dwarf_Half tag = 0;
    Dwarf_Error error = NULL;
    Dwarf_Die child = NULL;
    top->entered = true;
    if (!dwarf_ok(w->units, dwarf_tag(top->die, &tag, &error), error)) {
        dwarf_dealloc_die(top->die);
        w->depth--;
        return;
    }
    uint32_t function = add_function(w, top->die, tag, top->function);
    if (!is_barren(tag) && dwarf_ok(w->units, dwarf_child(top->die, &child, &error), error))
        push(w, child, function);
}

/* Replaces the DIE on top of the stack, whose children are done, by its sibling. Not before: libdwarf looks for the
 * sibling below the DIE, which takes long where there is no end. */
static void leave(struct walk *w, struct level *top)
{
    Dwarf_Error error = NULL;
    Dwarf_Die die = top->die, sibling = NULL;
    *top = (struct level){.function = top->function};
    if (dwarf_ok(w->units, dwarf_siblingof_b(w->units->debug, die, true, &sibling, &error), error))
        top->die = sibling;
    else
        w->depth--;
    dwarf_dealloc_die(die);
}

void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit, Dwarf_Die die)
{
    Dwarf_Die child = NULL;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_child(die, &child, &error), error))
        return;
    struct walk *w = mem_zalloc(1, sizeof *w);
    w->units = units;
    w->unit = unit;
    push(w, child, INTERVAL_NONE);
    while (w->depth > 0) {
        struct level *top = &w->levels[w->depth - 1];
        if (top->entered)
            leave(w, top);
        else
            enter(w, top);
    }
    interval_map_build(&unit->functions.by_address, w->ranges.items, w->ranges.count);
    free(w->ranges.items);
    free(w);
}

/* Offset of the DIE that attribute NUMBER refers to. Two forms lead into other files, where
 * libdwarf would return some DIE of this one. */
static bool reference(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half number, Dwarf_Off *to)
{
    Dwarf_Attribute attribute;
    Dwarf_Half form = 0;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_attr(die, number, &attribute, &error), error))
        return false;
    bool ok = dwarf_ok(units, dwarf_whatform(attribute, &form, &error), error) &&
              form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sup4 && form != DW_FORM_ref_sup8 &&
              form != DW_FORM_ref_sig8 &&
              dwarf_ok(units, dwarf_global_formref(attribute, to, &error), error);
    dwarf_dealloc_attribute(attribute);
    return ok;
}

/* The linkage name, wherever in the chain of origins it is, else the nearest plain name. */
static uint32_t name_of(struct dwarf_units *units, Dwarf_Off offset)
{
    const char *plain = NULL, *text = NULL;
    bool more = true;
    for (int i = 0; more && i < MAX_CHAIN; i++) {
        Dwarf_Die die;
        Dwarf_Error error = NULL;
        if (!dwarf_ok(units, dwarf_offdie_b(units->debug, offset, true, &die, &error), error))
            break;
        bool linkage = dwarf_text(units, die, DW_AT_linkage_name, &text) ||
                       dwarf_text(units, die, DW_AT_MIPS_linkage_name, &text);
        if (!linkage && plain == NULL && dwarf_text(units, die, DW_AT_name, &text))
            plain = text;
        more = !linkage && (reference(units, die, DW_AT_abstract_origin, &offset) ||
                            reference(units, die, DW_AT_specification, &offset));
        dwarf_dealloc_die(die);
        if (linkage)
            return strings_intern(units->strings, text);
    }
    return strings_intern(units->strings, plain);
}

void dwarf_function_know(struct dwarf_units *units, struct unit_function *function)
{
    Dwarf_Die die;
    Dwarf_Error error = NULL;
    uint64_t file = 0, line = 0;
    if (function->known)
        return;
    function->known = true;
    function->name = name_of(units, function->die);
    if (!function->inlined ||
        !dwarf_ok(units, dwarf_offdie_b(units->debug, function->die, true, &die, &error), error))
        return;
    if (dwarf_number(units, die, DW_AT_call_file, &file) && file <= UINT32_MAX)
        function->call_file = (uint32_t)file;
    if (dwarf_number(units, die, DW_AT_call_line, &line) && line <= UINT32_MAX)
        function->call_line = (uint32_t)line;
    dwarf_dealloc_die(die);
}

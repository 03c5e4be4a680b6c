/* Names of functions, and call sites of inlined functions.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* Reads the number of a file or line; it is 0 if it does not fit. */
static uint32_t number_of(struct die_reader *die)
{
    uint64_t value = die_number(die);
    return value <= UINT32_MAX ? (uint32_t)value : 0;
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
        case DW_AT_call_file:
            naming.call_file = number_of(die);
            break;
        case DW_AT_call_line:
            naming.call_line = number_of(die);
            break;
        default:
            die_skip(die);
        }
    if (naming.origin.units == NULL)
        naming.origin = specification;
    return naming;
}

/* Reads the attributes of the DIE at AT that concern its name. Returns false if there is no valid
 * DIE. */
static bool read_naming(struct die_address at, struct die_naming *naming)
{
    struct unit *unit = dwarf_units_of_die(at.units, at.offset);
    struct die_reader die;
    if (unit == NULL) {
        at.units->damaged++;
        return false;
    }
    dwarf_unit_abbrevs(at.units, unit);
    if (!die_open(at.units, unit, at.offset, &die))
        return false;
    *naming = dwarf_naming_read(&die);
    return true;
}

/* Returns the linkage name, wherever it is in the chain of origins, or else the nearest plain name,
 * qualified. */
static uint32_t find_name(struct die_address at)
{
    struct strings *strings = at.units->strings;
    const char *plain = NULL;
    struct die_address declared = at;
    for (int i = 0; at.units != NULL && i < MAX_CHAIN; i++) {
        struct die_naming naming;
        if (!read_naming(at, &naming))
            break;
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

/* The same, determined only once for each DIE, because many DIEs are inlined copies of the same
 * function. */
static uint32_t name_of(struct die_address at)
{
    struct dwarf_units *units = at.units;
    if (units == NULL)
        return 0;
    uint32_t before = units->named.count, number = numbers_intern(&units->named, at.offset);
    if (number == before) {
        uint32_t name = find_name(at);
        *MEM_AT(units->names, number, units->name_capacity) = name;
    }
    return units->names[number];
}

void dwarf_function_know(struct dwarf_units *units, struct unit_function *function)
{
    const struct die_address at = {units, function->die};
    struct die_naming naming;
    if (function->known)
        return;
    function->known = true;
    if (!read_naming(at, &naming))
        return;
    function->name =
        naming.linkage == NULL && naming.plain == NULL ? name_of(naming.origin) : find_name(at);
    function->call_file = naming.call_file;
    function->call_line = naming.call_line;
}

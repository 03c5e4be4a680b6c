/* Compilation units: found by address, decoded when an address falls into them.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_units.h"

#include <stdlib.h>

#include "base/memory.h"

bool dwarf_ok(struct dwarf_units *units, int result, Dwarf_Error error)
{
    if (result == DW_DLV_ERROR) {
        units->damaged++;
        dwarf_dealloc_error(units->debug, error);
    }
    return result == DW_DLV_OK;
}

static void decode(struct dwarf_units *units, struct unit *unit)
{
    Dwarf_Die die;
    Dwarf_Error error = NULL;
    unit->decoded = true;
    if (!dwarf_ok(units, dwarf_offdie_b(units->debug, unit->die, true, &die, &error), error))
        return;
    dwarf_lines_decode(units, unit, die);
    dwarf_functions_decode(units, unit, die);
    dwarf_dealloc_die(die);
}

/* A unit that does not say what it covers (some assemblers, hand-made files): its functions do. */
static void add_ranges_of_functions(struct dwarf_units *units, uint32_t index,
                                    struct interval_list *list)
{
    decode(units, &units->units[index]);
    const struct interval_map *map = &units->units[index].functions.by_address;
    for (size_t i = 0; i < map->count; i++) {
        mem_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items);
        list->items[list->count++] =
            (struct interval){map->pieces[i].begin, map->pieces[i].last, index};
    }
}

static void add_unit(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half version,
                     struct interval_list *list)
{
    Dwarf_Half tag = 0;
    Dwarf_Error error = NULL;
    struct unit unit = {.version = version};
    Dwarf_Addr low = 0;
    if (!dwarf_ok(units, dwarf_tag(die, &tag, &error), error) ||
        (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) ||
        !dwarf_ok(units, dwarf_dieoffset(die, &unit.die, &error), error))
        return;
    if (dwarf_ok(units, dwarf_lowpc(die, &low, &error), error))
        unit.low = low;
    mem_reserve(&units->units, &units->capacity, units->count + 1, sizeof *units->units);
    uint32_t index = (uint32_t)units->count++;
    units->units[index] = unit;
    size_t before = list->count;
    dwarf_die_ranges(units, &unit, die, index, list);
    if (list->count == before)
        add_ranges_of_functions(units, index, list);
}

void dwarf_units_load(struct dwarf_units *units)
{
    struct interval_list list = {NULL, 0, 0};
    for (;;) {
        Dwarf_Half version = 0, address_size, length_size, extension, type;
        Dwarf_Unsigned length, type_offset, next;
        Dwarf_Off abbrev;
        Dwarf_Sig8 signature;
        Dwarf_Error error = NULL;
        Dwarf_Die die = NULL;
        int result = dwarf_next_cu_header_d(units->debug, true, &length, &version, &abbrev,
                                            &address_size, &length_size, &extension, &signature,
                                            &type_offset, &next, &type, &error);
        if (!dwarf_ok(units, result, error))
            break;
        result = dwarf_siblingof_b(units->debug, NULL, true, &die, &error);
        if (!dwarf_ok(units, result, error))
            continue;
        add_unit(units, die, version, &list);
        dwarf_dealloc_die(die);
    }
    interval_map_build(&units->by_address, list.items, list.count);
    free(list.items);
}

struct unit *dwarf_units_find(struct dwarf_units *units, uint64_t address)
{
    uint32_t index = interval_map_find(&units->by_address, address);
    if (index == INTERVAL_NONE)
        return NULL;
    struct unit *unit = &units->units[index];
    if (!unit->decoded)
        decode(units, unit);
    return unit;
}

size_t dwarf_units_frames(struct dwarf_units *units, uint64_t address,
                          struct dwarf_frame frames[MAX_FRAMES])
{
    struct unit *unit = dwarf_units_find(units, address);
    if (unit == NULL)
        return 0;
    const struct line_row *row = dwarf_lines_find(&unit->lines, address);
    struct dwarf_frame frame = {0, 0, 0};
    size_t count = 0;
    if (row != NULL)
        frame = (struct dwarf_frame){0, dwarf_lines_file(&unit->lines, row->file), row->line};
    uint32_t index = interval_map_find(&unit->functions.by_address, address);
    while (index != INTERVAL_NONE && count < MAX_FRAMES - 1) {
        struct unit_function *function = &unit->functions.items[index];
        dwarf_function_know(units, function);
        frame.function = function->name;
        frames[count++] = frame;
        if (!function->inlined)
            return count;
        frame = (struct dwarf_frame){0, dwarf_lines_file(&unit->lines, function->call_file),
                                     function->call_line};
        index = function->parent;
    }
    if (count == 0 && row == NULL)
        return 0;
    if (count == 0)
        frames[count++] = frame; /* lines without functions: the skeleton of split DWARF */
    return count;
}

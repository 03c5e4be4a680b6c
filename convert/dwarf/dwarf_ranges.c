/* Address ranges of units and functions.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* A range list while it is read. */
struct range_list {
    struct dwarf_units *units;
    const struct unit *unit;
    struct dwarf_bytes data;
    uint64_t base;
    uint32_t value;
    struct interval_list *list;
};

void dwarf_place_take(struct dwarf_place *place, uint64_t attribute, uint64_t form, uint64_t value)
{
    if (attribute == DW_AT_low_pc) {
        place->low = value;
        place->low_form = form;
    } else if (attribute == DW_AT_high_pc) {
        place->high = value;
        place->high_form = form;
    } else if (attribute == DW_AT_ranges) {
        place->ranges = value;
        place->ranges_form = form;
    }
}

/* The linker gives discarded code the address 0, 1 or -1, which is not in a code section. */
void dwarf_range_add(const struct dwarf_units *units, uint64_t begin, uint64_t end, uint32_t value,
                     struct interval_list *list)
{
    if (begin >= end || !elf_file_is_code(units->image, begin))
        return;
    *MEM_APPEND(list->items, list->count, list->capacity) =
        (struct interval){begin, end - 1, value};
}

static bool indexed_address(struct dwarf_units *units, const struct unit *unit, uint64_t index,
                            uint64_t *address)
{
    const uint8_t size = unit->encoding.address_size;
    struct dwarf_span section = dwarf_sections_get(dwarf_units_linked(units)->sections, DEBUG_ADDR);
    uint64_t offset = index < section.size ? unit->address_base + index * size : UINT64_MAX;
    struct dwarf_bytes b = dwarf_bytes_at(section, offset, units->big_endian);
    *address = dwarf_uint(&b, size);
    units->damaged += b.bad;
    return !b.bad;
}

static bool is_address_index(uint64_t form)
{
    return form == DW_FORM_addrx || form == DW_FORM_addrx1 || form == DW_FORM_addrx2 ||
           form == DW_FORM_addrx3 || form == DW_FORM_addrx4 || form == DW_FORM_GNU_addr_index;
}

static bool address_of(struct dwarf_units *units, const struct unit *unit, uint64_t form,
                       uint64_t value, uint64_t *address)
{
    *address = value;
    return form == DW_FORM_addr ||
           (is_address_index(form) && indexed_address(units, unit, value, address));
}

bool dwarf_place_low(struct dwarf_units *units, const struct unit *unit,
                     const struct dwarf_place *place, uint64_t *low)
{
    return address_of(units, unit, place->low_form, place->low, low);
}

/* DWARF 2 to 4: pairs relative to a base, which the pair (-1, base) changes; (0, 0) ends the
 * list. */
static void old_ranges(struct range_list *r)
{
    const uint8_t size = r->unit->encoding.address_size;
    const uint64_t select = size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
    for (;;) {
        uint64_t begin = dwarf_uint(&r->data, size), end = dwarf_uint(&r->data, size);
        if (r->data.bad || (begin == 0 && end == 0))
            return;
        if (begin == select)
            r->base = end;
        else
            dwarf_range_add(r->units, r->base + begin, r->base + end, r->value, r->list);
    }
}

/* Reads one entry of a DWARF 5 list. Returns false after the last one. */
static bool new_range(struct range_list *r)
{
    struct dwarf_units *units = r->units;
    const uint8_t size = r->unit->encoding.address_size;
    struct dwarf_bytes *b = &r->data;
    uint64_t kind = dwarf_uint(b, 1), begin = 0, end = 0;
    bool known = true;
    switch (b->bad ? DW_RLE_end_of_list : kind) {
    case DW_RLE_end_of_list:
        return false;
    case DW_RLE_base_addressx:
        return indexed_address(units, r->unit, dwarf_uleb(b), &r->base);
    case DW_RLE_base_address:
        r->base = dwarf_uint(b, size);
        return true;
    case DW_RLE_startx_endx:
        known = indexed_address(units, r->unit, dwarf_uleb(b), &begin);
        known = indexed_address(units, r->unit, dwarf_uleb(b), &end) && known;
        break;
    case DW_RLE_startx_length:
        known = indexed_address(units, r->unit, dwarf_uleb(b), &begin);
        end = begin + dwarf_uleb(b);
        break;
    case DW_RLE_offset_pair:
        begin = r->base + dwarf_uleb(b);
        end = r->base + dwarf_uleb(b);
        break;
    case DW_RLE_start_end:
        begin = dwarf_uint(b, size);
        end = dwarf_uint(b, size);
        break;
    case DW_RLE_start_length:
        begin = dwarf_uint(b, size);
        end = begin + dwarf_uleb(b);
        break;
    default:
        b->bad = true;
        return false;
    }
    if (known && !b->bad)
        dwarf_range_add(units, begin, end, r->value, r->list);
    return true;
}

/* Returns the offset of list INDEX (DW_FORM_rnglistx), from the table of offsets after the header
 * of the unit's lists. */
static uint64_t list_offset(struct dwarf_units *units, const struct unit *unit, uint64_t index)
{
    const uint8_t word = unit->encoding.offset_size;
    struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_RNGLISTS);
    uint64_t at = index < section.size ? unit->ranges_base + index * word : UINT64_MAX;
    struct dwarf_bytes b = dwarf_bytes_at(section, at, units->big_endian);
    uint64_t offset = dwarf_uint(&b, word);
    return b.bad ? UINT64_MAX : unit->ranges_base + offset;
}

static void list_ranges(struct dwarf_units *units, const struct unit *unit,
                        const struct dwarf_place *place, uint32_t value, struct interval_list *list)
{
    bool is_new = unit->encoding.version >= 5;
    struct dwarf_span section =
        is_new ? dwarf_sections_get(units->sections, DEBUG_RNGLISTS)
               : dwarf_sections_get(dwarf_units_linked(units)->sections, DEBUG_RANGES);
    uint64_t offset = place->ranges_form == DW_FORM_rnglistx
                          ? list_offset(units, unit, place->ranges)
                          : place->ranges + (units->linked != NULL ? unit->old_ranges_base : 0);
    struct range_list r = {.units = units,
                           .unit = unit,
                           .data = dwarf_bytes_at(section, offset, units->big_endian),
                           .base = unit->low,
                           .value = value,
                           .list = list};
    if (!is_new)
        old_ranges(&r);
    while (is_new && new_range(&r))
        ;
    units->damaged += r.data.bad;
}

void dwarf_place_ranges(struct dwarf_units *units, const struct unit *unit,
                        const struct dwarf_place *place, uint32_t value, struct interval_list *list)
{
    uint64_t low, high;
    if (place->low_form != 0 && place->high_form != 0) {
        if (!dwarf_place_low(units, unit, place, &low))
            return;
        if (!address_of(units, unit, place->high_form, place->high, &high))
            high = low + place->high; /* since DWARF 4, this can be a length */
        dwarf_range_add(units, low, high, value, list);
    } else if (place->ranges_form != 0)
        list_ranges(units, unit, place, value, list);
}

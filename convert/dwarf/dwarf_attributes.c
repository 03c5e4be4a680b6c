/* Attributes of DIEs: numbers, strings, ranges of addresses.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

bool dwarf_number(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half number, uint64_t *value)
{
    Dwarf_Attribute attribute;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned result = 0;
    Dwarf_Signed negative = 0;
    if (!dwarf_ok(units, dwarf_attr(die, number, &attribute, &error), error))
        return false;
    /* formudata refuses some signed forms */
    int unsigned_result = dwarf_formudata(attribute, &result, &error);
    bool ok = unsigned_result == DW_DLV_OK;
    if (!ok) {
        if (unsigned_result == DW_DLV_ERROR)
            dwarf_dealloc_error(units->debug, error);
        ok = dwarf_ok(units, dwarf_formsdata(attribute, &negative, &error), error);
        result = (Dwarf_Unsigned)negative;
    }
    dwarf_dealloc_attribute(attribute);
    *value = result;
    return ok;
}

/* Without the alternate file (dwz) libdwarf returns OK with a placeholder text. */
bool dwarf_text(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half number, const char **text)
{
    Dwarf_Attribute attribute;
    Dwarf_Error error = NULL;
    Dwarf_Half form = 0;
    char *string = NULL;
    if (!dwarf_ok(units, dwarf_attr(die, number, &attribute, &error), error))
        return false;
    bool ok = dwarf_ok(units, dwarf_whatform(attribute, &form, &error), error) &&
              form != DW_FORM_GNU_strp_alt && form != DW_FORM_strp_sup &&
              dwarf_ok(units, dwarf_formstring(attribute, &string, &error), error);
    dwarf_dealloc_attribute(attribute);
    *text = string;
    return ok && string != NULL;
}

/* The linker gives code that it threw away the address 0, 1 or -1: no such address is in a section
 * of code. */
static void add_range(struct dwarf_units *units, uint64_t begin, uint64_t end, uint32_t value,
                      struct interval_list *list)
{
    if (begin >= end || !elf_file_is_code(units->image, begin))
        return;
    mem_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = (struct interval){begin, end - 1, value};
}

/* DWARF 2 to 4: pairs relative to a base, which an entry may change. */
static void old_ranges(struct dwarf_units *units, const struct unit *unit, Dwarf_Die die,
                       uint64_t offset, uint32_t value, struct interval_list *list)
{
    Dwarf_Ranges *ranges;
    Dwarf_Signed count = 0;
    Dwarf_Off real;
    Dwarf_Unsigned bytes;
    Dwarf_Error error = NULL;
    uint64_t base = unit->low;
    if (!dwarf_ok(
            units,
            dwarf_get_ranges_b(units->debug, offset, die, &real, &ranges, &count, &bytes, &error),
            error))
        return;
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            add_range(units, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, value, list);
    }
    dwarf_ranges_dealloc(units->debug, ranges, count);
}

static bool is_range(unsigned kind)
{
    return kind == DW_RLE_startx_endx || kind == DW_RLE_startx_length ||
           kind == DW_RLE_offset_pair || kind == DW_RLE_start_end || kind == DW_RLE_start_length;
}

static void new_ranges(struct dwarf_units *units, Dwarf_Attribute attribute, Dwarf_Half form,
                       uint64_t where, uint32_t value, struct interval_list *list)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count = 0, offset, raw1, raw2, begin, end;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(
            units,
            dwarf_rnglists_get_rle_head(attribute, form, where, &head, &count, &offset, &error),
            error))
        return;
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        unsigned length, kind;
        Dwarf_Bool no_addresses = false;
        if (!dwarf_ok(units,
                      dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &raw1, &raw2,
                                                        &no_addresses, &begin, &end, &error),
                      error))
            break;
        if (is_range(kind) && !no_addresses)
            add_range(units, begin, end, value, list);
    }
    dwarf_dealloc_rnglists_head(head);
}

static void list_ranges(struct dwarf_units *units, const struct unit *unit, Dwarf_Die die,
                        uint32_t value, struct interval_list *list)
{
    Dwarf_Attribute attribute;
    Dwarf_Half form = 0;
    Dwarf_Unsigned where = 0;
    Dwarf_Error error = NULL;
    if (!dwarf_ok(units, dwarf_attr(die, DW_AT_ranges, &attribute, &error), error))
        return;
    if (dwarf_ok(units, dwarf_whatform(attribute, &form, &error), error)) {
        int result = form == DW_FORM_rnglistx || form == DW_FORM_data4 || form == DW_FORM_data8
                         ? dwarf_formudata(attribute, &where, &error)
                         : dwarf_global_formref(attribute, &where, &error);
        if (dwarf_ok(units, result, error)) {
            if (unit->version >= 5)
                new_ranges(units, attribute, form, where, value, list);
            else
                old_ranges(units, unit, die, where, value, list);
        }
    }
    dwarf_dealloc_attribute(attribute);
}

void dwarf_die_ranges(struct dwarf_units *units, const struct unit *unit, Dwarf_Die die,
                      uint32_t value, struct interval_list *list)
{
    Dwarf_Addr low = 0, high = 0;
    Dwarf_Half form;
    enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
    Dwarf_Error error = NULL;
    if (dwarf_ok(units, dwarf_lowpc(die, &low, &error), error) &&
        dwarf_ok(units, dwarf_highpc_b(die, &high, &form, &class, &error), error)) {
        if (class == DW_FORM_CLASS_CONSTANT) /* since DWARF 4 a length */
            high += low;
        add_range(units, low, high, value, list);
        return;
    }
    list_ranges(units, unit, die, value, list);
}

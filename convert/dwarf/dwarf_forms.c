/* Values of attributes, by their form.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_forms.h"

#include <libdwarf/dwarf.h>

/* Returns the size of a form that is the same in all encodings. */
static int constant_size(uint64_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    default:
        return FORM_UNKNOWN;
    }
}

static bool is_uleb(uint64_t form)
{
    return form == DW_FORM_udata || form == DW_FORM_ref_udata || form == DW_FORM_strx ||
           form == DW_FORM_addrx || form == DW_FORM_loclistx || form == DW_FORM_rnglistx ||
           form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index;
}

static bool is_block(uint64_t form)
{
    return form == DW_FORM_block1 || form == DW_FORM_block2 || form == DW_FORM_block4 ||
           form == DW_FORM_block || form == DW_FORM_exprloc;
}

static int encoded_size(uint64_t form, const struct dwarf_encoding *encoding)
{
    switch (form) {
    case DW_FORM_addr:
        return encoding->address_size;
    case DW_FORM_ref_addr:
        return encoding->version <= 2 ? encoding->address_size : encoding->offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return encoding->offset_size;
    default:
        return constant_size(form);
    }
}

int dwarf_form_size(uint64_t form, const struct dwarf_encoding *encoding)
{
    if (is_uleb(form) || is_block(form) || form == DW_FORM_sdata || form == DW_FORM_string ||
        form == DW_FORM_indirect)
        return FORM_VARIABLE;
    return encoded_size(form, encoding);
}

uint64_t dwarf_form_direct(struct dwarf_bytes *b, uint64_t form)
{
    while (form == DW_FORM_indirect && !b->bad)
        form = dwarf_uleb(b);
    return form;
}

static void skip_block(struct dwarf_bytes *b, uint64_t form)
{
    if (form == DW_FORM_block1)
        dwarf_skip(b, dwarf_uint(b, 1));
    else if (form == DW_FORM_block2)
        dwarf_skip(b, dwarf_uint(b, 2));
    else if (form == DW_FORM_block4)
        dwarf_skip(b, dwarf_uint(b, 4));
    else
        dwarf_skip(b, dwarf_uleb(b));
}

void dwarf_form_skip(struct dwarf_bytes *b, uint64_t form, const struct dwarf_encoding *encoding)
{
    form = dwarf_form_direct(b, form);
    if (form == DW_FORM_string)
        dwarf_string(b);
    else if (is_block(form))
        skip_block(b, form);
    else if (is_uleb(form) || form == DW_FORM_sdata)
        dwarf_uleb(b);
    else {
        int size = encoded_size(form, encoding);
        b->bad |= size < 0;
        dwarf_skip(b, size > 0 ? (uint64_t)size : 0);
    }
}

uint64_t dwarf_form_number(struct dwarf_bytes *b, uint64_t form, int64_t constant,
                           const struct dwarf_encoding *encoding)
{
    form = dwarf_form_direct(b, form);
    if (form == DW_FORM_implicit_const)
        return (uint64_t)constant;
    if (form == DW_FORM_flag_present)
        return 1;
    if (is_uleb(form))
        return dwarf_uleb(b);
    if (form == DW_FORM_sdata)
        return (uint64_t)dwarf_sleb(b);
    int size = encoded_size(form, encoding);
    if (size > 0 && size <= 8)
        return dwarf_uint(b, (unsigned)size);
    dwarf_form_skip(b, form, encoding);
    return 0;
}

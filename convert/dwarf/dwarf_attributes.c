/* Attributes of DIEs: numbers, strings, references.
 * SPDX-License-Identifier: MIT */
#include "base/search.h"
#include "convert/dwarf/dwarf_units.h"

struct unit *dwarf_units_of_die(struct dwarf_units *units, uint64_t offset)
{
    size_t at = SEARCH_AFTER(units->units, units->count, end, offset);
    units->beyond |= at == units->count || offset < units->units[at].header;
    return at < units->count && offset >= units->units[at].die ? &units->units[at] : NULL;
}

/* Finds the attributes of CODE in the compiled table, or else in the first entry with CODE in the
 * section: the entry of a unit's own DIE is the first one. */
static bool find_attributes(struct die_reader *die, uint64_t code)
{
    struct dwarf_units *units = die->units;
    struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_ABBREV);
    const struct unit *unit = die->unit;
    if (unit->table != INTERVAL_NONE) {
        const struct abbrev *abbrev = abbrevs_find(&units->tables[unit->table], code);
        if (abbrev == NULL)
            return false;
        die->tag = abbrev->tag;
        die->attributes = dwarf_bytes_at(section, abbrev->attributes, units->big_endian);
        return true;
    }
    die->attributes = dwarf_bytes_at(section, unit->abbrevs, units->big_endian);
    while (!die->attributes.bad) {
        uint64_t this = dwarf_uleb(&die->attributes);
        die->tag = dwarf_uleb(&die->attributes);
        dwarf_skip(&die->attributes, 1);
        if (this == 0 || this == code)
            return this != 0 && !die->attributes.bad;
        while (die_next(die))
            ;
    }
    return false;
}

bool die_open(struct dwarf_units *units, const struct unit *unit, uint64_t offset,
              struct die_reader *die)
{
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    if (info.size > unit->end)
        info.size = unit->end;
    *die = (struct die_reader){
        .units = units, .unit = unit, .data = dwarf_bytes_at(info, offset, units->big_endian)};
    uint64_t code = dwarf_uleb(&die->data);
    if (!die->data.bad && code != 0 && find_attributes(die, code))
        return true;
    units->damaged++;
    return false;
}

bool die_next(struct die_reader *die)
{
    die->attribute = dwarf_uleb(&die->attributes);
    die->form = dwarf_uleb(&die->attributes);
    die->constant = die->form == DW_FORM_implicit_const ? dwarf_sleb(&die->attributes) : 0;
    if (die->attributes.bad || die->data.bad) {
        die->units->damaged++;
        return false;
    }
    return die->attribute != 0 || die->form != 0;
}

void die_skip(struct die_reader *die)
{
    dwarf_form_skip(&die->data, die->form, &die->unit->encoding);
}

uint64_t die_number(struct die_reader *die)
{
    die->form = dwarf_form_direct(&die->data, die->form);
    return dwarf_form_number(&die->data, die->form, die->constant, &die->unit->encoding);
}

static const char *text_of_section(struct dwarf_units *units, enum dwarf_section section,
                                   uint64_t offset)
{
    struct dwarf_bytes b =
        dwarf_bytes_at(dwarf_sections_get(units->sections, section), offset, units->big_endian);
    const char *text = dwarf_string(&b);
    units->damaged += b.bad;
    return b.bad ? NULL : text;
}

static bool is_text_index(uint64_t form)
{
    return form == DW_FORM_strx || form == DW_FORM_strx1 || form == DW_FORM_strx2 ||
           form == DW_FORM_strx3 || form == DW_FORM_strx4 || form == DW_FORM_GNU_str_index;
}

const char *dwarf_text_at(struct dwarf_units *units, const struct unit *unit, uint64_t form,
                          uint64_t value)
{
    const uint8_t word = unit->encoding.offset_size;
    if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup) {
        struct dwarf_units *alternate = dwarf_units_alternate(units);
        return alternate != NULL ? text_of_section(alternate, DEBUG_STR, value) : NULL;
    }
    if (form == DW_FORM_strp)
        return text_of_section(units, DEBUG_STR, value);
    if (form == DW_FORM_line_strp)
        return text_of_section(units, DEBUG_LINE_STR, value);
    if (!is_text_index(form) || value > UINT32_MAX)
        return NULL;
    struct dwarf_bytes b = dwarf_bytes_at(dwarf_sections_get(units->sections, DEBUG_STR_OFFSETS),
                                          unit->texts_base + value * word, units->big_endian);
    uint64_t offset = dwarf_uint(&b, word);
    units->damaged += b.bad;
    return b.bad ? NULL : text_of_section(units, DEBUG_STR, offset);
}

const char *dwarf_late_text(struct dwarf_units *units, const struct unit *unit,
                            const struct late_text *text)
{
    return text->text != NULL || text->form == 0 ? text->text
                                                 : dwarf_text_at(units, unit, text->form, text->at);
}

const char *die_text(struct die_reader *die)
{
    die->form = dwarf_form_direct(&die->data, die->form);
    if (die->form == DW_FORM_string)
        return dwarf_string(&die->data);
    return dwarf_text_at(die->units, die->unit, die->form, die_number(die));
}

struct die_address die_reference(struct die_reader *die)
{
    uint64_t value = die_number(die);
    struct dwarf_units *units = die->units;
    switch (die->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return (struct die_address){units, die->unit->header + value};
    case DW_FORM_ref_addr:
        return (struct die_address){units, value};
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        return (struct die_address){dwarf_units_alternate(units), value};
    default:
        return (struct die_address){NULL, 0};
    }
}

/* Abbreviations of a unit, compiled so that a DIE can be skipped in a few steps.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_abbrevs.h"

#include <libdwarf/dwarf.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"

enum { MAX_SKIP = 1 << 30 };

static bool is_wanted(uint64_t attribute, uint64_t tag)
{
    if (attribute == DW_AT_sibling)
        return true;
    return (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
           (attribute == DW_AT_low_pc || attribute == DW_AT_high_pc || attribute == DW_AT_ranges);
}

static void add_step(struct abbrevs *table, struct abbrev *abbrev, struct abbrev_step step)
{
    *MEM_APPEND(table->steps, table->step_count, table->step_capacity) = step;
    abbrev->step_count++;
}

/* Compiles the attributes of ABBREV to steps. Values of known size that the walk does not need are
 * combined into one skip. */
static void compile(struct abbrevs *table, struct abbrev *abbrev, struct dwarf_bytes *b,
                    const struct dwarf_encoding *encoding)
{
    struct abbrev_step step = {0};
    for (;;) {
        uint64_t attribute = dwarf_uleb(b), form = dwarf_uleb(b);
        int64_t constant = form == DW_FORM_implicit_const ? dwarf_sleb(b) : 0;
        if (b->bad || (attribute == 0 && form == 0))
            break;
        int size = dwarf_form_size(form, encoding);
        if (size == FORM_UNKNOWN || step.skip > MAX_SKIP) {
            b->bad = true;
            return;
        }
        if (size >= 0 && !is_wanted(attribute, abbrev->tag)) {
            step.skip += (uint32_t)size;
            continue;
        }
        step.form = (uint16_t)form;
        step.attribute = is_wanted(attribute, abbrev->tag) ? (uint16_t)attribute : 0;
        step.constant = constant;
        add_step(table, abbrev, step);
        step = (struct abbrev_step){0};
    }
    if (step.skip > 0)
        add_step(table, abbrev, step);
}

static int compare_codes(const void *left, const void *right)
{
    const struct abbrev *a = left, *b = right;
    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    return a->attributes < b->attributes ? -1 : a->attributes > b->attributes;
}

void abbrevs_read(struct abbrevs *table, struct dwarf_bytes *b, const uint8_t *section,
                  const struct dwarf_encoding *encoding)
{
    table->dense = true;
    for (;;) {
        struct abbrev abbrev = {.code = dwarf_uleb(b), .first_step = (uint32_t)table->step_count};
        if (b->bad || abbrev.code == 0)
            break;
        uint64_t tag = dwarf_uleb(b);
        abbrev.tag = tag <= UINT16_MAX ? (uint32_t)tag : 0;
        abbrev.has_children = dwarf_uint(b, 1) != 0;
        abbrev.attributes = (uint64_t)(b->at - section);
        compile(table, &abbrev, b, encoding);
        if (b->bad || table->step_count > UINT32_MAX / 2)
            break;
        *MEM_APPEND(table->items, table->count, table->capacity) = abbrev;
        table->dense = table->dense && abbrev.code == table->count;
    }
    if (!table->dense)
        qsort(table->items, table->count, sizeof *table->items, compare_codes);
}

const struct abbrev *abbrevs_find(const struct abbrevs *table, uint64_t code)
{
    if (table->dense)
        return code > 0 && code <= table->count ? &table->items[code - 1] : NULL;
    size_t at = SEARCH_FROM(table->items, table->count, code, code);
    return at < table->count && table->items[at].code == code ? &table->items[at] : NULL;
}

/* Abbreviations of a unit, compiled so that a DIE can be skipped in a few steps.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_ABBREVS_H
#define CONVERT_DWARF_DWARF_ABBREVS_H

#include <stddef.h>

#include "convert/dwarf/dwarf_forms.h"

/* Skip SKIP bytes; then comes a value of FORM (0: none). ATTRIBUTE is set if the walk needs the
 * value; if it is 0, skip the value, too. */
struct abbrev_step {
    uint32_t skip;
    uint16_t form, attribute;
    int64_t constant; /* the value of DW_FORM_implicit_const */
};

struct abbrev {
    uint64_t code, attributes; /* ATTRIBUTES: their offset in .debug_abbrev */
    uint32_t tag, first_step, step_count;
    bool has_children;
};

/* The table at one offset of .debug_abbrev, for one encoding. All zero: empty. */
struct abbrevs {
    struct abbrev *items;
    struct abbrev_step *steps;
    size_t count, capacity, step_count, step_capacity;
    bool dense; /* code N is ITEMS[N - 1], the numbering of all compilers; else sorted by code */
};

/* Reads the table at B, in .debug_abbrev, which begins at SECTION, up to its end or the first damaged entry (which
 * sets B->bad). */
void abbrevs_read(struct abbrevs *table, struct dwarf_bytes *b, const uint8_t *section,
                  const struct dwarf_encoding *encoding);

/* Returns the abbreviation with CODE, or NULL. */
const struct abbrev *abbrevs_find(const struct abbrevs *table, uint64_t code);

#endif

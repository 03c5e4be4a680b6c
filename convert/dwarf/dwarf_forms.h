/* Values of attributes, read according to their forms.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_FORMS_H
#define CONVERT_DWARF_DWARF_FORMS_H

#include "formats/elf/dwarf_bytes.h"

/* The encoding of the values of a unit. */
struct dwarf_encoding {
    uint16_t version;
    uint8_t address_size, offset_size; /* [bytes] */
};

enum { FORM_VARIABLE = -1, FORM_UNKNOWN = -2 };

/* Returns the size of a value of FORM [bytes], FORM_VARIABLE or FORM_UNKNOWN. */
int dwarf_form_size(uint64_t form, const struct dwarf_encoding *encoding);

/* Skips a value of FORM; sets B->bad if FORM is unknown. */
void dwarf_form_skip(struct dwarf_bytes *b, uint64_t form, const struct dwarf_encoding *encoding);

/* Returns FORM, or the form in the data if it is DW_FORM_indirect. */
uint64_t dwarf_form_direct(struct dwarf_bytes *b, uint64_t form);

/* Reads a constant, an index, an address, an offset or a reference as stored. Skips blocks and strings, and returns 0
 * for them. CONSTANT is the value of DW_FORM_implicit_const. */
uint64_t dwarf_form_number(struct dwarf_bytes *b, uint64_t form, int64_t constant,
                           const struct dwarf_encoding *encoding);

#endif

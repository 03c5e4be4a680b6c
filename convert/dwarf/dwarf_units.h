/* Compilation units of a file's debug information: found by address, decoded when an address falls
 * into them. Used in the DWARF worker only: libdwarf must not share a process with anything that
 * matters.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_UNITS_H
#define CONVERT_DWARF_DWARF_UNITS_H

#include <stdbool.h>

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "base/intern.h"
#include "base/interval_map.h"
#include "convert/dwarf/dwarf_worker.h"
#include "formats/elf/elf_file.h"

struct line_row {
    uint64_t address;
    uint32_t line, file; /* FILE: index as the line program has it */
};

/* Rows ROWS[FIRST] .. ROWS[END]; the last one only ends the sequence. */
struct line_sequence {
    size_t first, end;
};

struct unit_lines {
    struct line_row *rows;
    struct line_sequence *sequences;
    struct interval_map by_address; /* value: index of a sequence */
    uint32_t *files;                /* string numbers of paths */
    uint32_t file_base, file_count; /* FILES[0] is the file with index FILE_BASE */
};

/* A function or an inlined call. */
struct unit_function {
    Dwarf_Off die;
    uint32_t parent; /* the function around it, INTERVAL_NONE for none */
    bool inlined, known;
    uint32_t name, call_file, call_line; /* once KNOWN */
};

struct unit_functions {
    struct unit_function *items;
    size_t count, capacity;
    struct interval_map by_address; /* value: index of a function, inner ones larger */
};

struct unit {
    Dwarf_Off die;
    Dwarf_Half version;
    uint64_t low; /* base of its range lists */
    bool decoded;
    struct unit_lines lines;
    struct unit_functions functions;
};

struct dwarf_units {
    Dwarf_Debug debug;
    const struct elf_file *image; /* of the program: which addresses are code */
    struct strings *strings;      /* of names and paths */
    const uint8_t *line_table;    /* .debug_line; NULL: there is none */
    uint64_t line_table_size;     /* [bytes] */
    struct unit *units;
    size_t count, capacity;
    struct interval_map by_address; /* value: index of a unit */
    uint32_t damaged;               /* how often something could not be decoded */
};

struct interval_list {
    struct interval *items;
    size_t count, capacity;
};

/* Finds the units. Never fails: damage is counted in UNITS->damaged. */
void dwarf_units_load(struct dwarf_units *units);

/* The unit that has ADDRESS, decoded, or NULL. */
struct unit *dwarf_units_find(struct dwarf_units *units, uint64_t address);

/* Fills FRAMES, innermost first. Returns how many: 0 when nothing is known. */
size_t dwarf_units_frames(struct dwarf_units *units, uint64_t address,
                          struct dwarf_frame frames[MAX_FRAMES]);

/* Ranges of code of DIE, appended with VALUE; those that the linker has thrown away are not. */
void dwarf_die_ranges(struct dwarf_units *units, const struct unit *unit, Dwarf_Die die,
                      uint32_t value, struct interval_list *list);

/* Decodes the unit whose DIE is DIE. */
void dwarf_lines_decode(struct dwarf_units *units, struct unit *unit, Dwarf_Die die);
void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit, Dwarf_Die die);

/* What libdwarf gets wrong about a row. */
struct program_row {
    uint32_t file;
    bool ends; /* the sequence */
};

/* The COUNT rows of the table at OFFSET, caller frees; NULL when it has not as many. */
struct program_row *dwarf_line_program(const struct dwarf_units *units, uint64_t offset,
                                       size_t count);

/* The row that covers ADDRESS, or NULL; the string number of the path of file INDEX. */
const struct line_row *dwarf_lines_find(const struct unit_lines *lines, uint64_t address);
uint32_t dwarf_lines_file(const struct unit_lines *lines, uint64_t index);

/* Name and place of call of FUNCTION, read when first asked for. */
void dwarf_function_know(struct dwarf_units *units, struct unit_function *function);

/* Attribute NUMBER of DIE as a number or string; false when it has none (or it cannot be read). The
 * string is borrowed from the sections. */
bool dwarf_number(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half number, uint64_t *value);
bool dwarf_text(struct dwarf_units *units, Dwarf_Die die, Dwarf_Half number, const char **text);

/* Frees ERROR if RESULT is an error, and counts it as damage. Returns whether RESULT is DW_DLV_OK.
 */
bool dwarf_ok(struct dwarf_units *units, int result, Dwarf_Error error);

#endif

/* Compilation units of a file's debug information: found by address, decoded when an address falls
 * into them. Used in the DWARF worker only: what reads damaged files must not share a process with
 * anything that matters.
 *
 * All of it is read here, by hand, since libdwarf's interface forces waste:
 *
 * - it resolves form, size and abbreviation of every DIE anew, and crosses children twice where
 *   DW_AT_sibling is missing. dwarf_functions.c passes over a unit once, in file order, with
 *   abbreviations that are compiled to a few skips (dwarf_abbrevs.h);
 * - its line tables allocate 100 bytes a row. It begins version 5 tables with file 0 in place of 1,
 *   and takes the row after DW_LNS_set_epilogue_begin for the end of its sequence;
 * - the headers of units alone took a third of the time for a few addresses of the C library.
 *
 * tests/unit/dwarf.c holds it against libdwarf.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_UNITS_H
#define CONVERT_DWARF_DWARF_UNITS_H

#include <libdwarf/dwarf.h>

#include "base/intern.h"
#include "base/interval_map.h"
#include "convert/dwarf/dwarf_abbrevs.h"
#include "convert/dwarf/dwarf_sections.h"
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

struct line_file {
    const char *name;        /* borrowed from the sections */
    const uint8_t *md5;      /* the same, 16 bytes; NULL: none */
    uint64_t folder;         /* index as the header has it */
    uint32_t path, checksum; /* string numbers, once KNOWN; CHECKSUM in hexadecimal */
    bool known;
};

struct unit_lines {
    struct line_row *rows;
    struct line_sequence *sequences;
    struct interval_map by_address; /* value: index of a sequence */
    struct line_file *files;        /* FILES[0] is the file with index FILE_BASE */
    const char **folders;           /* FOLDERS[0] is the one with index FILE_BASE */
    size_t file_count, folder_count;
    uint32_t file_base; /* 0 since DWARF 5, before it 1 */
    const char *compilation;
};

/* A function or an inlined call. */
struct unit_function {
    uint64_t die;
    uint64_t body;   /* offset of the DIEs in it, when they were passed over; 0: they were not */
    uint32_t parent; /* the function around it, INTERVAL_NONE for none */
    bool inlined, known;
    uint32_t name, call_file, call_line; /* once KNOWN */
    struct unit_functions *inner;        /* what BODY has, once an address was in it */
};

struct unit_functions {
    struct unit_function *items;
    size_t count, capacity;
    struct interval_map by_address; /* value: index of a function, inner ones larger */
    bool gaps; /* DIEs were passed over that may have code outside of the functions here */
};

/* The functions around an address, from the inside out: those of LIST from INDEX on, then OUTER. */
struct function_chain {
    struct unit_functions *list;
    struct unit_function *outer;
    uint32_t index;
};

/* A DIE with others in it, at offsets BEGIN to END of .debug_info. */
struct unit_scope {
    uint64_t begin, end;
    uint32_t parent; /* in the same list; INTERVAL_NONE: none */
    bool is_named;   /* a namespace, class or function, that names in it are qualified with */
    bool passed;     /* what is in it is not in this list */
    struct unit_scopes *inner; /* what is in it, once something there was asked for */
};

/* Those in one DIE, as far as the file does not say how to go past them. */
struct unit_scopes {
    struct unit_scope *items; /* ascending by BEGIN */
    size_t count, capacity;
    bool decoded;
};

/* Real programs have chains of 3 references from a function to its name. */
enum { MAX_CHAIN = 16 };

/* Where the code of a DIE is, as its attributes say it. Forms are 0 for what is missing. */
struct dwarf_place {
    uint64_t low, high, ranges;
    uint64_t low_form, high_form, ranges_form;
};

/* A text whose form may need what other attributes say. */
struct late_text {
    const char *text; /* if it is written in the DIE */
    uint64_t form, at;
};

struct unit {
    uint64_t header, die, end; /* offsets in .debug_info */
    uint64_t abbrevs;          /* offset in .debug_abbrev */
    struct dwarf_encoding encoding;
    uint32_t table; /* index of its abbreviations, INTERVAL_NONE: not compiled yet */
    bool decoded, has_lines;
    uint16_t language;
    uint64_t low; /* base of its range lists */
    uint64_t lines_at, address_base, ranges_base, texts_base;
    uint64_t old_ranges_base; /* of the range lists of its split unit, before DWARF 5 */
    struct late_text folder;  /* of the compilation */
    struct late_text split;   /* the file that has its DIEs; form 0 and no text: this one */
    uint64_t split_id;
    struct dwarf_units *body; /* that unit, alone; NULL: its DIEs are here */
    struct unit_lines lines;
    struct unit_functions functions; /* those that a quick pass finds */
    struct unit_functions *hidden;   /* all functions, once that was not enough */
    struct unit_scopes scopes;       /* read when first needed */
};

/* Gets the files with DIEs that are not linked into the program; all zero: there are none to be had. */
struct split_files {
    struct dwarf_sections *package; /* with many of them; NULL: none */
    /* The sections of file NAME of a unit compiled in FOLDER, borrowed until the process ends; NULL: none. */
    struct dwarf_sections *(*open)(void *context, const char *folder, const char *name);
    /* Says that the last one is of another build. */
    void (*refuse)(void *context);
    void *context;
};

struct dwarf_units {
    struct dwarf_sections *sections;
    struct split_files split;
    struct dwarf_units
        *linked; /* of a split unit: those of the program, with addresses and lines; NULL: these */
    struct dwarf_units *alternate; /* of the file that dwz moved common parts to; NULL: none */
    bool loaded;
    const struct elf_file *image; /* of the program: which addresses are code */
    const struct elf_symbols
        *symbols; /* of the program: which of them are in a function; NULL: perhaps all */
    struct strings *strings; /* of names and paths */
    bool big_endian;
    struct unit *units; /* all of them, in the order of the file */
    size_t count, capacity;
    struct interval_map
        by_address; /* value: index of a unit from the end: the first of several wins */
    struct abbrevs *tables;
    size_t table_capacity;
    struct numbers table_numbers; /* of tables by offset and encoding */
    struct numbers named;         /* DIEs whose names are known ... */
    uint32_t *names;              /* ... and their names */
    size_t name_capacity;
    uint32_t damaged; /* how often something could not be decoded */
};

struct interval_list {
    struct interval *items;
    size_t count, capacity;
};

/* Finds the units. Never fails: damage is counted in UNITS->damaged. */
void dwarf_units_load(struct dwarf_units *units);

/* The unit that has ADDRESS, decoded, or NULL. */
struct unit *dwarf_units_find(struct dwarf_units *units, uint64_t address);

/* Reads the header of the unit at UNIT->header of B. Returns false when it is damaged, or of an unknown version. */
bool dwarf_unit_header(struct unit *unit, struct dwarf_bytes *b);

/* Reads the attributes of the unit's own DIE, at UNIT->die. Returns false when it is none. */
bool dwarf_unit_attributes(struct dwarf_units *units, struct unit *unit, struct dwarf_place *place);

/* Sets UNIT->body, when its DIEs are in another file. What is missing, or of another build, is none. */
void dwarf_split_find(struct dwarf_units *units, struct unit *unit);

/* The units with the sections that a split unit leaves in the program. */
struct dwarf_units *dwarf_units_linked(struct dwarf_units *units);

/* The units of the alternate file, loaded when first asked for; NULL: there is none. */
struct dwarf_units *dwarf_units_alternate(struct dwarf_units *units);

/* The unit whose DIEs include the one at OFFSET, or NULL. */
struct unit *dwarf_units_of_die(struct dwarf_units *units, uint64_t offset);

/* Fills FRAMES, innermost first. Returns how many: 0 when nothing is known. */
size_t dwarf_units_frames(struct dwarf_units *units, uint64_t address,
                          struct dwarf_frame frames[MAX_FRAMES]);

/* Decodes lines and functions of UNIT, unless they are. */
void dwarf_units_decode(struct dwarf_units *units, struct unit *unit);

/* ---- attributes ---- */

/* The DIE whose attributes are being read. */
struct die_reader {
    struct dwarf_units *units;
    const struct unit *unit;
    struct dwarf_bytes data, attributes;
    uint64_t tag;
    /* the attribute that die_next found; its value is next in DATA */
    uint64_t attribute, form;
    int64_t constant;
};

/* The DIE at OFFSET of .debug_info, which is in UNIT. Returns false when there is none, or it is
 * damaged, which is counted. */
bool die_open(struct dwarf_units *units, const struct unit *unit, uint64_t offset,
              struct die_reader *die);

/* Goes on to the next attribute. Each value must be read before, by one of those below. */
bool die_next(struct die_reader *die);
void die_skip(struct die_reader *die);
uint64_t die_number(struct die_reader *die);

/* Borrowed from the sections; NULL when it is in a file that is missing, or damaged. */
const char *die_text(struct die_reader *die);

/* A DIE: its offset in .debug_info of the file that UNITS are of. UNITS is NULL for none. */
struct die_address {
    struct dwarf_units *units;
    uint64_t offset;
};

/* The DIE that is referred to; none when it is in a file that is missing. */
struct die_address die_reference(struct die_reader *die);

/* What a DIE says about its name: the texts are NULL, and ORIGIN none, where it does not say. */
struct die_naming {
    const char *linkage, *plain;
    struct die_address origin; /* the DIE that this one is a copy or a part of */
    uint32_t call_file, call_line;
};

/* Reads the attributes of DIE, which die_open has just opened. */
struct die_naming dwarf_naming_read(struct die_reader *die);

/* PLAIN, the name of the DIE at AT, with those of the scopes around it: "space::type::function". Caller frees. */
char *dwarf_qualified_name(struct die_address at, const char *plain);

/* TEXT of UNIT, as die_text; NULL: it has none. */
const char *dwarf_late_text(struct dwarf_units *units, const struct unit *unit,
                            const struct late_text *text);

/* A string of FORM whose offset or index is VALUE, as die_text. */
const char *dwarf_text_at(struct dwarf_units *units, const struct unit *unit, uint64_t form,
                          uint64_t value);

/* ---- ranges of addresses ---- */

/* Takes the value VALUE of FORM, when ATTRIBUTE is one of those. */
void dwarf_place_take(struct dwarf_place *place, uint64_t attribute, uint64_t form, uint64_t value);

/* The first address of PLACE; false when it has none. */
bool dwarf_place_low(struct dwarf_units *units, const struct unit *unit,
                     const struct dwarf_place *place, uint64_t *low);

/* Ranges of PLACE, appended with VALUE; those that the linker has thrown away are not. */
void dwarf_place_ranges(struct dwarf_units *units, const struct unit *unit,
                        const struct dwarf_place *place, uint32_t value,
                        struct interval_list *list);

/* ---- functions ---- */

/* The compiled abbreviations of UNIT. Borrowed until the next call. */
const struct abbrevs *dwarf_unit_abbrevs(struct dwarf_units *units, struct unit *unit);

/* Reads the attributes of a DIE with ABBREV of TABLE, at DATA, and goes on after them. *SIBLING is its offset in the unit, or
 * 0. */
void dwarf_steps_read(struct dwarf_bytes *data, const struct abbrevs *table,
                      const struct abbrev *abbrev, const struct dwarf_encoding *encoding,
                      struct dwarf_place *place, uint64_t *sibling);

/* Finds the functions of UNIT, without those in places that seldom have any, and without what is inlined into them, where the
 * file says how far to go on. */
void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit);

/* All functions of UNIT and all that is inlined into them. */
void dwarf_functions_decode_all(struct dwarf_units *units, struct unit *unit,
                                struct unit_functions *to);

/* The functions of UNIT that have ADDRESS: what was passed over is decoded now, if it may have it. */
struct function_chain dwarf_functions_find(struct dwarf_units *units, struct unit *unit,
                                           uint64_t address);

/* The next one; NULL: no more. */
struct unit_function *dwarf_functions_next(struct function_chain *chain);

/* Name and place of call of FUNCTION, read when first asked for. */
void dwarf_function_know(struct dwarf_units *units, struct unit_function *function);

/* ---- lines ---- */

void dwarf_lines_decode(struct dwarf_units *units, struct unit *unit);

/* The header of a line table, and its program. */
struct line_program {
    struct dwarf_bytes code;
    const uint8_t *lengths; /* of standard opcodes: operands of opcode N at [N - 1] */
    uint8_t opcode_base, line_range, min_instruction, max_operations, address_size;
    int8_t line_base;
};

/* Reads the header of the table of UNIT, and its files. Returns false when it is damaged. */
bool dwarf_line_header(struct dwarf_units *units, struct unit *unit, struct line_program *program);

/* Runs PROGRAM into the rows of UNIT. Returns false when it is damaged; sequences before that are kept. */
bool dwarf_line_run(struct dwarf_units *units, struct unit *unit, struct line_program *program);

/* The row that covers ADDRESS, or NULL. */
const struct line_row *dwarf_lines_find(const struct unit_lines *lines, uint64_t address);

/* Sets the file of FRAME, and its checksum, from that with INDEX. */
void dwarf_lines_file(struct dwarf_units *units, struct unit_lines *lines, uint64_t index,
                      struct dwarf_frame *frame);

#endif

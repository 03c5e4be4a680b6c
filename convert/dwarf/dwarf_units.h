/* Compilation units of the debug information of a file, found by address and decoded when an
 * address is in them. Only used in the DWARF worker, because code that reads damaged files must not
 * endanger the rest of the program.
 *
 * This code reads debug information without libdwarf, whose interface is too slow:
 *
 * - it determines form, size and abbreviation anew for every DIE, and reads children twice if
 *   DW_AT_sibling is missing. dwarf_functions.c passes over a unit once, in file order, with
 *   abbreviations that are compiled to a few skips (dwarf_abbrevs.h);
 * - its line tables allocate 100 bytes per row. It numbers files of version 5 tables from 0 instead
 *   of 1, and mistakes the row after DW_LNS_set_epilogue_begin for the end of its sequence;
 * - reading the headers of units alone took a third of the time needed for a few addresses of the C
 *   library.
 *
 * tests/unit/dwarf.c compares it with libdwarf.
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

/* Rows are small, because tables have millions of them: a file whose index does not fit counts as
 * unknown, and a discriminator that does not fit is 0. */
enum { FILE_BITS = 20, DISCRIMINATOR_BITS = 12 };
struct line_row {
    uint64_t address;
    uint32_t line;
    uint32_t file : FILE_BITS; /* index as in the line program */
    uint32_t discriminator : DISCRIMINATOR_BITS;
};

/* Rows ROWS[FIRST] .. ROWS[END]; the last row only ends the sequence. */
struct line_sequence {
    size_t first, end;
};

struct line_file {
    const char *name;        /* borrowed from the sections */
    const uint8_t *md5;      /* the same, 16 bytes; NULL: none */
    uint64_t folder;         /* index as in the header */
    uint32_t path, checksum; /* string numbers, once KNOWN; CHECKSUM in hexadecimal */
    bool known;
};

struct unit_lines {
    struct line_row *rows;
    struct line_sequence *sequences;
    struct interval_map by_address; /* value: index of a sequence */
    struct line_file *files;        /* FILES[0] is the file with index FILE_BASE */
    const char **folders;           /* FOLDERS[0] is the folder with index FILE_BASE */
    size_t file_count, folder_count;
    uint32_t file_base; /* 0 since DWARF 5, 1 before */
    const char *compilation;
};

/* A function or an inlined call. */
struct unit_function {
    uint64_t die;
    uint64_t body;   /* offset of the DIEs in it if they were skipped; else 0 */
    uint32_t parent; /* the enclosing function, INTERVAL_NONE for none */
    bool inlined, known;
    uint32_t name, call_file, call_line; /* once KNOWN */
    struct unit_functions *inner;        /* the functions of BODY, once an address is in it */
};

struct unit_functions {
    struct unit_function *items;
    size_t count, capacity;
    struct interval_map by_address; /* value: index of a function, inner ones larger */
    bool gaps;                      /* skipped DIEs may have code outside these functions */
};

/* The functions around an address, from the inside out: those of LIST, beginning with INDEX, then OUTER. */
struct function_chain {
    struct unit_functions *list;
    struct unit_function *outer;
    uint32_t index;
};

/* A DIE with others in it, at offsets BEGIN to END of .debug_info. */
struct unit_scope {
    uint64_t begin, end;
    uint32_t parent;           /* in the same list; INTERVAL_NONE: none */
    bool is_named;             /* a namespace, class or function, which qualifies the names in it */
    bool passed;               /* its contents are not in this list */
    struct unit_scopes *inner; /* its contents, once they are needed */
};

/* The scopes in one DIE, including those in scopes that cannot be skipped, because the file does
 * not contain their ends. */
struct unit_scopes {
    struct unit_scope *items; /* ascending by BEGIN */
    size_t count, capacity;
    bool decoded;
};

/* Limit for chains of references from a function to its name; real programs have chains of 3. */
enum { MAX_CHAIN = 16 };

/* The place of the code of a DIE, from its attributes. The forms of missing attributes are 0. */
struct dwarf_place {
    uint64_t low, high, ranges;
    uint64_t low_form, high_form, ranges_form;
};

/* A text whose form may depend on other attributes. */
struct late_text {
    const char *text; /* if it is stored in the DIE */
    uint64_t form, at;
};

struct unit {
    uint64_t header, die, end; /* offsets in .debug_info */
    uint64_t abbrevs;          /* offset in .debug_abbrev */
    struct dwarf_encoding encoding;
    uint32_t table; /* index of its abbreviations, INTERVAL_NONE: not compiled yet */
    bool decoded, has_lines;
    bool has_more; /* it may have more ranges than listed in its DIE: DWARF 2 has no range lists */
    uint16_t language;
    uint64_t low; /* base of its range lists */
    uint64_t lines_at, address_base, ranges_base, texts_base;
    uint64_t old_ranges_base; /* of the range lists of its split unit, before DWARF 5 */
    struct late_text folder;  /* of the compilation */
    struct late_text split;   /* the file with its DIEs; form 0 and no text for this file */
    uint64_t split_id;
    struct dwarf_units *body; /* contains only the split unit; NULL: its DIEs are in this file */
    struct unit_lines lines;
    struct unit_functions functions; /* found by a quick pass */
    struct unit_functions *hidden;   /* all functions, if the quick pass did not suffice */
    struct unit_scopes scopes;       /* read when first needed */
};

/* Opens the files with DIEs that are not linked into the program; all zero: none are available. */
struct split_files {
    struct dwarf_sections *package; /* the package of units; NULL: none */
    /* Returns the sections of file NAME of a unit compiled in FOLDER, borrowed until the process
     * ends; NULL if there are none. */
    struct dwarf_sections *(*open)(void *context, const char *folder, const char *name);
    /* Reports that the last file is from another build. */
    void (*refuse)(void *context);
    void *context;
};

struct interval_list {
    struct interval *items;
    size_t count, capacity;
};

struct dwarf_units {
    struct dwarf_sections *sections;
    struct split_files split;
    struct dwarf_units
        *linked; /* for a split unit: the units of the program, with addresses and lines; NULL:
        * this */
    struct dwarf_units *alternate; /* of the file to which dwz moved common parts; NULL: none */
    bool loaded;
    bool has_more;                /* some unit has HAS_MORE */
    const struct elf_file *image; /* of the program, to determine which addresses are code */
    struct strings *strings;      /* of names and paths */
    bool big_endian;
    struct unit *units; /* all units, in the order of the file */
    size_t count, capacity;
    struct interval_map by_address; /* value: see value_of in dwarf_units.c */
    struct abbrevs *tables;
    size_t table_capacity;
    struct numbers table_numbers; /* of tables by offset and encoding */
    struct numbers named;         /* DIEs whose names were resolved ... */
    uint32_t *names;              /* ... and their names */
    size_t name_capacity;
    struct line_row *rows; /* memory for a line table while it is read ... */
    size_t row_capacity;
    struct interval_list ranges; /* ... and for the ranges of functions */
    uint32_t damaged;            /* the number of decoding errors */
    bool beyond;                 /* a required DIE is in a unit that was not read */
};

/* The units that must be read for some addresses: those before END, except for those at PASSED. */
struct dwarf_extent {
    uint64_t
        end; /* offset in .debug_info, that of a unit after those with addresses; UINT64_MAX: no
              * limit */
    uint64_t *passed; /* ascending; the caller frees them */
    size_t passed_count;
};

/* Returns the units that COUNT ascending ADDRESSES need. This may be wrong: if none of these units
 * has one of the addresses, or BEYOND or DAMAGED is set, all units must be read. */
struct dwarf_extent dwarf_aranges_extent(const struct dwarf_units *units, const uint64_t *addresses,
                                         size_t count);

/* Adds the ranges of units with HAS_MORE to LIST, and clears HAS_MORE of the units that the section lists. */
void dwarf_aranges_add(struct dwarf_units *units, struct interval_list *list);

/* Adds the addresses from BEGIN to before END to LIST if they are code. */
void dwarf_range_add(const struct dwarf_units *units, uint64_t begin, uint64_t end, uint32_t value,
                     struct interval_list *list);

/* Finds the units of EXTENT; NULL: all. Never fails: damage is counted in UNITS->damaged. */
void dwarf_units_load(struct dwarf_units *units, const struct dwarf_extent *extent);

/* Sets TO to a copy of the units of FROM, for another thread, which uses STRINGS. FROM must be
 * loaded, and none of its units used yet. Each unit may then be decoded in only one of TO and
 * FROM. */
void dwarf_units_copy(struct dwarf_units *to, const struct dwarf_units *from,
                      struct strings *strings);

/* Returns the index of the unit that has ADDRESS, or INTERVAL_NONE. */
uint32_t dwarf_units_index(const struct dwarf_units *units, uint64_t address);

/* Reads the header of the unit at UNIT->header of B. Returns false if it is damaged or has an unknown version. */
bool dwarf_unit_header(struct unit *unit, struct dwarf_bytes *b);

/* Reads the attributes of the DIE of the unit, at UNIT->die. Returns false if this is not the DIE
 * of a unit. */
bool dwarf_unit_attributes(struct dwarf_units *units, struct unit *unit, struct dwarf_place *place);

/* Sets UNIT->body if the DIEs of UNIT are in another file. A file that is missing or from another
 * build is ignored. */
void dwarf_split_find(struct dwarf_units *units, struct unit *unit);

/* Returns the units of the program, whose sections a split unit shares. */
struct dwarf_units *dwarf_units_linked(struct dwarf_units *units);

/* Returns the units of the alternate file, loaded at the first call; NULL if it is missing. */
struct dwarf_units *dwarf_units_alternate(struct dwarf_units *units);

/* Returns the unit whose DIEs include the one at OFFSET, or NULL. */
struct unit *dwarf_units_of_die(struct dwarf_units *units, uint64_t offset);

/* Fills FRAMES, innermost first, from the unit with INDEX, which has ADDRESS. BETWEEN: symbols show
 * that the address is between functions. Returns the number of frames; 0 if there is no
 * information. */
size_t dwarf_unit_frames(struct dwarf_units *units, uint32_t index, uint64_t address, bool between,
                         struct dwarf_frame frames[MAX_FRAMES]);

/* States that the unit with INDEX will hardly be needed again: its parts of the file need not stay
 * in memory. */
void dwarf_unit_rest(struct dwarf_units *units, uint32_t index);

/* Decodes lines and functions of UNIT, once. */
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

/* Opens the DIE at OFFSET of .debug_info, which is in UNIT. Returns false if there is none or it is
 * damaged; damage is counted. */
bool die_open(struct dwarf_units *units, const struct unit *unit, uint64_t offset,
              struct die_reader *die);

/* Advances to the next attribute. Returns false at the end. The value of the previous one must have
 * been read with one of the functions below. */
bool die_next(struct die_reader *die);
void die_skip(struct die_reader *die);
uint64_t die_number(struct die_reader *die);

/* Returns a text, borrowed from the sections; NULL if it is in a missing file or damaged. */
const char *die_text(struct die_reader *die);

/* A DIE: its offset in .debug_info of the file of UNITS. UNITS is NULL for none. */
struct die_address {
    struct dwarf_units *units;
    uint64_t offset;
};

/* Returns the DIE to which the attribute refers; none if it is in a missing file. */
struct die_address die_reference(struct die_reader *die);

/* The attributes of a DIE that concern its name. Missing texts are NULL, and a missing ORIGIN is none. */
struct die_naming {
    const char *linkage, *plain;
    struct die_address origin; /* the DIE of which this one is a copy or a part */
    uint32_t call_file, call_line;
};

/* Reads the attributes of DIE, which die_open has just opened. */
struct die_naming dwarf_naming_read(struct die_reader *die);

/* Returns PLAIN, the name of the DIE at AT, qualified by the enclosing scopes:
 * "space::type::function". Caller frees. */
char *dwarf_qualified_name(struct die_address at, const char *plain);

/* Returns TEXT of UNIT, like die_text; NULL if it has none. */
const char *dwarf_late_text(struct dwarf_units *units, const struct unit *unit,
                            const struct late_text *text);

/* Returns the string of FORM with the offset or index VALUE, like die_text. */
const char *dwarf_text_at(struct dwarf_units *units, const struct unit *unit, uint64_t form,
                          uint64_t value);

/* ---- ranges of addresses ---- */

/* Stores VALUE of FORM in PLACE if ATTRIBUTE belongs to it. */
void dwarf_place_take(struct dwarf_place *place, uint64_t attribute, uint64_t form, uint64_t value);

/* Sets *LOW to the first address of PLACE. Returns false if it has none. */
bool dwarf_place_low(struct dwarf_units *units, const struct unit *unit,
                     const struct dwarf_place *place, uint64_t *low);

/* Appends the ranges of PLACE to LIST, with VALUE, except those that the linker discarded. */
void dwarf_place_ranges(struct dwarf_units *units, const struct unit *unit,
                        const struct dwarf_place *place, uint32_t value,
                        struct interval_list *list);

/* ---- functions ---- */

/* Returns the compiled abbreviations of UNIT, borrowed until the next call. */
const struct abbrevs *dwarf_unit_abbrevs(struct dwarf_units *units, struct unit *unit);

/* Reads the attributes of a DIE with ABBREV of TABLE at DATA, and moves DATA after them. Sets *SIBLING to the offset
 * of its sibling in the unit, or 0. */
void dwarf_steps_read(struct dwarf_bytes *data, const struct abbrevs *table,
                      const struct abbrev *abbrev, const struct dwarf_encoding *encoding,
                      struct dwarf_place *place, uint64_t *sibling);

/* Finds the functions of UNIT, but skips DIEs that rarely contain functions, and the contents of
 * functions, if the file contains their ends. */
void dwarf_functions_decode(struct dwarf_units *units, struct unit *unit);

/* Finds all functions of UNIT and all functions inlined into them. */
void dwarf_functions_decode_all(struct dwarf_units *units, struct unit *unit,
                                struct unit_functions *to);

/* Returns the functions of UNIT that contain ADDRESS. Decodes skipped DIEs if they may contain it,
 * unless it is BETWEEN functions. */
struct function_chain dwarf_functions_find(struct dwarf_units *units, struct unit *unit,
                                           uint64_t address, bool between);

/* Returns the next function of CHAIN; NULL at the end. */
struct unit_function *dwarf_functions_next(struct function_chain *chain);

/* Reads the name and the call site of FUNCTION, once. */
void dwarf_function_know(struct dwarf_units *units, struct unit_function *function);

/* ---- lines ---- */

/* Unpacks .debug_line: ALL of it, or the part that the loaded units need. */
void dwarf_lines_unpack(struct dwarf_units *units, bool all);

/* Reads the line table of UNIT. */
void dwarf_lines_decode(struct dwarf_units *units, struct unit *unit);

/* The header of a line table, and its program. */
struct line_program {
    struct dwarf_bytes code;
    const uint8_t *lengths; /* of standard opcodes: operands of opcode N at [N - 1] */
    uint8_t opcode_base, line_range, min_instruction, max_operations, address_size;
    int8_t line_base;
};

/* Runs PROGRAM, which produces the rows of UNIT. Returns false if it is damaged; sequences before
 * the damage are kept. */
bool dwarf_line_run(struct dwarf_units *units, struct unit *unit, struct line_program *program);

/* Returns the row that covers ADDRESS, or NULL. */
const struct line_row *dwarf_lines_find(const struct unit_lines *lines, uint64_t address);

/* Sets the file of FRAME and its checksum to those of the file with INDEX. */
void dwarf_lines_file(struct dwarf_units *units, struct unit_lines *lines, uint64_t index,
                      struct dwarf_frame *frame);

#endif

/* Tables: analyses emit rows, and a format writes them as text, CSV or JSON.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TABLE_TABLE_H
#define FORMATS_TABLE_TABLE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "base/table_style.h"

/* The value of a cell or fact. Missing when zeroed: blank, empty, null. */
struct table_cell {
    enum { CELL_MISSING, CELL_TEXT, CELL_COUNT, CELL_REAL, CELL_HEX } kind;
    union {
        const char *text; /* borrowed during the call */
        uint64_t count;
        double real; /* counts as missing if not finite */
    };
    enum { TONE_PLAIN, TONE_GOOD, TONE_BAD } tone; /* green or red, if colours are used */
};

static inline struct table_cell cell_text(const char *text)
{
    return (struct table_cell){.kind = CELL_TEXT, .text = text};
}

static inline struct table_cell cell_count(uint64_t count)
{
    return (struct table_cell){.kind = CELL_COUNT, .count = count};
}

static inline struct table_cell cell_real(double real)
{
    return (struct table_cell){.kind = CELL_REAL, .real = real};
}

static inline struct table_cell cell_hex(uint64_t count)
{
    return (struct table_cell){.kind = CELL_HEX, .count = count};
}

/* A count if REAL is a whole number, else REAL. */
static inline struct table_cell cell_whole(double real)
{
    bool whole = real >= 0 && real < 9e15 && real == floor(real);
    return whole ? cell_count((uint64_t)real) : cell_real(real);
}

/* Returns whether the cell is shown as missing. */
static inline bool cell_is_missing(const struct table_cell *cell)
{
    return cell->kind == CELL_MISSING || (cell->kind == CELL_REAL && !isfinite(cell->real));
}

struct table_column {
    const char *name; /* lower case, no spaces: the key in JSON */
    const char *unit; /* "" for none; "%" for shares */
    bool is_text;     /* names or numbers, for alignment */
    /* For the text format only; other formats show all columns. */
    unsigned char
        rank; /* columns with the largest rank are left out first if lines are too short; 0: never */
    bool only_wide; /* left out unless requested */
    size_t
        interval; /* column with half its 95 % interval, shown as "5.12 +-0.08" unless separate; 0: none */
};

/* A column that is never left out, without an interval. */
#define TABLE_COLUMN(name_, unit_, is_text_)                                                       \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .is_text = (is_text_)                                    \
    }

/* A column that narrow tables leave out by its rank. */
#define RANKED_COLUMN(name_, unit_, is_text_, rank_)                                               \
    {                                                                                              \
        .name = (name_), .unit = (unit_), .is_text = (is_text_), .rank = (rank_)                   \
    }

/* A fact about the whole table, shown above the rows. */
struct table_fact {
    const char *name;  /* the key in JSON, including the unit: "wall_s" */
    const char *title; /* for people: "wall time" */
    const char *unit;
    struct table_cell cell;
};

struct table_head {
    const struct table_fact *facts;
    size_t fact_count;
    const struct table_column *columns;
    size_t column_count;
    bool color;                      /* terminal escape sequences are allowed */
    const struct table_style *style; /* NULL: the defaults */
};

struct table;

/* An output format. Each has its own file and a line in table.c. */
struct table_format {
    const char *name, *help;
    const char *suffix; /* of file names, such as ".csv"; NULL: none */
    size_t longest;     /* longer texts in rows are shortened [bytes] */
    void *(*begin)(struct output *out, const struct table_head *head);
    void (*row)(void *state, const struct table_cell *cells, bool total);
    void (*end)(void *state); /* frees */
};

/* Maximum lengths of texts in formats for people and in formats for programs, which never truncate a name from a
 * symbol table. A text can be in any number of rows. */
enum { TABLE_MAX_SHOWN = 4096, TABLE_MAX_DATA = 1 << 16 };

extern const struct table_format table_text, table_csv, table_json, table_jsonl, table_markdown,
    table_spreadsheet;

/* The names of the formats by number; NULL after the last. */
const char *table_format_name(size_t number);

/* Checks that NAME is given, or that the suffix of PATH, if it has one, selects a format. MORE is
 * another valid suffix, or NULL. Returns 0, or -1 with ERR filled. */
int table_format_check(const char *name, const char *path, const char *more, struct error *err);

/* The format called NAME, or NULL if unknown. If NAME is NULL, the format for the suffix of PATH, with or without
 * ".bz2"; FALLBACK if PATH is NULL or has no known suffix. */
const struct table_format *table_format_choose(const char *name, const char *path,
                                               const struct table_format *fallback);

/* For formats: writes the number of a cell of kind CELL_COUNT or CELL_HEX. */
void table_put_whole(struct output *out, const struct table_cell *cell);

/* Begins a table on OUT. OUT, HEAD and everything HEAD points to are borrowed until table_close. If the style names a
 * column that the table does not have, an error is recorded in OUT. */
struct table *table_open(const struct table_format *format, struct output *out,
                         const struct table_head *head);

/* One cell per column. A total, if any, comes last. Errors are recorded in OUT. */
void table_row(struct table *table, const struct table_cell *cells);
void table_total(struct table *table, const struct table_cell *cells);
void table_close(struct table *table);

#endif

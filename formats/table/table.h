/* Tables: analyses emit rows, a format makes text, CSV or JSON of them as they come.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TABLE_TABLE_H
#define FORMATS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"

/* A value of a cell or a fact. Zeroed it is "missing": blank, empty, null. */
struct table_cell {
    enum { CELL_MISSING, CELL_TEXT, CELL_COUNT, CELL_REAL, CELL_HEX } kind;
    union {
        const char *text; /* borrowed during the call */
        uint64_t count;
        double real; /* not finite counts as missing */
    };
    enum { TONE_PLAIN, TONE_GOOD, TONE_BAD } tone; /* green, red where there are colours */
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

struct table_column {
    const char *name; /* lower case, no spaces: the key in JSON */
    const char *unit; /* "" for none; "%" for shares */
    bool is_text;     /* names, or numbers: how to align where there are columns */
};

/* A fact about the whole, above the rows. */
struct table_fact {
    const char *name;  /* the key in JSON, with the unit in it: "wall_s" */
    const char *title; /* for people: "wall time" */
    const char *unit;
    struct table_cell cell;
};

struct table_head {
    const struct table_fact *facts;
    size_t fact_count;
    const struct table_column *columns;
    size_t column_count;
    bool color; /* escape sequences for a terminal are welcome */
};

struct table;

/* An output format: one file each, and a line in table.c. */
struct table_format {
    const char *name, *help;
    const char *suffix; /* of files, ".csv" */
    void *(*begin)(struct output *out, const struct table_head *head);
    void (*row)(void *state, const struct table_cell *cells, bool total);
    void (*end)(void *state); /* frees */
};

extern const struct table_format table_text, table_csv, table_json, table_jsonl, table_markdown;

/* The names of the formats by number, NULL past the last. */
const char *table_format_name(size_t number);

/* The format called NAME, NULL for none of them. Where NAME is NULL: that of a file called PATH by its suffix, with
 * or without ".bz2"; where PATH is NULL or has none, USUAL. */
const struct table_format *table_format_choose(const char *name, const char *path,
                                               const struct table_format *usual);

/* Begins a table on OUT (borrowed until table_close). HEAD and what it points to is borrowed until then too. */
struct table *table_open(const struct table_format *format, struct output *out,
                         const struct table_head *head);

/* One cell for each column. The total comes last, if at all. Failures show in OUT. */
void table_row(struct table *table, const struct table_cell *cells);
void table_total(struct table *table, const struct table_cell *cells);
void table_close(struct table *table);

/* For the formats: the shortest decimal text that reads back as VALUE; SIZE at least 32. */
void format_real(char *text, size_t size, double value) __attribute__((nonnull));

#endif

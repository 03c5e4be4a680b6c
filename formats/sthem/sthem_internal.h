/* Internals of formats/sthem, shared by header (sthem_header.c), rows (sthem_rows.c) and the repair of their times
 * (sthem.c).
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_STHEM_STHEM_INTERNAL_H
#define FORMATS_STHEM_STHEM_INTERNAL_H

#include "base/intern.h"
#include "formats/sthem/sthem.h"
#include "formats/sthem/sthem_csv.h"

enum column_kind {
    COLUMN_IGNORED,
    COLUMN_TIME,
    COLUMN_POWER,
    COLUMN_CURRENT,
    COLUMN_VOLTAGE,
    COLUMN_PC,
    COLUMN_MODULE,
    COLUMN_FUNCTION,
    COLUMN_KINDS
};

struct column {
    enum column_kind kind;
    uint32_t index;  /* of the sensor or core */
    uint64_t number; /* its number in the header */
};

struct sensor {
    uint64_t number;
    size_t column;           /* of its power or current */
    double current, voltage; /* in the current row */
    bool has_voltage;
    uint64_t negative; /* number of rows with negative power, and the lowest power */
    double least;      /* [W] */
};

struct core {
    uint64_t number;
    struct csv_text module, function; /* in the current row; "" if the column is missing */
    uint32_t last_place;              /* place in the previous row */
};

/* Times in femtoseconds: every decimal time of 15 digits is exact. */
typedef __int128 femto;

struct held {
    femto time;
    uint64_t line;
};

struct sthem_reader {
    struct csv csv;
    struct sthem_options options;
    enum sthem_variant variant;
    struct column *columns;
    size_t column_count, column_capacity;
    struct sensor *sensors;
    size_t sensor_count, sensor_capacity;
    struct core *cores;
    size_t core_count, core_capacity;
    struct buffer ignored;
    char odd[512]; /* a quoted or padded number */

    /* places */
    struct numbers numbers; /* by PC, or by module << 32 | function */
    struct strings *texts;
    struct sthem_place *places;
    size_t place_capacity;

    /* rows held back, see sthem.c */
    struct held *held;
    double *watts;   /* [room * sensors] */
    uint32_t *spots; /* [room * cores] */
    size_t first, count, ready, room;
    size_t back; /* number of bad rows whose times decrease */
    bool ended, any;
    femto flat;        /* sum of the durations so far */
    femto start, last; /* time of the first row and of the last delivered one */
    uint64_t last_ns;
    uint64_t repaired;
};

/* Reads everything before the first row. Returns 0 or -1. */
int sthem_read_header(struct sthem_reader *reader, struct error *err);

/* Reads the next row into slot SLOT. Returns 1, 0 at the end, or -1. */
int sthem_read_row(struct sthem_reader *reader, size_t slot, struct error *err);

#endif

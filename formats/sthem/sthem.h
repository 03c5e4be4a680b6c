/* Exports of the sthem analysis tool and of its Lynsyn successors: a CSV row per sample, with the
 * power of each sensor and the location of each core.
 *
 *   Time;Power 1;...;Power 7;Module 0;Function 0;...;Module 3;Function 3       STHEM_SYMBOLS
 *   Time;Power 1;...;Power 7;PC 0;...;PC 3                                     STHEM_PCS
 *   Sensors;Cores / 7;4 / Time;pc 0;...;current 0;...;voltage 0;...            STHEM_LYNSYN
 *
 *   reader = sthem_open(stream, &options, err);
 *   while ((got = sthem_next(reader, &row, err)) > 0) ...
 *   sthem_close(reader);
 *
 * Columns are found by name, in any order and number. Accepted: CRLF, a byte order mark, blank
 * lines; ';', ',' or tab between fields; a decimal comma (unless it separates fields), quoted
 * fields, an empty field at the end. Errors give line and column, both from 1; columns count
 * fields.
 *
 * Repair. Times printed with 6 digits can repeat, and glitches can make them decrease. A row whose
 * time is not after that of the last good row is bad, and is held back until the next good row:
 *
 *   as printed    1.00  1.00  1.00  1.03          good bad bad good
 *   delivered     1.00  1.01  1.02  1.03          bad rows are spread evenly between their neighbours
 *
 * Bad rows at the end of the file, without a good row after them, are spread together with the good
 * row before them over that row's interval: 0.9 1.0 1.0 becomes 0.9 0.95 1.0. The time from the
 * first row to the latest one thus never changes. The number of bad rows in a run is limited
 * (STHEM_MAX_RUN, fewer with very many columns; STHEM_MAX_BACK for times that decrease). More bad
 * rows are an error: the clock stopped or was set back.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_STHEM_STHEM_H
#define FORMATS_STHEM_STHEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/stream.h"

enum {
    STHEM_MAX_COLUMNS = 4096,
    STHEM_MAX_LINE = 1024 * 1024, /* [bytes] */
    STHEM_MAX_RUN = 65536,
    STHEM_MAX_BACK = 1024
};
/* the place of a core that is asleep or off. It has no PC (0), or no names (empty, or __External__
 * and CPU1:Unknown) */
#define STHEM_IDLE      UINT32_MAX
#define STHEM_MAX_POWER 1e9 /* [W] */
#define STHEM_MAX_TIME  4e9 /* [s], either side of 0 */

enum sthem_variant { STHEM_SYMBOLS, STHEM_PCS, STHEM_LYNSYN };

struct sthem_options {
    /* the only sensors to be read, by the numbers in the header; borrowed until sthem_close */
    const uint64_t *sensors;
    size_t sensor_count; /* 0: all */
    /* the same for cores */
    const uint64_t *cores;
    size_t core_count;
    double volts;       /* for currents, replaces the voltage columns; 0: not given */
    bool flat;          /* times are durations of consecutive rows, and are not repaired */
    bool from_zero;     /* the first row begins at time 0 instead of its time; implied by FLAT */
    double time_factor; /* seconds per unit of times, from 1e-12 to 3600; 0: 1 */
    uint64_t address_offset; /* added to program counters, modulo 2^64 */
};

/* A row. Its pointers are borrowed until the next sthem_next or sthem_close. */
struct sthem_row {
    uint64_t line;
    /* since the previous row, 0 for the first (see from_zero); intervals add up to the rounded
     * total */
    uint64_t interval_ns;
    double seconds;         /* the same, before rounding to ns */
    const double *watts;    /* of each sensor [sthem_sensor_count]: power, or current x voltage */
    const uint32_t *places; /* of each core [sthem_core_count]: number of a place, or STHEM_IDLE */
};

/* The place of a core: with STHEM_SYMBOLS, the texts (not both empty), otherwise the PC. */
struct sthem_place {
    uint64_t pc;
    const char *module, *function; /* borrowed until sthem_close */
};

struct sthem_reader;

/* Recognises the variant and reads the header. STREAM is borrowed until sthem_close. Returns NULL with ERR filled. */
struct sthem_reader *sthem_open(struct stream *stream, const struct sthem_options *options,
                                struct error *err);
void sthem_close(struct sthem_reader *reader);

/* Returns 1 with ROW filled, 0 at the end, -1 on an error. */
int sthem_next(struct sthem_reader *reader, struct sthem_row *row, struct error *err);

/* Facts from the header. Sensors and cores have the numbers that are in its column names. */
enum sthem_variant sthem_variant(const struct sthem_reader *reader);
size_t sthem_sensor_count(const struct sthem_reader *reader); /* sensors that are read */
uint64_t sthem_sensor_number(const struct sthem_reader *reader, size_t sensor);
size_t sthem_core_count(const struct sthem_reader *reader);
uint64_t sthem_core_number(const struct sthem_reader *reader, size_t core);

/* The names of the ignored columns, separated by ", "; "" for none. Borrowed until sthem_close. */
const char *sthem_ignored(const struct sthem_reader *reader);

/* Places are numbered 0, 1, 2, ... in order of appearance. */
struct sthem_place sthem_place(const struct sthem_reader *reader, uint32_t number);

/* The number of rows so far in which the power of SENSOR is negative, for example because of noise
 * after an offset was subtracted. Sets *LEAST to the smallest [W]. */
uint64_t sthem_negative(const struct sthem_reader *reader, size_t sensor, double *least);

/* The number of rows with repaired times so far; and whether the last line so far has no line end
 * and may therefore be truncated. */
uint64_t sthem_repaired(const struct sthem_reader *reader);
bool sthem_open_end(const struct sthem_reader *reader);

#endif

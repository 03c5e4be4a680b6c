/* Exports of sthem and Lynsyn, row by row, with repaired times. sthem.h describes the repair.
 *
 *   held   | delivered | ready ... | last good | bad bad bad ... | free
 *                      ^ first     ^ first + ready               ^ first + count
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/sthem/sthem_internal.h"

enum { FIRST_ROOM = 256, MAX_CELLS = 4 * 1024 * 1024, FEMTO_PER_NANO = 1000000 };

static size_t run_most(const struct sthem_reader *r)
{
    size_t most = MAX_CELLS / (r->sensor_count + r->core_count + 1);
    return most < STHEM_MAX_RUN ? most : STHEM_MAX_RUN;
}

struct sthem_reader *sthem_open(struct stream *stream, const struct sthem_options *options,
                                struct error *err)
{
    struct sthem_reader *r = mem_zalloc(1, sizeof *r);
    r->csv = (struct csv){.stream = stream, .longest = STHEM_MAX_LINE, .separator = ';'};
    r->options = *options;
    if (r->options.time_factor == 0)
        r->options.time_factor = 1;
    r->texts = strings_new();
    if (sthem_read_header(r, err) == 0)
        return r;
    sthem_close(r);
    return NULL;
}

void sthem_close(struct sthem_reader *r)
{
    if (r == NULL)
        return;
    csv_free(&r->csv);
    free(r->columns);
    free(r->sensors);
    free(r->cores);
    buffer_free(&r->ignored);
    numbers_free(&r->numbers);
    strings_delete(r->texts);
    free(r->places);
    free(r->held);
    free(r->watts);
    free(r->spots);
    free(r);
}

/* Frees slot FIRST + COUNT by moving the held rows to the front or allocating more room. */
static void make_room(struct sthem_reader *r)
{
    size_t cores = r->core_count, sensors = r->sensor_count;
    if (r->first + r->count < r->room)
        return;
    if (r->first > 0) {
        memmove(r->held, r->held + r->first, r->count * sizeof *r->held);
        memmove(r->spots, r->spots + r->first * cores, r->count * cores * sizeof *r->spots);
        if (sensors > 0)
            memmove(r->watts, r->watts + r->first * sensors, r->count * sensors * sizeof *r->watts);
        r->first = 0;
    }
    if (r->count < r->room)
        return;
    r->room = r->room == 0 ? FIRST_ROOM : r->room * 2;
    r->held = mem_resize(r->held, r->room, sizeof *r->held);
    r->spots = mem_resize(r->spots, r->room, cores * sizeof *r->spots);
    r->watts = mem_resize(r->watts, r->room, sensors * sizeof *r->watts);
}

/* Sets the times of COUNT rows, beginning with slot SLOT, so that they and the row after them
 * divide FROM .. TO evenly. */
static void spread(struct sthem_reader *r, size_t slot, size_t count, femto from, femto to)
{
    for (size_t i = 0; i < count; i++)
        r->held[slot + i].time = from + (to - from) * (femto)(i + 1) / (femto)(count + 1);
}

/* Handles a good row at TIME after the held rows, which makes them ready. */
static void release(struct sthem_reader *r, femto time)
{
    if (r->count > 1) {
        spread(r, r->first + 1, r->count - 1, r->held[r->first].time, time);
        r->repaired += r->count - 1;
    }
    r->ready = r->count++;
    r->back = 0;
}

/* Handles the end of the file: bad rows share the interval of the good row before them. */
static void release_all(struct sthem_reader *r)
{
    r->ended = true;
    r->ready = r->count;
    if (r->count < 2)
        return;
    femto latest = r->held[r->first].time, first = r->options.from_zero ? 0 : latest;
    spread(r, r->first, r->count - 1, r->any ? r->last : first, latest);
    r->held[r->first + r->count - 1].time = latest;
    r->repaired += r->count - 1;
}

static int clock_error(const struct sthem_reader *r, struct error *err)
{
    return csv_error(&r->csv, 1, err,
                     "the times of %zu rows are not after that of line %" PRIu64
                     ": the clock stopped or was set back; split the file here",
                     r->count, r->held[r->first].line);
}

/* Reads until rows are ready. Returns 1, 0 at the end, or -1. */
static int fill(struct sthem_reader *r, struct error *err)
{
    while (r->ready == 0 && !r->ended) {
        make_room(r);
        size_t slot = r->first + r->count;
        int got = sthem_read_row(r, slot, err);
        if (got < 0)
            return -1;
        femto time = r->held[slot].time;
        if (got > 0 && r->options.flat)
            r->ready = ++r->count;
        else if (got == 0)
            release_all(r);
        else if (r->count == 0 || time > r->held[r->first].time)
            release(r, time);
        else if ((r->back += time < r->held[r->first].time) > STHEM_MAX_BACK ||
                 r->count++ >= run_most(r))
            return clock_error(r, err);
    }
    return r->ready > 0;
}

static uint64_t to_nano(femto time)
{
    return (uint64_t)((time + FEMTO_PER_NANO / 2) / FEMTO_PER_NANO);
}

int sthem_next(struct sthem_reader *r, struct sthem_row *row, struct error *err)
{
    int got = r->ready > 0 ? 1 : fill(r, err);
    if (got <= 0)
        return got;
    const struct held *h = &r->held[r->first];
    if (!r->any)
        r->start = r->last = r->options.flat || r->options.from_zero ? 0 : h->time;
    uint64_t ns = to_nano(h->time - r->start);
    *row = (struct sthem_row){.line = h->line,
                              .interval_ns = ns - r->last_ns,
                              .seconds = (double)(h->time - r->last) / 1e15,
                              .watts = r->watts + r->first * r->sensor_count,
                              .places = r->spots + r->first * r->core_count};
    r->any = true;
    r->last = h->time;
    r->last_ns = ns;
    r->first++;
    r->count--;
    r->ready--;
    return 1;
}

enum sthem_variant sthem_variant(const struct sthem_reader *r)
{
    return r->variant;
}

size_t sthem_sensor_count(const struct sthem_reader *r)
{
    return r->sensor_count;
}

uint64_t sthem_sensor_number(const struct sthem_reader *r, size_t sensor)
{
    return r->sensors[sensor].number;
}

size_t sthem_core_count(const struct sthem_reader *r)
{
    return r->core_count;
}

uint64_t sthem_core_number(const struct sthem_reader *r, size_t core)
{
    return r->cores[core].number;
}

const char *sthem_ignored(const struct sthem_reader *r)
{
    return (const char *)r->ignored.data;
}

struct sthem_place sthem_place(const struct sthem_reader *r, uint32_t number)
{
    return r->places[number];
}

uint64_t sthem_repaired(const struct sthem_reader *r)
{
    return r->repaired;
}

bool sthem_open_end(const struct sthem_reader *r)
{
    return r->csv.open_end;
}

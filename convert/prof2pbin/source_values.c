/* The values of each power source of a raw profile, as columns of a pbin beside the PMU value.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/source_values.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "formats/raw/raw_readings.h"

struct source_values {
    struct raw_readings *readings;
    struct raw_reading_walk walk; /* is ahead of the samples by a reading */
    bool ended;
    uint64_t *last_ns; /* [source_count] time of the last reading */
    size_t source_count;
    uint32_t *sources; /* [count] sources with a column */
    size_t count;
};

/* Returns the only source of the PMU value; COUNT if there is none or more than one. */
static size_t only_part(const struct raw_source *sources, size_t count)
{
    size_t found = count, parts = 0;
    for (size_t i = 0; i < count; i++)
        if (sources[i].role == 1) {
            found = i;
            parts++;
        }
    return parts == 1 ? found : count;
}

struct source_values *source_values_new(const struct raw_profile *raw, struct pbin_writer *writer)
{
    const struct raw_source *sources = raw->ext.sources;
    size_t count = raw->ext.source_count, only = only_part(sources, count);
    if (!raw->has_times || count == 0 || (count == 1 && only == 0))
        return NULL;
    struct source_values *v = mem_zalloc(1, sizeof *v);
    v->readings = raw_readings_new(sources, count);
    v->walk = raw_reading_walk_begin(raw->stream, &raw->ext);
    v->last_ns = mem_zalloc(count, sizeof *v->last_ns);
    v->sources = mem_zalloc(count, sizeof *v->sources);
    v->source_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (i != only) {
            v->sources[v->count++] = i;
            pbin_declare_value(writer, i);
        }
    return v;
}

void source_values_delete(struct source_values *v)
{
    if (v == NULL)
        return;
    raw_readings_delete(v->readings);
    raw_reading_walk_end(&v->walk);
    free(v->last_ns);
    free(v->sources);
    free(v);
}

static bool reaches(const struct source_values *v, uint64_t time_ns)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->last_ns[v->sources[i]] < time_ns)
            return false;
    return true;
}

/* Reads until each source has a reading at TIME_NS or later, or there are no more. Returns 0, or -1
 * with ERR filled. */
static int read_until(struct source_values *v, uint64_t time_ns, struct error *err)
{
    while (!v->ended && !reaches(v, time_ns)) {
        struct raw_reading reading;
        int got = raw_reading_next(&v->walk, &reading, err);
        if (got < 0)
            return -1;
        v->ended = got == 0;
        if (got > 0 && raw_readings_add(v->readings, &reading) == 0)
            v->last_ns[reading.source] = reading.time;
    }
    return 0;
}

int source_values_put(struct source_values *v, uint64_t before_ns, const uint64_t *time_ns,
                      size_t count, const struct pbin_room *room, struct error *err)
{
    if (v == NULL || count == 0)
        return 0;
    raw_readings_forget(v->readings, before_ns);
    if (read_until(v, time_ns[count - 1], err) != 0)
        return -1;
    for (size_t k = 0; k < v->count; k++) {
        uint64_t from = before_ns, *bits = room->more_bits[k] + room->at;
        for (size_t i = 0; i < count; i++) {
            bits[i] =
                bits_of_double(raw_readings_value_of(v->readings, v->sources[k], from, time_ns[i]));
            from = time_ns[i];
        }
    }
    return 0;
}

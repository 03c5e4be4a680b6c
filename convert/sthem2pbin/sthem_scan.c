/* The first pass over a sthem export.
 * SPDX-License-Identifier: MIT */
#include "convert/sthem2pbin/sthem_scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/progress.h"
#include "base/utf8.h"

struct scan {
    struct sthem_reader *reader;
    struct sthem_summary *summary;
    struct reporter *reporter;
    const char *name;
    double *joules;   /* [by sensor] */
    bool *powered;    /* [by sensor] not always 0 */
    bool *seen;       /* [by core] it shows a PC */
    uint64_t *visits; /* [by place] samples */
    size_t visit_capacity, place_count;
};

static void count_place(struct scan *s, uint32_t place)
{
    mem_extend(&s->visits, &s->place_count, &s->visit_capacity, (size_t)place + 1,
               sizeof *s->visits);
    s->visits[place]++;
}

static void add_row(struct scan *s, const struct sthem_row *row)
{
    size_t sensors = sthem_sensor_count(s->reader), cores = sthem_core_count(s->reader), busy = 0;
    for (size_t i = 0; i < sensors; i++) {
        s->joules[i] += row->watts[i] * row->seconds;
        s->powered[i] |= row->watts[i] != 0;
    }
    for (size_t i = 0; i < cores; i++)
        if (row->places[i] != STHEM_IDLE) {
            s->seen[i] = true;
            count_place(s, row->places[i]);
            busy++;
        }
    s->summary->several |= busy > 1;
    s->summary->rows++;
    s->summary->wall_ns += row->interval_ns;
}

static int read_rows(struct scan *s, struct stream *stream, struct error *err)
{
    struct sthem_row row;
    struct progress progress;
    int got;
    progress_start(&progress, s->reporter, stream_size(stream), "bytes checked");
    while ((got = sthem_next(s->reader, &row, err)) > 0) {
        add_row(s, &row);
        progress_at(&progress, stream_offset(stream));
    }
    progress_end(&progress);
    if (got == 0 && s->summary->rows == 0)
        return error_set(err, s->name, NO_OFFSET, "line 2, column 1: no rows after the header");
    return got;
}

/* Several sensors are possible, and none was chosen: fills ERR with a list of them and their
 * energies. Returns -1. */
static int ask_for_sensor(const struct scan *s, struct error *err)
{
    char list[300] = "";
    size_t used = 0;
    for (size_t i = 0; i < sthem_sensor_count(s->reader) && used < sizeof list - 50; i++)
        if (s->powered[i])
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64 " (%.6g J)",
                                     used > 0 ? ", " : "", sthem_sensor_number(s->reader, i),
                                     s->joules[i]);
    return error_set(
        err, s->name, NO_OFFSET,
        "several power sensors are not zero: %s; choose one with -p N, or add them up with -p N,M",
        list);
}

static int choose(struct scan *s, bool asked, struct error *err)
{
    struct sthem_summary *m = s->summary;
    size_t count = sthem_sensor_count(s->reader), powered = 0;
    for (size_t i = 0; i < count; i++)
        powered += s->powered[i];
    if (!asked && powered > 1)
        return ask_for_sensor(s, err);
    m->sensors = mem_zalloc(count, sizeof *m->sensors);
    m->powered = powered > 0;
    for (size_t i = 0; i < count; i++)
        if (asked || s->powered[i]) {
            double least;
            m->negative += sthem_negative(s->reader, i, &least);
            m->least = least < m->least ? least : m->least;
            m->sensors[m->sensor_count++] = sthem_sensor_number(s->reader, i);
            m->joules += s->joules[i];
        }
    return 0;
}

static void warn(const struct scan *s, const struct sthem_options *options)
{
    const struct sthem_reader *r = s->reader;
    if (sthem_repaired(r) > 0)
        report_warning(s->reporter,
                       "%s: %" PRIu64
                       " rows are not later than the previous one (printed with too few "
                       "digits?): their times are spread evenly between their neighbours",
                       s->name, sthem_repaired(r));
    if (sthem_open_end(r))
        report_warning(s->reporter, "%s: the last line has no line end: the file may be truncated",
                       s->name);
    if (sthem_ignored(r)[0] != '\0') {
        char *names = utf8_visible(sthem_ignored(r), NULL);
        report_warning(s->reporter, "%s: ignored columns: %.200s", s->name, names);
        free(names);
    }
    if (s->summary->powered)
        return;
    report_warning(s->reporter, "%s: %s: the profile has time but no energy%s", s->name,
                   sthem_sensor_count(r) == 0 ? "no power sensors" : "power is always 0",
                   sthem_variant(r) == STHEM_LYNSYN && options->volts == 0
                       ? " (give -v VOLTS if the board measures no voltages)"
                       : "");
}

static void list_pcs(struct scan *s)
{
    struct sthem_summary *m = s->summary;
    if (sthem_variant(s->reader) == STHEM_SYMBOLS)
        return;
    m->pcs = mem_alloc(s->place_count * sizeof *m->pcs);
    for (; m->pc_count < s->place_count; m->pc_count++)
        m->pcs[m->pc_count] = (struct sthem_pc){sthem_place(s->reader, (uint32_t)m->pc_count).pc,
                                                s->visits[m->pc_count]};
}

static int scan_all(struct scan *s, struct stream *stream, const struct sthem_options *options,
                    struct error *err)
{
    size_t sensors = sthem_sensor_count(s->reader), cores = sthem_core_count(s->reader);
    s->joules = mem_zalloc(sensors, sizeof *s->joules);
    s->powered = mem_zalloc(sensors, sizeof *s->powered);
    s->seen = mem_zalloc(cores, sizeof *s->seen);
    if (read_rows(s, stream, err) != 0 || choose(s, options->sensor_count > 0, err) != 0)
        return -1;
    for (size_t i = 0; i < cores; i++)
        s->summary->cores += s->seen[i];
    list_pcs(s);
    warn(s, options);
    return 0;
}

int sthem_scan(struct stream *stream, const struct sthem_options *options,
               struct sthem_summary *summary, struct reporter *reporter, struct error *err)
{
    struct scan s = {.summary = summary, .reporter = reporter, .name = stream_name(stream)};
    *summary = (struct sthem_summary){0};
    s.reader = sthem_open(stream, options, err);
    int result = s.reader == NULL ? -1 : scan_all(&s, stream, options, err);
    free(s.joules);
    free(s.powered);
    free(s.seen);
    free(s.visits);
    sthem_close(s.reader);
    return result;
}

void sthem_summary_free(struct sthem_summary *summary)
{
    free(summary->sensors);
    free(summary->pcs);
}

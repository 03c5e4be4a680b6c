/* The contents of a pbin as they are stored.
 * SPDX-License-Identifier: MIT */
#include "analyze/dump/dump_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/memory.h"

static int read_to_end(struct pbin_reader *reader, struct error *err)
{
    struct pbin_batch batch;
    int got;
    while ((got = pbin_reader_next(reader, &batch, err)) > 0)
        ;
    return got;
}

static struct table_cell text_cell(const struct pbin_definitions *all, uint32_t number)
{
    return cell_text(strings_get(all->strings, number));
}

static struct table_cell field_cell(const struct pbin_meta *meta, const struct pbin_field *field)
{
    const void *at = (const char *)meta + field->at;
    if (field->type == 's')
        return *(char *const *)at == NULL ? (struct table_cell){0} : cell_text(*(char *const *)at);
    if (field->type == 'f')
        return *(const double *)at == 0 ? (struct table_cell){0} : cell_real(*(const double *)at);
    if (strcmp(field->name, "pmu") == 0)
        return cell_text(meta->pmu > PMU_CUSTOM ? "custom"
                                                : pmu_kind_name((enum pmu_kind)meta->pmu));
    return cell_count(*(const uint64_t *)at);
}

/* Does the same for people: in seconds and hertz, and with values that were not recorded as
 * missing. */
static struct table_fact fact_for_people(const struct pbin_meta *meta,
                                         const struct pbin_field *field)
{
    static const struct {
        const char *name, *title, *unit;
        double scale; /* 0: a yes or no */
    } known[] = {{"wall_ns", "wall time", "s", 1e9},
                 {"latency_ns", "time in the sampler", "s", 1e9},
                 {"frequency", "requested frequency", "Hz", 1e3},
                 {"cpu_time", "has CPU times", "", 0},
                 {"times", "has times of samples", "", 0},
                 {"own_intervals", "samples end their intervals", "", 0},
                 {"baseline_w", "power without the program", "W", 1},
                 {"idle_samples", "waiting thread samples", "", 1},
                 {"unattributed", "energy in no row", "J", 1},
                 {"divided", "thread samples with equal CPU times", "", 1},
                 {"cpus", "cpus", "", 1}};
    struct table_fact fact = {field->name, field->name, field->unit, field_cell(meta, field)};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, field->name) != 0)
            continue;
        uint64_t value = *(const uint64_t *)((const char *)meta + field->at);
        fact.title = known[i].title;
        fact.unit = known[i].unit;
        if (known[i].scale == 0)
            fact.cell = cell_text(value != 0 ? "yes" : "no");
        else if (value == 0)
            fact.cell = (struct table_cell){0};
        else if (known[i].scale != 1)
            fact.cell = cell_real((double)value / known[i].scale);
    }
    return fact;
}

static int show_meta(struct pbin_reader *reader, bool raw, const struct dump_request *request,
                     struct output *out, struct error *err)
{
    static const struct table_column columns[] = {
        TABLE_COLUMN("address", "", false), TABLE_COLUMN("size", "B", false),
        TABLE_COLUMN("offset", "", false),  TABLE_COLUMN("label", "", true),
        TABLE_COLUMN("path", "", true),     TABLE_COLUMN("build_id", "", true),
    };
    struct table_cell cells[6];
    if (read_to_end(reader, err) != 0)
        return -1;
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    const struct pbin_definitions *all = pbin_reader_definitions(reader);
    struct table_fact *facts = mem_zalloc(pbin_field_count + 3, sizeof *facts);
    size_t count = 0;
    for (size_t i = 0; i < pbin_field_count; i++)
        facts[count++] =
            raw ? (struct table_fact){pbin_fields[i].name, pbin_fields[i].name, pbin_fields[i].unit,
                                      field_cell(meta, &pbin_fields[i])}
                : fact_for_people(meta, &pbin_fields[i]);
    facts[count++] = (struct table_fact){"samples_read", raw ? "samples_read" : "samples read", "",
                                         cell_count(pbin_reader_samples(reader))};
    facts[count++] = (struct table_fact){"threads", "threads", "", cell_count(all->thread_count)};
    facts[count++] =
        (struct table_fact){"locations", "locations", "", cell_count(all->location_count)};
    struct table_head head = {.facts = facts,
                              .fact_count = count,
                              .columns = columns,
                              .column_count = 6,
                              .style = request->style};
    struct table *table = table_open(request->format, out, &head);
    for (size_t i = 0; i < all->map_count; i++) {
        const struct pbin_map *map = &all->maps[i];
        cells[0] = cell_hex(map->address);
        cells[1] = cell_count(map->size);
        cells[2] = map->offset == UINT64_MAX ? (struct table_cell){0} : cell_hex(map->offset);
        cells[3] = text_cell(all, map->label);
        cells[4] = text_cell(all, map->path);
        cells[5] = text_cell(all, map->build_id);
        table_row(table, cells);
    }
    table_close(table);
    free(facts);
    return 0;
}

int dump_meta(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
              struct error *err)
{
    bool for_people = request->format == &table_text || request->format == &table_markdown;
    return show_meta(reader, !for_people, request, out, err);
}

int dump_meta_raw(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err)
{
    return show_meta(reader, true, request, out, err);
}

int dump_check_samples(const struct pbin_meta *meta, struct error *err)
{
    if (meta->keys == NULL)
        return 0;
    return error_set(err, NULL, NO_OFFSET, "aggregated profiles contain no samples");
}

void dump_advance(struct dump_position *at, uint64_t interval_ns)
{
    const struct pbin_meta *meta = at->meta;
    double step = weigh_even_seconds(meta);
    at->time_ns += interval_ns;
    at->samples++;
    at->begin = at->time;
    at->time = meta->times ? (double)at->time_ns / 1e9 : (double)at->samples * step;
}

enum { SAMPLE_COLUMNS = 12 };

static void dump_thread_sample(const struct pbin_definitions *all, const struct pbin_samples *s,
                               size_t k, struct table_cell *cells)
{
    const struct pbin_thread *thread = &all->threads[s->thread[k]];
    const struct pbin_location *location = &all->locations[s->location[k]];
    const struct pbin_frame *inner = &all->frames[location->first_frame];
    const struct pbin_frame *outer = inner + location->frame_count - 1;
    cells[3] = cell_count(thread->tid);
    cells[4] = text_cell(all, thread->name);
    cells[5] = cell_real((double)s->cpu_ns[k] / 1e9);
    cells[6] = cell_hex(location->pc);
    cells[7] = text_cell(all, location->binary);
    cells[8] = text_cell(all, outer->function);
    cells[9] = text_cell(all, outer->demangled);
    cells[10] = text_cell(all, inner->file);
    cells[11] = inner->line > 0 ? cell_count(inner->line) : (struct table_cell){0};
}

/* A value that is not a number: two digits for each byte, in the order of the file. */
static struct table_cell hex_cell(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return cell_text(text);
}

/* FIRST: the time of the first sample shown; NaN if there is none yet. */
static void dump_batch(struct table *table, const struct dump_request *request,
                       const struct pbin_samples *s, const struct pbin_definitions *all,
                       struct dump_position *at, double *first)
{
    size_t k = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct table_cell cells[SAMPLE_COLUMNS] = {{0}};
        dump_advance(at, s->interval_ns[i]);
        if (!dump_is_inside(request, at->time)) {
            k += s->threads[i];
            continue;
        }
        *first = isnan(*first) ? at->time : *first;
        cells[0] = cell_count(at->samples - 1);
        cells[1] = dump_time(request, *first, at->time);
        char hex[2 * PBIN_MAX_OPAQUE + 1];
        if (s->opaque != NULL)
            cells[2] = hex_cell(s->opaque + i * s->opaque_size, s->opaque_size, hex);
        else if (at->meta->pmu != PMU_NONE)
            cells[2] = cell_real(s->value[i]);
        if (s->threads[i] == 0)
            table_row(table, cells);
        for (size_t j = 0; j < s->threads[i]; j++) {
            dump_thread_sample(all, s, k++, cells);
            table_row(table, cells);
        }
    }
}

int dump_samples(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    const struct table_column columns[SAMPLE_COLUMNS] = {
        RANKED_COLUMN("sample", "", false, 5),
        TABLE_COLUMN("time", "s", false),
        TABLE_COLUMN("value", meta->unit != NULL ? meta->unit : "", false),
        TABLE_COLUMN("thread", "", false),
        RANKED_COLUMN("thread_name", "", true, 6),
        TABLE_COLUMN("cpu_time", "s", false),
        RANKED_COLUMN("pc", "", false, 4),
        RANKED_COLUMN("binary", "", true, 1),
        RANKED_COLUMN("symbol", "", true, 7),
        TABLE_COLUMN("function", "", true),
        RANKED_COLUMN("file", "", true, 2),
        RANKED_COLUMN("line", "", false, 3),
    };
    struct table_head head = {
        .columns = columns, .column_count = SAMPLE_COLUMNS, .style = request->style};
    struct pbin_batch batch;
    struct dump_position at = {.meta = meta};
    double first = NAN;
    int got;
    if (dump_check_samples(meta, err) != 0)
        return -1;
    pbin_reader_want(reader, PBIN_WANT_OPAQUE);
    struct table *table = table_open(request->format, out, &head);
    while ((got = pbin_reader_next(reader, &batch, err)) > 0) {
        if (batch.item == PBIN_SAMPLES)
            dump_batch(table, request, &batch.samples, pbin_reader_definitions(reader), &at,
                       &first);
        if (output_write(out, "", 0) != 0) { /* writing failed: do not continue for minutes */
            got = -1;
            break;
        }
    }
    table_close(table);
    return got;
}

int dump_threads(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err)
{
    static const struct table_column columns[] = {
        TABLE_COLUMN("thread", "", false), TABLE_COLUMN("process", "", false),
        TABLE_COLUMN("thread_name", "", true), TABLE_COLUMN("program", "", true)};
    struct table_head head = {.columns = columns, .column_count = 4, .style = request->style};
    if (read_to_end(reader, err) != 0)
        return -1;
    const struct pbin_definitions *all = pbin_reader_definitions(reader);
    struct table *table = table_open(request->format, out, &head);
    for (size_t i = 0; i < all->thread_count; i++) {
        const struct pbin_thread *thread = &all->threads[i];
        struct table_cell cells[] = {
            cell_count(thread->tid),
            thread->pid > 0 ? cell_count(thread->pid) : (struct table_cell){0},
            text_cell(all, thread->name),
            text_cell(all, thread->program),
        };
        table_row(table, cells);
    }
    table_close(table);
    return 0;
}

int dump_sources(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
                 struct error *err)
{
    static const struct table_column columns[] = {
        TABLE_COLUMN("source", "", false),  TABLE_COLUMN("name", "", true),
        TABLE_COLUMN("kind", "", true),     TABLE_COLUMN("unit", "", true),
        TABLE_COLUMN("scope", "", true),    TABLE_COLUMN("role", "", false),
        TABLE_COLUMN("period", "s", false), TABLE_COLUMN("description", "", true),
    };
    struct table_head head = {.columns = columns, .column_count = 8, .style = request->style};
    if (read_to_end(reader, err) != 0)
        return -1;
    const struct pbin_definitions *all = pbin_reader_definitions(reader);
    struct table *table = table_open(request->format, out, &head);
    for (size_t i = 0; i < all->source_count; i++) {
        const struct pbin_source *source = &all->sources[i];
        struct table_cell cells[] = {
            cell_count(i),
            text_cell(all, source->name),
            text_cell(all, source->kind),
            text_cell(all, source->unit),
            text_cell(all, source->scope),
            cell_count(source->role),
            source->period > 0 ? cell_real((double)source->period / 1e9) : (struct table_cell){0},
            text_cell(all, source->help),
        };
        table_row(table, cells);
    }
    table_close(table);
    return 0;
}

static void dump_reading(struct table *table, const struct pbin_definitions *all,
                         const struct pbin_reading *reading)
{
    const struct pbin_source *source = &all->sources[reading->source];
    bool counter = pbin_source_is_counter(all->strings, source);
    struct table_cell cells[] = {
        cell_real((double)reading->time / 1e9),
        cell_count(reading->source),
        text_cell(all, source->name),
        text_cell(all, source->kind),
        text_cell(all, source->scope),
        cell_count(source->role),
        cell_real(counter ? (double)reading->value * source->per_count
                          : double_of_bits(reading->value)),
        text_cell(all, source->unit),
        reading->busy > 0 ? cell_real((double)reading->busy / 1e9) : (struct table_cell){0},
    };
    table_row(table, cells);
}

int dump_readings(struct pbin_reader *reader, const struct dump_request *request,
                  struct output *out, struct error *err)
{
    static const struct table_column columns[] = {
        TABLE_COLUMN("time", "s", false), TABLE_COLUMN("source", "", false),
        TABLE_COLUMN("name", "", true),   TABLE_COLUMN("kind", "", true),
        TABLE_COLUMN("scope", "", true),  TABLE_COLUMN("role", "", false),
        TABLE_COLUMN("value", "", false), TABLE_COLUMN("unit", "", true),
        TABLE_COLUMN("busy", "s", false),
    };
    struct table_head head = {.columns = columns, .column_count = 9, .style = request->style};
    struct pbin_batch batch;
    int got;
    pbin_reader_want(reader, PBIN_WANT_READINGS);
    struct table *table = table_open(request->format, out, &head);
    while ((got = pbin_reader_next(reader, &batch, err)) > 0)
        if (batch.item == PBIN_READING && dump_is_inside(request, (double)batch.reading.time / 1e9))
            dump_reading(table, pbin_reader_definitions(reader), &batch.reading);
    table_close(table);
    return got;
}

int dump_locations(struct pbin_reader *reader, const struct dump_request *request,
                   struct output *out, struct error *err)
{
    static const struct table_column columns[] = {
        TABLE_COLUMN("pc", "", false),        TABLE_COLUMN("frame", "", false),
        RANKED_COLUMN("line", "", false, 2),  TABLE_COLUMN("binary", "", true),
        RANKED_COLUMN("symbol", "", true, 4), TABLE_COLUMN("function", "", true),
        RANKED_COLUMN("file", "", true, 1),   RANKED_COLUMN("caller_pc", "", false, 3),
    };
    struct table_head head = {.columns = columns, .column_count = 7, .style = request->style};
    if (read_to_end(reader, err) != 0)
        return -1;
    const struct pbin_definitions *all = pbin_reader_definitions(reader);
    head.column_count += all->callers != NULL;
    struct table *table = table_open(request->format, out, &head);
    for (size_t i = 0; i < all->location_count; i++)
        for (uint32_t j = 0; j < all->locations[i].frame_count; j++) {
            const struct pbin_frame *frame = &all->frames[all->locations[i].first_frame + j];
            uint32_t caller = all->callers != NULL ? all->callers[i] : PBIN_NO_CALLER;
            struct table_cell cells[8] = {
                cell_hex(all->locations[i].pc),
                cell_count(j),
                frame->line > 0 ? cell_count(frame->line) : (struct table_cell){0},
                text_cell(all, all->locations[i].binary),
                text_cell(all, frame->function),
                text_cell(all, frame->demangled),
                text_cell(all, frame->file),
                caller != PBIN_NO_CALLER ? cell_hex(all->locations[caller].pc)
                                         : (struct table_cell){0},
            };
            table_row(table, cells);
        }
    table_close(table);
    return 0;
}

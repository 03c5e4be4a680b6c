/* The places of each thread over time: a column per thread, or a row per stay in one place.
 *
 *   time [s]  value [W]  thread_7   thread_8       thread  begin [s]  duration [s]  function
 *      0.001        5.1  app:main                       7          0         0.003  main
 *      0.002        5.2  app:main   app:work            8      0.001         0.002  work
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/keys.h"
#include "analyze/dump/dump_internal.h"
#include "base/memory.h"

/* Numbers of places. */
struct places {
    struct rowset rows;
    struct key_map map;
    const struct dump_request *request;
};

static const struct selection everything;

static void places_init(struct places *p, const struct dump_request *request)
{
    p->request = request;
    rowset_init(&p->rows, &request->keys);
    key_map_init(&p->map, &p->rows, &request->keys, &everything, NULL, request->code);
}

static void places_free(struct places *p)
{
    key_map_free(&p->map);
    rowset_free(&p->rows);
}

/* The cell of key number I of PLACE. */
static struct table_cell place_cell(const struct places *p, uint32_t place, size_t i)
{
    const struct pbin_key *key = pbin_key_get((size_t)p->request->keys.key[i]);
    uint64_t value = p->rows.rows[place].key[i];
    if (key->is_text)
        return cell_text(strings_get(p->rows.texts, (uint32_t)value));
    if (value == 0 && !key->has_zero)
        return (struct table_cell){0};
    return strcmp(key->name, "pc") == 0 ? cell_hex(value) : cell_count(value);
}

/* All keys of PLACE, joined by colons. The caller frees the text. */
static char *place_name(const struct places *p, uint32_t place)
{
    char *name = mem_strdup("");
    for (size_t i = 0; i < p->request->keys.count; i++) {
        struct table_cell cell = place_cell(p, place, i);
        const char *colon = i > 0 ? ":" : "";
        char *longer =
            cell.kind == CELL_TEXT    ? mem_printf("%s%s%s", name, colon, cell.text)
            : cell.kind == CELL_HEX   ? mem_printf("%s%s0x%" PRIx64, name, colon, cell.count)
            : cell.kind == CELL_COUNT ? mem_printf("%s%s%" PRIu64, name, colon, cell.count)
                                      : mem_printf("%s%s-", name, colon);
        free(name);
        name = longer;
    }
    return name;
}

/* Calls SEEN for each sample in the selected time. The thread samples of the sample start at K. */
struct walk {
    void (*seen)(void *context, const struct pbin_definitions *all, const struct pbin_samples *s,
                 size_t i, size_t k, const struct dump_position *at);
    void *context;
    struct output *out;
};

static int walk_samples(const struct walk *walk, struct pbin_reader *reader,
                        const struct dump_request *request, struct error *err)
{
    struct dump_position at = {.meta = pbin_reader_meta(reader)};
    struct pbin_batch batch;
    int got;
    while ((got = pbin_reader_next(reader, &batch, err)) > 0) {
        const struct pbin_samples *s = &batch.samples;
        size_t k = 0;
        for (size_t i = 0; batch.item == PBIN_SAMPLES && i < s->count; i++) {
            dump_advance(&at, s->interval_ns[i]);
            if (dump_is_inside(request, at.time))
                walk->seen(walk->context, pbin_reader_definitions(reader), s, i, k, &at);
            k += s->threads[i];
        }
        if (output_write(walk->out, "", 0) != 0) /* writing failed: do not continue for minutes */
            return -1;
    }
    return got;
}

/* ---- a column per thread ---- */

struct one_sample {
    double time, value;
    size_t end; /* end of its part of STAYS */
};

struct stay {
    uint32_t thread, place;
};

struct wide_table {
    struct places places;
    struct one_sample *samples;
    struct stay *stays;
    size_t count, capacity, stay_count, stay_capacity;
    size_t joined; /* samples in the last row */
};

/* Adds sample I to the last row, if that is incomplete. */
static bool join(struct wide_table *w, const struct pbin_samples *s, size_t i)
{
    size_t most = w->places.request->interpolate;
    if (w->joined == 0 || w->joined >= most)
        return false;
    double *value = &w->samples[w->count - 1].value;
    *value += (s->value[i] - *value) / (double)++w->joined;
    return true;
}

static void keep(void *context, const struct pbin_definitions *all, const struct pbin_samples *s,
                 size_t i, size_t k, const struct dump_position *at)
{
    struct wide_table *w = context;
    size_t threads = w->places.request->no_threads ? 0 : s->threads[i];
    if (join(w, s, i))
        return;
    w->joined = 1;
    mem_reserve(&w->stays, &w->stay_capacity, w->stay_count + threads, sizeof *w->stays);
    for (size_t j = k; j < k + threads; j++)
        w->stays[w->stay_count++] = (struct stay){
            (uint32_t)s->thread[j], key_map_row(&w->places.map, all, s->thread[j], s->location[j])};
    mem_reserve(&w->samples, &w->capacity, w->count + 1, sizeof *w->samples);
    w->samples[w->count++] = (struct one_sample){at->time, s->value[i], w->stay_count};
}

/* The columns: time, value, and the name of each thread that was seen. Sets COLUMN_OF [threads] to
 * the columns of threads. */
static struct table_column *make_columns(const struct wide_table *w, const struct pbin_meta *meta,
                                         const struct pbin_definitions *all, size_t *column_of,
                                         size_t *count)
{
    struct table_column *columns = mem_zalloc(all->thread_count + 2, sizeof *columns);
    struct numbers tids = {0};
    bool has_values = meta->pmu != PMU_NONE;
    *count = 0;
    columns[(*count)++] = (struct table_column)TABLE_COLUMN("time", "s", false);
    if (has_values)
        columns[(*count)++] =
            (struct table_column)TABLE_COLUMN("value", meta->unit != NULL ? meta->unit : "", false);
    for (size_t i = 0; i < w->stay_count; i++)
        column_of[w->stays[i].thread] = 1;
    for (size_t t = 0; t < all->thread_count; t++) {
        if (column_of[t] == 0)
            continue;
        uint32_t tid = all->threads[t].tid, known = tids.count;
        bool again = numbers_intern(&tids, tid) < known; /* the thread ID was used again */
        char *name = again ? mem_printf("thread_%" PRIu32 "_%zu", tid, t)
                           : mem_printf("thread_%" PRIu32, tid);
        columns[*count] = (struct table_column)TABLE_COLUMN(name, "", true);
        column_of[t] = (*count)++;
    }
    numbers_free(&tids);
    return columns;
}

static void put_wide(const struct wide_table *w, struct table *table, const size_t *column_of,
                     size_t column_count, bool has_values)
{
    struct table_cell *cells = mem_zalloc(column_count, sizeof *cells);
    char **names = mem_zalloc(w->places.rows.count + 1, sizeof *names);
    for (size_t i = 0; i < w->places.rows.count; i++)
        names[i] = place_name(&w->places, (uint32_t)i);
    size_t k = 0;
    for (size_t i = 0; i < w->count; i++) {
        memset(cells, 0, column_count * sizeof *cells);
        cells[0] = dump_time(w->places.request, w->samples[0].time, w->samples[i].time);
        if (has_values)
            cells[1] = cell_real(w->samples[i].value);
        for (; k < w->samples[i].end; k++)
            cells[column_of[w->stays[k].thread]] = cell_text(names[w->stays[k].place]);
        table_row(table, cells);
    }
    for (size_t i = 0; i < w->places.rows.count; i++)
        free(names[i]);
    free(names);
    free(cells);
}

static void write_wide(const struct wide_table *w, const struct dump_request *request,
                       struct pbin_reader *reader, struct output *out)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    const struct pbin_definitions *all = pbin_reader_definitions(reader);
    size_t *column_of = mem_zalloc(all->thread_count + 1, sizeof *column_of), count;
    struct table_column *columns = make_columns(w, meta, all, column_of, &count);
    bool has_values = meta->pmu != PMU_NONE;
    struct table_head head = {.columns = columns, .column_count = count, .style = request->style};
    struct table *table = table_open(request->format, out, &head);
    put_wide(w, table, column_of, count, has_values);
    table_close(table);
    for (size_t i = has_values ? 2 : 1; i < count; i++)
        free((char *)(uintptr_t)columns[i].name);
    free(columns);
    free(column_of);
}

int dump_per_thread(struct pbin_reader *reader, const struct dump_request *request,
                    struct output *out, struct error *err)
{
    struct wide_table w = {.count = 0};
    const struct walk walk = {keep, &w, out};
    if (dump_check_samples(pbin_reader_meta(reader), err) != 0)
        return -1;
    places_init(&w.places, request);
    int result = walk_samples(&walk, reader, request, err);
    if (result == 0)
        write_wide(&w, request, reader, out);
    places_free(&w.places);
    free(w.samples);
    free(w.stays);
    return result;
}

/* ---- a row per stay ---- */

enum { STAY_COLUMNS = 6 };

/* The place where a thread was last seen. */
struct last_stay {
    uint64_t cpu_ns, samples; /* samples: 0 if not seen yet */
    double begin, end;        /* [s] */
    uint32_t place;
};

struct gantt {
    struct places places;
    struct table *table;
    struct last_stay *last; /* [threads] */
    size_t count, capacity;
};

static void put_stay(const struct gantt *g, const struct pbin_definitions *all, size_t thread)
{
    const struct last_stay *l = &g->last[thread];
    struct table_cell cells[STAY_COLUMNS + PBIN_MAX_KEYS] = {
        cell_count(all->threads[thread].tid),
        cell_text(strings_get(all->strings, all->threads[thread].name)),
        cell_real(l->begin),
        cell_real(round((l->end - l->begin) * 1e9) / 1e9),
        cell_real((double)l->cpu_ns / 1e9),
        cell_count(l->samples),
    };
    for (size_t i = 0; i < g->places.request->keys.count; i++)
        cells[STAY_COLUMNS + i] = place_cell(&g->places, l->place, i);
    table_row(g->table, cells);
}

/* THREAD is at PLACE in the sample AT. It is assumed to have been there during the interval of the
 * sample. If it used CPU time for half of the time since it was last seen, it is assumed to have
 * been there since then, because engines that interrupt each CPU separately do not see all threads
 * in all samples. */
static void stay_at(struct gantt *g, const struct pbin_definitions *all, size_t thread,
                    uint32_t place, uint64_t cpu_ns, const struct dump_position *at)
{
    struct last_stay *l = &g->last[thread];
    double begin = at->begin;
    if (l->samples > 0 && (double)cpu_ns / 1e9 >= (at->time - l->end) / 2)
        begin = l->end;
    if (l->samples == 0 || l->place != place || begin > l->end) {
        if (l->samples > 0)
            put_stay(g, all, thread);
        *l = (struct last_stay){.place = place, .begin = begin};
    }
    l->cpu_ns += cpu_ns;
    l->samples++;
    l->end = at->time;
}

static void follow(void *context, const struct pbin_definitions *all, const struct pbin_samples *s,
                   size_t i, size_t k, const struct dump_position *at)
{
    struct gantt *g = context;
    if (all->thread_count > g->count) {
        mem_reserve(&g->last, &g->capacity, all->thread_count, sizeof *g->last);
        memset(g->last + g->count, 0, (all->thread_count - g->count) * sizeof *g->last);
        g->count = all->thread_count;
    }
    for (size_t j = k; j < k + s->threads[i]; j++)
        stay_at(g, all, s->thread[j],
                key_map_row(&g->places.map, all, s->thread[j], s->location[j]), s->cpu_ns[j], at);
}

int dump_gantt(struct pbin_reader *reader, const struct dump_request *request, struct output *out,
               struct error *err)
{
    struct table_column columns[STAY_COLUMNS + PBIN_MAX_KEYS] = {
        TABLE_COLUMN("thread", "", false),        RANKED_COLUMN("thread_name", "", true, 3),
        TABLE_COLUMN("begin", "s", false),        TABLE_COLUMN("duration", "s", false),
        RANKED_COLUMN("cpu_time", "s", false, 1), RANKED_COLUMN("samples", "", false, 2),
    };
    struct gantt g = {.count = 0};
    const struct walk walk = {follow, &g, out};
    if (dump_check_samples(pbin_reader_meta(reader), err) != 0)
        return -1;
    for (size_t i = 0; i < request->keys.count; i++) {
        const struct pbin_key *key = pbin_key_get((size_t)request->keys.key[i]);
        columns[STAY_COLUMNS + i] = (struct table_column)TABLE_COLUMN(key->name, "", key->is_text);
    }
    struct table_head head = {.columns = columns,
                              .column_count = STAY_COLUMNS + request->keys.count,
                              .style = request->style};
    places_init(&g.places, request);
    g.table = table_open(request->format, out, &head);
    int result = walk_samples(&walk, reader, request, err);
    for (size_t t = 0; result == 0 && t < g.count; t++)
        if (g.last[t].samples > 0)
            put_stay(&g, pbin_reader_definitions(reader), t);
    table_close(g.table);
    places_free(&g.places);
    free(g.last);
    return result;
}

/* A line for each of many profiles.
 * SPDX-License-Identifier: MIT */
#include "analyze/dump/dump_info.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/aggregate/aggregate.h"
#include "base/memory.h"

enum { INFO_COLUMNS = 11 };

struct dump_info {
    struct table *table;
    struct table_column columns[INFO_COLUMNS];
    struct table_head head;
};

struct dump_info *dump_info_begin(const struct table_format *format,
                                  const struct table_style *style, struct output *out)
{
    static const struct table_column columns[INFO_COLUMNS] = {
        TABLE_COLUMN("file", "", true),
        {.name = "kind", .unit = "", .is_text = true, .rank = 5},
        {.name = "runs", .unit = "", .rank = 4},
        TABLE_COLUMN("samples", "", false),
        {.name = "rate", .unit = "Hz", .rank = 1},
        TABLE_COLUMN("span", "s", false),
        {.name = "threads", .unit = "", .rank = 2},
        {.name = "cpu_time", .unit = "s", .rank = 3},
        TABLE_COLUMN("energy", "J", false),
        TABLE_COLUMN("power", "W", false),
        {.name = "target", .unit = "", .is_text = true, .rank = 6},
    };
    struct dump_info *info = mem_zalloc(1, sizeof *info);
    memcpy(info->columns, columns, sizeof columns);
    info->head =
        (struct table_head){.columns = info->columns, .column_count = INFO_COLUMNS, .style = style};
    info->table = table_open(format, out, &info->head);
    return info;
}

void dump_info_end(struct dump_info *info)
{
    table_close(info->table);
    free(info);
}

static struct table_cell positive(double value)
{
    return value > 0 ? cell_real(value) : (struct table_cell){0};
}

static void put_row(const struct dump_info *info, const struct aggregate *a,
                    const struct pbin_reader *reader, const char *path)
{
    const struct pbin_meta *meta = pbin_reader_meta(reader);
    const struct quantity *quantity = aggregate_quantity(a);
    size_t runs = aggregate_run_count(a);
    double span = 0, samples = 0, time = 0, energy = 0;
    for (size_t i = 0; i < runs; i++) {
        const struct pbin_run *run = aggregate_run(a, i);
        span += (double)run->wall_ns / 1e9 / (double)runs;
        samples += (double)run->samples / (double)runs;
        time += exact_approximate(run->time, TIME_SHIFT) / 1e9 / (double)runs;
        energy += exact_approximate(run->energy, ENERGY_SHIFT) / (double)runs;
    }
    bool has_energy = quantity->name != NULL && strcmp(quantity->name, "energy") == 0;
    bool full = meta->keys == NULL;
    size_t threads = pbin_reader_definitions(reader)->thread_count;
    const struct table_cell cells[INFO_COLUMNS] = {
        cell_text(path),
        cell_text(full ? "full" : "aggregated"),
        cell_count(runs),
        cell_whole(samples),
        positive(span > 0 ? samples / span : 0),
        positive(span),
        full ? cell_count(threads) : (struct table_cell){0},
        cell_real(time),
        has_energy ? cell_real(energy) : (struct table_cell){0},
        has_energy && span > 0 ? cell_real(energy / span) : (struct table_cell){0},
        meta->target != NULL ? cell_text(meta->target) : (struct table_cell){0},
    };
    table_row(info->table, cells);
}

int dump_info_add(struct dump_info *info, struct pbin_reader *reader, const char *path,
                  struct reporter *reporter, struct error *err)
{
    struct aggregate_options options = {.no_gap_warning = true};
    options.rows.keys = *pbin_reader_keys(reader);
    if (options.rows.keys.count == 0)
        options.rows.keys = pbin_keys_of("binary");
    struct aggregate *a = aggregate_new(&options);
    int result = aggregate_read(a, reader, path, 1, reporter, err);
    if (result == 0)
        result = aggregate_finish(a, err);
    if (result == 0)
        put_row(info, a, reader, path);
    aggregate_delete(a);
    return result;
}

/* Writes an aggregate as pbin, for example as a partial result of a cluster.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static char *join_keys(const struct pbin_keys *list)
{
    char *keys = mem_strdup("");
    for (size_t i = 0; i < list->count; i++) {
        char *longer =
            mem_printf("%s%s%s", keys, i > 0 ? "," : "", pbin_key_get((size_t)list->key[i])->name);
        free(keys);
        keys = longer;
    }
    return keys;
}

static void write_runs(const struct aggregate *a, struct pbin_writer *writer)
{
    for (size_t i = 0; i < aggregate_run_count(a); i++) {
        struct pbin_run run = *aggregate_run(a, i);
        run.name = pbin_define_string(writer, aggregate_text(a, run.name));
        pbin_put_run(writer, &run);
    }
}

static void write_rows(const struct aggregate *a, struct pbin_writer *writer)
{
    const struct pbin_keys *keys = aggregate_keys(a);
    for (size_t r = 0; r < aggregate_row_count(a); r++) {
        struct pbin_row row = *aggregate_row(a, r);
        if (row.sums.runs == 0)
            continue;
        for (size_t i = 0; i < keys->count; i++)
            if (pbin_key_get((size_t)keys->key[i])->is_text)
                row.key[i] = pbin_define_string(writer, aggregate_text(a, row.key[i]));
        pbin_put_row(writer, &row, keys->count);
    }
}

static void write_arcs(const struct aggregate *a, struct pbin_writer *writer)
{
    for (size_t i = 0; i < aggregate_arc_count(a); i++) {
        const struct pbin_arc *from = aggregate_arc(a, i);
        struct pbin_arc arc = {
            .caller_binary = pbin_define_string(writer, aggregate_text(a, from->caller_binary)),
            .caller = pbin_define_string(writer, aggregate_text(a, from->caller)),
            .callee_binary = pbin_define_string(writer, aggregate_text(a, from->callee_binary)),
            .callee = pbin_define_string(writer, aggregate_text(a, from->callee)),
            .count = from->count,
        };
        pbin_put_arc(writer, &arc);
    }
}

int aggregate_write(const struct aggregate *a, struct output *out, const char *tool)
{
    struct pbin_meta meta = *aggregate_meta(a);
    char *keys = join_keys(aggregate_keys(a));
    meta.keys = keys;
    meta.tool = (char *)tool;
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    write_runs(a, writer);
    write_rows(a, writer);
    write_arcs(a, writer);
    free(keys);
    return pbin_writer_close(writer);
}

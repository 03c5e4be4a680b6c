/* Annotated lines as a table.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate/annotate_values.h"
#include "analyze/attribute/words.h"
#include "base/memory.h"

enum { MAX_COLUMNS = 16 };

struct annotate_table {
    const struct annotation *annotation;
    struct table *table;
    struct table_column columns[MAX_COLUMNS];
    size_t column_count;
    char interval_name[3][48];
    size_t intervals;
    struct table_fact facts[8];
    struct table_head head;
};

static void add_column(struct annotate_table *t, const char *name, const char *unit, bool is_text)
{
    t->columns[t->column_count++] =
        (struct table_column){.name = name, .unit = unit, .is_text = is_text};
}

/* Adds a value, with its interval if requested. */
static void add_value(struct annotate_table *t, const char *name, const char *unit)
{
    add_column(t, name, unit, false);
    if (!t->annotation->options->intervals)
        return;
    char *longer = t->interval_name[t->intervals++];
    snprintf(longer, sizeof t->interval_name[0], "%s_ci_approx", name);
    add_column(t, longer, unit, false);
}

static void make_columns(struct annotate_table *t)
{
    const struct quantity *q = &t->annotation->quantity;
    add_column(t, "binary", "", true);
    add_column(t, "function", "", true);
    add_column(t, "file", "", true);
    add_column(t, "line", "", false);
    if (t->annotation->options->assembly) {
        add_column(t, "address", "", false);
        add_column(t, "block", "", false);
    }
    add_column(t, "text", "", true);
    add_column(t, "inline", "", true);
    add_value(t, "time", "s");
    add_value(t, "share", "%");
    add_value(t, q->name != NULL ? q->name : "energy", q->name != NULL ? q->unit : "J");
    add_column(t, "samples", "", false);
}

static struct table_cell text_cell(const char *text)
{
    return text != NULL && text[0] != '\0' ? cell_text(text) : (struct table_cell){0};
}

static struct table_cell value_cell(const struct annotate_table *t,
                                    const struct annotate_sums *sums, int value)
{
    double number = annotation_value(t->annotation, sums, value);
    if (value == ANNOTATE_ENERGY && t->annotation->quantity.name == NULL)
        return (struct table_cell){0};
    return value == ANNOTATE_SAMPLES ? cell_whole(number) : cell_real(number);
}

static struct table_cell interval_cell(const struct annotate_table *t,
                                       const struct annotate_sums *sums, int value)
{
    if (value == ANNOTATE_ENERGY && t->annotation->quantity.name == NULL)
        return (struct table_cell){0};
    return cell_real(annotation_interval(t->annotation, sums, value));
}

void annotate_table_row(struct annotate_table *t, const struct annotate_function *f,
                        const struct listed *line)
{
    static const struct annotate_sums nothing = {0};
    const struct annotate_sums *sums = line->sums != NULL ? line->sums : &nothing;
    struct table_cell cells[MAX_COLUMNS];
    size_t n = 0;
    cells[n++] = text_cell(annotation_text(t->annotation, f->rows->binary));
    cells[n++] = f->level == LEVEL_BINARY
                     ? (struct table_cell){0}
                     : text_cell(annotation_text(t->annotation, f->rows->function));
    cells[n++] = text_cell(line->file);
    cells[n++] = line->line > 0 ? cell_count(line->line) : (struct table_cell){0};
    if (t->annotation->options->assembly) {
        cells[n++] = cell_hex(line->address);
        cells[n++] = line->block != NULL ? cell_hex(*line->block) : (struct table_cell){0};
    }
    cells[n++] = line->text != NULL ? cell_text(line->text) : (struct table_cell){0};
    cells[n++] = text_cell(line->inner);
    for (int value = 0; value < ANNOTATE_VALUES; value++) {
        cells[n++] = value_cell(t, sums, value);
        if (t->annotation->options->intervals && value != ANNOTATE_SAMPLES)
            cells[n++] = interval_cell(t, sums, value);
    }
    table_row(t->table, cells);
}

static size_t make_facts(struct annotate_table *t)
{
    static const struct table_cell missing = {0};
    const struct annotation *a = t->annotation;
    const struct quantity *q = &a->quantity;
    size_t n = 0;
    t->facts[n++] = (struct table_fact){"name", "profile", "", text_cell(a->meta.name)};
    t->facts[n++] = (struct table_fact){"target", "target", "", text_cell(a->meta.target)};
    t->facts[n++] = (struct table_fact){"runs", "runs", "", cell_count(a->runs)};
    t->facts[n++] = (struct table_fact){
        "time_s", attribution_is_wall(a->meta.attribution) ? "time of threads" : "CPU time", "s",
        value_cell(t, &a->total, ANNOTATE_TIME)};
    t->facts[n++] = (struct table_fact){
        q->name == NULL || strcmp(q->name, "energy") == 0 ? "energy_J" : q->name,
        q->name != NULL ? q->name : "energy", q->unit,
        q->name != NULL ? value_cell(t, &a->total, ANNOTATE_ENERGY) : missing};
    t->facts[n++] =
        (struct table_fact){"samples", "samples", "", value_cell(t, &a->total, ANNOTATE_SAMPLES)};
    return n;
}

struct annotate_table *annotate_table_open(const struct annotation *a,
                                           const struct table_format *format, struct output *out)
{
    struct annotate_table *t = mem_zalloc(1, sizeof *t);
    t->annotation = a;
    make_columns(t);
    t->head = (struct table_head){.facts = t->facts,
                                  .fact_count = make_facts(t),
                                  .columns = t->columns,
                                  .column_count = t->column_count,
                                  .style = a->options->style};
    t->table = table_open(format, out, &t->head);
    return t;
}

void annotate_table_close(struct annotate_table *t)
{
    if (t == NULL)
        return;
    table_close(t->table);
    free(t);
}

/* The tree of a profile. Rows are sorted by their keys, so the rows of a subtree are contiguous.
 * SPDX-License-Identifier: MIT */
#include "plot/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plot/names.h"

static const double NARROWED = 1.0 / 3;

struct builder {
    struct flame_tree *tree;
    const struct aggregate *aggregate;
    const struct pbin_keys *keys;
    double *values; /* by row; negative values count as 0 */
    double *widths; /* by row */
    double least;   /* width */
};

/* Rows from FIRST to LAST - 1, with equal keys before LEVEL. */
struct span {
    size_t first, last;
    double begin;
    unsigned depth;
    const char *above; /* name of the node above; a key that repeats it is skipped */
};

/* Sets the sums of NODE over the rows from FIRST to LAST - 1. */
static void sum_up(const struct builder *b, size_t first, size_t last, struct flame_node *node)
{
    for (size_t i = first; i < last; i++) {
        const struct pbin_row *row = aggregate_row(b->aggregate, i);
        struct row_values values;
        if (aggregate_is_excluded(b->aggregate, row))
            continue;
        row_values_of(&row->sums, aggregate_run_count(b->aggregate), &values);
        node->value += b->values[i];
        node->width += b->widths[i];
        node->samples += values.samples;
    }
}

static void add_node(struct builder *b, struct flame_node node)
{
    struct flame_tree *t = b->tree;
    mem_reserve(&t->nodes, &t->capacity, t->count + 1, sizeof *t->nodes);
    t->nodes[t->count++] = node;
    t->depth = node.depth > t->depth ? node.depth : t->depth;
}

static void build(struct builder *b, const struct span *span, size_t level);

/* Adds the node of one value of key LEVEL. */
/* NOLINTNEXTLINE(misc-no-recursion): once per key */
static void add_child(struct builder *b, const struct span *child, size_t level)
{
    const struct name_source source = {b->keys, ranking_text, b->aggregate};
    char *name = names_key(&source, aggregate_row(b->aggregate, child->first), level);
    struct flame_node node = {.name = name, .begin = child->begin, .depth = child->depth};
    struct span below = *child;
    sum_up(b, child->first, child->last, &node);
    if (name[0] == '\0' || strcmp(name, child->above) == 0) {
        build(b, &below, level + 1); /* an unknown or repeated value */
        free(name);
        return;
    }
    if (node.width < b->least || node.width <= 0) {
        free(name);
        return;
    }
    add_node(b, node);
    below.depth++;
    below.above = name;
    build(b, &below, level + 1);
}

/* NOLINTNEXTLINE(misc-no-recursion): once per key */
static void build(struct builder *b, const struct span *span, size_t level)
{
    if (level == b->keys->count)
        return;
    struct span child = *span;
    for (size_t i = span->first; i < span->last; i = child.last) {
        uint64_t key = aggregate_row(b->aggregate, i)->key[level];
        struct flame_node whole = {0};
        child.first = i;
        for (child.last = i; child.last < span->last; child.last++)
            if (aggregate_row(b->aggregate, child.last)->key[level] != key)
                break;
        add_child(b, &child, level);
        sum_up(b, child.first, child.last, &whole);
        child.begin += whole.width;
    }
}

/* Sets the widths of rows to their values. If rows that are not code have more than all code, they
 * are drawn with a third of the width of code: otherwise, code would be too small to see. */
static void set_widths(struct builder *b, size_t count)
{
    double code = 0, other = 0;
    for (size_t i = 0; i < count; i++) {
        bool label = aggregate_is_label(b->aggregate, aggregate_row(b->aggregate, i));
        *(label ? &other : &code) += b->values[i];
    }
    b->tree->narrowed = other > code && code > 0;
    for (size_t i = 0; i < count; i++) {
        bool label = aggregate_is_label(b->aggregate, aggregate_row(b->aggregate, i));
        b->widths[i] = b->values[i] * (label && b->tree->narrowed ? NARROWED * code / other : 1);
    }
}

void flame_tree_make(struct flame_tree *tree, const struct aggregate *a, enum row_metric metric,
                     double part)
{
    size_t count = aggregate_row_count(a);
    struct builder b = {.tree = tree, .aggregate = a, .keys = aggregate_keys(a)};
    struct flame_node root = {.name = mem_strdup("all")};
    *tree = (struct flame_tree){0};
    b.values = mem_zalloc(count + 1, sizeof *b.values);
    b.widths = mem_zalloc(count + 1, sizeof *b.widths);
    for (size_t i = 0; i < count; i++) {
        struct row_values values;
        row_values_of(&aggregate_row(a, i)->sums, aggregate_run_count(a), &values);
        double value =
            aggregate_is_excluded(a, aggregate_row(a, i)) ? 0 : row_value(&values, metric);
        b.values[i] = value > 0 ? value : 0;
        tree->negative += value < 0;
    }
    set_widths(&b, count);
    sum_up(&b, 0, count, &root);
    b.least = root.width * part;
    add_node(&b, root);
    build(&b, &(struct span){0, count, 0, 1, ""}, 0);
    free(b.values);
    free(b.widths);
}

void flame_tree_free(struct flame_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        free(tree->nodes[i].name);
    free(tree->nodes);
}

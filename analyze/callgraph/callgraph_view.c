/* Chooses the nodes of a call graph to show, and their order.
 * SPDX-License-Identifier: MIT */
#include "analyze/callgraph/callgraph_view.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/selection.h"
#include "base/memory.h"
#include "base/similar.h"

/* A breadth-first search from the nodes in QUEUE, to callees or to callers. */
struct walk {
    const struct callgraph *graph;
    bool *shown;
    bool up;
    bool *seen;
    uint32_t *queue, *level;
    uint32_t count;
};

static void reach(struct walk *w, uint32_t node, uint32_t level)
{
    if (w->seen[node])
        return;
    w->seen[node] = w->shown[node] = true;
    w->level[w->count] = level;
    w->queue[w->count++] = node;
}

static void spread(struct walk *w, uint64_t depth)
{
    for (uint32_t i = 0; i < w->count; i++) {
        const struct call_node *node = &w->graph->nodes[w->queue[i]];
        uint32_t arcs = w->up ? node->caller_count : node->callee_count;
        if (depth != 0 && w->level[i] >= depth)
            continue;
        for (uint32_t k = 0; k < arcs; k++)
            reach(w,
                  w->up ? w->graph->arcs[w->graph->by_callee[node->first_caller + k]].caller
                        : w->graph->arcs[node->first_callee + k].callee,
                  w->level[i] + 1);
    }
}

static bool is_start(const struct call_node *node, const char *focus)
{
    return focus != NULL ? function_matches(focus, node->function) : node->calls == 0;
}

/* Selects the functions that calls connect with FOCUS, upwards if UP. Returns the number of
 * functions at which the search started. */
static uint32_t select_along(struct callgraph_view *v, const char *focus, size_t depth, bool up)
{
    const struct callgraph *g = v->graph;
    struct walk w = {.graph = g, .shown = v->shown, .up = up};
    w.seen = mem_zalloc(g->function_count, sizeof *w.seen);
    w.queue = mem_zalloc(g->function_count, sizeof *w.queue);
    w.level = mem_zalloc(g->function_count, sizeof *w.level);
    for (uint32_t i = 0; i < g->function_count; i++)
        if (is_start(&g->nodes[i], focus))
            reach(&w, i, 0);
    uint32_t begun = w.count;
    spread(&w, depth);
    free(w.seen);
    free(w.queue);
    free(w.level);
    return begun;
}

/* A cycle is shown if any of its members is shown. */
static void show_cycles(struct callgraph_view *v)
{
    const struct callgraph *g = v->graph;
    for (uint32_t i = 0; i < g->function_count; i++)
        if (v->shown[i] && g->nodes[i].cycle != 0)
            v->shown[g->function_count + g->nodes[i].cycle - 1] = true;
}

static void note_empty(const struct callgraph *graph, const char *focus, struct reporter *reporter)
{
    struct similar similar = {.wanted = focus};
    for (uint32_t i = 0; i < graph->function_count; i++)
        similar_try(&similar, graph->nodes[i].function);
    char *hint = similar_text(&similar);
    report_warning(reporter, "nothing is selected: no function named '%s'%s", focus, hint);
    free(hint);
}

void callgraph_view_make(struct callgraph_view *v, const struct callgraph *graph,
                         const struct aggregate *aggregate, const char *focus, size_t depth,
                         struct reporter *reporter)
{
    uint32_t count = graph->function_count + graph->cycle_count;
    *v = (struct callgraph_view){.graph = graph,
                                 .meta = aggregate_meta(aggregate),
                                 .quantity = aggregate_quantity(aggregate)};
    v->shown = mem_zalloc(count, sizeof *v->shown);
    for (uint32_t i = 1; i < graph->function_count; i++)
        v->name_binaries |= strcmp(graph->nodes[i].binary, graph->nodes[0].binary) != 0;
    if (focus == NULL && depth == 0) {
        memset(v->shown, 1, count);
        return;
    }
    if (select_along(v, focus, depth, false) == 0 && focus != NULL)
        note_empty(graph, focus, reporter);
    if (focus != NULL)
        select_along(v, focus, depth, true);
    show_cycles(v);
}

void callgraph_view_free(struct callgraph_view *v)
{
    free(v->shown);
}

struct arc_order {
    const struct callgraph *graph;
    bool callers;
};

static int compare_arcs(const void *left, const void *right, void *opaque)
{
    const struct arc_order *o = opaque;
    const struct call_arc *a = &o->graph->arcs[*(const uint32_t *)left];
    const struct call_arc *b = &o->graph->arcs[*(const uint32_t *)right];
    double cost_a = a->self.time + a->children.time, cost_b = b->self.time + b->children.time;
    if (cost_a != cost_b)
        return cost_a > cost_b ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    uint32_t index_a = o->graph->nodes[o->callers ? a->caller : a->callee].index;
    uint32_t index_b = o->graph->nodes[o->callers ? b->caller : b->callee].index;
    return index_a < index_b ? -1 : index_a > index_b;
}

uint32_t *callgraph_arcs(const struct callgraph *graph, const struct call_node *node, bool callers)
{
    struct arc_order order = {graph, callers};
    uint32_t count = callers ? node->caller_count : node->callee_count;
    uint32_t *arcs = mem_zalloc(count, sizeof *arcs);
    for (uint32_t i = 0; i < count; i++)
        arcs[i] = callers ? graph->by_callee[node->first_caller + i] : node->first_callee + i;
    if (count > 0)
        qsort_r(arcs, count, sizeof *arcs, compare_arcs, &order);
    return arcs;
}

/* The call graph of gprof.
 * SPDX-License-Identifier: MIT */
#include "analyze/callgraph/callgraph.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/callgraph/components.h"
#include "base/intern.h"
#include "base/memory.h"

/* The state while the graph is built. */
struct builder {
    const struct aggregate *aggregate;
    struct callgraph *graph;
    bool by_binary;
    exact time, energy;   /* sums over all rows */
    struct numbers keys;  /* binary << 32 | function, as texts of the aggregate */
    struct numbers pairs; /* caller << 32 | callee, as nodes */
    size_t node_capacity, arc_capacity;
};

static uint32_t find_node(struct builder *b, uint64_t binary, uint64_t function)
{
    struct callgraph *g = b->graph;
    uint64_t key = (b->by_binary ? binary << 32 : 0) | function;
    uint32_t number = numbers_intern(&b->keys, key);
    if (number == g->function_count) {
        mem_reserve(&g->nodes, &b->node_capacity, (size_t)number + 1, sizeof *g->nodes);
        g->nodes[g->function_count++] =
            (struct call_node){.binary = b->by_binary ? aggregate_text(b->aggregate, binary) : "",
                               .function = aggregate_text(b->aggregate, function)};
    }
    return number;
}

/* Saturates, so that a damaged profile does not seem to have few calls. */
static void add_count(uint64_t *to, uint64_t count)
{
    if (__builtin_add_overflow(*to, count, to))
        *to = UINT64_MAX;
}

static void add_cost(struct call_cost *to, const struct call_cost *from)
{
    to->time += from->time;
    to->energy += from->energy;
}

static void take_row(struct builder *b, const struct pbin_row *row)
{
    uint64_t function = row->key[aggregate_keys(b->aggregate)->count - 1];
    uint32_t node = find_node(b, row->key[0], function);
    const struct call_cost cost = {exact_to_double(row->sums.time, TIME_SHIFT, 1000000000),
                                   exact_to_double(row->sums.energy, ENERGY_SHIFT, 1)};
    add_cost(&b->graph->nodes[node].self, &cost);
    b->time += row->sums.time;
    b->energy += row->sums.energy;
}

static void take_arc(struct builder *b, const struct pbin_arc *from)
{
    struct callgraph *g = b->graph;
    uint32_t caller = find_node(b, from->caller_binary, from->caller);
    uint32_t callee = find_node(b, from->callee_binary, from->callee);
    uint32_t number = numbers_intern(&b->pairs, (uint64_t)caller << 32 | callee);
    if (number == g->arc_count) {
        mem_reserve(&g->arcs, &b->arc_capacity, g->arc_count + 1, sizeof *g->arcs);
        g->arcs[g->arc_count++] = (struct call_arc){.caller = caller, .callee = callee};
    }
    add_count(&g->arcs[number].count, from->count);
}

static int compare_arcs(const void *left, const void *right)
{
    const struct call_arc *a = left, *b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* Makes the callees of each function a range of the arcs, and its callers a range of by_callee (by
 * a counting sort). */
static void link_arcs(struct callgraph *g)
{
    if (g->arc_count > 0)
        qsort(g->arcs, g->arc_count, sizeof *g->arcs, compare_arcs);
    g->by_callee = mem_zalloc(g->arc_count, sizeof *g->by_callee);
    for (size_t i = 0; i < g->arc_count; i++) {
        struct call_node *caller = &g->nodes[g->arcs[i].caller];
        if (caller->callee_count++ == 0)
            caller->first_callee = (uint32_t)i;
        g->nodes[g->arcs[i].callee].caller_count++;
    }
    uint32_t at = 0;
    for (uint32_t n = 0; n < g->function_count; n++) {
        g->nodes[n].first_caller = at;
        at += g->nodes[n].caller_count;
        g->nodes[n].caller_count = 0;
    }
    for (size_t i = 0; i < g->arc_count; i++) {
        struct call_node *callee = &g->nodes[g->arcs[i].callee];
        g->by_callee[callee->first_caller + callee->caller_count++] = (uint32_t)i;
    }
}

static void find_components(const struct callgraph *g, struct components *components)
{
    uint32_t *first = mem_zalloc((size_t)g->function_count + 1, sizeof *first);
    uint32_t *callees = mem_zalloc(g->arc_count + 1, sizeof *callees);
    for (size_t i = 0; i < g->arc_count; i++)
        callees[i] = g->arcs[i].callee;
    for (uint32_t i = 0; i < g->function_count; i++)
        first[i + 1] = first[i] + g->nodes[i].callee_count; /* arcs are ordered by caller */
    components_find(g->function_count, first, callees, components);
    free(first);
    free(callees);
}

/* Adds a node for each component of several functions. */
static void make_cycles(struct callgraph *g, const struct components *components)
{
    uint32_t number = 0, most = components->count;
    g->nodes = mem_resize(g->nodes, (size_t)g->function_count + most, sizeof *g->nodes);
    for (uint32_t c = 0; c < components->count; c++) {
        uint32_t begin = components->begin[c], end = components->begin[c + 1];
        if (end - begin < 2)
            continue;
        struct call_node *cycle = &g->nodes[g->function_count + number++];
        *cycle = (struct call_node){.binary = "", .function = "", .cycle = number};
        for (uint32_t i = begin; i < end; i++) {
            g->nodes[components->sequence[i]].cycle = number;
            add_cost(&cycle->self, &g->nodes[components->sequence[i]].self);
        }
    }
    g->cycle_count = number;
}

static struct call_node *whole(struct callgraph *g, uint32_t node)
{
    uint32_t cycle = g->nodes[node].cycle;
    return &g->nodes[cycle != 0 ? g->function_count + cycle - 1 : node];
}

static void count_calls(struct callgraph *g)
{
    for (size_t i = 0; i < g->arc_count; i++) {
        struct call_arc *arc = &g->arcs[i];
        struct call_node *callee = &g->nodes[arc->callee];
        bool itself = arc->caller == arc->callee;
        bool in_cycle = callee->cycle != 0 && callee->cycle == g->nodes[arc->caller].cycle;
        arc->inside = itself || in_cycle;
        add_count(itself ? &callee->recursive : &callee->calls, arc->count);
        if (callee->cycle != 0 && !itself)
            add_count(in_cycle ? &whole(g, arc->callee)->recursive : &whole(g, arc->callee)->calls,
                      arc->count);
    }
}

static struct call_cost scaled(const struct call_cost *cost, double by)
{
    return (struct call_cost){cost->time * by, cost->energy * by};
}

/* Propagates the cost of a complete function or cycle to one of its callers. */
static void pass_on(struct callgraph *g, struct call_arc *arc)
{
    const struct call_node *callee = whole(g, arc->callee);
    if (arc->inside || callee->calls == 0)
        return;
    double part = (double)arc->count / (double)callee->calls;
    arc->self = scaled(&callee->self, part);
    arc->children = scaled(&callee->children, part);
    struct call_node *caller = &g->nodes[arc->caller];
    add_cost(&caller->children, &arc->self);
    add_cost(&caller->children, &arc->children);
    if (caller->cycle != 0) {
        add_cost(&whole(g, arc->caller)->children, &arc->self);
        add_cost(&whole(g, arc->caller)->children, &arc->children);
    }
}

static void propagate(struct callgraph *g, const struct components *components)
{
    for (uint32_t i = 0; i < g->function_count; i++) {
        const struct call_node *node = &g->nodes[components->sequence[i]];
        /* all callees of a cycle are complete at its first member: its internal arcs propagate
         * nothing */
        for (uint32_t k = 0; k < node->caller_count; k++)
            pass_on(g, &g->arcs[g->by_callee[node->first_caller + k]]);
    }
}

static int compare_nodes(const void *left, const void *right, void *opaque)
{
    const struct callgraph *g = opaque;
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    const struct call_node *a = &g->nodes[l], *b = &g->nodes[r];
    double cost_a = a->self.time + a->children.time, cost_b = b->self.time + b->children.time;
    if (cost_a != cost_b)
        return cost_a > cost_b ? -1 : 1;
    if ((l >= g->function_count) != (r >= g->function_count))
        return l >= g->function_count ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    int order = strcmp(a->function, b->function);
    if (order == 0)
        order = strcmp(a->binary, b->binary);
    return order != 0 ? order : l < r ? -1 : l > r;
}

static void number_nodes(struct callgraph *g)
{
    uint32_t count = g->function_count + g->cycle_count;
    g->order = mem_zalloc(count, sizeof *g->order);
    for (uint32_t i = 0; i < count; i++)
        g->order[i] = i;
    if (count > 0)
        qsort_r(g->order, count, sizeof *g->order, compare_nodes, g);
    for (uint32_t i = 0; i < count; i++)
        g->nodes[g->order[i]].index = i + 1;
}

static void list_members(struct callgraph *g)
{
    struct call_node *cycles = g->nodes + g->function_count;
    uint32_t at = 0;
    g->members = mem_zalloc(g->function_count, sizeof *g->members);
    for (uint32_t i = 0; i < g->function_count; i++)
        if (g->nodes[i].cycle != 0)
            cycles[g->nodes[i].cycle - 1].member_count++;
    for (uint32_t c = 0; c < g->cycle_count; c++) {
        cycles[c].first_member = at;
        at += cycles[c].member_count;
        cycles[c].member_count = 0;
    }
    for (uint32_t i = 0; i < g->function_count + g->cycle_count; i++) {
        uint32_t number = g->order[i];
        if (number >= g->function_count || g->nodes[number].cycle == 0)
            continue;
        struct call_node *cycle = &cycles[g->nodes[number].cycle - 1];
        g->members[cycle->first_member + cycle->member_count++] = number;
    }
}

static int read_aggregate(struct builder *b, struct error *err)
{
    const struct aggregate *a = b->aggregate;
    /* numbers have 32 bits, and a cycle may need one in addition to the functions */
    if (aggregate_row_count(a) > INT32_MAX / 4 || aggregate_arc_count(a) > INT32_MAX / 4)
        return error_set(err, NULL, NO_OFFSET, "more than 500 million functions or arcs");
    for (size_t i = 0; i < aggregate_row_count(a); i++)
        if (aggregate_row(a, i)->sums.runs > 0)
            take_row(b, aggregate_row(a, i));
    for (size_t i = 0; i < aggregate_arc_count(a); i++)
        take_arc(b, aggregate_arc(a, i));
    b->graph->total.time = exact_to_double(b->time, TIME_SHIFT, 1000000000);
    b->graph->total.energy = exact_to_double(b->energy, ENERGY_SHIFT, 1);
    return 0;
}

struct callgraph *callgraph_new(const struct aggregate *aggregate, struct error *err)
{
    struct callgraph *g = mem_zalloc(1, sizeof *g);
    struct builder b = {
        .aggregate = aggregate, .graph = g, .by_binary = aggregate_keys(aggregate)->count > 1};
    struct components components = {0};
    int result = read_aggregate(&b, err);
    numbers_free(&b.keys);
    numbers_free(&b.pairs);
    if (result != 0) {
        callgraph_delete(g);
        return NULL;
    }
    link_arcs(g);
    find_components(g, &components);
    make_cycles(g, &components);
    count_calls(g);
    propagate(g, &components);
    number_nodes(g);
    list_members(g);
    components_free(&components);
    return g;
}

void callgraph_delete(struct callgraph *g)
{
    if (g == NULL)
        return;
    free(g->nodes);
    free(g->arcs);
    free(g->by_callee);
    free(g->order);
    free(g->members);
    free(g);
}

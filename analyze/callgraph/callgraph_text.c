/* A call graph as text, in the layout of gprof -q: for each function, its callers above and its callees below it.
 *
 *   index  % time      self  children    called        name
 *                    0.0510    0.2000       3/4            main [1]
 *   [2]      50.1    0.0510    0.2000       3+2        work [2]
 *                    0.1500    0.0500       9/9            leaf [3]
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/callgraph/callgraph_view.h"
#include "base/elide.h"
#include "base/memory.h"
#include "base/utf8.h"

enum {
    ARC_NAME = 13 + 2 + 10, /* where names begin, without the columns of costs and calls */
    PRIMARY_NAME = ARC_NAME - 4,
    MIN_NAME = 10,   /* what they have of a line that is too short */
    SHORT_LINE = 100 /* has narrower columns, and neither energy nor binaries */
};

static bool is_short_line(const struct callgraph_view *v)
{
    return v->width > 0 && v->width < SHORT_LINE;
}

static bool has_energy(const struct callgraph_view *v)
{
    return v->quantity->name != NULL && !is_short_line(v);
}

static void put_cost(const struct callgraph_view *v, struct output *out,
                     const struct call_cost *self, const struct call_cost *children)
{
    output_printf(out, " %10.4f %10.4f", self->time, children->time);
    if (has_energy(v))
        output_printf(out, " %12.6g %12.6g", self->energy, children->energy);
}

static int cost_width(const struct callgraph_view *v)
{
    return has_energy(v) ? 2 * 11 + 2 * 13 : 2 * 11;
}

static void put_blank(const struct callgraph_view *v, struct output *out)
{
    output_printf(out, "%*s", cost_width(v), "");
}

static int called_width(const struct callgraph_view *v)
{
    return is_short_line(v) ? 8 : 15;
}

static bool names_binaries(const struct callgraph_view *v)
{
    return v->name_binaries && !is_short_line(v);
}

/* " (libc.so.6) <cycle 2> [7]"; caller frees. */
static char *after_name(const struct callgraph_view *v, const struct call_node *node)
{
    char cycle[32] = "";
    const bool named = names_binaries(v);
    char *binary = named ? utf8_visible(node->binary, NULL) : mem_strdup("");
    if (node->cycle != 0)
        snprintf(cycle, sizeof cycle, " <cycle %" PRIu32 ">", node->cycle);
    const char *open = named ? " (" : "", *close = named ? ")" : "";
    char *text = mem_printf("%s%s%s%s [%" PRIu32 "]", open, binary, close, cycle, node->index);
    free(binary);
    return text;
}

/* The name of NODE, which begins after AT columns and those of the costs, with what follows it, in the rest of the line. */
static void put_name(const struct callgraph_view *v, struct output *out,
                     const struct call_node *node, int at)
{
    char *name = utf8_visible(node->function, NULL), *after = after_name(v, node);
    size_t used = (size_t)(at + cost_width(v) + called_width(v)) + elide_width(after);
    if (v->width > 0) {
        char *shorter =
            elide(name, v->width > used + MIN_NAME ? v->width - used : (size_t)MIN_NAME);
        free(name);
        name = shorter;
    }
    output_printf(out, "%s%s\n", name, after);
    free(name);
    free(after);
}

/* A line above or below the primary line of an entry. OTHER is the function that it names. */
static void put_arc(const struct callgraph_view *v, struct output *out, const struct call_arc *arc,
                    const struct call_node *other)
{
    char called[64];
    const struct call_node *callee = &v->graph->nodes[arc->callee];
    output_printf(out, "%*s", 13, "");
    if (arc->inside) {
        snprintf(called, sizeof called, "%" PRIu64, arc->count);
        put_blank(v, out);
    } else {
        snprintf(called, sizeof called, "%" PRIu64 "/%" PRIu64, arc->count,
                 callgraph_whole(v->graph, callee)->calls);
        put_cost(v, out, &arc->self, &arc->children);
    }
    output_printf(out, "  %*s          ", called_width(v), called);
    put_name(v, out, other, ARC_NAME);
}

static void put_primary(const struct callgraph_view *v, struct output *out,
                        const struct call_node *node, bool is_cycle)
{
    char called[64] = "", index[16];
    snprintf(index, sizeof index, "[%" PRIu32 "]", node->index);
    if (node->recursive > 0)
        snprintf(called, sizeof called, "%" PRIu64 "+%" PRIu64, node->calls, node->recursive);
    else if (node->calls > 0)
        snprintf(called, sizeof called, "%" PRIu64, node->calls);
    output_printf(out, "%-6s %6.1f", index, callgraph_share(v->graph, node));
    put_cost(v, out, &node->self, &node->children);
    output_printf(out, "  %*s      ", called_width(v), called);
    if (is_cycle)
        output_printf(out, "<cycle %" PRIu32 " as a whole> [%" PRIu32 "]\n", node->cycle,
                      node->index);
    else
        put_name(v, out, node, PRIMARY_NAME);
}

static void put_function(const struct callgraph_view *v, struct output *out,
                         const struct call_node *node)
{
    const struct callgraph *g = v->graph;
    uint32_t *callers = callgraph_callers(g, node), *callees = callgraph_callees(g, node);
    for (uint32_t i = node->caller_count; i-- > 0;) { /* the costliest next to the function */
        const struct call_arc *arc = &g->arcs[callers[i]];
        put_arc(v, out, arc, &g->nodes[arc->caller]);
    }
    if (node->caller_count == 0)
        output_printf(out, "%*s<spontaneous>\n", ARC_NAME + cost_width(v) + called_width(v), "");
    put_primary(v, out, node, false);
    for (uint32_t i = 0; i < node->callee_count; i++)
        put_arc(v, out, &g->arcs[callees[i]], &g->nodes[g->arcs[callees[i]].callee]);
    free(callers);
    free(callees);
}

static void put_cycle_callers(const struct callgraph_view *v, struct output *out,
                              const struct call_node *cycle)
{
    const struct callgraph *g = v->graph;
    for (uint32_t m = 0; m < cycle->member_count; m++) {
        const struct call_node *member = &g->nodes[g->members[cycle->first_member + m]];
        for (uint32_t i = 0; i < member->caller_count; i++) {
            const struct call_arc *arc = &g->arcs[g->by_callee[member->first_caller + i]];
            if (!arc->inside)
                put_arc(v, out, arc, &g->nodes[arc->caller]);
        }
    }
}

static void put_member(const struct callgraph_view *v, struct output *out,
                       const struct call_node *node)
{
    char called[64];
    snprintf(called, sizeof called, node->recursive > 0 ? "%" PRIu64 "+%" PRIu64 : "%" PRIu64,
             node->calls, node->recursive);
    output_printf(out, "%*s", 13, "");
    put_cost(v, out, &node->self, &node->children);
    output_printf(out, "  %*s          ", called_width(v), called);
    put_name(v, out, node, ARC_NAME);
}

/* A cycle: its callers, then its members with their cost. */
static void put_cycle(const struct callgraph_view *v, struct output *out,
                      const struct call_node *cycle)
{
    put_cycle_callers(v, out, cycle);
    put_primary(v, out, cycle, true);
    for (uint32_t m = 0; m < cycle->member_count; m++)
        put_member(v, out, &v->graph->nodes[v->graph->members[cycle->first_member + m]]);
}

static void put_head(const struct callgraph_view *v, struct output *out)
{
    const struct quantity *q = v->quantity;
    char self[64], children[64];
    output_printf(out, "time %.4f s", v->graph->total.time);
    if (q->name != NULL)
        output_printf(out, ", %s %.6g %s", q->name, v->graph->total.energy, q->unit);
    output_printf(out, ", %" PRIu32 " functions, %zu arcs, %" PRIu32 " cycles\n",
                  v->graph->function_count, v->graph->arc_count, v->graph->cycle_count);
    if (is_short_line(v) && (v->name_binaries || q->name != NULL))
        output_printf(
            out, "(not shown: %s%s%s; --wide shows all)\n", q->name != NULL ? q->name : "",
            q->name != NULL && v->name_binaries ? ", " : "", v->name_binaries ? "binaries" : "");
    output_printf(out, "\n");
    output_printf(out, "%-6s %6s %10s %10s", "index", "% time", "self [s]", "children");
    if (has_energy(v)) {
        snprintf(self, sizeof self, "self [%s]", q->unit);
        snprintf(children, sizeof children, "children");
        output_printf(out, " %12s %12s", self, children);
    }
    output_printf(out, "  %*s      %s\n", called_width(v), "called", "name");
}

void callgraph_text(const struct callgraph_view *v, struct output *out)
{
    const struct callgraph *g = v->graph;
    put_head(v, out);
    for (uint32_t i = 0; i < g->function_count + g->cycle_count; i++) {
        const struct call_node *node = &g->nodes[g->order[i]];
        if (!v->shown[g->order[i]])
            continue;
        if (g->order[i] >= g->function_count)
            put_cycle(v, out, node);
        else
            put_function(v, out, node);
        output_printf(out, "-----------------------------------------------\n");
    }
}

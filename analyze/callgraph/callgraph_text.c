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
    BEFORE = 13 + 2, /* columns in addition to those of costs and calls */
    ARC_GAP = 10,    /* before names; at least MIN_GAP after numbers that exceed their column */
    PRIMARY_GAP = ARC_GAP - 4,
    MIN_GAP = 2,
    MIN_NAME = 10,    /* room for names in lines that are too short */
    SHORT_LINE = 100, /* with narrower columns, and without binaries */
    ENERGY_LINE = 120 /* with room for energy */
};

static bool is_short_line(const struct callgraph_view *v)
{
    return v->width > 0 && v->width < SHORT_LINE;
}

static bool has_energy(const struct callgraph_view *v)
{
    return v->quantity->name != NULL && (v->width == 0 || v->width >= ENERGY_LINE);
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

/* " (libc.so.6)", in which the name has at most ROOM columns if lines have a width; "" if binaries
 * are not named. The caller frees it. */
static char *binary_after_name(const struct callgraph_view *v, const struct call_node *node,
                               size_t room)
{
    if (!names_binaries(v))
        return mem_strdup("");
    char *visible = utf8_visible(node->binary, NULL);
    char *binary = v->width > 0 ? elide_middle(visible, room) : mem_strdup(visible);
    char *text = mem_printf(" (%s)", binary);
    free(visible);
    free(binary);
    return text;
}

/* Writes the name of NODE, which starts in column AT, and the texts after it in the rest of the
 * line: "write (libc.so.6) <cycle 2> [7]". */
static void put_name(const struct callgraph_view *v, struct output *out,
                     const struct call_node *node, size_t at)
{
    enum { BRACKETS = 3 };
    char end[64];
    char *name = utf8_visible(node->function, NULL);
    if (node->cycle != 0)
        snprintf(end, sizeof end, " <cycle %" PRIu32 "> [%" PRIu32 "]", node->cycle, node->index);
    else
        snprintf(end, sizeof end, " [%" PRIu32 "]", node->index);
    size_t used = at + strlen(end), room = v->width > used ? v->width - used : 0;
    size_t wanted = elide_width(name) + BRACKETS, left = room > wanted ? room - wanted : 0;
    size_t least = room / 3 > MIN_NAME ? room / 3 : (size_t)MIN_NAME;
    char *binary = binary_after_name(v, node, left > least ? left : least);
    if (v->width > 0) {
        used = elide_width(binary);
        char *shorter = elide(name, room > used + MIN_NAME ? room - used : (size_t)MIN_NAME);
        free(name);
        name = shorter;
    }
    output_printf(out, "%s%s%s\n", name, binary, end);
    free(name);
    free(binary);
}

/* Writes the number of calls in its column, and the gap of GAP columns before names. Returns the
 * column in which the name starts. */
static size_t put_called(const struct callgraph_view *v, struct output *out, char *called,
                         size_t gap)
{
    size_t after = MIN_NAME + (names_binaries(v) ? MIN_NAME + strlen(" ()") : 0) + strlen(" [12]");
    size_t width = (size_t)called_width(v), before = (size_t)BEFORE + (size_t)cost_width(v);
    if (v->width > 0 && before + strlen(called) + MIN_GAP + after > v->width)
        called[strcspn(called, "/+")] = '\0'; /* the first number must suffice for 10^12 calls */
    size_t length = strlen(called), over = length > width ? length - width : 0;
    size_t left = gap > over + MIN_GAP ? gap - over : (size_t)MIN_GAP;
    output_printf(out, "  %*s%*s", (int)width, called, (int)left, "");
    return before + width + over + left;
}

/* Writes a line above or below the primary line of an entry. OTHER is the function that it
 * names. */
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
    put_name(v, out, other, put_called(v, out, called, ARC_GAP));
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
    size_t at = put_called(v, out, called, PRIMARY_GAP);
    if (is_cycle)
        output_printf(out, "<cycle %" PRIu32 " as a whole> [%" PRIu32 "]\n", node->cycle,
                      node->index);
    else
        put_name(v, out, node, at);
}

static void put_function(const struct callgraph_view *v, struct output *out,
                         const struct call_node *node)
{
    const struct callgraph *g = v->graph;
    uint32_t *callers = callgraph_arcs(g, node, true), *callees = callgraph_arcs(g, node, false);
    for (uint32_t i = node->caller_count; i-- > 0;) { /* the costliest is next to the function */
        const struct call_arc *arc = &g->arcs[callers[i]];
        put_arc(v, out, arc, &g->nodes[arc->caller]);
    }
    if (node->caller_count == 0)
        output_printf(out, "%*s<spontaneous>\n", BEFORE + cost_width(v) + called_width(v) + ARC_GAP,
                      "");
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
    put_name(v, out, node, put_called(v, out, called, ARC_GAP));
}

/* Writes a cycle: its callers, then its members with their costs. */
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
    bool no_energy = q->name != NULL && !has_energy(v);
    bool no_binaries = v->name_binaries && !names_binaries(v);
    if (no_energy || no_binaries)
        output_printf(out, "(not shown: %s%s%s; --wide shows all)\n", no_energy ? q->name : "",
                      no_energy && no_binaries ? ", " : "", no_binaries ? "binaries" : "");
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

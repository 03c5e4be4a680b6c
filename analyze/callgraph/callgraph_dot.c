/* A call graph for Graphviz: a box for each function with its shares, an arrow for each arc with
 * its calls, and a frame around each cycle.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/callgraph/callgraph_view.h"
#include "base/utf8.h"

/* Writes TEXT inside a quoted string, in which Graphviz interprets escapes and entities. Names may
 * contain any characters. */
static void put_text(struct output *out, const char *text)
{
    char *visible = utf8_visible(text, NULL);
    for (const char *c = visible; *c != '\0'; c++)
        if (*c == '"' || *c == '\\')
            output_printf(out, "\\%c", *c);
        else if (*c == '&')
            output_printf(out, "&amp;");
        else
            output_write(out, c, 1);
    free(visible);
}

static void put_node(const struct callgraph_view *v, struct output *out, uint32_t number)
{
    const struct callgraph *g = v->graph;
    const struct call_node *node = &g->nodes[number];
    double share = callgraph_share(g, node);
    double self = g->total.time > 0 ? 100 * node->self.time / g->total.time : 0;
    output_printf(out, "    n%" PRIu32 " [label=\"", number);
    put_text(out, node->function);
    if (v->name_binaries) {
        output_printf(out, "\\n");
        put_text(out, node->binary);
    }
    output_printf(out, "\\n%.4g s (%.1f %%)\\nself %.4g s (%.1f %%)",
                  callgraph_inclusive(node).time, share, node->self.time, self);
    if (v->quantity->name != NULL) {
        output_printf(out, "\\n%.4g, self %.4g ", callgraph_inclusive(node).energy,
                      node->self.energy);
        put_text(out, v->quantity->unit);
    }
    output_printf(out, "\", fillcolor=\"0.05 %.3f 1\"];\n", fmin(fmax(share, 0), 100) / 100 * 0.8);
}

static void put_cycle(const struct callgraph_view *v, struct output *out,
                      const struct call_node *cycle)
{
    const uint32_t *member = v->graph->members + cycle->first_member;
    output_printf(out, "  subgraph cluster_%" PRIu32 " {\n    label=\"cycle %" PRIu32 "\";\n",
                  cycle->cycle, cycle->cycle);
    for (uint32_t i = 0; i < cycle->member_count; i++)
        if (v->shown[member[i]])
            put_node(v, out, member[i]);
    output_printf(out, "  }\n");
}

static void put_nodes(const struct callgraph_view *v, struct output *out)
{
    const struct callgraph *g = v->graph;
    for (uint32_t i = 0; i < g->function_count; i++)
        if (v->shown[i] && g->nodes[i].cycle == 0)
            put_node(v, out, i);
    for (uint32_t c = g->function_count; c < g->function_count + g->cycle_count; c++)
        if (v->shown[c])
            put_cycle(v, out, &g->nodes[c]);
}

static void put_arc(const struct callgraph_view *v, struct output *out, const struct call_arc *arc)
{
    double time = arc->self.time + arc->children.time;
    double share = v->graph->total.time > 0 ? time / v->graph->total.time : 0;
    output_printf(out, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"%" PRIu64, arc->caller, arc->callee,
                  arc->count);
    if (!arc->inside)
        output_printf(out, "\\n%.4g s", time);
    output_printf(out, "\", penwidth=%.2f];\n", 1 + 4 * fmin(fmax(share, 0), 1));
}

void callgraph_dot(const struct callgraph_view *v, struct output *out)
{
    output_printf(out, "digraph callgraph {\n"
                       "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
                       "  edge [fontname=\"sans-serif\"];\n");
    put_nodes(v, out);
    for (size_t i = 0; i < v->graph->arc_count; i++)
        if (v->shown[v->graph->arcs[i].caller] && v->shown[v->graph->arcs[i].callee])
            put_arc(v, out, &v->graph->arcs[i]);
    output_printf(out, "}\n");
}

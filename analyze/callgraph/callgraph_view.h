/* Views of a call graph as text, JSON and Graphviz dot. Each has one file, and one line in the
 * table of pbin-callgraph.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_CALLGRAPH_VIEW_H
#define ANALYZE_CALLGRAPH_CALLGRAPH_VIEW_H

#include "analyze/callgraph/callgraph.h"
#include "base/output.h"
#include "base/report.h"

struct callgraph_view {
    const struct callgraph *graph;
    const struct pbin_meta *meta;
    const struct quantity *quantity; /* its name is NULL if there is no energy */
    bool *shown;                     /* [nodes] */
    bool name_binaries;              /* there are several binaries */
    size_t width;                    /* of lines of text; names are shortened to fit; 0: no limit */
};

/* Prepares VIEW, which borrows GRAPH and AGGREGATE. FOCUS: show only this function and the callers
 * and callees within DEPTH calls of it; NULL: show the functions within DEPTH calls of functions
 * without callers. DEPTH 0: no limit. Warns through REPORTER if no function is named FOCUS. Call
 * callgraph_view_free afterwards. */
void callgraph_view_make(struct callgraph_view *view, const struct callgraph *graph,
                         const struct aggregate *aggregate, const char *focus, size_t depth,
                         struct reporter *reporter);
void callgraph_view_free(struct callgraph_view *view);

/* Each of these writes the view. Errors are recorded in OUT. */
void callgraph_text(const struct callgraph_view *view, struct output *out);
void callgraph_json(const struct callgraph_view *view, struct output *out);
void callgraph_dot(const struct callgraph_view *view, struct output *out);

/* callgraph_inclusive: time and energy of NODE, including everything that it calls.
 * callgraph_share: the share of this in the total time [%]; 0 if the total is 0. */
static inline struct call_cost callgraph_inclusive(const struct call_node *node)
{
    return (struct call_cost){node->self.time + node->children.time,
                              node->self.energy + node->children.energy};
}

static inline double callgraph_share(const struct callgraph *graph, const struct call_node *node)
{
    return graph->total.time > 0 ? 100 * callgraph_inclusive(node).time / graph->total.time : 0;
}

/* The numbers of the arcs from callers (CALLERS) or to callees of NODE, sorted by time, largest
 * first, then by calls and index. The caller frees them. */
uint32_t *callgraph_arcs(const struct callgraph *graph, const struct call_node *node, bool callers);

#endif

/* Call graphs as text, JSON and Graphviz dot: one file each, and a line in the table of
 * pbin-callgraph.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_CALLGRAPH_VIEW_H
#define ANALYZE_CALLGRAPH_CALLGRAPH_VIEW_H

#include "analyze/callgraph/callgraph.h"
#include "base/output.h"

struct callgraph_view {
    const struct callgraph *graph;
    const struct pbin_meta *meta;
    const struct quantity *quantity; /* its name is NULL where there is no energy */
    bool *shown;                     /* by node */
    bool name_binaries;              /* the functions are of more than one */
};

/* Prepares VIEW; it borrows GRAPH and AGGREGATE. FOCUS: only this function and what is within DEPTH
 * calls of it, up and down; NULL: DEPTH calls below the functions that nothing calls. DEPTH 0: no
 * limit. Returns 0, or -1 with ERR filled: no function is called FOCUS. callgraph_view_free frees
 * in any case. */
int callgraph_view_make(struct callgraph_view *view, const struct callgraph *graph,
                        const struct aggregate *aggregate, const char *focus, uint64_t depth,
                        struct error *err);
void callgraph_view_free(struct callgraph_view *view);

/* Each writes the view; failures show in OUT. */
void callgraph_text(const struct callgraph_view *view, struct output *out);
void callgraph_json(const struct callgraph_view *view, struct output *out);
void callgraph_dot(const struct callgraph_view *view, struct output *out);

/* Time and energy of NODE with all that it calls; share of the total time [%], 0 where there is
 * none. */
static inline struct call_cost callgraph_inclusive(const struct call_node *node)
{
    return (struct call_cost){node->self.time + node->children.time,
                              node->self.energy + node->children.energy};
}

static inline double callgraph_share(const struct callgraph *graph, const struct call_node *node)
{
    return graph->total.time > 0 ? 100 * callgraph_inclusive(node).time / graph->total.time : 0;
}

/* Numbers of NODE's arcs from callers or to callees, costliest first, then by name; caller frees.
 */
uint32_t *callgraph_callers(const struct callgraph *graph, const struct call_node *node);
uint32_t *callgraph_callees(const struct callgraph *graph, const struct call_node *node);

#endif

/* The call graph of gprof: computes the times spent on behalf of callers from call arcs and self
 * times.
 *
 * Callees are processed first: a caller receives (self + children of the callee) * calls of the arc
 * / calls of the callee. Mutually recursive functions (a strongly connected component) form a
 * single node, the cycle. Its self time is the sum of the self times of its members, its calls are
 * the calls from outside, and arcs inside it propagate no time. Calls of a function by itself are
 * counted separately.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_CALLGRAPH_H
#define ANALYZE_CALLGRAPH_CALLGRAPH_H

#include "analyze/aggregate/aggregate.h"

/* Time [s], and energy [J, or the unit of the profile's quantity]. */
struct call_cost {
    double time, energy;
};

struct call_arc {
    uint32_t caller, callee; /* numbers of nodes */
    uint64_t count;
    bool inside;                     /* in a cycle, or to itself: propagates nothing */
    struct call_cost self, children; /* propagated to the caller */
};

/* A function or a whole cycle. The nodes of cycles follow those of functions. */
struct call_node {
    const char *binary, *function; /* BINARY "": rows are by function only; both "": a cycle */
    uint32_t cycle;                /* number of its cycle, 1, 2, ...; 0: not in a cycle */
    uint32_t index;                /* 1, 2, ...: position in the report, largest time first */
    struct call_cost self, children;
    uint64_t calls;                      /* by others; for a cycle: from outside */
    uint64_t recursive;                  /* by itself; for a cycle: between different members */
    uint32_t first_callee, callee_count; /* range of arcs */
    uint32_t first_caller, caller_count; /* range of by_callee */
    uint32_t first_member, member_count; /* for a cycle: range of members */
};

struct callgraph {
    struct call_node *nodes;
    uint32_t function_count, cycle_count; /* nodes: functions, then cycles by number */
    struct call_arc *arcs;                /* sorted by caller */
    uint32_t *by_callee;                  /* numbers of arcs, sorted by callee */
    size_t arc_count;
    uint32_t *order;   /* numbers of all nodes by index */
    uint32_t *members; /* numbers of the functions in cycles, sorted by cycle, then by index */
    struct call_cost total;
};

/* Returns the graph of AGGREGATE, whose keys are function or binary,function. Its texts are
 * borrowed from AGGREGATE. Rows of several runs are summed. Returns NULL with ERR filled if there
 * are too many functions. */
struct callgraph *callgraph_new(const struct aggregate *aggregate, struct error *err);
void callgraph_delete(struct callgraph *graph);

/* The node of the cycle that contains NODE, which must be in a cycle. */
static inline const struct call_node *callgraph_cycle(const struct callgraph *graph,
                                                      const struct call_node *node)
{
    return &graph->nodes[graph->function_count + node->cycle - 1];
}

/* The node whose calls include those of an arc to NODE: its cycle if it is in one, otherwise NODE
 * itself. */
static inline const struct call_node *callgraph_whole(const struct callgraph *graph,
                                                      const struct call_node *node)
{
    return node->cycle != 0 ? callgraph_cycle(graph, node) : node;
}

#endif

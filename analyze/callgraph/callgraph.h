/* The call graph of gprof: computes the times spent on behalf of callers from call arcs and self times.
 *
 * Callees are processed first: a caller receives (self + children of the callee) * calls of the arc / calls of the
 * callee. Mutually recursive functions (a strongly connected component) are one node, the cycle: its self time is the
 * sum of the self times of its members, its calls are the calls from outside, and arcs inside it propagate no time.
 * Calls of a function by itself are counted separately.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_CALLGRAPH_H
#define ANALYZE_CALLGRAPH_CALLGRAPH_H

#include "analyze/aggregate/aggregate.h"

/* Time [s] and energy [J, or of the profile's quantity]. */
struct call_cost {
    double time, energy;
};

struct call_arc {
    uint32_t caller, callee; /* numbers of nodes */
    uint64_t count;
    bool inside;                     /* a cycle, or from a function to itself: propagates nothing */
    struct call_cost self, children; /* propagated to the caller */
};

/* A function, or a whole cycle: nodes of cycles follow those of functions. */
struct call_node {
    const char *binary, *function; /* BINARY "" if rows are by function only; both "" for a cycle */
    uint32_t cycle;                /* its number, 1, 2, ...; 0: not in a cycle */
    uint32_t index;                /* 1, 2, ...: position in the report, largest time first */
    struct call_cost self, children;
    uint64_t calls;                      /* by others; of a cycle: from outside */
    uint64_t recursive;                  /* by itself; of a cycle: between different members */
    uint32_t first_callee, callee_count; /* in arcs */
    uint32_t first_caller, caller_count; /* in by_callee */
    uint32_t first_member, member_count; /* of a cycle: in members */
};

struct callgraph {
    struct call_node *nodes;
    uint32_t function_count, cycle_count; /* nodes: functions, then cycles by number */
    struct call_arc *arcs;                /* ordered by caller */
    uint32_t *by_callee;                  /* numbers of arcs, ordered by callee */
    size_t arc_count;
    uint32_t *order;   /* numbers of all nodes by index */
    uint32_t *members; /* numbers of the functions in cycles, by cycle, then by index */
    struct call_cost total;
};

/* The graph of AGGREGATE, whose keys are function or binary,function. Texts are borrowed from it. Rows of several runs
 * are summed. Returns NULL with ERR filled if there are too many functions. */
struct callgraph *callgraph_new(const struct aggregate *aggregate, struct error *err);
void callgraph_delete(struct callgraph *graph);

/* The node of the cycle that contains NODE, which must be in one. */
static inline const struct call_node *callgraph_cycle(const struct callgraph *graph,
                                                      const struct call_node *node)
{
    return &graph->nodes[graph->function_count + node->cycle - 1];
}

/* The node whose calls include those of an arc to NODE: its cycle, or NODE itself. */
static inline const struct call_node *callgraph_whole(const struct callgraph *graph,
                                                      const struct call_node *node)
{
    return node->cycle != 0 ? callgraph_cycle(graph, node) : node;
}

#endif

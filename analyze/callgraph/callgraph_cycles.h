/* Strongly connected components: which functions call each other in circles.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_CALLGRAPH_CYCLES_H
#define ANALYZE_CALLGRAPH_CALLGRAPH_CYCLES_H

#include "analyze/callgraph/callgraph.h"

/* The functions of GRAPH by component, callees before their callers: SEQUENCE holds all their
 * numbers, component C those from BEGIN[C] to BEGIN[C + 1]. */
struct components {
    uint32_t *sequence, *begin;
    uint32_t count;
};

/* Needs only the arcs and the callees of GRAPH. In linear time, without recursion. */
void components_find(const struct callgraph *graph, struct components *components);
void components_free(struct components *components);

#endif

/* Strongly connected components of a graph: which functions call each other in circles.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_COMPONENTS_H
#define ANALYZE_CALLGRAPH_COMPONENTS_H

#include <stdint.h>

/* The nodes by component, successors before predecessors: SEQUENCE holds all their numbers, component C those from
 * BEGIN[C] to BEGIN[C + 1]. */
struct components {
    uint32_t *sequence, *begin;
    uint32_t count;
};

/* Of COUNT nodes; the successors of node I are NEXT[FIRST[I]] to NEXT[FIRST[I + 1]] (excluded). In linear time, without
 * recursion. */
void components_find(uint32_t count, const uint32_t *first, const uint32_t *next,
                     struct components *components);
void components_free(struct components *components);

#endif

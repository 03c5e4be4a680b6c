/* Strongly connected components of a graph: mutually recursive functions.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_COMPONENTS_H
#define ANALYZE_CALLGRAPH_COMPONENTS_H

#include <stdint.h>

/* The nodes sorted by component, successors before predecessors. Component C consists of the nodes
 * SEQUENCE[BEGIN[C]] to SEQUENCE[BEGIN[C + 1]] (exclusive). */
struct components {
    uint32_t *sequence, *begin;
    uint32_t count;
};

/* Finds the components of COUNT nodes. The successors of node I are NEXT[FIRST[I]] to NEXT[FIRST[I
 * + 1]] (exclusive). Takes linear time, without recursion. */
void components_find(uint32_t count, const uint32_t *first, const uint32_t *next,
                     struct components *components);
void components_free(struct components *components);

#endif

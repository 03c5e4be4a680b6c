/* Strongly connected components of a graph: mutually recursive functions.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CALLGRAPH_COMPONENTS_H
#define ANALYZE_CALLGRAPH_COMPONENTS_H

#include <stdint.h>

/* The nodes by component, successors before predecessors: component C has the nodes from SEQUENCE[BEGIN[C]] to
 * SEQUENCE[BEGIN[C + 1]] (excluded). */
struct components {
    uint32_t *sequence, *begin;
    uint32_t count;
};

/* Finds the components of COUNT nodes; the successors of node I are NEXT[FIRST[I]] to NEXT[FIRST[I + 1]] (excluded).
 * Linear time, no recursion. */
void components_find(uint32_t count, const uint32_t *first, const uint32_t *next,
                     struct components *components);
void components_free(struct components *components);

#endif

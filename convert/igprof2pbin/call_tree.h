/* Adds up a call tree by function: the counts in each function, without and with its callees.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_IGPROF2PBIN_CALL_TREE_H
#define CONVERT_IGPROF2PBIN_CALL_TREE_H

#include "formats/igprof/igprof.h"

/* The sums of a counter in a function. */
struct tree_sums {
    uint64_t ticks, value, peak; /* without callees; PEAK is the largest one */
    uint64_t inclusive;          /* the value with callees; recursion counts once */
    /* values of a maximum counter are maxima */
};

struct call_tree {
    struct tree_sums *sums; /* [functions][IGPROF_MAX_COUNTERS] */
    size_t functions, capacity;
    size_t depth, stack_capacity;
    struct tree_frame *stack; /* [depth] */
    uint32_t *entered;        /* [functions] occurrences of each in the stack */
    size_t entered_capacity;
    bool largest[IGPROF_MAX_COUNTERS]; /* see igprof_counter_is_largest */
    bool overflow;                     /* a sum was too large: the contents are invalid */
};

/* call_tree_add adds NODE of IGPROF; nodes must come in pre-order. call_tree_end ends the tree. A
 * zeroed tree is empty. */
void call_tree_add(struct call_tree *tree, const struct igprof *igprof,
                   const struct igprof_node *node);
void call_tree_end(struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* Returns the sums of COUNTER in FUNCTION, borrowed until call_tree_free. */
const struct tree_sums *call_tree_get(const struct call_tree *tree, size_t function,
                                      size_t counter);

#endif

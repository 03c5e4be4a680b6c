/* The tree of a profile: binary > file > function > inlined function > line, each with its value.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_FLAME_TREE_H
#define PLOT_FLAME_TREE_H

#include "plot/ranking.h"

struct flame_node {
    char *name;
    double value, begin; /* of the metric; BEGIN: sum of all that stands left of it */
    double samples;
    unsigned depth; /* 0: the root */
};

struct flame_tree {
    struct flame_node *nodes; /* each before its children, from left to right */
    size_t count, capacity;
    unsigned depth;  /* of the deepest */
    size_t left_out; /* nodes too small to be seen */
};

/* Makes the tree of the rows of AGGREGATE, in the order of its keys. Nodes below PART of the total
 * are left out. */
void flame_tree_make(struct flame_tree *tree, const struct aggregate *aggregate,
                     enum row_metric metric, double part);
void flame_tree_free(struct flame_tree *tree);

#endif

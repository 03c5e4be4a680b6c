/* The tree of a profile: binary > function > inlined function > file > line, each with its value.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_FLAME_TREE_H
#define PLOT_FLAME_TREE_H

#include "plot/ranking.h"

struct flame_node {
    char *name;
    double value; /* of the metric */
    double width; /* value, unless the tree is narrowed */
    double begin; /* sum of all widths to its left */
    double samples;
    unsigned depth; /* 0: the root */
};

struct flame_tree {
    struct flame_node *nodes; /* left to right, each before its children */
    size_t count, capacity;
    unsigned depth;  /* depth of the deepest node */
    size_t negative; /* number of rows below 0, which have no width */
    bool narrowed; /* the width of nodes that are not code is less than their value, so that code is
                   * visible */
};

/* Builds the tree of the rows of AGGREGATE, in the order of its keys. Omits nodes below PART of the
 * total. */
void flame_tree_make(struct flame_tree *tree, const struct aggregate *aggregate,
                     enum row_metric metric, double part);
void flame_tree_free(struct flame_tree *tree);

#endif

/* Adds up a call tree by function.
 * SPDX-License-Identifier: MIT */
#include "convert/igprof2pbin/call_tree.h"

#include <stdlib.h>

#include "base/memory.h"

/* A node, and the counts in it and in its descendants. */
struct tree_frame {
    uint32_t function;
    uint64_t value[IGPROF_MAX_COUNTERS];
};

static void add(struct call_tree *t, uint64_t *to, uint64_t value)
{
    t->overflow |= __builtin_add_overflow(*to, value, to);
}

/* Adds VALUE to *TO, or sets *TO to the larger one for a maximum counter. */
static void join(struct call_tree *t, size_t counter, uint64_t *to, uint64_t value)
{
    if (t->largest[counter])
        *to = value > *to ? value : *to;
    else
        add(t, to, value);
}

static struct tree_sums *sums_of(const struct call_tree *t, size_t function)
{
    return t->sums + function * IGPROF_MAX_COUNTERS;
}

/* Makes room for function NUMBER and those before. */
static void reserve(struct call_tree *t, size_t number)
{
    size_t count = t->functions;
    mem_extend(&t->sums, &count, &t->capacity, number + 1, IGPROF_MAX_COUNTERS * sizeof *t->sums);
    mem_extend(&t->entered, &t->functions, &t->entered_capacity, number + 1, sizeof *t->entered);
}

/* Ends the frames beyond DEPTH. */
static void leave(struct call_tree *t, size_t depth)
{
    while (t->depth > depth) {
        const struct tree_frame *frame = &t->stack[--t->depth];
        bool outermost = --t->entered[frame->function] == 0;
        for (size_t i = 0; i < IGPROF_MAX_COUNTERS; i++) {
            if (outermost)
                join(t, i, &sums_of(t, frame->function)[i].inclusive, frame->value[i]);
            if (t->depth > 0)
                join(t, i, &t->stack[t->depth - 1].value[i], frame->value[i]);
        }
    }
}

void call_tree_add(struct call_tree *t, const struct igprof *igprof, const struct igprof_node *node)
{
    leave(t, node->depth - 1);
    reserve(t, node->function);
    struct tree_frame *frame = MEM_APPEND(t->stack, t->depth, t->stack_capacity);
    *frame = (struct tree_frame){.function = node->function};
    t->entered[node->function]++;
    for (size_t i = 0; i < node->value_count; i++) {
        const struct igprof_value *v = &node->values[i];
        struct tree_sums *sums = &sums_of(t, node->function)[v->counter];
        t->largest[v->counter] = igprof_counter_is_largest(igprof, v->counter);
        frame->value[v->counter] = v->value;
        add(t, &sums->ticks, v->ticks);
        join(t, v->counter, &sums->value, v->value);
        sums->peak = v->peak > sums->peak ? v->peak : sums->peak;
    }
}

void call_tree_end(struct call_tree *t)
{
    leave(t, 0);
}

void call_tree_free(struct call_tree *t)
{
    free(t->sums);
    free(t->stack);
    free(t->entered);
}

const struct tree_sums *call_tree_get(const struct call_tree *t, size_t function, size_t counter)
{
    return &sums_of(t, function)[counter];
}

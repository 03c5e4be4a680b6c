/* Strongly connected components by Tarjan's algorithm, with an explicit stack, because a call chain
 * may be as deep as the program has functions.
 * SPDX-License-Identifier: MIT */
#include "analyze/callgraph/components.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

struct visit {
    uint32_t number; /* order of discovery: 1, 2, ...; 0: not seen yet */
    uint32_t low;    /* the earliest node that it is known to reach */
    uint32_t next;   /* callee to visit next */
    uint32_t caller; /* node from which it was visited */
    bool open;       /* its component is incomplete */
};

struct search {
    const uint32_t *first, *next;
    struct components *out;
    struct visit *visits;
    uint32_t *open; /* stack of the functions whose components are incomplete */
    uint32_t open_count, seen, done;
};

static void enter(struct search *s, uint32_t node, uint32_t caller)
{
    s->seen++;
    s->visits[node] =
        (struct visit){.number = s->seen, .low = s->seen, .caller = caller, .open = true};
    s->open[s->open_count++] = node;
}

/* Called when all callees of NODE are done. If it reaches no earlier node, the nodes opened since
 * then form its component. */
static void leave(struct search *s, uint32_t node)
{
    uint32_t member;
    if (s->visits[node].low != s->visits[node].number)
        return;
    do {
        member = s->open[--s->open_count];
        s->visits[member].open = false;
        s->out->sequence[s->done++] = member;
    } while (member != node);
    s->out->begin[++s->out->count] = s->done;
}

static void lower(struct visit *visit, uint32_t to)
{
    if (to < visit->low)
        visit->low = to;
}

static void search_from(struct search *s, uint32_t root)
{
    uint32_t node = root;
    enter(s, root, root);
    for (;;) {
        struct visit *visit = &s->visits[node];
        if (visit->next < s->first[node + 1] - s->first[node]) {
            uint32_t callee = s->next[s->first[node] + visit->next++];
            if (s->visits[callee].number == 0) {
                /* NOLINTNEXTLINE(readability-suspicious-call-argument): node is the caller */
                enter(s, callee, node);
                node = callee;
            } else if (s->visits[callee].open) {
                lower(visit, s->visits[callee].number);
            }
            continue;
        }
        leave(s, node);
        if (node == root)
            return;
        lower(&s->visits[visit->caller], visit->low);
        node = visit->caller;
    }
}

void components_find(uint32_t count, const uint32_t *first, const uint32_t *next,
                     struct components *components)
{
    struct search s = {.first = first, .next = next, .out = components};
    components->sequence = mem_zalloc(count, sizeof *components->sequence);
    components->begin = mem_zalloc((size_t)count + 1, sizeof *components->begin);
    components->count = 0;
    s.visits = mem_zalloc(count, sizeof *s.visits);
    s.open = mem_zalloc(count, sizeof *s.open);
    for (uint32_t i = 0; i < count; i++)
        if (s.visits[i].number == 0)
            search_from(&s, i);
    free(s.visits);
    free(s.open);
}

void components_free(struct components *components)
{
    free(components->sequence);
    free(components->begin);
}

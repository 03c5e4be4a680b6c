/* A thread whose sightings share its CPU time.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/weighed_thread.h"

#include "convert/prof2pbin/division.h"

/* Divides NS among the stretches of T, in proportion to their CPU times, or to their weights if
 * they have none. Each stretch keeps KEPT (0 or 1) times its own CPU time. */
static void divide(struct weighed_thread *t, uint64_t ns, uint64_t kept)
{
    uint64_t cpu_ns = 0, weight = 0;
    struct division division = {0};
    for (size_t i = 0; i < t->count; i++) {
        cpu_ns += t->stretches[i].cpu_ns;
        weight += t->stretches[i].weight;
    }
    for (size_t i = 0; i < t->count; i++) {
        struct stretch *s = &t->stretches[i];
        uint64_t share_ns = cpu_ns > 0 ? division_next(&division, ns, s->cpu_ns, cpu_ns)
                                       : division_next(&division, ns, s->weight, weight);
        s->cpu_ns = kept * s->cpu_ns + share_ns;
    }
}

void weighed_thread_add(struct weighed_thread *t, uint64_t extra_ns)
{
    divide(t, extra_ns, 1);
}

void weighed_thread_set(struct weighed_thread *t, uint64_t total_ns)
{
    divide(t, total_ns, 0);
    t->total_ns = total_ns;
}

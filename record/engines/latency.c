/* Statistics of the time that each sample took.
 * SPDX-License-Identifier: MIT */
#include "record/engines/latency.h"

#include <math.h>

void latency_add(struct latency *latency, uint64_t ns, uint64_t count)
{
    latency->sum += ns;
    if (count == 0)
        return;
    uint64_t each = ns / count;
    if (latency->count == 0 || each < latency->least)
        latency->least = each;
    latency->count += count;
    unsigned slot = each > 1 ? (unsigned)(log2((double)each) * LATENCY_STEPS) : 0;
    latency->slots[slot < LATENCY_SLOTS ? slot : LATENCY_SLOTS - 1] += count;
}

void latency_result(const struct latency *latency, struct engine_result *result)
{
    uint64_t below = 0, rank = latency->count - latency->count / 100;
    result->latency = latency->sum;
    result->latency_min = latency->least;
    for (unsigned slot = 0; slot < LATENCY_SLOTS && latency->count > 0; slot++) {
        below += latency->slots[slot];
        if (below < rank)
            continue;
        result->latency_p99 = (uint64_t)exp2((slot + 1.0) / LATENCY_STEPS);
        return;
    }
}

/* The CPU time of switches between threads.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/switch_share.h"

#include <stdlib.h>

#include "base/memory.h"
#include "convert/prof2pbin/first_remainder.h"

static const double worth = 0.002; /* least part of the CPU time that is moved */

struct switched {
    double cpu, lack; /* [ns] */
    double due;       /* part of a moved sighting that has accumulated */
};

void switch_share_free(struct switch_share *share)
{
    free(share->threads);
    *share = (struct switch_share){0};
}

void switch_share_total(struct switch_share *share, uint32_t thread, uint64_t cpu_ns,
                        uint64_t lack_ns)
{
    if (lack_ns == 0 && thread >= share->count)
        return;
    mem_reserve(&share->threads, &share->capacity, (size_t)thread + 1, sizeof *share->threads);
    for (; share->count <= thread; share->count++)
        share->threads[share->count] =
            (struct switched){.due = first_remainder((uint32_t)share->count) * 0x1p-32};
    share->threads[thread].cpu += (double)cpu_ns;
    share->threads[thread].lack += (double)lack_ns;
}

static double part_of(const struct switched *thread)
{
    double part = thread->cpu > 0 ? thread->lack / thread->cpu : 0;
    return part >= worth ? part : 0;
}

bool switch_share_any(const struct switch_share *share)
{
    for (size_t i = 0; i < share->count; i++)
        if (part_of(&share->threads[i]) > 0)
            return true;
    return false;
}

bool switch_share_moves(struct switch_share *share, uint32_t thread)
{
    if (thread >= share->count)
        return false;
    struct switched *t = &share->threads[thread];
    t->due += part_of(t);
    bool moves = t->due >= 1;
    t->due -= moves;
    return moves;
}

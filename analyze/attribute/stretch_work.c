/* A stretch with its thread samples.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch_work.h"

#include <stdlib.h>

#include "base/memory.h"

struct share_work *share_work_new(void)
{
    return mem_zalloc(1, sizeof(struct share_work));
}

static void free_columns(struct share_work *work)
{
    free(work->cpu_ns);
    free(work->uses);
}

void share_work_delete(struct share_work *work)
{
    if (work == NULL)
        return;
    free_columns(work);
    free(work->last);
    free(work);
}

void share_work_reserve(struct share_work *work, size_t count)
{
    if (count <= work->capacity && work->capacity > 0)
        return;
    free_columns(work);
    work->cpu_ns = mem_zalloc(4 * (count + STRETCH_PAD), sizeof *work->cpu_ns);
    work->of = work->cpu_ns + count + STRETCH_PAD;
    work->room = work->of + count + STRETCH_PAD;
    work->uses = mem_zalloc(count, sizeof *work->uses);
    work->capacity = count;
}

void share_work_settle(struct share_work *work, const uint64_t *threads,
                       const struct stretch_use *uses)
{
    struct stretch *s = &work->stretch;
    stretch_settle(s);
    stretch_divide(s, threads, work->cpu_ns, uses, work->room, work->of);
    work->windows += s->updates;
    work->intervals += s->updates > 0 ? s->count : 0;
}

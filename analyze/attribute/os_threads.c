/* Finds the definitions of a profile that are the same thread of the operating system.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/os_threads.h"

#include <stdlib.h>

#include "base/memory.h"

void os_threads_free(struct os_threads *threads)
{
    numbers_free(&threads->known);
    free(threads->latest);
    free(threads->first);
}

static void add(struct os_threads *s, const struct pbin_thread *threads, uint32_t t)
{
    const struct pbin_thread *thread = &threads[t];
    uint32_t count = s->known.count;
    uint32_t number = numbers_intern(&s->known, (uint64_t)thread->pid << 32 | thread->tid);
    mem_reserve(&s->latest, &s->latest_capacity, (size_t)number + 1, sizeof *s->latest);
    const struct pbin_thread *before = number < count ? &threads[s->latest[number]] : NULL;
    bool renamed =
        before != NULL && (before->name != thread->name || before->program != thread->program);
    s->first[t] = renamed ? s->first[s->latest[number]] : t;
    s->shared |= renamed;
    s->latest[number] = t;
}

void os_threads_add(struct os_threads *s, const struct pbin_definitions *all)
{
    if (s->count >= all->thread_count)
        return;
    mem_reserve(&s->first, &s->first_capacity, all->thread_count, sizeof *s->first);
    for (; s->count < all->thread_count; s->count++)
        add(s, all->threads, (uint32_t)s->count);
}

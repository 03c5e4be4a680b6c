/* Recordings without CPU times.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/fit_seen.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

enum { MAX_THREADS = 64 };

void fit_seen_free(struct fit_seen *seen)
{
    free(seen->cpu_ns);
    free(seen->row);
    free(seen->thread);
    free(seen->waits);
}

/* Numbers the threads of VIEW. Returns how many there are, or 0 if their CPU times are not
 * intervals. */
static size_t number_threads(struct fit_seen *seen, const struct fit_view *view)
{
    size_t threads = 0;
    mem_reserve(&seen->thread, &seen->thread_capacity, view->thread_samples + 1,
                sizeof *seen->thread);
    for (size_t i = 0, k = 0; i < view->stretch->count; i++)
        for (size_t end = k + view->threads[i]; k < end; k++) {
            uint32_t previous = view->uses[k].previous;
            seen->thread[k] =
                previous != STRETCH_NONE ? seen->thread[previous] : (uint32_t)threads++;
            if (fabs(view->cpu_ns[k] - view->stretch->ns[i]) > 1)
                return 0;
        }
    return threads;
}

/* Starts with all threads waiting in all samples. */
static void begin(struct fit_seen *seen, const struct fit_view *view, size_t threads)
{
    size_t count = view->stretch->count;
    mem_reserve(&seen->cpu_ns, &seen->cpu_capacity, count * threads, sizeof *seen->cpu_ns);
    mem_reserve(&seen->row, &seen->row_capacity, count * threads, sizeof *seen->row);
    mem_reserve(&seen->waits, &seen->wait_capacity, count * threads, sizeof *seen->waits);
    for (size_t i = 0, k = 0; i < count; i++) {
        seen->threads[i] = threads;
        for (size_t t = 0; t < threads; t++, k++) {
            seen->cpu_ns[k] = view->stretch->ns[i];
            seen->row[k] = view->row[0];
            seen->waits[k] = true;
        }
    }
}

bool fit_seen_fill(struct fit_seen *seen, struct fit_view *view)
{
    if (view->uses == NULL)
        return true;
    size_t threads = number_threads(seen, view);
    if (threads == 0 || threads > MAX_THREADS)
        return false;
    begin(seen, view, threads);
    for (size_t i = 0, k = 0; i < view->stretch->count; i++)
        for (size_t end = k + view->threads[i]; k < end; k++) {
            seen->row[threads * i + seen->thread[k]] = view->row[k];
            seen->waits[threads * i + seen->thread[k]] = false;
        }
    view->threads = seen->threads;
    view->uses = NULL;
    view->cpu_ns = seen->cpu_ns;
    view->row = seen->row;
    view->waits = seen->waits;
    view->thread_samples = threads * view->stretch->count;
    return true;
}

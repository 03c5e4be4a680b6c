/* A progress bar with rate and remaining time on stderr: only on a terminal, and only for work that takes more
 * than a second.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/report.h"

struct progress {
    const char *what;
    const char *title;   /* before the bar, borrowed; NULL: none */
    uint64_t total;      /* 0: unknown */
    uint64_t next;       /* count at which to read the clock again */
    double start, shown; /* [s] */
    bool active;
};

/* WHAT is the name of the things to be counted (borrowed until progress_end), of which TOTAL are
 * expected. */
void progress_start(struct progress *progress, const struct reporter *reporter, uint64_t total,
                    const char *what);

/* Slow path of progress_at. */
void progress_show(struct progress *progress, uint64_t done);

/* Reports that DONE of them have been processed. Usually costs only a comparison. */
static inline void progress_at(struct progress *progress, uint64_t done)
{
    if (done >= progress->next)
        progress_show(progress, done);
}

/* Erases the bar. */
void progress_end(struct progress *progress);

#endif

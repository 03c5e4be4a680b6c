/* A progress bar on stderr.
 * SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_EVERY = 16384, BAR = 30 };
static const double FIRST_S = 1.0, AGAIN_S = 0.2;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_start(struct progress *p, const struct reporter *reporter, uint64_t total,
                    const char *what)
{
    *p = (struct progress){.what = what, .total = total, .next = UINT64_MAX};
    if (reporter->quiet || reporter->no_bar || !report_may_escape(STDERR_FILENO))
        return;
    p->next = LOOK_EVERY;
    p->start = p->shown = now();
}

void progress_show(struct progress *p, uint64_t done)
{
    double time = now(), since = time - p->start;
    p->next = done + LOOK_EVERY;
    if (time - p->shown < (p->active ? AGAIN_S : FIRST_S))
        return;
    p->active = true;
    p->shown = time;
    double rate = (double)done / since;
    int digits = rate < 10 ? 1 : 0;
    fprintf(stderr, "\r%s", p->title != NULL ? p->title : "");
    if (p->total == 0 || done > p->total) {
        fprintf(stderr, "%" PRIu64 " %s, %.*f/s\033[K", done, p->what, digits, rate);
        return;
    }
    int filled = (int)((double)done / (double)p->total * BAR);
    fprintf(stderr, "[%.*s%*s] %3.0f %%  %.*f %s/s  %.0f s left\033[K", filled,
            "##############################", BAR - filled, "",
            100.0 * (double)done / (double)p->total, digits, rate, p->what,
            (double)(p->total - done) / rate);
}

void progress_end(struct progress *p)
{
    if (p->active)
        fputs("\r\033[K", stderr);
    p->next = UINT64_MAX;
}

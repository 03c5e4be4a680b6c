/* How much CPU time the whole machine has used.
 * SPDX-License-Identifier: MIT */
#include "record/busy.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/clock.h"

/* The kernel generates the whole file for its first line, with a column for each interrupt of each processor. */
enum { COST_SHARE = 50 };

void busy_open(struct busy *busy)
{
    *busy = (struct busy){.fd = open("/proc/stat", O_RDONLY | O_CLOEXEC)};
}

void busy_close(struct busy *busy)
{
    if (busy->fd >= 0)
        close(busy->fd);
    busy->fd = -1;
}

uint64_t busy_read(struct busy *busy, uint64_t now)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
    uint64_t ticks[FIELDS];
    char text[512], *at = text + strlen("cpu ");
    if (busy->fd < 0 || now < busy->due)
        return busy->last;
    ssize_t got = pread(busy->fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (strncmp(text, "cpu ", strlen("cpu ")) != 0)
        return busy->last;
    for (int i = 0; i < FIELDS; i++)
        ticks[i] = strtoull(at, &at, 10);
    uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK), cost = clock_now() - now;
    busy->last = (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) * tick;
    busy->due = now + (cost * COST_SHARE > tick ? cost * COST_SHARE : tick);
    return busy->last;
}

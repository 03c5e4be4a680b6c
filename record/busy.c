/* How much CPU time the whole machine has used.
 * SPDX-License-Identifier: MIT */
#include "record/busy.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "record/clock.h"

/* The kernel makes the whole file for its first line, with a column for each interrupt of each processor. */
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
    char text[512];
    uint64_t user, nice, system, idle, iowait, irq, softirq;
    if (busy->fd < 0 || now < busy->due)
        return busy->last;
    ssize_t got = pread(busy->fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return busy->last;
    text[got] = '\0';
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq) != 7)
        return busy->last;
    uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK), cost = clock_now() - now;
    busy->last = (user + nice + system + irq + softirq) * tick;
    busy->due = now + (cost * COST_SHARE > tick ? cost * COST_SHARE : tick);
    return busy->last;
}

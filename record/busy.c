/* The CPU time that the whole machine has used.
 * SPDX-License-Identifier: MIT */
#include "record/busy.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"

/* To read even its first line, the kernel generates the whole file, with a column for each
 * interrupt of each processor. */
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

/* Columns of /proc/stat [ticks]. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

/* Returns whether FD, /proc/stat, can be read. */
static bool read_times(int fd, uint64_t *ns)
{
    char text[512], *at = text + strlen("cpu ");
    uint64_t tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    ssize_t got = pread(fd, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    if (strncmp(text, "cpu ", strlen("cpu ")) != 0)
        return false;
    for (int i = 0; i < FIELDS; i++)
        ns[i] = strtoull(at, &at, 10) * tick;
    return true;
}

/* Returns the CPU time by the kernel's ticks. */
static uint64_t by_ticks(const uint64_t *ns)
{
    return ns[USER] + ns[NICE] + ns[SYSTEM] + ns[IRQ] + ns[SOFTIRQ];
}

/* Sets the values at NOW, to which later ones are compared. */
static void set_base(struct busy *busy, uint64_t now, const uint64_t *ns)
{
    if (busy->base_time == 0)
        busy->last = by_ticks(ns);
    busy->base = busy->last;
    busy->base_time = now;
    busy->base_idle = ns[IDLE] + ns[IOWAIT];
    busy->base_stolen = ns[STEAL];
    busy->base_ticks = by_ticks(ns);
}

/* Returns the CPU time since BASE_TIME: what was neither idle nor taken by the host of a virtual
 * machine. A CPU that waits for the host counts as idle until it wakes, too; what is subtracted
 * twice is at most what was taken, and ticks then show more. */
static uint64_t since_base(const struct busy *busy, uint64_t now, const uint64_t *ns)
{
    uint64_t all = busy->cpus * (now - busy->base_time);
    uint64_t idle = ns[IDLE] + ns[IOWAIT] - busy->base_idle;
    uint64_t stolen = ns[STEAL] - busy->base_stolen, ticks = by_ticks(ns) - busy->base_ticks;
    uint64_t most = all > idle ? all - idle : 0, least = most > stolen ? most - stolen : 0;
    return ticks < least ? least : ticks < most ? ticks : most;
}

/* Returns the number of CPUs in FD, /proc/stat, which may show fewer than the machine has in a
 * container: the lines that begin with "cpu" and a number, after the line of their sums. */
static uint64_t cpus_in(int fd)
{
    char text[4096];
    uint64_t lines = 0;
    off_t at = 0;
    for (;;) {
        ssize_t got = pread(fd, text, sizeof text - 1, at);
        text[got > 0 ? got : 0] = '\0';
        char *end = strchr(text, '\n');
        if (end == NULL || strncmp(text, "cpu", 3) != 0)
            return lines > 1 ? lines - 1 : 1;
        char *line = text;
        for (; end != NULL && strncmp(line, "cpu", 3) == 0; end = strchr(line, '\n'), lines++)
            line = end + 1;
        at += line - text;
    }
}

/* Counts the CPUs once a second. Returns whether their number has changed. */
static bool count_cpus(struct busy *busy, uint64_t now)
{
    if (busy->cpus > 0 && now < busy->checked + SECOND)
        return false;
    uint64_t cpus = cpus_in(busy->fd);
    bool changed = cpus != busy->cpus;
    busy->cpus = cpus;
    busy->checked = now;
    return changed;
}

uint64_t busy_read(struct busy *busy, uint64_t now)
{
    uint64_t ns[FIELDS];
    if (busy->fd < 0 || now < busy->due || !read_times(busy->fd, ns))
        return busy->last;
    uint64_t end = clock_now();
    if (count_cpus(busy, now))
        set_base(busy, end, ns);
    uint64_t used = busy->base + since_base(busy, end, ns);
    busy->last = used > busy->last ? used : busy->last;
    uint64_t cost = end - now, tick = SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    busy->due = now + (cost * COST_SHARE > tick ? cost * COST_SHARE : tick);
    return busy->last;
}

void busy_note(struct busy_history *h, uint64_t time, uint64_t cpu_ns)
{
    enum { MAX_POINTS = 1 << 20 };
    const uint64_t first_step = 20000000;
    if (cpu_ns == 0 || (h->count > 0 && time < h->points[h->count - 1].time + h->step))
        return;
    h->step = h->count > 0 ? h->step : first_step;
    mem_reserve(&h->points, &h->capacity, h->count + 1, sizeof *h->points);
    h->points[h->count++] = (struct busy_point){time, cpu_ns};
    if (h->count < MAX_POINTS)
        return;
    for (size_t i = 0; i < h->count / 2; i++)
        h->points[i] = h->points[2 * i];
    h->count /= 2;
    h->step *= 2;
}

uint64_t busy_at(struct busy_history *h, uint64_t time)
{
    if (h->count == 0)
        return 0;
    if (time < h->points[h->at].time)
        h->at = 0;
    while (h->at + 1 < h->count && h->points[h->at + 1].time <= time)
        h->at++;
    const struct busy_point *a = &h->points[h->at], *b = a + 1;
    if (time <= a->time || h->at + 1 == h->count || b->cpu_ns <= a->cpu_ns)
        return a->cpu_ns;
    return a->cpu_ns + (uint64_t)((double)(b->cpu_ns - a->cpu_ns) * (double)(time - a->time) /
                                  (double)(b->time - a->time));
}

void busy_history_free(struct busy_history *h)
{
    free(h->points);
}

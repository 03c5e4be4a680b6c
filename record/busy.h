/* The CPU time that the whole machine has used, from /proc/stat.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_BUSY_H
#define RECORD_BUSY_H

#include <stdint.h>

struct busy {
    int fd;
    uint64_t due;  /* CLOCK_MONOTONIC [ns] of the next update */
    uint64_t last; /* [ns] */
};

void busy_open(struct busy *busy);
void busy_close(struct busy *busy);
/* CPU time of all processes since the machine started [ns], in steps of a clock tick (10 ms); NOW is CLOCK_MONOTONIC.
 * 0: unknown. */
uint64_t busy_read(struct busy *busy, uint64_t now);

#endif

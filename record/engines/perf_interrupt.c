/* Measures the cost of a sample for the program: the interrupt of a sampler's timer, which is time
 * of the kernel on the program's CPU.
 *
 * A sampler of this process interrupts a loop that reads the clock. Each interrupt is a gap between
 * two readings: 3 to 5 us on most machines, up to 50 us on virtual machines that exit to the host
 * for each timer. If the period is hardly longer, the next interrupt is already due when one ends,
 * and one gap is several interrupts: the period is then made longer.
 * SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/engines/perf_internal.h"

enum { GAPS = 15, MIN_GAPS = 5, TRIES = 4 };
static const uint64_t first_period = SECOND / 5000;
/* [periods] a gap that is longer may be several interrupts */
static const double max_gap = 0.25;
/* [ns] a gap that is an interrupt takes at least this long, ... */
static const uint64_t min_gap = 400;
/* ... and at least this many times as long as reading the clock */
static const uint64_t times = 4;

static int compare(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

/* Returns the cost, or 0 if there were too few interrupts; PERIOD [ns]. */
static double measure(const struct perf_setup *setup, uint64_t period)
{
    uint64_t gaps[GAPS], least = UINT64_MAX;
    size_t count = 0;
    int fd = perf_open_probe(setup, period);
    if (fd < 0)
        return 0;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    uint64_t last = clock_now(), end = last + 2 * period * GAPS;
    while (count < GAPS && last < end) {
        uint64_t now = clock_now(), gap = now - last;
        least = gap < least ? gap : least;
        if (gap > min_gap && gap > times * least)
            gaps[count++] = gap;
        last = now;
    }
    close(fd);
    qsort(gaps, count, sizeof gaps[0], compare);
    /* longer gaps may be other interrupts of the kernel */
    const uint64_t *middle = gaps + count / 2;
    return count >= MIN_GAPS ? (double)*middle : 0;
}

double perf_interrupt_cost(const struct perf_setup *setup)
{
    double cost = 0;
    uint64_t period = first_period;
    for (int i = 0; i < TRIES; i++) {
        cost = measure(setup, period);
        if (cost > max_gap * (double)period)
            period *= 4;
        else if (cost > 0) /* otherwise, this process may have lost its CPU */
            break;
    }
    return cost;
}

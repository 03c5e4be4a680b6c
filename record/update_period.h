/* The time between two updates of a counter that does not specify it. It is measured before a run
 * from a few updates, some of which a busy machine may delay or hide. It is corrected during the
 * run if readings prove that it is wrong: the counter changed again too early, or several times too
 * late.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_UPDATE_PERIOD_H
#define RECORD_UPDATE_PERIOD_H

#include <stdint.h>

/* Results of readings. All zero: none. */
struct update_period {
    /* CLOCK_MONOTONIC [ns] of the readings before and after the last update; UPTO 0: none */
    uint64_t after, upto;
    unsigned longer;   /* consecutive updates that came too late for the period ... */
    uint64_t shortest; /* ... and the shortest time between two of them [ns] */
};

/* Returns the mean of those of the COUNT > 0 times between updates, STEPS [ns], that are about as
 * long as the median: the precision of each is limited by the readings, and updates may have been
 * missed. Sorts STEPS. */
uint64_t update_period_usual(uint64_t *steps, unsigned count);

/* Takes into account that the counter moved after the reading at AFTER and not after the one at
 * UPTO. Corrects *PERIOD [ns] (0: unknown) if this proves it wrong. */
void update_period_moved(struct update_period *shown, uint64_t *period, uint64_t after,
                         uint64_t upto);

#endif

/* The time between two updates of a counter that does not specify it. It is measured before a run
 * from a few updates, some of which a busy machine may delay or hide. If there were none, because
 * the program itself updates the counter, it is measured during the run, unless updates are
 * irregular. It is corrected if readings prove that it is wrong: the counter changed again too
 * early, or several times too late.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_UPDATE_PERIOD_H
#define RECORD_UPDATE_PERIOD_H

#include <stdint.h>

enum { UPDATES_SEEN = 24 }; /* so many show whether updates are regular */

/* Results of readings. All zero: none. */
struct update_period {
    /* CLOCK_MONOTONIC [ns] of the readings before and after the last update; UPTO 0: none */
    uint64_t after, upto;
    unsigned longer;   /* consecutive updates that came too late for the period ... */
    uint64_t shortest; /* ... and the shortest time between two of them [ns] */
    /* while the period is unknown: the first COUNT updates, between AFTER and UPTO each */
    struct update_seen {
        uint64_t after, upto;
    } seen[UPDATES_SEEN];
    unsigned count;
};

/* Returns the mean of those of the COUNT > 0 times between updates, STEPS [ns], that are about as
 * long as the median: the precision of each is limited by the readings, and updates may have been
 * missed. Sorts STEPS. */
uint64_t update_period_usual(uint64_t *steps, unsigned count);

/* Takes into account that the counter moved after the reading at AFTER and not after the one at
 * UPTO. Corrects *PERIOD [ns] if this proves it wrong. If it is 0, unknown, sets it as soon as
 * UPDATES_SEEN updates prove to be regular. */
void update_period_moved(struct update_period *shown, uint64_t *period, uint64_t after,
                         uint64_t upto);

#endif

/* User code that is seen too rarely from other CPUs.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "convert/prof2pbin/missing_places.h"

enum { COMPUTING = 1, BEFORE_FAULT, RARE };

/* Adds SAME and OTHER sightings of BLOCK to PERIOD. */
static void count(struct missing_places *places, struct missing_period *period, uint64_t block,
                  int same, int other)
{
    for (int i = 0; i < same + other; i++) {
        enum fault_side side = i < same ? FAULT_SAME_CPU : FAULT_OTHER_CPU;
        missing_period_count(period, side, 1);
        missing_places_count(places, period, side, block, 1);
    }
}

/* There are three times as many sightings from other CPUs, where a thread in the code before page
 * faults is usually seen in the page fault. */
static void code_before_page_faults(struct check *check)
{
    struct missing_places places = {0};
    struct missing_period period = {0};
    count(&places, &period, COMPUTING, 200, 600);
    count(&places, &period, BEFORE_FAULT, 200, 30);
    for (int i = 0; i < 570; i++) /* in page faults elsewhere */
        missing_period_count(&period, FAULT_OTHER_CPU, 1);
    missing_places_add(&places, &period);
    CHECK(missing_places_part(&places, BEFORE_FAULT) == 0);
    missing_places_settle(&places);
    CHECK(missing_places_part(&places, COMPUTING) < 0.02);
    CHECK(fabs(missing_places_part(&places, BEFORE_FAULT) - 0.93) < 0.01);
    CHECK(fabs(missing_places_part(&places, RARE) - (1 - 630.0 / 1200)) < 0.001);
    missing_period_free(&period);
    missing_places_free(&places);
}

/* The sampler happens to be on the CPU of a thread for half of the time while it runs one function, and for a tenth of
 * the time while it runs the other: nothing is missing. */
static void sides_change(struct check *check)
{
    struct missing_places places = {0};
    struct missing_period period = {0};
    count(&places, &period, COMPUTING, 500, 500);
    missing_places_add(&places, &period);
    count(&places, &period, BEFORE_FAULT, 100, 900);
    missing_places_add(&places, &period);
    missing_places_settle(&places);
    CHECK(missing_places_part(&places, COMPUTING) < 1e-9);
    CHECK(missing_places_part(&places, BEFORE_FAULT) < 1e-9);
    CHECK(missing_places_part(&places, RARE) < 1e-9);
    missing_period_free(&period);
    missing_places_free(&places);
}

/* Without sightings on the sampler's own CPU, nothing is known to be missing. */
static void one_side(struct check *check)
{
    struct missing_places places = {0};
    struct missing_period period = {0};
    CHECK(missing_places_part(&places, COMPUTING) == 0);
    count(&places, &period, COMPUTING, 0, 500);
    missing_places_add(&places, &period);
    missing_places_settle(&places);
    CHECK(missing_places_part(&places, COMPUTING) == 0);
    CHECK(missing_places_part(&places, RARE) == 0);
    missing_period_free(&period);
    missing_places_free(&places);
}

CHECK_MAIN({"code_before_page_faults", code_before_page_faults}, {"sides_change", sides_change},
           {"one_side", one_side})

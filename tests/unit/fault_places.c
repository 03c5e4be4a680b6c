/* Page faults that were not seen, and other time in the kernel.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "formats/raw/raw_fault_places.h"

enum { ONE = 0x100, TWO = 0x200, WRITING = 0x300 };

static void count(struct fault_places *places, enum fault_side side, uint64_t pc,
                  enum fault_sight sight, int times)
{
    for (int i = 0; i < times; i++)
        fault_places_count(places, side, pc, sight, 1);
}

/* ONE and TWO are seen in user code 700 and 300 times from either side. WRITING is seen 50 times
 * from either side; FAULTS of its sightings from other CPUs are page faults. */
static struct fault_places program(int faults)
{
    struct fault_places places = {0};
    for (enum fault_side side = 0; side < FAULT_SIDES; side++) {
        count(&places, side, ONE, FAULT_USER, 700);
        count(&places, side, TWO, FAULT_USER, 300);
    }
    count(&places, FAULT_SAME_CPU, WRITING, FAULT_USER, 50);
    count(&places, FAULT_OTHER_CPU, WRITING, FAULT_USER, 50 - faults);
    count(&places, FAULT_OTHER_CPU, WRITING, FAULT_SEEN, faults);
    return places;
}

static double part(const struct fault_places *places, uint64_t pc)
{
    return fault_places_part(places, FAULT_SAME_CPU, pc);
}

static double moved(const struct fault_places *places)
{
    return 700 * part(places, ONE) + 300 * part(places, TWO) + 50 * part(places, WRITING);
}

/* As many page faults are missing as were seen from other CPUs: they were at the same places. */
static void page_faults_alone(struct check *check)
{
    struct fault_places places = program(40);
    fault_places_settle(&places, FAULT_SAME_CPU, 40);
    CHECK(fabs(moved(&places) - 40) < 0.01);
    CHECK(part(&places, WRITING) > 0.75);
    CHECK(part(&places, ONE) < 0.001);
    CHECK(part(&places, TWO) < 0.001);
    fault_places_free(&places);
}

/* Five page faults do not explain 210 sightings: the rest is the same part of all places. */
static void something_else(struct check *check)
{
    struct fault_places places = program(5);
    fault_places_settle(&places, FAULT_SAME_CPU, 210);
    CHECK(fabs(moved(&places) - 210) < 0.01);
    CHECK(fabs(part(&places, ONE) / part(&places, TWO) - 1) < 0.01);
    CHECK(part(&places, WRITING) > 1.5 * part(&places, ONE));
    CHECK(part(&places, WRITING) < 0.6);
    CHECK(fault_places_part(&places, FAULT_OTHER_CPU, ONE) == 0);
    fault_places_free(&places);
}

/* More sightings are said to be missing than there are: all of them move, and no more. */
static void everything(struct check *check)
{
    struct fault_places places = program(0);
    fault_places_settle(&places, FAULT_SAME_CPU, 2000);
    CHECK(fabs(moved(&places) - 1050) < 0.01);
    fault_places_free(&places);
}

CHECK_MAIN({"page_faults_alone", page_faults_alone}, {"something_else", something_else},
           {"everything", everything})

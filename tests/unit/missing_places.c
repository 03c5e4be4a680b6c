/* User code that is seen too rarely from other CPUs.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "convert/prof2pbin/missing_places.h"

enum { IMAGE = 3, COMPUTING = 0x1000, BEFORE_FAULT = 0x1040, RARE = 0x2000 };

static void count(struct missing_places *places, uint64_t pc, int same, int other)
{
    for (int i = 0; i < same + other; i++)
        missing_places_count(places, i < same ? FAULT_SAME_CPU : FAULT_OTHER_CPU, IMAGE,
                             pc + (uint64_t)i % 64, 1);
}

static double part(const struct missing_places *places, uint64_t pc)
{
    return missing_places_part(places, IMAGE, pc);
}

/* There are three times as many sightings from other CPUs, where a thread in the code before page
 * faults is usually seen in the page fault. */
static void code_before_page_faults(struct check *check)
{
    struct missing_places places = {0};
    count(&places, COMPUTING, 200, 600);
    count(&places, BEFORE_FAULT, 200, 30);
    missing_places_settle(&places, 400, 1200);
    CHECK(part(&places, COMPUTING) < 0.01);
    CHECK(fabs(part(&places, BEFORE_FAULT) - 0.95) < 0.01);
    CHECK(fabs(part(&places, RARE) - (1 - 630.0 / 1200)) < 0.001);
    CHECK(fabs(missing_places_part(&places, IMAGE + 1, BEFORE_FAULT) - part(&places, RARE)) <
          0.001);
    missing_places_free(&places);
}

/* Without sightings on the sampler's own CPU, nothing is known to be missing. */
static void one_side(struct check *check)
{
    struct missing_places places = {0};
    CHECK(part(&places, COMPUTING) == 0);
    count(&places, COMPUTING, 0, 500);
    missing_places_settle(&places, 0, 500);
    CHECK(part(&places, COMPUTING) == 0);
    CHECK(part(&places, RARE) == 0);
    missing_places_free(&places);
}

CHECK_MAIN({"code_before_page_faults", code_before_page_faults}, {"one_side", one_side})

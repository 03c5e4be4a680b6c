/* System calls that were seen too often: those that follow user code, but not those that follow
 * each other.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "convert/prof2pbin/call_places.h"

enum { AFTER_CODE = 0x7f0000001010, AFTER_CALLS = 0x7f0000002020, RARE = 0x7f0000003030 };

static void count(struct call_places *places, enum fault_side side, uint64_t pc, unsigned times)
{
    while (times-- > 0)
        call_places_count(places, side, pc, 1);
}

/* On other CPUs, three quarters of the calls that follow user code were really user code; none of
 * the calls that follow calls were. RATIO is 2: 200 and 1000 sightings are expected. */
static void by_place(struct check *check)
{
    struct call_places places = {0};
    count(&places, FAULT_SAME_CPU, AFTER_CODE, 100);
    count(&places, FAULT_SAME_CPU, AFTER_CALLS, 500);
    count(&places, FAULT_OTHER_CPU, AFTER_CODE, 800);
    count(&places, FAULT_OTHER_CPU, AFTER_CALLS, 1000);
    call_places_settle(&places, 600, 2);
    double code = call_places_part(&places, AFTER_CODE),
           calls = call_places_part(&places, AFTER_CALLS);
    CHECK(code > 0.73 && code < 0.76);
    CHECK(calls < 0.01);
    CHECK(fabs(code * 800 + calls * 1000 - 600) < 1e-9);
    CHECK(call_places_part(&places, RARE) <= 0);
    call_places_free(&places);
}

/* The average part is removed from a place with hardly any sightings. */
static void rarely_seen(struct check *check)
{
    struct call_places places = {0};
    count(&places, FAULT_SAME_CPU, AFTER_CODE, 50);
    count(&places, FAULT_OTHER_CPU, AFTER_CODE, 100);
    count(&places, FAULT_OTHER_CPU, RARE, 1);
    call_places_settle(&places, 50.5, 1);
    CHECK(call_places_part(&places, RARE) > 0.2);
    CHECK(call_places_part(&places, RARE) < 0.8);
    call_places_free(&places);
}

/* The sampler's own CPU only showed calls that follow calls. Without an excess, no sighting was
 * user code; with an excess of more than all sightings, each was, and no part exceeds 1. */
static void bounds(struct check *check)
{
    struct call_places places = {0};
    count(&places, FAULT_SAME_CPU, AFTER_CALLS, 100);
    count(&places, FAULT_OTHER_CPU, AFTER_CODE, 10);
    count(&places, FAULT_OTHER_CPU, AFTER_CALLS, 90);
    call_places_settle(&places, 0, 1);
    CHECK(call_places_part(&places, AFTER_CODE) <= 0);
    call_places_settle(&places, 1000, 1);
    CHECK(call_places_part(&places, AFTER_CODE) >= 1 - 1e-9);
    CHECK(call_places_part(&places, AFTER_CODE) <= 1);
    CHECK(call_places_part(&places, AFTER_CALLS) >= 1 - 1e-9);
    CHECK(call_places_part(&places, AFTER_CALLS) <= 1);
    call_places_free(&places);
}

CHECK_MAIN({"by_place", by_place}, {"rarely_seen", rarely_seen}, {"bounds", bounds})

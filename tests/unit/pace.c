/* The rate at which the ptrace engine samples: within its budget, and equal in all phases of a
 * program.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "record/engines/pace.h"

#define MS UINT64_C(1000000)

/* Alternates for 20 s between 10 ms of waiting, where a sample costs 10 us, and 10 ms of computing,
 * where a sample costs 120 us. */
static void phases(struct check *check)
{
    const double budget = 0.1;
    struct pace pace;
    double cost = 0, least = 1e18, most = 0;
    uint64_t begin = 1000 * MS, now = begin, end = begin + 20000 * MS;
    pace_start(&pace, 5000, true, budget, now);
    while (now < end) {
        now = pace.next;
        uint64_t each = now / (10 * MS) % 2 == 0 ? 10000 : 120000;
        pace_taken(&pace, now + each, each);
        cost += (double)each;
        if (now < begin + 3000 * MS)
            continue;
        least = pace.mean < least ? pace.mean : least;
        most = pace.mean > most ? pace.mean : most;
    }
    CHECK(most / least < 1.1);
    CHECK(cost < 1.1 * budget * (double)(end - begin));
    CHECK(cost > 0.9 * budget * (double)(end - begin));
}

/* Samples that take 80 us. The next one is due at any moment after the end of one with the same
 * probability, and never sooner than 0.02 intervals: if it were due at that point more often, the
 * first thing that threads do when the sampler leaves their CPU would be seen more often. */
static void any_moment(struct check *check)
{
    enum { SAMPLES = 100000, BUSY = 80000, LEAST = 20000, STEP = 20000, STEPS = 5 };
    struct pace pace;
    int due[STEPS] = {0};
    pace_start(&pace, 1000, true, 0, 0);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t end = pace.next + BUSY;
        pace_taken(&pace, end, BUSY);
        CHECK(pace.next >= end + LEAST);
        uint64_t step = (pace.next - end - LEAST) / STEP;
        if (step < STEPS)
            due[step]++;
    }
    double rate = SAMPLES / ((double)pace.next / 1e9);
    CHECK(rate > 990 && rate < 1010);
    for (int i = 0; i < STEPS; i++) { /* 1 / 0.9 per ms; the standard deviation is 2 % */
        double left = SAMPLES * exp(-STEP * i / 900e3), expected = left * (1 - exp(-STEP / 900e3));
        CHECK(due[i] > 0.9 * expected && due[i] < 1.1 * expected);
    }
}

static void without_limit(struct check *check)
{
    struct pace pace;
    pace_start(&pace, 1000, false, 0, 0);
    for (uint64_t i = 1; i <= 100; i++) {
        CHECK(pace.next == i * MS);
        pace_taken(&pace, pace.next + MS / 2, MS / 2);
    }
    CHECK(pace.missed == 0);
}

/* A sample that was due at 10 ms begins 5 ms late. */
static void late(struct check *check)
{
    const struct pace pace = {.next = 10 * MS};
    CHECK(pace_late(&pace, 15 * MS, 15 * MS, 2 * MS) == 5 * MS); /* it slept until then */
    CHECK(pace_late(&pace, 10 * MS, 10 * MS + 1000, 0) == 0);
    CHECK(pace_late(&pace, 9 * MS, 15 * MS, 0) == 0); /* it was busy */
    CHECK(pace_late(&pace, 9 * MS, 15 * MS, 3 * MS) == 3 * MS);
    CHECK(pace_late(&pace, 2 * MS, 15 * MS, 12 * MS) ==
          5 * MS); /* it waited before that time, too */
    CHECK(pace_late(&pace, 9 * MS, 9 * MS + 1000, 1 * MS) == 0);
}

CHECK_MAIN({"phases", phases}, {"any_moment", any_moment}, {"without_limit", without_limit},
           {"late", late})

/* The update period of a counter, corrected by what readings prove.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "record/update_period.h"

#define MS UINT64_C(1000000)

/* Returns the corrected period of a counter that is updated every 50 ms, starting from WRONG. Each
 * update is seen by a reading at most 5 ms late, every fifth one DELAY [ns] later still. */
static uint64_t learnt(uint64_t wrong, uint64_t delay)
{
    struct update_period shown = {0};
    uint64_t period = wrong;
    for (uint64_t i = 1; i <= 40; i++) {
        uint64_t update = i * 50 * MS, late = 1 + i * 7919 % (5 * MS) + (i % 5 == 0 ? delay : 0);
        update_period_moved(&shown, &period, update - (5 * MS - late % (5 * MS)), update + late);
    }
    return period;
}

static void near_right(struct check *check)
{
    CHECK_EQ(learnt(50 * MS, 0), 50 * MS);
    CHECK_EQ(learnt(47 * MS, 0), 47 * MS);
    CHECK_EQ(learnt(50 * MS, 20 * MS), 50 * MS); /* readings that come late prove nothing */
}

/* Returns the period found for a counter that is read every 1 ms, if the I-th update is MEAN plus
 * up to JITTER [ns] after the one before it. */
static uint64_t found(uint64_t mean, uint64_t jitter)
{
    struct update_period shown = {0};
    uint64_t period = 0, update = 0;
    for (uint64_t i = 1; i <= 200; i++) {
        update += mean - jitter + i * 7919 % 1009 * (2 * jitter + 1) / 1009;
        uint64_t upto = (update / MS + 1) * MS;
        update_period_moved(&shown, &period, upto - MS, upto);
    }
    return period;
}

static void unknown(struct check *check)
{
    const uint64_t periods[] = {5 * MS / 2, 5 * MS, 9 * MS + 7, 20 * MS, 50 * MS, 1000 * MS};
    for (unsigned i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        uint64_t period = found(periods[i], 0);
        CHECK(period > periods[i] - periods[i] / 50 && period < periods[i] + periods[i] / 50);
    }
    CHECK_EQ(found(MS, 0), 0); /* not known from readings as far apart as updates */
    CHECK_EQ(found(3 * MS / 2, 0), 0);
    CHECK_EQ(found(10 * MS, 5 * MS), 0); /* irregular */
    CHECK_EQ(found(50 * MS, 40 * MS), 0);
    uint64_t late = learnt(0, 0);
    CHECK(late > 44 * MS && late < 56 * MS);
}

static void wrong(struct check *check)
{
    const uint64_t begin[] = {1 * MS, 20 * MS, 33 * MS, 75 * MS, 100 * MS, 150 * MS, 1000 * MS};
    for (unsigned i = 0; i < sizeof begin / sizeof begin[0]; i++) {
        uint64_t found = learnt(begin[i], 0);
        CHECK(found > 44 * MS && found < 56 * MS);
        found = learnt(begin[i], 20 * MS);
        CHECK(found > 44 * MS && found < 58 * MS);
    }
}

/* One late update does not make a period longer. */
static void late_once(struct check *check)
{
    struct update_period shown = {0};
    uint64_t period = 50 * MS;
    uint64_t at = 1000 * MS;
    for (unsigned i = 0; i < 30; i++) {
        at += i % 4 == 0 ? 90 * MS : 50 * MS;
        update_period_moved(&shown, &period, at - MS, at + MS);
    }
    CHECK_EQ(period, 50 * MS);
}

static void usual(struct check *check)
{
    uint64_t steps[] = {50, 101, 49, 51, 7};
    CHECK_EQ(update_period_usual(steps, 5), 50);
    uint64_t one[] = {75};
    CHECK_EQ(update_period_usual(one, 1), 75);
}

CHECK_MAIN({"near_right", near_right}, {"unknown", unknown}, {"wrong", wrong},
           {"late_once", late_once}, {"usual", usual})

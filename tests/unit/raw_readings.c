/* Energy between two times, from readings of power sources.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "base/bytes.h"
#include "formats/raw/raw_readings.h"

#define SECOND UINT64_C(1000000000)

static struct raw_source source_of(const char *kind, double per_count, uint8_t role)
{
    return (struct raw_source){.name = (char *)"x",
                               .kind = (char *)kind,
                               .unit = (char *)"",
                               .scope = (char *)"other",
                               .per_count = per_count,
                               .role = role,
                               .help = (char *)""};
}

static int add(struct raw_readings *r, uint32_t source, uint64_t time, uint64_t value)
{
    return raw_readings_add(r, &(struct raw_reading){source, time, value, 0});
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

/* 1 uJ per count: 2 J in the first second, 6 J in the second one, constant outside. */
static void counter(struct check *check)
{
    struct raw_source source = source_of("energy", 1e-6, 1);
    struct raw_readings *r = raw_readings_new(&source, 1);
    CHECK_EQ(raw_readings_until(r), 0);
    CHECK(raw_readings_value(r, 0, SECOND) == 0);
    CHECK_EQ(add(r, 0, SECOND, 0), 0);
    CHECK_EQ(add(r, 0, 2 * SECOND, 2000000), 0);
    CHECK_EQ(add(r, 0, 3 * SECOND, 8000000), 0);
    CHECK_EQ(raw_readings_until(r), 3 * SECOND);
    CHECK(near(raw_readings_energy(r, 0, 0, 10 * SECOND), 8));
    CHECK(near(raw_readings_energy(r, 0, SECOND * 3 / 2, SECOND * 5 / 2), 4));
    CHECK(near(raw_readings_value(r, SECOND * 5 / 2, 3 * SECOND), 6));
    CHECK(near(raw_readings_value(r, 2 * SECOND, 2 * SECOND), 2));
    CHECK(near(raw_readings_value(r, 3 * SECOND, 3 * SECOND), 6));
    CHECK(raw_readings_value(r, SECOND, SECOND) == 0);
    CHECK(raw_readings_energy(r, 0, 4 * SECOND, 5 * SECOND) == 0);
    CHECK(raw_readings_energy(r, 0, 0, SECOND / 2) == 0);
    raw_readings_delete(r);
}

/* For any samples, the sum of mean times interval equals the counted energy: for a counter read at
 * irregular times, samples at irregular times, and readings that are forgotten in between. */
static void conservation(struct check *check)
{
    struct raw_source sources[2] = {source_of("energy", 1.5e-5, 1), source_of("energy", 1, 0)};
    struct raw_readings *r = raw_readings_new(sources, 2);
    uint64_t time = 0, counts = 0, random = 88172645463325252u;
    double sum = 0;
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        add(r, 0, time, counts);
        time += random % 3000000;
        counts += random >> 40 & 0xffff;
    }
    add(r, 0, time, counts);
    for (uint64_t from = 0, to; from < time; from = to) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        to = from + 1 + random % 2500000;
        to = to < time ? to : time;
        sum += raw_readings_value(r, from, to) * (double)(to - from) * 1e-9;
        raw_readings_forget(r, to);
    }
    CHECK(fabs(sum - (double)counts * 1.5e-5) < 1e-11 * sum);
    raw_readings_delete(r);
}

/* 10 W rising to 30 W within a second, then a jump to 5 W, which lasts to the end. */
static void gauge(struct check *check)
{
    struct raw_source source = source_of("power", 1, 1);
    struct raw_readings *r = raw_readings_new(&source, 1);
    add(r, 0, SECOND, bits_of_double(10));
    add(r, 0, 2 * SECOND, bits_of_double(30));
    add(r, 0, 2 * SECOND, bits_of_double(5));
    CHECK(near(raw_readings_energy(r, 0, 0, SECOND), 10));
    CHECK(near(raw_readings_energy(r, 0, 0, 3 * SECOND), 35));
    CHECK(near(raw_readings_energy(r, 0, SECOND, 2 * SECOND), 20));
    CHECK(near(raw_readings_energy(r, 0, SECOND * 3 / 2, 2 * SECOND), 12.5));
    CHECK(near(raw_readings_value(r, SECOND * 3 / 2, SECOND * 3 / 2), 20));
    CHECK(near(raw_readings_value(r, 2 * SECOND, 3 * SECOND), 5));
    CHECK(near(raw_readings_value(r, 0, 4 * SECOND), 10));
    raw_readings_delete(r);
}

static void custom(struct check *check)
{
    struct raw_source sources[2] = {source_of("custom", 1, 1), source_of("custom", 1, 1)};
    struct raw_readings *r = raw_readings_new(sources, 2);
    add(r, 0, 10, bits_of_double(7));
    add(r, 0, 20, bits_of_double(9));
    add(r, 1, 10, bits_of_double(100));
    CHECK(near(raw_readings_value(r, 10, 19), 107));
    CHECK(near(raw_readings_value(r, 19, 20), 109));
    CHECK(near(raw_readings_value(r, 0, 0), 107)); /* the first one, as there is no earlier one */
    CHECK_EQ(raw_readings_until(r), 10);
    raw_readings_delete(r);
}

static void refused(struct check *check)
{
    struct raw_source sources[2] = {source_of("energy", 1, 1), source_of("power", 1, 0)};
    struct raw_readings *r = raw_readings_new(sources, 2);
    CHECK_EQ(add(r, 2, 0, 0), -1);
    CHECK_EQ(add(r, UINT32_MAX, 0, 0), -1);
    CHECK_EQ(add(r, 0, 10, 10), 0);
    CHECK_EQ(add(r, 0, 9, 10), -1);
    CHECK_EQ(add(r, 0, 11, 9), -1);
    CHECK_EQ(add(r, 1, 0, bits_of_double(INFINITY)), -1);
    CHECK_EQ(add(r, 1, 0, bits_of_double(NAN)), -1);
    raw_readings_delete(r);
    r = raw_readings_new(sources + 1, 1);
    CHECK_EQ(raw_readings_until(r), UINT64_MAX);
    CHECK(raw_readings_value(r, 0, 1) == 0);
    raw_readings_delete(r);
}

CHECK_MAIN({"counter", counter}, {"conservation", conservation}, {"gauge", gauge},
           {"custom", custom}, {"refused", refused})

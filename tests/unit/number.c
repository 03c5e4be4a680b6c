/* Numbers as text: the shortest text that reads back as the value, found here by trying all
 * lengths.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

static void expect(struct check *check, double value)
{
    char want[32], got[32];
    int digits = 1;
    do
        snprintf(want, sizeof want, "%.*g", digits, value);
    while (strtod(want, NULL) != value && digits++ < 17);
    snprintf(want, sizeof want, "%.*g", digits < 15 ? 15 : digits, value); /* no exponent before */
    format_real(got, sizeof got, value);
    CHECK_STR(got, want);
}

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 11;
}

static void billionths(struct check *check)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        uint64_t number = next(&state) >> (i % 50);
        expect(check, (double)number / 1e9);
        expect(check, -(double)number / 1e6);
        expect(check, (double)number / 1e9 * (1 + 0x1p-52)); /* a neighbour, whose text is longer */
    }
}

/* Numbers of 15 digits and their neighbours, of any size. */
static void digits(struct check *check)
{
    uint64_t state = 2;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        snprintf(text, sizeof text, "%llue%d",
                 (unsigned long long)(next(&state) % UINT64_C(1000000000000000)), i % 60 - 45);
        double value = strtod(text, NULL);
        expect(check, value);
        expect(check, nextafter(value, 0));
    }
}

static void limits(struct check *check)
{
    static const double values[] = {
        0,    1,    -1,          1e-4,  9.9999e-5, 0.1, 0.3,   1e6, 999999.999999999,
        1e15, 1e16, 123456789.5, 1e300, 5e-324,    100, 0x1p53};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        expect(check, values[i]);
        expect(check, -values[i]);
    }
}

CHECK_MAIN({"billionths", billionths}, {"digits", digits}, {"limits", limits})

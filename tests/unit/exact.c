/* Exact sums: conversion to doubles.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include "base/exact.h"

enum { NS_PER_S = 1000000000 };

/* The processor rounds a quotient of two doubles once. */
static void quotients_are_rounded_once(struct check *check)
{
    for (uint64_t ns = 1; ns < UINT64_C(1) << 53; ns += 1 + ns / 3000)
        for (int sign = -1; sign <= 1; sign += 2)
            CHECK(exact_to_double((exact)ns * sign * (INT64_C(1) << 32), 32, NS_PER_S) ==
                  (double)ns * sign / 1e9);
}

/* 2^53 + 1 is halfway between two doubles: bits far below decide the rounding. */
static void a_rest_decides(struct check *check)
{
    const exact half = ((exact)1 << 53) + 1;
    CHECK(exact_to_double(half, 0, 1) == 0x1p53);
    CHECK(exact_to_double((half << 60) + 1, 60, 1) == 0x1p53 + 2);
    CHECK(exact_to_double((half << 60) - 1, 60, 1) == 0x1p53);
    CHECK(exact_to_double(half * 3, 0, 3) == 0x1p53);
    CHECK(exact_to_double(half * 3 + 1, 0, 3) == 0x1p53 + 2);
    CHECK(exact_to_double(-half * 3 - 1, 0, 3) == -0x1p53 - 2);
}

static void extremes(struct check *check)
{
    const exact largest = (exact)(~(unsigned __int128)0 >> 1);
    CHECK(exact_to_double(0, 80, 7) == 0);
    CHECK(exact_to_double(1, 80, 1) == 0x1p-80);
    CHECK(exact_to_double(largest, 0, 1) == 0x1p127);
    CHECK(exact_to_double(-largest - 1, 0, 1) == -0x1p127);
    CHECK(exact_to_double(1, 0, UINT64_MAX) == 0x1p-64);
}

CHECK_MAIN({"quotients_are_rounded_once", quotients_are_rounded_once},
           {"a_rest_decides", a_rest_decides}, {"extremes", extremes})

/* Exact sums.
 * SPDX-License-Identifier: MIT */
#include "base/exact.h"

#include <math.h>

/* The number of zeros above the highest bit of VALUE, which is not 0. */
static int zeros_above(unsigned __int128 value)
{
    uint64_t high = (uint64_t)(value >> 64);
    return high != 0 ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)value);
}

double exact_to_double(exact value, int shift, uint64_t divisor)
{
    unsigned __int128 size = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    if (size == 0)
        return 0;
    /* The quotient has at least 63 bits, the last of which records whether there is a remainder, so
     * that it is rounded only once. */
    int up = zeros_above(size);
    unsigned __int128 quotient = (size << up) / divisor;
    bool rest = quotient * divisor != size << up;
    int down = 64 - zeros_above(quotient);
    if (down > 0) {
        rest = rest || (quotient & (((unsigned __int128)1 << down) - 1)) != 0;
        quotient >>= down;
        up -= down;
    }
    double result = ldexp((double)((uint64_t)quotient | rest), -up - shift);
    return value < 0 ? -result : result;
}

static void add_word(struct wide *sum, int at, uint64_t value)
{
    for (; at < 4 && value != 0; at++)
        value = __builtin_add_overflow(sum->word[at], value, &sum->word[at]);
}

static void add_product(struct wide *sum, int at, uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    add_word(sum, at, (uint64_t)product);
    add_word(sum, at + 1, (uint64_t)(product >> 64));
}

void wide_add_square(struct wide *sum, exact value)
{
    unsigned __int128 size = value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
    uint64_t low = (uint64_t)size, high = (uint64_t)(size >> 64);
    add_product(sum, 0, low, low);
    add_product(sum, 1, low, high);
    add_product(sum, 1, low, high);
    add_product(sum, 2, high, high);
}

void wide_add(struct wide *sum, const struct wide *value)
{
    for (int i = 0; i < 4; i++)
        add_word(sum, i, value->word[i]);
}

/* 320 bits, because N * squares does not fit in 256. */
struct wider {
    uint64_t word[5];
};

static struct wider times(const struct wide *value, uint64_t factor)
{
    struct wider result = {{0}};
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 product = (unsigned __int128)value->word[i] * factor + carry;
        result.word[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    result.word[4] = carry;
    return result;
}

double exact_variance(exact sum, const struct wide *squares, uint64_t n, int shift)
{
    if (n < 2)
        return 0;
    struct wider left = times(squares, n);
    struct wide right = {{0}};
    wide_add_square(&right, sum);
    uint64_t borrow = 0;
    long double difference = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t word = i < 4 ? right.word[i] : 0;
        uint64_t first = __builtin_sub_overflow(left.word[i], word, &left.word[i]);
        borrow = __builtin_sub_overflow(left.word[i], borrow, &left.word[i]) | first;
    }
    for (int i = 4; i >= 0; i--)
        difference = ldexpl(difference, 64) + (long double)left.word[i];
    return (double)(ldexpl(difference, -2 * shift) / ((long double)n * (long double)(n - 1)));
}

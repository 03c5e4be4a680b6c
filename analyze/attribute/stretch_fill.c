/* The intervals of a stretch: their powers and energies, and which have the power of the interval before. All of it in one
 * pass, because the arrays of a stretch do not fit in the first cache.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analyze/attribute/packed_sums.h"
#include "analyze/attribute/stretch_lanes.h"
#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/vectors.h"

/* What is seen of every fourth interval. */
struct view {
    lanes last, most; /* powers: of the intervals before, and the highest [W] */
    lane_bits same, zero, timeless, misfits; /* how many are the same; and whether any are others */
    lane_bits high, low;                     /* sums of energies, rounded to packed words */
};

static const struct view nothing = {.last = {NAN, NAN, NAN, NAN}};

/* Looks at four intervals, of which those are VALID whose bits are set. */
static inline __attribute__((always_inline)) void see(struct view *v, const lanes ns,
                                                      const lanes rate, const lanes energy,
                                                      const lane_bits valid, uint8_t *steady)
{
    typedef int8_t marks __attribute__((vector_size(HALF)));
    const lane_bits no_sign = INT64_MAX - (lane_bits){0};
    const lanes before = __builtin_shufflevector(v->last, rate, 3, 4, 5, 6);
    const lanes size = IF(no_sign, rate), change = IF(no_sign, rate - before);
    const lane_bits same = valid & (change <= SAME_POWER * size);
    const lane_bits misfits = ~(size < exact_limit(ENERGY_SHIFT, WEIGH_ROOM)) |
                              ~(IF(no_sign, energy) < PACKED_MAX_STRETCH_J / STRETCH);
    const lanes rounded = energy + ROUND_HIGH, rest = energy - (rounded - ROUND_HIGH) + ROUND_LOW;
    const marks mark = -__builtin_convertvector(same, marks);
    memcpy(steady, &mark, sizeof mark);
    v->last = rate;
    v->most = EITHER(rate > v->most, rate, v->most);
    v->same -= same;
    v->zero |= valid & (rate == 0);
    v->timeless |= valid & ~(ns > 0);
    v->misfits |= valid & misfits;
    v->high += valid & BITS(rounded);
    v->low += valid & BITS(rest);
}

/* Sets what has been seen of the stretch. Returns whether its energies fit in packed sums. */
static inline __attribute__((always_inline)) bool keep(const struct view *v, struct stretch *s)
{
    struct stretch_rates *r = &s->rates;
    bool fits = true;
    r->same = 0;
    r->zero = false;
    r->positive = true;
    r->most = 0;
    s->high = -s->count * bits_of_double(ROUND_HIGH);
    s->low = -s->count * bits_of_double(ROUND_LOW);
    for (size_t l = 0; l < HALF; l++) {
        r->same += (uint64_t)v->same[l];
        r->zero |= v->zero[l] != 0;
        r->positive &= v->timeless[l] == 0;
        r->most = v->most[l] > r->most ? v->most[l] : r->most;
        s->high += (uint64_t)v->high[l];
        s->low += (uint64_t)v->low[l];
        fits &= v->misfits[l] == 0;
    }
    memset(r->steady + s->count, 0, STRETCH_ROOM);
    return fits;
}

/* Of the four intervals from number I on, those of the stretch. A macro, because not all processors return such vectors. */
#define VALID(s, i) ((lane_bits){0, 1, 2, 3} < (int64_t)((s)->count - (i)))

VECTORS
struct packed_words stretch_sum(const double *values, size_t count)
{
    struct packed_words sum = {0};
    for (size_t i = 0; i < count; i++)
        packed_add(&sum, values[i], 1);
    return sum;
}

/* Looks at intervals that have been set. */
VECTORS
static bool look(struct stretch *s)
{
    struct view v = nothing;
    for (size_t i = 0; i < s->count; i += HALF)
        see(&v, LOAD(s->ns + i), LOAD(s->rate + i), LOAD(s->energy + i), VALID(s, i),
            s->rates.steady + i);
    return keep(&v, s);
}

void stretch_look(struct stretch *s)
{
    look(s);
}

/* Sets four intervals from number I on, which take SECONDS each, and looks at them. */
static inline __attribute__((always_inline)) void put(struct stretch *s, struct view *v, size_t i,
                                                      const lanes seconds, const lanes rate,
                                                      const lane_bits valid)
{
    const lanes energy = rate * seconds;
    memcpy(s->rate + i, &rate, sizeof rate);
    memcpy(s->energy + i, &energy, sizeof energy);
    see(v, seconds, rate, energy, valid, s->rates.steady + i);
}

/* Equal intervals: their times are mostly those of the stretch before. */
VECTORS
static bool fill_even(struct stretch *s, double each, const double *value, double scale)
{
    const lanes seconds = each - (lanes){0};
    struct view v = nothing;
    double rest[HALF] = {0};
    size_t i = 0;
    for (; i + HALF <= s->count; i += HALF)
        put(s, &v, i, seconds, LOAD(value + i) * scale, ~(lane_bits){0});
    if (i < s->count) {
        memcpy(rest, value + i, (s->count - i) * sizeof *rest);
        put(s, &v, i, seconds, LOAD(rest) * scale, VALID(s, i));
    }
    for (i = s->even_ns == each * 1e9 ? s->even_count : 0; i < s->count; i++)
        s->ns[i] = each * 1e9;
    s->even_ns = each * 1e9;
    s->even_count = s->count;
    return keep(&v, s);
}

/* Four intervals below 2^52 ns. */
static inline __attribute__((always_inline)) void
put_times(struct stretch *s, size_t i, const uint64_t *interval_ns, lane_bits *any, lanes *seconds)
{
    const lanes exponent = 0x1p52 - (lanes){0};
    lane_bits own;
    memcpy(&own, interval_ns, sizeof own);
    *any |= own;
    *seconds = ((lanes)(own | BITS(exponent)) - exponent) / 1e9;
    const lanes ns = *seconds * 1e9;
    memcpy(s->ns + i, &ns, sizeof ns);
}

/* Any intervals below 2^52 ns. Returns also false if there are longer ones. */
VECTORS
static bool fill_short(struct stretch *s, const uint64_t *interval_ns, const double *value,
                       double scale)
{
    struct view v = nothing;
    lane_bits any = {0};
    lanes seconds;
    double rest[HALF] = {0};
    uint64_t rest_ns[HALF] = {0};
    size_t i = 0;
    for (; i + HALF <= s->count; i += HALF) {
        put_times(s, i, interval_ns + i, &any, &seconds);
        put(s, &v, i, seconds, LOAD(value + i) * scale, ~(lane_bits){0});
    }
    if (i < s->count) {
        memcpy(rest, value + i, (s->count - i) * sizeof *rest);
        memcpy(rest_ns, interval_ns + i, (s->count - i) * sizeof *rest_ns);
        put_times(s, i, rest_ns, &any, &seconds);
        put(s, &v, i, seconds, LOAD(rest) * scale, VALID(s, i));
    }
    s->even_count = 0;
    return keep(&v, s) && (uint64_t)(any[0] | any[1] | any[2] | any[3]) < UINT64_C(1) << 52;
}

/* Any intervals and powers. */
static bool fill_any(struct stretch *s, const struct stretch_source *from)
{
    for (size_t i = 0; i < s->count; i++) {
        double seconds =
            from->interval_ns != NULL ? (double)from->interval_ns[i] / 1e9 : from->even_seconds;
        s->ns[i] = seconds * 1e9;
        s->rate[i] = from->value != NULL ? from->value[i] * from->scale : NAN;
        s->energy[i] = from->value != NULL ? s->rate[i] * seconds : 0;
    }
    s->even_count = 0;
    return look(s) || from->value == NULL;
}

bool stretch_fill(struct stretch *s, const struct stretch_source *from)
{
    if (from->value == NULL)
        return fill_any(s, from);
    if (from->interval_ns == NULL)
        return fill_even(s, from->even_seconds, from->value, from->scale);
    return fill_short(s, from->interval_ns, from->value, from->scale) || fill_any(s, from);
}

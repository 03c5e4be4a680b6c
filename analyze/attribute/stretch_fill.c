/* The intervals of a stretch: their powers and energies, and which of them have the same power as
 * the interval before. A single pass does everything, because the arrays of a stretch do not fit in
 * the level-1 cache.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analyze/attribute/packed_sums.h"
#include "analyze/attribute/stretch_lanes.h"
#include "analyze/attribute/weigh.h"
#include "base/bytes.h"
#include "base/vectors.h"

/* Findings about every fourth interval. */
struct view {
    lanes last, most;               /* powers of the previous intervals, and the highest [W] */
    lanes all;                      /* energy [J] */
    lane_bits same, zero, timeless; /* how many are equal to the one before; which have none */
    lane_bits fit;                  /* negative: all fit in packed sums */
    lane_words high, low;           /* sums of energies, rounded to packed words */
};

static const struct view nothing = {.last = {NAN, NAN, NAN, NAN}, .fit = {-1, -1, -1, -1}};

/* Negative if SIZE, which is not negative, is below LIMIT, a power of 2. */
#define BELOW(size, limit) (BITS(size) - (int64_t)bits_of_double(limit))

/* Four intervals. VALID has all bits set for those that exist; the others are 0. */
struct step {
    lanes seconds, rate, energy;
    lane_bits valid;
};

INLINE void see(struct view *v, const struct step *f, uint8_t *steady)
{
    typedef int8_t marks __attribute__((vector_size(HALF)));
    const lane_bits no_sign = INT64_MAX - (lane_bits){0};
    const lanes rate = f->rate, energy = f->energy;
    const lanes before = __builtin_shufflevector(v->last, rate, 3, 4, 5, 6);
    const lanes size = IF(no_sign, rate), change = IF(no_sign, rate - before);
    const lane_bits same = f->valid & (change <= SAME_POWER * size);
    const lanes rounded = energy + ROUND_HIGH, rest = energy - (rounded - ROUND_HIGH) + ROUND_LOW;
    const marks mark = __builtin_convertvector(same, marks);
    memcpy(steady, &mark, sizeof mark);
    v->last = rate;
    v->most = EITHER(rate > v->most, rate, v->most);
    v->same -= same;
    v->zero |= f->valid & (rate == 0);
    v->fit &= BELOW(size, exact_limit(ENERGY_SHIFT, WEIGH_ROOM)) &
              BELOW(IF(no_sign, energy), PACKED_MAX_STRETCH_J / STRETCH);
    v->all += energy;
    v->high += (lane_words)(f->valid & BITS(rounded));
    v->low += (lane_words)(f->valid & BITS(rest));
}

/* Stores the findings in the stretch. Returns whether its energies fit in packed sums. */
INLINE bool keep(const struct view *v, struct stretch *s)
{
    struct stretch_rates *r = &s->rates;
    bool fits = true;
    s->all = (v->all[0] + v->all[2]) + (v->all[1] + v->all[3]);
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
        s->high += v->high[l];
        s->low += v->low[l];
        fits &= v->fit[l] < 0;
    }
    memset(r->steady + s->count, 0, STRETCH_ROOM);
    return fits;
}

/* Marks those of the four intervals starting at I that exist. This is a macro because some processors
 * cannot return such vectors. */
#define VALID(s, i) ((lane_bits){0, 1, 2, 3} < (int64_t)((s)->count - (i)))

VECTORS
struct packed_words stretch_sum(const double *values, size_t count)
{
    struct packed_words sum = {0};
    for (size_t i = 0; i < count; i++)
        packed_add(&sum, values[i], 1);
    return sum;
}

/* Evaluates intervals that have been set. */
VECTORS
static bool look(struct stretch *s)
{
    struct view v = nothing;
    pad(s->rate, s->count);
    pad(s->energy, s->count);
    for (size_t i = 0; i < s->count; i += HALF) {
        const struct step f = {
            .rate = LOAD(s->rate + i), .energy = LOAD(s->energy + i), .valid = VALID(s, i)};
        v.timeless |= f.valid & ~(LOAD(s->ns + i) > 0);
        see(&v, &f, s->rates.steady + i);
    }
    return keep(&v, s);
}

void stretch_look(struct stretch *s)
{
    look(s);
}

/* Sets and evaluates the four intervals starting at I. */
INLINE void put(struct stretch *s, struct view *v, size_t i, struct step *f)
{
    f->energy = f->rate * f->seconds;
    WILL_WRITE(s->rate + i);
    WILL_WRITE(s->energy + i);
    memcpy(s->rate + i, &f->rate, sizeof f->rate);
    memcpy(s->energy + i, &f->energy, sizeof f->energy);
    see(v, f, s->rates.steady + i);
}

/* Fills in equal intervals, whose times mostly remain from the stretch before. */
VECTORS
static bool fill_even(struct stretch *s, double each, const double *value, double scale)
{
    struct step f = {.seconds = each - (lanes){0}, .valid = ~(lane_bits){0}};
    struct view v = nothing;
    v.timeless = ~(f.seconds > 0);
    double rest[HALF] = {0};
    size_t i = 0;
    for (; i + HALF <= s->count; i += HALF) {
        f.rate = LOAD(value + i) * scale;
        put(s, &v, i, &f);
    }
    if (i < s->count) {
        memcpy(rest, value + i, (s->count - i) * sizeof *rest);
        f.rate = LOAD(rest) * scale;
        f.valid = VALID(s, i);
        put(s, &v, i, &f);
    }
    for (i = s->even_ns == each * 1e9 ? s->even_count : 0; i < s->count; i++)
        s->ns[i] = each * 1e9;
    s->even_ns = each * 1e9;
    s->even_count = s->count;
    return keep(&v, s);
}

/* Does the same as put for intervals below 2^52 ns. ANY: the bits of all of them. */
INLINE void put_short(struct stretch *s, struct view *v, size_t i, const uint64_t *interval_ns,
                      struct step *f, lane_bits *any)
{
    const lanes exponent = 0x1p52 - (lanes){0};
    lane_bits own;
    memcpy(&own, interval_ns, sizeof own);
    f->seconds = ((lanes)(own | BITS(exponent)) - exponent) / 1e9;
    const lanes ns = f->seconds * 1e9;
    memcpy(s->ns + i, &ns, sizeof ns);
    *any |= own;
    v->timeless |= f->valid & (own == 0);
    put(s, v, i, f);
}

/* Fills in any intervals below 2^52 ns. Returns false if some are longer, or if the energies do not
 * fit. */
VECTORS
static bool fill_short(struct stretch *s, const uint64_t *interval_ns, const double *value,
                       double scale)
{
    struct step f = {.valid = ~(lane_bits){0}};
    struct view v = nothing;
    lane_bits any = {0};
    double rest[HALF] = {0};
    uint64_t rest_ns[HALF] = {0};
    size_t i = 0;
    for (; i + HALF <= s->count; i += HALF) {
        f.rate = LOAD(value + i) * scale;
        put_short(s, &v, i, interval_ns + i, &f, &any);
    }
    if (i < s->count) {
        memcpy(rest, value + i, (s->count - i) * sizeof *rest);
        memcpy(rest_ns, interval_ns + i, (s->count - i) * sizeof *rest_ns);
        f.rate = LOAD(rest) * scale;
        f.valid = VALID(s, i);
        put_short(s, &v, i, rest_ns, &f, &any);
    }
    s->even_count = 0;
    return keep(&v, s) && (uint64_t)(any[0] | any[1] | any[2] | any[3]) < UINT64_C(1) << 52;
}

/* Fills in any intervals and powers. */
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

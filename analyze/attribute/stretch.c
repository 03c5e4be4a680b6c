/* The default energy model: energy by the CPU time around each sample.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch.h"

#include <math.h>
#include <string.h>

#include "analyze/attribute/stretch_lanes.h"
#include "base/bytes.h"
#include "base/vectors.h"

/* ---- windows ---- */

enum { STEP = 8 }; /* intervals checked together */

/* The first interval at or after I that is not steady. */
static inline size_t end_of_steady(const uint8_t *steady, size_t i)
{
    for (;; i += STRETCH_ROOM) { /* either word may have the end: no branch between them */
        uint64_t first = ~get_u64(steady + i, false), second = ~get_u64(steady + i + STEP, false),
                 other = first ? first : second;
        if (other != 0)
            return i + (first ? 0 : STEP) + (size_t)__builtin_ctzll(other) / 8;
    }
}

/* The window to which intervals are being added. */
struct open_window {
    double ns, cpu_ns, energy;
    uint16_t number, first, end;
};

/* Adds the fraction PART of interval I with its energy, ENERGY. */
static inline void add_part(struct open_window *open, const struct stretch *s, size_t i,
                            double part, double energy)
{
    open->ns += part * s->ns[i];
    open->cpu_ns += s->ns[i] > 0 ? part * s->cpu_ns[i] : 0;
    open->energy += energy;
}

static inline void end_window(struct open_window *open, struct stretch_windows *w)
{
    w->ns[open->number] = open->ns;
    w->cpu_ns[open->number] = open->cpu_ns;
    w->energy[open->number] = open->energy;
    w->first[open->number] = open->first;
    w->end[open->number] = open->end;
    w->count = open->number + 1;
    *open = (struct open_window){.number = (uint16_t)(open->number + 1)};
}

/* The CPU time of interval I; 0 if the interval has no duration. */
static inline double used_in(const double *ns, const double *cpu_ns, size_t i)
{
    return ns[i] > 0 ? cpu_ns[i] : 0;
}

/* Adds intervals FIRST to END as a whole to the open window, which has no whole intervals yet. They
 * are added in their order, two at a time, because this takes half of the branches. */
static inline void add_whole(struct open_window *open, struct stretch *s, size_t first, size_t end)
{
    const double *each_ns = s->ns, *each_cpu = s->cpu_ns, *each = s->energy;
    double ns = open->ns, cpu_ns = open->cpu_ns, energy = open->energy;
    size_t i = first;
    for (; i + 2 <= end; i += 2) {
        ns = (ns + each_ns[i]) + each_ns[i + 1];
        cpu_ns = (cpu_ns + used_in(each_ns, each_cpu, i)) + used_in(each_ns, each_cpu, i + 1);
        energy = (energy + each[i]) + each[i + 1];
    }
    if (i < end) {
        ns += each_ns[i];
        cpu_ns += used_in(each_ns, each_cpu, i);
        energy += each[i];
    }
    open->ns = ns;
    open->cpu_ns = cpu_ns;
    open->energy = energy;
    open->first = (uint16_t)first;
    open->end = (uint16_t)end;
}

/* Adds the fraction CUT of interval I before an update, with its energy, ENERGY. The rest begins
 * the next window. */
static inline void add_cut(struct open_window *open, struct stretch *s, size_t i, double cut,
                           double energy)
{
    add_part(open, s, i, cut, energy);
    s->cut[i] = cut;
    s->cut_at[s->cuts] = (uint16_t)i;
    s->cut_window[s->cuts++] = open->number;
    end_window(open, &s->windows);
    add_part(open, s, i, 1 - cut, s->energy[i] - energy);
}

/* Returns whether the values are those of a counter that leaps at some samples and appears to stand
 * still in between: zeros then come in short runs. */
static bool leaps(const struct stretch *s)
{
    size_t zeros = 0, runs = 0, run = 0, longest = 0;
    for (size_t i = 0; i < s->count; i++) {
        run = s->rate[i] == 0 ? run + 1 : 0;
        zeros += run > 0;
        runs += run == 1;
        longest = run > longest ? run : longest;
    }
    size_t others = s->count - zeros;
    return runs >= 4 && others >= 4 && 8 * runs >= others && longest <= 8 * (zeros / runs + 1);
}

static void divide_by_leaps(struct stretch *s)
{
    struct open_window open = {.number = 0};
    for (size_t i = 0, end; i < s->count; i = end) {
        end = i + 1;
        if (s->rate[i] != 0) {
            add_cut(&open, s, i, 0.5, s->energy[i]);
            continue;
        }
        while (end < s->count && s->rate[end] == 0)
            end++;
        add_whole(&open, s, i, end);
    }
    end_window(&open, &s->windows);
}

/* Detects an update of the sensor within interval I, whose power differs from that of the interval
 * before: its mean power is between two powers that persist. Returns the fraction of its energy
 * before the update, and sets *CUT to the fraction of its time; negative if there is no update. */
INLINE double energy_before(const struct stretch *s, const uint8_t *steady, size_t i, double *cut)
{
    const uint32_t lone =
        0xff0000ff; /* steady, I, not steady, steady, in one branch; false after the last */
    if (i == 0 || get_u32(steady + i - 1, false) != lone || (s->own && !(s->cpu_ns[i] > 0)))
        return -1;
    double before = s->rate[i - 1];
    *cut = stretch_cut(before, s->rate[i], s->rate[i + 1]);
    return *cut < 1 ? *cut * before / s->rate[i] : -1;
}

static void divide_by_power(struct stretch *s, const uint8_t *steady)
{
    struct open_window open = {.number = 0};
    bool was_cut = true; /* the window began in the previous interval */
    for (size_t i = 0, end; i < s->count; i = end) {
        double cut = 0, part = energy_before(s, steady, i, &cut);
        end = i + 1;
        if (part >= 0) {
            add_cut(&open, s, i, cut, part * s->energy[i]);
        } else {
            if (!was_cut)
                end_window(&open, &s->windows);
            end = end_of_steady(steady, end);
            add_whole(&open, s, i, end);
        }
        was_cut = part >= 0;
    }
    end_window(&open, &s->windows);
}

/* Divides the stretch at known edges. */
static void divide_at_edges(struct stretch *s)
{
    struct open_window open = {.number = 0};
    const struct stretch_edges *e = s->edges;
    for (size_t i = 0, end; i < s->count; i = end) {
        end = i + 1;
        if (e->cut[i] > 0 && e->cut[i] < 1) {
            add_cut(&open, s, i, e->cut[i], e->part[i] * s->energy[i]);
            continue;
        }
        if (i > 0 && e->cut[i] == 0)
            end_window(&open, &s->windows);
        while (end < s->count && e->cut[end] == 1)
            end++;
        add_whole(&open, s, i, end);
    }
    end_window(&open, &s->windows);
}

/* The highest power of an interval that has energy [W]. */
static double most_of_intervals(const struct stretch *s)
{
    double most = 0;
    for (size_t i = 0; i < s->count; i++)
        most = s->energy[i] > 0 && s->rate[i] > most ? s->rate[i] : most;
    return most;
}

/* Divides the stretch into windows, and sets the highest power. Returns the number of windows. If
 * the value of the sensor never or always changes, its updates cannot be detected: each interval is
 * a window, and the highest power is not set. */
static size_t make_windows(struct stretch *s)
{
    const struct stretch_rates *r = &s->rates;
    for (size_t c = 0; c < s->cuts; c++)
        s->cut[s->cut_at[c]] = 1;
    s->updates = s->cuts = s->odds = 0;
    if (s->edges != NULL ? s->edges->count == 0 : r->same == 0 || r->same + 1 == s->count)
        return s->count;
    s->positive = r->positive;
    s->most = (r->positive ? r->most : most_of_intervals(s)) * 1e-9;
    s->leaps = r->zero && leaps(s);
    if (s->leaps)
        divide_by_leaps(s);
    else if (s->edges != NULL)
        divide_at_edges(s);
    else
        divide_by_power(s, r->steady);
    return s->updates = s->windows.count;
}

/* ---- prices ---- */

/* The CPU time that windows lack or have in excess. */
struct balance {
    double spare_ns, spare; /* unused CPU time, and its energy [J] */
    double over_ns, over;   /* CPU time in excess of the time, and its cost at the same power [J] */
    double most;            /* highest power [J/ns] */
};

/* Lanes of these sums, each for every eighth window. */
struct balance_lanes {
    lanes spare_ns, spare, over_ns, over, most;
};

INLINE struct balance add_balances(const struct balance_lanes *low,
                                   const struct balance_lanes *high)
{
    struct balance b = {
        add_lanes(&low->spare_ns, &high->spare_ns), add_lanes(&low->spare, &high->spare),
        add_lanes(&low->over_ns, &high->over_ns), add_lanes(&low->over, &high->over), 0};
    for (size_t l = 0; l < HALF; l++) {
        b.most = low->most[l] > b.most ? low->most[l] : b.most;
        b.most = high->most[l] > b.most ? high->most[l] : b.most;
    }
    return b;
}

/* Arrays by interval or window. */
struct spans {
    const double *ns, *cpu_ns, *energy;
    const double *rate; /* of intervals [W]; NULL for windows, which only have energy */
    double *power, *price;
};

/* Sets P to the powers of windows or intervals, starting at I [J/ns]. A window without time has no
 * energy. */
INLINE void find_powers(const struct spans *s, size_t i, lanes *p)
{
    const lanes zero = {0}, energy = LOAD(s->energy + i), time = LOAD(s->ns + i);
    if (s->rate != NULL)
        *p = IF(energy != zero, LOAD(s->rate + i) * 1e-9);
    else
        *p = energy / EITHER(time > zero, time, zero + 1);
    memcpy(s->power + i, p, sizeof *p);
}

INLINE void measure_lanes(struct balance_lanes *b, const struct spans *s, size_t i)
{
    const lanes zero = {0}, time = LOAD(s->ns + i), lack = time - LOAD(s->cpu_ns + i);
    lanes p;
    find_powers(s, i, &p);
    lanes spare = IF(lack >= NOTHING * time, lack), over = IF(lack < zero, IF(time > zero, -lack));
    b->spare_ns += spare;
    b->spare += spare * p;
    b->over_ns += over;
    b->over += over * IF(p > zero, p);
    b->most = EITHER(p > b->most, p, b->most);
}

/* Does the same as measure_lanes, and sets prices. If the cost of excess CPU time is not balanced
 * with other windows, it makes the CPU time of its own window cheaper. */
INLINE void price_lanes(struct balance_lanes *b, const struct spans *s, size_t i)
{
    const lanes zero = {0}, time = LOAD(s->ns + i), cpu = LOAD(s->cpu_ns + i), lack = time - cpu;
    lanes p;
    find_powers(s, i, &p);
    lanes spare = IF(lack >= NOTHING * time, lack), over = IF(lack < zero, BITS(time > zero));
    lanes own = EITHER(over, LOAD(s->energy + i) / EITHER(over, cpu, zero + 1), p);
    memcpy(s->price + i, &own, sizeof own);
    b->spare_ns += spare;
    b->spare += spare * p;
    b->most = EITHER(p > b->most, p, b->most);
}

INLINE struct balance measure_all(const struct spans *spans, size_t count, bool prices)
{
    struct balance_lanes low = {0}, high = {0};
    const struct spans s = *spans;
    for (size_t i = 0; i < count && !prices; i += LANES) {
        WILL_WRITE(s.power + i);
        measure_lanes(&low, &s, i);
        measure_lanes(&high, &s, i + HALF);
    }
    for (size_t i = 0; i < count && prices; i += LANES) {
        WILL_WRITE(s.power + i);
        WILL_WRITE(s.price + i);
        price_lanes(&low, &s, i);
        price_lanes(&high, &s, i + HALF);
    }
    return add_balances(&low, &high);
}

/* Computes the powers of COUNT windows or intervals, their balance and, if each is balanced on its
 * own (APART), their prices. A single pass does everything, because memory takes longer than
 * arithmetic. */
VECTORS
static struct balance measure(const struct spans *s, size_t count, bool apart)
{
    struct spans windows = *s;
    windows.rate = NULL;
    if (s->rate == NULL)
        return apart ? measure_all(&windows, count, true) : measure_all(&windows, count, false);
    return apart ? measure_all(s, count, true) : measure_all(s, count, false);
}

/* spare_of: the unused CPU time of a window. over_of: its CPU time in excess of its time. */
static inline double spare_of(double ns, double cpu_ns)
{
    double lack = ns - cpu_ns;
    return lack > NOTHING * ns ? lack : 0;
}

static inline double over_of(double ns, double cpu_ns)
{
    double more = cpu_ns - ns;
    return ns > 0 && more > 0 ? more : 0;
}

/* Sets prices if the part PAID of the cost of excess CPU time is paid by other windows. */
VECTORS
static void set_prices(const double *restrict ns, const double *restrict cpu_ns,
                       const double *restrict energy, const double *restrict power, size_t count,
                       double paid, double *restrict price)
{
    for (size_t i = 0; i < count; i++) {
        double over = over_of(ns[i], cpu_ns[i]);
        double extra = power[i] > 0 ? paid * power[i] * over : 0;
        double diluted = (energy[i] + extra) / (over > 0 ? cpu_ns[i] : 1);
        price[i] = over > 0 ? diluted : power[i];
    }
}

/* Sets the idle power of each window [J/ns]. The fraction IDLE of its spare CPU time is unused. */
VECTORS
static void find_idle_powers(const double *restrict ns, const double *restrict cpu_ns,
                             const double *restrict power, size_t count, double idle,
                             double *restrict idle_power)
{
    for (size_t n = 0; n < count; n++) {
        double time = ns[n] > 0 ? ns[n] : 1, lack = ns[n] - cpu_ns[n];
        double spare = lack > NOTHING * ns[n] ? lack : 0;
        idle_power[n] = power[n] * spare * idle / time;
    }
}

/* Returns whether the CPUs in use are counted over several windows. If threads take turns and there
 * are no other programs, each window uses one CPU. */
static inline bool takes_blocks(const struct stretch *s)
{
    return s->sighted && (s->others > 0 || !s->in_turn);
}

/* Returns whether CPU time is cheaper while several programs or threads use CPUs. */
static inline bool shares(const struct stretch *s)
{
    return s->others > 0 || takes_blocks(s);
}

/* Consecutive windows. */
struct block {
    double ns, cpu_ns, energy, cost; /* [ns] [J]; COST: of CPU_NS at the power of its windows */
};

static struct block add_block(const struct stretch *s, const double *ns, const double *cpu_ns,
                              const double *energy, size_t first, size_t end)
{
    struct block b = {0};
    for (size_t n = first; n < end; n++) {
        double used = ns[n] > 0 ? cpu_ns[n] : 0;
        b.ns += ns[n];
        b.cpu_ns += used;
        b.energy += energy[n];
        b.cost += s->power[n] * used;
    }
    return b;
}

/* The price of CPU time is the power of its own window, divided by the CPUs in use. The remaining
 * energy belongs to other programs or is idle. */
static void share_block(struct stretch *s, const struct block *b, const double *ns, size_t first,
                        size_t end, double *idle_power, double *other)
{
    double others = stretch_others(s, b->ns, b->cpu_ns), used = b->cpu_ns + others;
    double spare = b->ns - used > NOTHING * b->ns ? b->ns - used : 0, apart = others + spare;
    double price = b->ns > 0 ? b->ns / fmax(b->ns, used) : 0, cost = price * b->cost;
    if (cost > 0 && b->energy > 0 && (cost > b->energy || !(apart > 0)))
        price *= b->energy / cost;
    double rest = apart > 0 ? (b->energy - price * b->cost) / apart / b->ns : 0;
    for (size_t n = first; n < end; n++) {
        s->price[n] = s->power[n] * price;
        other[n] = ns[n] > 0 ? rest * others : 0;
        idle_power[n] = ns[n] > 0 ? rest * spare : 0;
    }
    s->any_idle |= spare > 0;
}

/* Does the same as share_with_others if CPU times are sightings, of which a single window has too
 * many or too few: combines as many windows as are needed to show the CPUs in use. */
static void share_blocks(struct stretch *s, const double *ns, const double *cpu_ns,
                         const double *energy, size_t count, double *idle_power, double *other)
{
    double time = 0;
    for (size_t n = 0; n < count; n++)
        time += ns[n];
    double least = STRETCH_SIGHTINGS * time / (double)s->count;
    s->any_idle = false;
    s->rest = 0;
    for (size_t first = 0, end = 0; first < count; first = end) {
        end = stretch_block_end(ns, first, count, least);
        struct block b = add_block(s, ns, cpu_ns, energy, first, end);
        share_block(s, &b, ns, first, end, idle_power, other);
    }
}

/* Gives other programs their share of the price of CPU time and of idle power. Sets OTHER to their
 * power in each of COUNT windows [J/ns]. */
static void share_with_others(struct stretch *s, const double *ns, const double *cpu_ns,
                              const double *energy, size_t count, double *idle_power, double *other)
{
    double *price = s->price;
    if (takes_blocks(s)) {
        share_blocks(s, ns, cpu_ns, energy, count, idle_power, other);
        return;
    }
    for (size_t n = 0; n < count; n++) {
        double others = stretch_others(s, ns[n], cpu_ns[n]);
        double own = cpu_ns[n] > ns[n] ? cpu_ns[n] : ns[n], used = cpu_ns[n] + others;
        double spare = ns[n] - cpu_ns[n], left = spare - others;
        other[n] = 0;
        if (!(ns[n] > 0))
            continue;
        double part = used > own ? own / used : 1,
               idle = left > NOTHING * ns[n] ? idle_power[n] * left / spare : 0;
        other[n] = price[n] * cpu_ns[n] / ns[n] * (1 - part) + idle_power[n] - idle;
        price[n] *= part;
        idle_power[n] = idle;
    }
}

/* Sets the prices of intervals and, if IDLE_POWER is not NULL, their idle energy. Steps are large,
 * because the number of intervals of a window varies, which would make branches hard to predict;
 * values beyond the end of a window are overwritten. */
INLINE void spread_steps(struct stretch *s, const double *idle_power)
{
    const struct stretch_windows *w = &s->windows;
    for (size_t n = 0; n < w->count; n++) {
        const lanes price = s->price[n] - (lanes){0};
        const lanes idle = (idle_power != NULL ? idle_power[n] : 0) - (lanes){0};
        for (size_t i = w->first[n]; i < w->end[n]; i += STRETCH_ROOM)
            for (size_t l = i; l < i + STRETCH_ROOM; l += HALF) {
                memcpy(s->prices + l, &price, sizeof price);
                if (idle_power == NULL)
                    continue;
                const lanes part = LOAD(s->ns + l) * idle;
                memcpy(s->idle + l, &part, sizeof part);
            }
    }
}

VECTORS
static void spread_prices(struct stretch *s)
{
    spread_steps(s, NULL);
}

VECTORS
static void spread_both(struct stretch *s, const double *idle_power)
{
    spread_steps(s, idle_power);
}

static void price_cuts(struct stretch *s)
{
    for (size_t c = 0; c < s->cuts; c++) {
        s->prices[s->cut_at[c]] = s->price[s->cut_window[c]];
        s->after[s->cut_at[c]] = s->price[s->cut_window[c] + 1];
    }
}

/* Lists the intervals whose halves have different prices, and those without duration, which cost
 * nothing. */
static void find_odd(struct stretch *s)
{
    s->odds = s->cuts;
    memcpy(s->odd, s->cut_at, s->cuts * sizeof *s->odd);
    if (s->positive)
        return;
    s->odds = 0;
    for (size_t i = 0; i < s->count; i++)
        if (!(s->ns[i] > 0) || s->cut[i] < 1)
            s->odd[s->odds++] = (uint16_t)i;
}

/* Sets the energy of intervals that span two windows with the powers POWER. */
static void spread_cuts(const struct stretch *s, const double *restrict power,
                        double *restrict energy)
{
    for (size_t c = 0; c < s->cuts; c++) {
        size_t i = s->cut_at[c];
        double before = power[s->cut_window[c]], after = power[s->cut_window[c] + 1];
        energy[i] = s->ns[i] * (s->cut[i] * before + (1 - s->cut[i]) * after);
    }
}

/* Converts the powers of windows to the energies of intervals. */
VECTORS
static void spread_power(const struct stretch *s, const double *restrict power,
                         double *restrict energy)
{
    const struct stretch_windows *w = &s->windows;
    for (size_t n = 0; n < w->count; n++)
        for (size_t i = w->first[n]; i < w->end[n]; i += STRETCH_ROOM) /* as in spread_steps */
            for (size_t l = i; l < i + STRETCH_ROOM; l += HALF) {
                const lanes part = LOAD(s->ns + l) * power[n];
                memcpy(energy + l, &part, sizeof part);
            }
    spread_cuts(s, power, energy);
}

/* Energies in packed words: a sum for equal intervals, and four lanes for others. */
struct packed_lanes {
    struct packed_words even;
    lane_words high, low, any;
};

/* Adds the idle energy of intervals FIRST to END, in which the idle power is POWER, to SUM. */
INLINE void add_idle(const struct stretch *s, size_t first, size_t end, double power,
                     struct packed_lanes *sum)
{
    if (s->even_count >= s->count) {
        packed_add(&sum->even, s->ns[first] * power, end - first);
        return;
    }
    for (size_t i = first; i < end; i += HALF) {
        const lane_bits own = (lane_bits){0, 1, 2, 3} < (int64_t)(end - i);
        const lanes energy = IF(own, LOAD(s->ns + i) * power), rounded = energy + ROUND_HIGH,
                    rest = energy - (rounded - ROUND_HIGH) + ROUND_LOW;
        const lane_words high = (lane_words)rounded - bits_of_double(ROUND_HIGH),
                         low = (lane_words)rest - bits_of_double(ROUND_LOW);
        sum->high += high;
        sum->low += low;
        sum->any |= high | low;
    }
}

/* Sums the idle energy of windows with IDLE_POWER [J/ns]. */
VECTORS
static void sum_idle(struct stretch *s, const double *idle_power)
{
    const struct stretch_windows *w = &s->windows;
    struct packed_lanes sum = {.even = {0}};
    for (size_t n = 0; n < w->count; n++)
        if (w->first[n] < w->end[n] && idle_power[n] != 0)
            add_idle(s, w->first[n], w->end[n], idle_power[n], &sum);
    s->idle[s->count - 1] = s->ns[s->count - 1] * idle_power[w->count - 1];
    spread_cuts(s, idle_power, s->idle);
    for (size_t c = 0; c < s->cuts; c++)
        packed_add(&sum.even, s->idle[s->cut_at[c]], 1);
    s->idle_sum = sum.even;
    for (size_t l = 0; l < HALF; l++) {
        s->idle_sum.high += sum.high[l];
        s->idle_sum.low += sum.low[l];
        s->idle_sum.any |= sum.any[l];
    }
}

static void price_intervals(struct stretch *s, double idle)
{
    double idle_power[STRETCH_WINDOWS], other[STRETCH_WINDOWS];
    const struct stretch_windows *w = &s->windows;
    find_idle_powers(w->ns, w->cpu_ns, s->power, w->count, idle, idle_power);
    if (shares(s)) {
        share_with_others(s, w->ns, w->cpu_ns, w->energy, w->count, idle_power, other);
        spread_power(s, other, s->other);
    }
    if (s->any_idle && !s->sums)
        spread_both(s, idle_power);
    else
        spread_prices(s);
    price_cuts(s);
    if (s->any_idle && s->sums)
        sum_idle(s, idle_power);
    else if (s->any_idle)
        spread_cuts(s, idle_power, s->idle);
    find_odd(s);
    s->each = s->prices;
}

/* Does the same as price_intervals if each interval is a window; needed only with other
 * programs. */
static void share_intervals(struct stretch *s, double idle)
{
    double idle_power[STRETCH];
    find_idle_powers(s->ns, s->cpu_ns, s->power, s->count, idle, idle_power);
    share_with_others(s, s->ns, s->cpu_ns, s->energy, s->count, idle_power, s->other);
    for (size_t i = 0; i < s->count; i++) {
        s->other[i] *= s->ns[i];
        s->idle[i] = idle_power[i] * s->ns[i];
    }
    if (s->sums)
        s->idle_sum = stretch_sum(s->idle, s->count);
}

VECTORS
static void set_idle(const double *restrict ns, const double *restrict cpu_ns,
                     const double *restrict power, size_t count, double part, double *restrict idle)
{
    for (size_t i = 0; i < count; i++)
        idle[i] = power[i] * spare_of(ns[i], cpu_ns[i]) * part;
}

/* Sums the same energies without storing them. */
VECTORS
static struct packed_words sum_idle_of(const double *ns, const double *cpu_ns, const double *power,
                                       size_t count, double part)
{
    struct packed_words sum = {0};
    for (size_t i = 0; i < count; i++)
        packed_add(&sum, power[i] * spare_of(ns[i], cpu_ns[i]) * part, 1);
    return sum;
}

/* Sets or sums the idle energy of intervals, of whose spare CPU time PART is unused. */
static void find_idle(struct stretch *s, double part)
{
    size_t last = s->count - 1;
    if (!s->sums) {
        set_idle(s->ns, s->cpu_ns, s->power, s->count, part, s->idle);
        return;
    }
    s->idle_sum = sum_idle_of(s->ns, s->cpu_ns, s->power, s->count, part);
    s->idle[last] = s->power[last] * spare_of(s->ns[last], s->cpu_ns[last]) * part;
}

/* Adds idle energy to the last interval. */
static void add_to_last(struct stretch *s, double energy)
{
    double *last = &s->idle[s->count - 1];
    if (!s->any_idle) {
        memset(s->idle, 0, s->count * sizeof s->idle[0]);
        s->idle_sum = (struct packed_words){0};
    }
    s->any_idle = true;
    packed_add(&s->idle_sum, *last, SIZE_MAX); /* subtracts it */
    *last += energy;
    packed_add(&s->idle_sum, *last, 1);
}

void stretch_init(struct stretch *s)
{
    s->cpu_ns = s->cpu_sums;
    for (size_t i = 0; i < STRETCH; i++)
        s->cut[i] = 1;
}

void stretch_number(struct stretch *s)
{
    typedef uint16_t numbers __attribute__((vector_size(STRETCH_ROOM * 2)));
    const struct stretch_windows *w = &s->windows;
    for (size_t n = 0; n < w->count && s->updates > 0; n++) {
        const numbers number = (uint16_t)n - (numbers){0};
        for (size_t i = w->first[n]; i < w->end[n]; i += STRETCH_ROOM) { /* as in spread_steps */
            memcpy(&s->in[0][i], &number, sizeof number);
            memcpy(&s->in[1][i], &number, sizeof number);
        }
    }
    for (size_t c = 0; c < s->cuts; c++) {
        s->in[0][s->cut_at[c]] = s->cut_window[c];
        s->in[1][s->cut_at[c]] = (uint16_t)(s->cut_window[c] + 1);
    }
}

void stretch_find_windows(struct stretch *s)
{
    make_windows(s);
    s->any_idle = false;
    s->others = s->rest = 0;
}

void stretch_settle(struct stretch *s)
{
    size_t count = make_windows(s);
    bool windows = s->updates > 0;
    double *energy = windows ? s->windows.energy : s->energy;
    double *ns = windows ? s->windows.ns : s->ns, *cpu_ns = windows ? s->windows.cpu_ns : s->cpu_ns;
    const struct spans spans = {ns, cpu_ns, energy, windows ? NULL : s->rate, s->power, s->price};
    pad(ns, count);
    pad(cpu_ns, count);
    pad(energy, count);
    struct balance b = measure(&spans, count, !s->in_turn);
    bool dilutes = !s->in_turn || b.over_ns > 0;
    s->most = windows ? s->most : b.most;
    double chance = b.spare > 0 ? b.over_ns / b.spare_ns : 0;
    chance = chance < 1 - NOTHING ? chance : 1;
    double moved = b.spare * chance, paid = b.over > moved ? moved / b.over : b.over > 0;
    s->rest = moved - paid * b.over;
    s->rest = s->rest > NOTHING * moved ? s->rest : 0;
    if (s->in_turn && (dilutes || windows || shares(s)))
        set_prices(ns, cpu_ns, energy, s->power, count, paid, s->price);
    s->each = dilutes || windows || shares(s) ? s->price : s->power;
    s->any_idle = b.spare_ns > 0 && chance < 1;
    if (windows)
        price_intervals(s, 1 - chance);
    else if (shares(s))
        share_intervals(s, 1 - chance);
    else if (s->any_idle)
        find_idle(s, 1 - chance);
}

/* ---- thread samples ---- */

/* The price of each half of an interval, for the PC at its beginning and at its end [J/ns]. */
struct halves {
    double first, second;
};

static inline struct halves halves_of(const struct stretch *s, size_t i)
{
    double cut = s->cut[i];
    if (s->odds > 0 && !(s->ns[i] > 0))
        return (struct halves){0, 0};
    if (s->odds == 0 || !(cut < 1))
        return (struct halves){s->each[i], s->each[i]};
    /* the first PC gets the time before an update */
    return (struct halves){2 * cut * s->each[i], 2 * (1 - cut) * s->after[i]};
}

/* Returns whether the power of any thread sample is above LIMIT. */
VECTORS
static bool any_over(const double *restrict cpu_ns, size_t count, double limit,
                     const double *restrict of)
{
    int64_t over = 0;
    for (size_t k = 0; k < count; k++)
        over |= of[k] > limit * cpu_ns[k] ? -1 : 0;
    return over != 0;
}

/* The energy of a thread sample. The first half of its interval belongs to the previous PC if the
 * thread ran there. */
static inline double place_one(double before, double own, double rest, double cpu, double next)
{
    return rest + (before > 0 ? 0 : own) + (cpu > 0 ? next : 0);
}

/* Places samples with N threads each, from sample I to the last but one, at the prices of their
 * intervals. Returns whether the power of any thread sample is above LIMIT. */
INLINE bool place_between(size_t i, size_t count, size_t n, const double *restrict price,
                          const double *restrict cpu_ns, double limit, double *restrict of)
{
    int64_t over = 0;
    for (; i + 1 < count; i++) {
        const double *cpu = cpu_ns + n * i;
        double own = price[i] / 2, next = price[i + 1] / 2;
        for (size_t j = 0; j < n; j++) {
            double joule = place_one(cpu_ns[n * (i - 1) + j], own * cpu[j], own * cpu[j], cpu[j],
                                     next * cpu_ns[n * (i + 1) + j]);
            over |= joule > limit * cpu[j] ? -1 : 0;
            of[n * i + j] = joule;
        }
    }
    return over != 0;
}

/* Half the prices of two samples, for each of two threads. */
#define HALVES(prices)                                                                             \
    (__builtin_shufflevector(*(const pair *)(prices), *(const pair *)(prices), 0, 0, 1, 1) / 2)

/* Does the same for two threads and two samples at a time: compilers would sort the thread samples
 * by thread first. */
INLINE bool place_pairs(size_t count, const double *restrict price, const double *restrict cpu_ns,
                        double limit, double *restrict of)
{
    const lanes zero = {0};
    lane_bits over = {0};
    size_t i = 1;
    for (; i + 2 < count; i += 2) {
        WILL_WRITE(of + 2 * i);
        lanes cpu = LOAD(cpu_ns + 2 * i), next = HALVES(price + i + 1) * LOAD(cpu_ns + 2 * (i + 1));
        lanes own = HALVES(price + i) * cpu,
              ran_before = (lanes)(LOAD(cpu_ns + 2 * (i - 1)) > zero);
        lanes joule = own + IF(~BITS(ran_before), own) + IF(cpu > zero, next);
        over |= BITS(joule > limit * cpu);
        memcpy(of + 2 * i, &joule, sizeof joule);
    }
    bool any = (over[0] | over[1] | over[2] | over[3]) != 0;
    return place_between(i, count, 2, price, cpu_ns, limit, of) || any;
}

/* Places sample I, whatever its prices are. Returns whether the power of any of its thread samples
 * is above LIMIT. */
static inline bool place_sample(const struct stretch *s, size_t i, size_t n, const double *cpu_ns,
                                double limit, double *of)
{
    struct halves own = halves_of(s, i), next = {0, 0};
    bool last = i + 1 == s->count, over = false;
    if (!last)
        next = halves_of(s, i + 1);
    for (size_t k = n * i; k < n * (i + 1); k++) {
        of[k] = place_one(i > 0 ? cpu_ns[k - n] : 0, own.first / 2 * cpu_ns[k],
                          own.second / 2 * cpu_ns[k], cpu_ns[k],
                          last ? 0 : next.first / 2 * cpu_ns[k + n]);
        over |= of[k] > limit * cpu_ns[k];
    }
    return over;
}

/* Places the samples between the first and the last at the prices of their intervals. */
VECTORS
static bool place_at_prices(size_t count, size_t n, const double *price, const double *cpu_ns,
                            double limit, double *of)
{
    if (n == 1)
        return place_between(1, count, 1, price, cpu_ns, limit, of);
    if (n == 2)
        return place_pairs(count, price, cpu_ns, limit, of);
    return place_between(1, count, n, price, cpu_ns, limit, of);
}

/* Places the samples at both ends of intervals whose halves have different prices. */
VECTORS
static bool place_odd(const struct stretch *s, size_t n, const double *cpu_ns, double limit,
                      double *of)
{
    bool over = false;
    for (size_t o = 0; o < s->odds; o++) {
        size_t i = s->odd[o];
        if (i > 0)
            over |= place_sample(s, i - 1, n, cpu_ns, limit, of);
        over |= place_sample(s, i, n, cpu_ns, limit, of);
    }
    return over;
}

/* Places samples with the same N threads. Returns whether the power of any thread sample may be
 * above LIMIT. */
static bool place_same(const struct stretch *s, size_t n, const double *cpu_ns, double limit,
                       double *of)
{
    bool over = place_at_prices(s->count, n, s->each, cpu_ns, limit, of);
    over |= place_sample(s, 0, n, cpu_ns, limit, of);
    over |= place_sample(s, s->count - 1, n, cpu_ns, limit, of);
    return place_odd(s, n, cpu_ns, limit, of) || over;
}

/* Places samples with N threads each, to which their intervals belong as a whole, at the prices of
 * these intervals. Four thread samples are placed at a time, because compilers would sort them by
 * thread first. Returns whether the power of any is above LIMIT. */
INLINE bool place_whole(size_t count, size_t n, const double *restrict price,
                        const double *restrict cpu_ns, double limit, double *restrict of)
{
    lane_bits over = {0};
    bool any = false;
    size_t k = 0;
    for (; n <= 2 && k + HALF <= n * count; k += HALF) {
        lanes cpu = LOAD(cpu_ns + k), half = LOAD(price + k) / 2;
        if (n == 2)
            half = HALVES(price + k / 2);
        lanes joule = half * cpu + half * cpu;
        over |= BITS(joule > limit * cpu);
        memcpy(of + k, &joule, sizeof joule);
    }
    for (size_t i = k / n; i < count; i++)
        for (size_t end = n * (i + 1); k < end; k++) {
            of[k] = price[i] / 2 * cpu_ns[k] + price[i] / 2 * cpu_ns[k];
            any |= of[k] > limit * cpu_ns[k];
        }
    return any || (over[0] | over[1] | over[2] | over[3]) != 0;
}

/* Does the same as place_same if each interval belongs to its sample as a whole. */
VECTORS
static bool place_own(const struct stretch *s, size_t n, const double *restrict cpu_ns,
                      double limit, double *restrict of)
{
    bool over = n == 1   ? place_whole(s->count, 1, s->each, cpu_ns, limit, of)
                : n == 2 ? place_whole(s->count, 2, s->each, cpu_ns, limit, of)
                         : place_whole(s->count, n, s->each, cpu_ns, limit, of);
    for (size_t o = 0; o < s->odds; o++) {
        size_t i = s->odd[o];
        struct halves own = halves_of(s, i);
        for (size_t k = n * i; k < n * (i + 1); k++) {
            of[k] = own.second / 2 * cpu_ns[k] + own.first / 2 * cpu_ns[k];
            over |= of[k] > limit * cpu_ns[k];
        }
    }
    return over;
}

/* Sums up to each interval: of times, and of prices multiplied by times. */
struct areas {
    double ns[STRETCH + 1], price[STRETCH + 1];
    struct halves halves[STRETCH];
};

static void add_areas(const struct stretch *s, struct areas *a)
{
    a->ns[0] = a->price[0] = 0;
    for (size_t i = 0; i < s->count; i++) {
        a->ns[i + 1] = a->ns[i] + s->ns[i];
        a->halves[i] = halves_of(s, i);
        a->price[i + 1] = a->price[i] + (a->halves[i].first + a->halves[i].second) / 2 * s->ns[i];
    }
}

/* The cost of CPU_NS, which was used in the REACH intervals up to I. */
static double price_of(const struct areas *a, size_t i, size_t reach, double cpu_ns)
{
    double ns = a->ns[i + 1] - a->ns[i + 1 - reach];
    return ns > 0 ? cpu_ns / ns * (a->price[i + 1] - a->price[i + 1 - reach]) : 0;
}

/* Places samples of any kind. */
static void place_any(const struct stretch *s, const uint64_t *threads, const double *cpu_ns,
                      const struct stretch_use *uses, double *of)
{
    struct areas areas;
    size_t k = 0;
    add_areas(s, &areas);
    for (size_t i = 0; i < s->count; i++)
        for (size_t end = k + threads[i]; k < end; k++) {
            const struct stretch_use *use = &uses[k];
            double first = areas.halves[i].first / 2 * cpu_ns[k];
            double second = areas.halves[i].second / 2 * cpu_ns[k];
            if (use->reach > 1)
                first = second = price_of(&areas, i, use->reach, cpu_ns[k]) / 2;
            of[k] = second + (use->before != SIZE_MAX ? 0 : first);
            if (use->before != SIZE_MAX)
                of[use->before] += first;
        }
}

/* Classes of thread samples with similar costs: by the price around each sample, relative to the
 * highest power. */
enum { CLASSES = 16 };

struct price_class {
    double over, room;
    double take; /* part of ROOM that is filled */
};

static inline int32_t class_of(double after, double before, double scale)
{
    double part = (after + before) * scale;
    part = part < CLASSES - 1 ? part : CLASSES - 1;
    return part > 0 ? (int32_t)part : 0;
}

/* Sets the class of each sample, at the prices of intervals. */
VECTORS
static void find_classes(const double *restrict price, size_t count, double scale,
                         int32_t *restrict class)
{
    for (size_t i = 0; i + 1 < count; i++)
        class[i] = class_of(price[i], price[i + 1], scale);
    class[count - 1] = class_of(price[count - 1], price[count - 1], scale);
}

/* Corrects the classes for intervals whose halves have different prices. */
static void correct_classes(const struct stretch *s, double scale, int32_t *class)
{
    for (size_t o = 0; o < s->odds; o++) {
        size_t i = s->odd[o], next = i + 1 < s->count ? i + 1 : i;
        class[i] = class_of(s->cut[i] < 1 ? s->after[i] : s->each[i], s->each[next], scale);
    }
}

/* Sets the class of each thread sample. Each sample has N of them or, if N is 0, as many as THREADS
 * contains for it. */
VECTORS
static void repeat_classes(const int32_t *restrict class, size_t count, size_t n,
                           const uint64_t *restrict threads, int32_t *restrict each)
{
    for (size_t i = 0; i < count && n == 2; i++)
        each[2 * i] = each[2 * i + 1] = class[i];
    for (size_t i = 0, k = 0; i < count && n != 2; i++)
        for (size_t end = k + threads[i]; k < end; k++)
            each[k] = class[i];
}

/* Sums, by class, the energy of thread samples above the highest power (OVER), and below it (ROOM).
 * There are four sums of each, so that additions overlap. There are no branches, because classes
 * may change with the windows at any sample. */
VECTORS
static void count_room(double most, size_t count, const double *cpu_ns, const double *of,
                       const int32_t *class, struct price_class *classes)
{
    typedef double room __attribute__((vector_size(16))); /* room, and energy above most */
    const lanes zero = {0};
    room sums[CLASSES][HALF] = {{{0}}};
    size_t k = 0;
    for (; k + HALF <= count; k += HALF) {
        lanes all = most * LOAD(cpu_ns + k) - LOAD(of + k);
        lanes spare = IF(all >= zero, all), over = IF(all < zero, -all);
        lanes even = __builtin_shufflevector(spare, over, 0, 4, 2, 6),
              odd = __builtin_shufflevector(spare, over, 1, 5, 3, 7);
        sums[class[k]][0] += __builtin_shufflevector(even, even, 0, 1);
        sums[class[k + 1]][1] += __builtin_shufflevector(odd, odd, 0, 1);
        sums[class[k + 2]][2] += __builtin_shufflevector(even, even, 2, 3);
        sums[class[k + 3]][3] += __builtin_shufflevector(odd, odd, 2, 3);
    }
    for (; k < count; k++) {
        double all = most * cpu_ns[k] - of[k];
        sums[class[k]][k % HALF] += (room){all < 0 ? 0 : all, all < 0 ? -all : 0};
    }
    for (size_t c = 0; c < CLASSES; c++) {
        room sum = (sums[c][0] + sums[c][2]) + (sums[c][1] + sums[c][3]);
        classes[c].room = sum[0];
        classes[c].over = sum[1];
    }
}

/* Moves excess energy to thread samples of the same class with room, otherwise to the next class
 * with a lower price. Returns the remaining room. Sets *SURPLUS to the excess energy for which
 * there is no room. */
static double level_classes(struct price_class *classes, double *surplus)
{
    double left = 0, rest = 0;
    for (struct price_class *c = classes + CLASSES; c-- > classes;) {
        double room = c->room - c->over;
        double taken = room > 0 ? fmin(rest, room) : 0;
        c->take = room > 0 ? (c->over + taken) / c->room : 1;
        rest += room > 0 ? -taken : -room;
        left += room > 0 ? room - taken : 0;
    }
    *surplus = rest;
    return left;
}

/* Removes the excess energy of thread samples, and fills the fraction TAKE of the room in each
 * class. TO may be OF. */
VECTORS
static void move(double most, size_t count, const double *cpu_ns, const double *take,
                 const int32_t *class, const double *of, double *to)
{
    const lanes zero = {0};
    size_t k = 0;
    for (; k + HALF <= count; k += HALF) {
        const int32_t *c = class + k; /* gathering in vectors is slower */
        lanes own = {take[c[0]], take[c[1]], take[c[2]], take[c[3]]};
        lanes energy = LOAD(of + k), room = most * LOAD(cpu_ns + k) - energy;
        energy += EITHER(room > zero, own * room, room);
        memcpy(to + k, &energy, sizeof energy);
    }
    for (; k < count; k++) {
        double room = most * cpu_ns[k] - of[k];
        to[k] = of[k] + (room > 0 ? take[class[k]] * room : room);
    }
}

/* The first sample has half an interval more than its CPU time, the last one half an interval less.
 * Energy above the highest power is therefore moved from the first FIRST thread samples to the last
 * LAST, up to their room. */
static void level_ends(double most, size_t count, size_t first, size_t last, const double *cpu_ns,
                       double *of)
{
    double over = 0, room = 0;
    for (size_t k = 0; k < first; k++)
        over += fmax(0, of[k] - most * cpu_ns[k]);
    for (size_t k = count - last; k < count; k++)
        room += fmax(0, most * cpu_ns[k] - of[k]);
    double moved = fmin(over, room);
    if (first + last > count || moved <= 0)
        return;
    for (size_t k = 0; k < first; k++)
        of[k] -= fmax(0, of[k] - most * cpu_ns[k]) * (moved / over);
    for (size_t k = count - last; k < count; k++)
        of[k] += fmax(0, most * cpu_ns[k] - of[k]) * (moved / room);
}

/* The energy of thread sample K above the highest power, up to the room of thread sample BEFORE. */
static inline double excess(double most, const double *cpu_ns, const double *of, size_t k,
                            size_t before)
{
    double over = of[k] - most * cpu_ns[k], room = most * cpu_ns[before] - of[before];
    double moved = over < room ? over : room;
    return moved > 0 && cpu_ns[before] > 0 ? moved : 0;
}

/* Levels pairs if all samples have the same N threads. */
VECTORS
static void level_same(double most, size_t n, size_t count, const double *restrict cpu_ns,
                       const double *restrict of, double *restrict to)
{
    for (size_t k = 0; k < n; k++)
        to[k] = of[k] + excess(most, cpu_ns, of, k + n, k);
    for (size_t k = n; k < count - n; k++)
        to[k] = of[k] - excess(most, cpu_ns, of, k, k - n) + excess(most, cpu_ns, of, k + n, k);
    for (size_t k = count - n; k < count; k++)
        to[k] = of[k] - excess(most, cpu_ns, of, k, k - n);
}

/* A sample after a short interval and before a long one represents more time than its interval. The
 * previous sample of the thread represents less, and gets the excess energy, up to its room. A
 * thread sample with an excess has no room, so that none both gives and takes energy, and all can
 * be computed at once. N: see level. Returns the array that contains the new energies, OF or
 * OTHER. */
static double *level_pairs(double most, size_t n, size_t count, const double *cpu_ns,
                           const struct stretch_use *uses, double *other, double *of)
{
    if (uses == NULL) {
        level_same(most, n, count, cpu_ns, of, other);
        return other;
    }
    for (size_t k = 0; k < count; k++)
        other[k] = uses[k].before != SIZE_MAX ? excess(most, cpu_ns, of, k, uses[k].before) : 0;
    for (size_t k = 0; k < count; k++) {
        of[k] -= other[k];
        if (other[k] > 0)
            of[uses[k].before] += other[k];
    }
    return of;
}

/* Moves energy above the highest power to thread samples with room below that power, if possible of
 * the same class or of one with a slightly lower price; the remaining energy of the stretch goes to
 * any of them. Energy for which there is no room is idle energy. N: threads of each sample; 0 if
 * their number varies. */
static void level(struct stretch *s, const uint64_t *threads, size_t n, size_t count,
                  const double *cpu_ns, const struct stretch_use *uses,
                  const struct stretch_room *room, double *of)
{
    struct price_class classes[CLASSES];
    int32_t own[STRETCH];
    double take[CLASSES];
    double scale = s->most > 0 ? CLASSES * (1 + SAME_POWER) / s->most / 2
                               : 0; /* rounds to the same class everywhere */
    find_classes(s->each, s->count, scale, own);
    correct_classes(s, scale, own);
    const int32_t *class = n == 1 ? own : room->class;
    if (n != 1)
        repeat_classes(own, s->count, n, threads, room->class);
    double *paired = s->own ? of : level_pairs(s->most, n, count, cpu_ns, uses, room->take, of);
    level_ends(s->most, count, threads[0], threads[s->count - 1], cpu_ns, paired);
    count_room(s->most, count, cpu_ns, paired, class, classes);
    double surplus, left = level_classes(classes, &surplus), rest = s->rest + surplus,
                    part = rest < left ? rest / left : left > 0;
    for (size_t c = 0; c < CLASSES; c++)
        take[c] = classes[c].take + part * (1 - classes[c].take);
    move(s->most, count, cpu_ns, take, class, paired, of);
    double all = 0;
    for (size_t i = 0; i < s->count && rest > left; i++)
        all += s->energy[i];
    if (!(rest - left > NOTHING * all)) /* only rounding */
        return;
    add_to_last(s, rest - left);
}

void stretch_divide(struct stretch *s, const uint64_t *threads, const double *cpu_ns,
                    const struct stretch_use *uses, const struct stretch_room *room, double *of)
{
    size_t count = uses == NULL ? s->count * threads[0] : 0;
    double limit = s->most * (1 + NOTHING);
    bool over;
    for (size_t i = 0; i < s->count && uses != NULL; i++)
        count += threads[i];
    if (uses != NULL) {
        place_any(s, threads, cpu_ns, uses, of);
        over = any_over(cpu_ns, count, limit, of);
    } else {
        over = s->own ? place_own(s, threads[0], cpu_ns, limit, of)
                      : place_same(s, threads[0], cpu_ns, limit, of);
    }
    if (over || s->rest > 0)
        level(s, threads, uses == NULL ? threads[0] : 0, count, cpu_ns, uses, room, of);
}

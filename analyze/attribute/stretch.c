/* Energy by the CPU time around each sample.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/stretch.h"

#include <math.h>
#include <string.h>

#include "base/vectors.h"

/* Rounding: powers that differ by less are the same, shares that lack less are whole. */
#define SAME_POWER STRETCH_SAME_POWER
#define NOTHING    1e-12

/* ---- vectors: sums in this order are the same on every machine ---- */

enum { LANES = STRETCH_PAD };
typedef double lanes __attribute__((vector_size(LANES * 8)));
typedef int64_t lane_mask __attribute__((vector_size(LANES * 8)));
#define WHERE(condition, value) ((lanes)((lane_mask)(condition) & (lane_mask)(value)))

/* COUNT values, and zeros up to a multiple of LANES. */
static void pad(double *values, size_t count)
{
    while (count % LANES != 0)
        values[count++] = 0;
}

static inline __attribute__((always_inline)) double add_lanes(const lanes *l)
{
    const lanes v = *l;
    return (v[0] + v[2]) + (v[1] + v[3]);
}

/* ---- windows ---- */

static inline bool is_steady(const struct stretch *s, size_t i)
{
    return fabs(s->rate[i] - s->rate[i - 1]) <= SAME_POWER * fabs(s->rate[i]);
}

VECTORS
static uint64_t count_steady(const double *rate, size_t count)
{
    uint64_t steady = 0;
    for (size_t i = 1; i < count; i++)
        steady += fabs(rate[i] - rate[i - 1]) <= SAME_POWER * fabs(rate[i]);
    return steady;
}

/* Adds a half interval with part of its energy to the window that is open. Returns that window. */
static uint16_t add_half(struct stretch *s, size_t i, double energy)
{
    struct stretch_windows *w = &s->windows;
    w->ns[w->count] += s->ns[i] / 2;
    w->cpu_ns[w->count] += s->ns[i] > 0 ? s->cpu_ns[i] / 2 : 0;
    w->energy[w->count] += energy;
    return (uint16_t)w->count;
}

static void next_window(struct stretch *s)
{
    struct stretch_windows *w = &s->windows;
    w->count++;
    w->ns[w->count] = w->cpu_ns[w->count] = w->energy[w->count] = 0;
}

/* Does a counter leap at some samples, and seem to count nothing in between? Zeros come in short runs then. */
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
    for (size_t i = 0; i < s->count; i++) {
        bool leap = s->rate[i] != 0;
        s->in[0][i] = add_half(s, i, s->energy[i]);
        if (leap)
            next_window(s);
        s->in[1][i] = add_half(s, i, 0);
    }
    s->windows.count++;
}

/* How much of the energy of interval I is of the window before, where the sensor was updated in it: the mean is between
 * two powers that stayed. Negative if it was not. */
static double energy_before(struct stretch *s, size_t i)
{
    if (i < 2 || i + 2 >= s->count || !is_steady(s, i - 1) || !is_steady(s, i + 2))
        return -1;
    double before = s->rate[i - 1], after = s->rate[i + 1];
    double part = s->cut[i] = (s->rate[i] - after) / (before - after);
    return part > 0 && part < 1 && before > 0 && after > 0 ? part * before / s->rate[i] : -1;
}

static void divide_by_power(struct stretch *s)
{
    for (size_t i = 0; i < s->count; i++) {
        bool steady = i > 0 && is_steady(s, i);
        double part = steady ? -1 : energy_before(s, i);
        if (part >= 0) { /* what is steady goes on */
            s->in[0][i] = add_half(s, i, part * s->energy[i]);
            next_window(s);
            s->in[1][i] = add_half(s, i, (1 - part) * s->energy[i]);
            continue;
        }
        if (i > 0 && !steady && !(i > 1 && energy_before(s, i - 1) >= 0))
            next_window(s);
        s->in[0][i] = add_half(s, i, s->energy[i] / 2);
        s->in[1][i] = add_half(s, i, s->energy[i] / 2);
    }
    s->windows.count++;
}

/* A sensor that stays all the time says nothing about when it is updated: each interval is a window. Returns the windows. */
static size_t make_windows(struct stretch *s)
{
    struct stretch_windows *w = &s->windows;
    uint64_t steady = count_steady(s->rate, s->count);
    s->updates = 0;
    if (steady == 0 || steady + 1 == s->count)
        return s->count;
    w->count = 0;
    w->ns[0] = w->cpu_ns[0] = w->energy[0] = 0;
    s->leaps = leaps(s);
    if (s->leaps)
        divide_by_leaps(s);
    else
        divide_by_power(s);
    return s->updates = w->count;
}

/* ---- prices ---- */

VECTORS
static void power_of_intervals(const double *restrict energy, const double *restrict rate,
                               size_t count, double *restrict power)
{
    for (size_t i = 0; i < count; i++) {
        double own = rate[i] * 1e-9;
        power[i] = energy[i] != 0 ? own : 0;
    }
}

VECTORS
static void power_of_windows(const double *restrict energy, const double *restrict ns, size_t count,
                             double *restrict power)
{
    for (size_t i = 0; i < count; i++)
        power[i] = energy[i] / (ns[i] > 0 ? ns[i] : 1); /* nothing in no time */
}

/* What windows lack, and have too much of. */
struct balance {
    double spare_ns, spare; /* time without CPU time, and its energy [J] */
    double over_ns, over;   /* CPU time without time, and what it would cost [J] */
    double all, most;       /* energy without signs [J], highest power [J/ns] */
};

VECTORS
static struct balance measure(const double *ns, const double *cpu_ns, size_t count,
                              const double *power)
{
    lanes spare_ns = {0}, spare_j = {0}, over_ns = {0}, over_j = {0}, all = {0}, most = {0};
    for (size_t i = 0; i < count; i += LANES) {
        lanes time, cpu, p;
        memcpy(&time, ns + i, sizeof time);
        memcpy(&cpu, cpu_ns + i, sizeof cpu);
        memcpy(&p, power + i, sizeof p);
        lanes lack = time - cpu, positive = WHERE(p > 0, p);
        lanes less = WHERE(lack > NOTHING * time, lack),
              more = WHERE((lack < 0) & (time > 0), -lack);
        spare_ns += less;
        spare_j += less * p;
        over_ns += more;
        over_j += more * positive;
        all += (positive + WHERE(p < 0, -p)) * time;
        most = (lanes)((lane_mask)WHERE(positive > most, positive) |
                       (lane_mask)WHERE(positive <= most, most));
    }
    struct balance b = {add_lanes(&spare_ns), add_lanes(&spare_j), add_lanes(&over_ns),
                        add_lanes(&over_j),   add_lanes(&all),     0};
    for (size_t l = 0; l < LANES; l++)
        b.most = most[l] > b.most ? most[l] : b.most;
    return b;
}

/* Time without CPU time, and CPU time without time, of a window. */
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

/* The PAID part of what is over is paid for. */
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

/* Highest power of an interval [J/ns]. */
static double most_of_intervals(const struct stretch *s)
{
    double most = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->ns[i] > 0 && s->energy[i] / s->ns[i] > most)
            most = s->energy[i] / s->ns[i];
    return most;
}

/* From windows to intervals; the IDLE part of what is spare is nobody's. */
static void price_intervals(struct stretch *s, double idle)
{
    for (size_t i = 0; i < s->count; i++) {
        s->idle[i] = 0;
        for (int half = 0; half < 2; half++) {
            size_t w = s->in[half][i];
            s->prices[half][i] = s->ns[i] > 0 ? s->price[w] : 0;
            if (s->windows.ns[w] > 0)
                s->idle[i] += s->power[w] * spare_of(s->windows.ns[w], s->windows.cpu_ns[w]) *
                              idle * (s->ns[i] / 2 / s->windows.ns[w]);
        }
    }
    s->first = s->prices[0];
    s->second = s->prices[1];
    s->most = most_of_intervals(s);
}

VECTORS
static void set_idle(const double *restrict ns, const double *restrict cpu_ns,
                     const double *restrict power, size_t count, double part, double *restrict idle)
{
    for (size_t i = 0; i < count; i++)
        idle[i] = power[i] * spare_of(ns[i], cpu_ns[i]) * part;
}

void stretch_settle(struct stretch *s)
{
    size_t count = make_windows(s);
    bool windows = s->updates > 0;
    const double *energy = windows ? s->windows.energy : s->energy;
    double *ns = windows ? s->windows.ns : s->ns, *cpu_ns = windows ? s->windows.cpu_ns : s->cpu_ns;
    if (windows)
        power_of_windows(energy, ns, count, s->power);
    else
        power_of_intervals(energy, s->rate, count, s->power);
    pad(ns, count);
    pad(cpu_ns, count);
    pad(s->power, count);
    struct balance b = measure(ns, cpu_ns, count, s->power);
    s->all = b.all;
    s->most = b.most;
    s->first = s->second = s->power;
    bool dilutes = b.over_ns > 0;
    if (!s->in_turn)
        b.over_ns = b.over = 0;
    double chance = b.spare > 0 ? b.over_ns / b.spare_ns : 0;
    chance = chance < 1 - NOTHING ? chance : 1;
    double moved = b.spare * chance, paid = b.over > moved ? moved / b.over : b.over > 0;
    s->rest = moved - paid * b.over;
    if (dilutes || windows) {
        set_prices(ns, cpu_ns, energy, s->power, count, paid, s->price);
        s->first = s->second = s->price;
    }
    if (windows)
        price_intervals(s, 1 - chance);
    else
        set_idle(s->ns, s->cpu_ns, s->power, count, 1 - chance, s->idle);
}

/* ---- thread samples ---- */

/* What the halves of their intervals cost. */
static inline __attribute__((always_inline)) void price_samples(const struct stretch *s, size_t n,
                                                                const double *cpu_ns, double *first,
                                                                double *second)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < n; j++) {
            first[n * i + j] = s->first[i] / 2 * cpu_ns[n * i + j];
            second[n * i + j] = s->second[i] / 2 * cpu_ns[n * i + j];
        }
}

VECTORS
static void price_same(const struct stretch *s, size_t n, const double *cpu_ns, double *first,
                       double *second)
{
    if (n == 1)
        price_samples(s, 1, cpu_ns, first, second);
    else if (n == 2)
        price_samples(s, 2, cpu_ns, first, second);
    else
        price_samples(s, n, cpu_ns, first, second);
}

/* Both steps for a single thread whose intervals cost the same in both halves. */
VECTORS
static void place_single(size_t count, const double *restrict cpu_ns, const double *restrict price,
                         double *restrict half, double *restrict of)
{
    for (size_t k = 0; k < count; k++)
        half[k] = price[k] / 2 * cpu_ns[k];
    half[count] = 0;
    of[0] = half[0] + half[0] + (cpu_ns[0] > 0 ? half[1] : 0);
    for (size_t k = 1; k < count; k++)
        of[k] = half[k] + (cpu_ns[k - 1] > 0 ? 0 : half[k]) + (cpu_ns[k] > 0 ? half[k + 1] : 0);
}

/* The first half is of the thread's PC before, if it ran there. */
VECTORS
static void place_same(size_t count, size_t n, const double *cpu_ns, const double *first,
                       const double *second, double *of)
{
    for (size_t k = 0; k < n && k < count; k++)
        of[k] = second[k] + first[k];
    for (size_t k = n; k < count; k++)
        of[k] = second[k] + (cpu_ns[k - n] > 0 ? 0 : first[k]);
    for (size_t k = n; k < count; k++)
        of[k - n] += cpu_ns[k - n] > 0 ? first[k] : 0;
}

/* The sums of times and of prices times times, up to each interval. */
struct areas {
    double ns[STRETCH + 1], price[STRETCH + 1];
};

static void add_areas(const struct stretch *s, struct areas *a)
{
    a->ns[0] = a->price[0] = 0;
    for (size_t i = 0; i < s->count; i++) {
        a->ns[i + 1] = a->ns[i] + s->ns[i];
        a->price[i + 1] = a->price[i] + (s->first[i] + s->second[i]) / 2 * s->ns[i];
    }
}

/* What CPU_NS cost that was used in REACH intervals up to number I. */
static double price_of(const struct areas *a, size_t i, size_t reach, double cpu_ns)
{
    double ns = a->ns[i + 1] - a->ns[i + 1 - reach];
    return ns > 0 ? cpu_ns / ns * (a->price[i + 1] - a->price[i + 1 - reach]) : 0;
}

static void place(const struct stretch *s, const uint64_t *threads, const double *cpu_ns,
                  const struct stretch_use *uses, double *of)
{
    struct areas areas;
    add_areas(s, &areas);
    for (size_t i = 0, k = 0; i < s->count; i++)
        for (size_t end = k + threads[i]; k < end; k++) {
            const struct stretch_use *use = &uses[k];
            double first = s->first[i] / 2 * cpu_ns[k], second = s->second[i] / 2 * cpu_ns[k];
            if (use->reach > 1)
                first = second = price_of(&areas, i, use->reach, cpu_ns[k]) / 2;
            of[k] = second + (use->before != SIZE_MAX ? 0 : first);
            if (use->before != SIZE_MAX)
                of[use->before] += first;
        }
}

/* How much is above the highest power. */
VECTORS
static double sum_over(const double *restrict cpu_ns, size_t count, double most,
                       const double *restrict of)
{
    lanes sum = {0};
    size_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        lanes cpu, energy;
        memcpy(&cpu, cpu_ns + k, sizeof cpu);
        memcpy(&energy, of + k, sizeof energy);
        lanes over = energy - most * cpu;
        sum += WHERE(over > 0, over);
    }
    for (size_t l = 0; k + l < count; l++) {
        double over = of[k + l] - most * cpu_ns[k + l];
        sum[l] += over > 0 ? over : 0;
    }
    return add_lanes(&sum);
}

/* Thread samples that cost about the same, by the price around each sample as part of the highest power. */
enum { CLASSES = 16 };

struct price_class {
    double over, room;
    double take; /* part of ROOM that is filled */
};

static inline unsigned class_of(const struct stretch *s, size_t i, double scale)
{
    double part = (s->second[i] + s->first[i + 1 < s->count ? i + 1 : i]) * scale;
    part = part < CLASSES - 1 ? part : CLASSES - 1;
    return part > 0 ? (unsigned)part : 0;
}

/* The lowest class that has something over. */
static unsigned lowest_class(const struct stretch *s, const uint64_t *threads, const double *cpu_ns,
                             const double *of, double scale)
{
    unsigned lowest = CLASSES;
    for (size_t i = 0, k = 0; i < s->count; i++)
        for (size_t end = k + threads[i]; k < end; k++)
            if (of[k] > s->most * cpu_ns[k]) {
                unsigned own = class_of(s, i, scale);
                lowest = own < lowest ? own : lowest;
            }
    return lowest;
}

/* The same where each sample has N threads. */
VECTORS
static unsigned lowest_class_same(const struct stretch *s, size_t n, const double *cpu_ns,
                                  const double *of, double scale)
{
    unsigned lowest = CLASSES;
    size_t count = n * s->count;
    for (size_t k = 0; k < count; k += LANES) {
        uint64_t any = 0;
        size_t end = k + LANES < count ? k + LANES : count;
        for (size_t l = k; l < end; l++)
            any |= (uint64_t)(of[l] > s->most * cpu_ns[l]) << (l - k);
        for (; any != 0; any &= any - 1) {
            unsigned own = class_of(s, (k + (size_t)__builtin_ctzll(any)) / n, scale);
            lowest = own < lowest ? own : lowest;
        }
    }
    return lowest;
}

/* The samples from class LOWEST on. Returns how many. */
static size_t list_samples(const struct stretch *s, unsigned lowest, double scale, uint32_t *list)
{
    size_t listed = 0, last = s->count - 1;
    double least = lowest > 0 ? (double)lowest : -INFINITY;
    for (size_t i = 0; i < last; i++) {
        list[listed] = (uint32_t)i;
        listed += (s->second[i] + s->first[i + 1]) * scale >= least;
    }
    list[listed] = (uint32_t)last;
    return listed + (class_of(s, last, scale) >= lowest);
}

/* What is over goes to those of the same class with room. Returns the room that is left; *SURPLUS: what has none. */
static double level_classes(struct price_class *classes, double *surplus)
{
    double left = 0;
    *surplus = 0;
    for (struct price_class *c = classes; c < classes + CLASSES; c++) {
        double rest = c->over - c->room;
        c->take = rest < 0 ? c->over / c->room : 1;
        *surplus += rest > 0 ? rest : 0;
        left += rest < 0 ? -rest : 0;
    }
    return left;
}

/* Adds what the thread samples K to END have over, and room for, to CLASS. */
static void count_room(struct price_class *class, double most, const double *cpu_ns,
                       const double *of, size_t k, size_t end)
{
    for (; k < end; k++) {
        double room = most * cpu_ns[k] - of[k];
        class->over += room < 0 ? -room : 0;
        class->room += room > 0 ? room : 0;
    }
}

/* Takes off what they have over, and fills the part TAKE of their room. */
static void move(double take, double most, const double *cpu_ns, double *of, size_t k, size_t end)
{
    for (; k < end; k++) {
        double room = most * cpu_ns[k] - of[k];
        of[k] += room > 0 ? take * room : room;
    }
}

/* Takes off what is over, and gives it, and the rest of the stretch, to those with room below the highest power; what has
 * no room is idle. N: threads of each sample, 0 if that varies. */
static void level(struct stretch *s, const uint64_t *threads, size_t n, const double *cpu_ns,
                  double *of)
{
    struct price_class classes[CLASSES] = {{0}};
    uint32_t list[STRETCH + 1];
    uint32_t begin[STRETCH];
    double scale = s->most > 0 ? CLASSES * (1 + SAME_POWER) / s->most / 2
                               : 0; /* to the same side on every machine */
    unsigned lowest = s->rest > 0 ? 0
                      : n > 0     ? lowest_class_same(s, n, cpu_ns, of, scale)
                                  : lowest_class(s, threads, cpu_ns, of, scale);
    size_t count = list_samples(s, lowest, scale, list);
    for (size_t i = 0, k = 0; i < s->count && n == 0; k += threads[i++])
        begin[i] = (uint32_t)k;
    for (size_t l = 0; l < count; l++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): list_samples filled COUNT entries */
        struct price_class *c = &classes[class_of(s, list[l], scale)];
        size_t k = n > 0 ? n * list[l] : begin[list[l]];
        count_room(c, s->most, cpu_ns, of, k, k + threads[list[l]]);
    }
    double surplus, left = level_classes(classes, &surplus),
                    part = s->rest < left ? s->rest / left : left > 0;
    for (size_t l = 0; l < count; l++) {
        const struct price_class *c = &classes[class_of(s, list[l], scale)];
        double take = c->take + part * (1 - c->take);
        size_t k = n > 0 ? n * list[l] : begin[list[l]];
        move(take, s->most, cpu_ns, of, k, k + threads[list[l]]);
    }
    s->idle[s->count - 1] += surplus + (s->rest > left ? s->rest - left : 0);
}

void stretch_divide(struct stretch *s, const uint64_t *threads, const double *cpu_ns,
                    const struct stretch_use *uses, double *room, double *of)
{
    size_t count = uses == NULL ? s->count * threads[0] : 0;
    for (size_t i = 0; i < s->count && uses != NULL; i++)
        count += threads[i];
    double *over = room + count + STRETCH_PAD;
    if (uses != NULL) {
        place(s, threads, cpu_ns, uses, of);
    } else if (threads[0] == 1 && s->first == s->second) {
        place_single(count, cpu_ns, s->first, room, of);
    } else {
        price_same(s, threads[0], cpu_ns, room, over);
        place_same(count, threads[0], cpu_ns, room, over, of);
    }
    if (sum_over(cpu_ns, count, s->most, of) + s->rest > NOTHING * s->all)
        level(s, threads, uses == NULL ? threads[0] : 0, cpu_ns, of);
}

/* Weighs samples.
 *
 *   sample i, interval d_i, power P_i, CPU time c_ij of thread j:
 *   time   = c_ij                                (without CPU time: d_i * min(1, cpus / threads))
 *   energy, by model:
 *   share:  of the windows around it, by CPU time (see stretch.h; energy of unused CPU time is idle)
 *   sample: P_i * d_i * c_ij / sum_j(c_ij)        (no CPU time used: all of it is idle)
 *   thread: P_i * c_ij
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/weigh.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/lag.h"
#include "analyze/attribute/stretch_work.h"
#include "base/memory.h"
#include "base/vectors.h"

enum { NS_PER_S = 1000000000, WINDOW = 128 /* samples at a time, if each keeps its energy */ };

/* Returns whether the whole CPU time of a sample belongs to its PC. If a sampler divides CPU time
 * among the moments at which it saw a thread running, that is so, too: with halves, code before a
 * wait would lose half a share to the code before it, and code after a wait would lose none. Least
 * squares (UNDIVIDED) look at such times themselves. */
static bool has_own_intervals(const struct pbin_meta *meta, bool undivided)
{
    return meta->own_intervals != PBIN_OWN_NONE || (meta->divided > 1 && !undivided);
}

void weigher_start(struct weigher *w, const struct pbin_meta *meta, const struct quantity *quantity,
                   const struct weigh_options *options)
{
    *w = (struct weigher){.meta = meta, .quantity = quantity, .options = *options};
    if (w->options.model == NULL)
        w->options.model = &energy_by_share;
    /* if threads count whether or not they ran, CPU time does not matter */
    if (options->wall_time && w->options.model == &energy_by_share)
        w->options.model = &energy_by_sample;
    if (w->options.model == &energy_by_share)
        w->share = share_work_new(options->undivided, has_own_intervals(meta, options->undivided));
    w->longest = exact_of_double(options->max_gap * 1e9, TIME_SHIFT);
    w->lag = w->share != NULL ? exact_of_double(options->lag * 1e9, TIME_SHIFT) : 0;
    if (!meta->times && meta->samples > 0 && meta->wall_ns > 0) {
        w->even = ((exact)meta->wall_ns << TIME_SHIFT) / (exact)meta->samples;
        w->even_seconds = weigh_even_seconds(meta);
    } else if (!meta->times) {
        w->even = options->untimed;
        w->even_seconds = exact_to_double(options->untimed, TIME_SHIFT, NS_PER_S);
    }
    if (options->latency != LATENCY_KEPT && meta->samples > 0)
        *(options->latency == LATENCY_OF_THREADS ? &w->thread_latency : &w->latency) =
            ((exact)meta->latency_ns << TIME_SHIFT) / (exact)meta->samples;
}

static void free_held(struct weigher *w)
{
    for (size_t i = 0; i < sizeof w->held / sizeof w->held[0]; i++)
        free(w->held[i]);
}

void weigher_free(struct weigher *w)
{
    free_held(w);
    free(w->window.at);
    free(w->window.time_of);
    share_work_delete(w->share);
}

void weigher_finish(struct weigher *w)
{
    w->finished = true;
}

void weigher_begin_at(struct weigher *w, uint64_t number)
{
    w->number = number;
}

bool weigher_divides(const struct weigher *w)
{
    const struct energy_model *model = w->options.model;
    return w->latency == 0 && w->lag == 0 && (model->window == NULL || model->step > 0);
}

/* ---- batches ---- */

static void *join(const void *a, size_t count, const void *b, size_t more)
{
    uint64_t *both = mem_alloc((count + more) * sizeof *both);
    if (count > 0)
        memcpy(both, a, count * sizeof *both);
    if (more > 0)
        memcpy(both + count, b, more * sizeof *both);
    return both;
}

/* Joins the CPU times of the machine. If only one part has any, those of the other part are NaN. */
static double *join_busy(const double *a, size_t count, const double *b, size_t more)
{
    bool any = (a != NULL && count > 0) || (b != NULL && more > 0);
    double *both = any ? mem_alloc((count + more) * sizeof *both) : NULL;
    for (size_t i = 0; i < count && any; i++)
        both[i] = a != NULL ? a[i] : NAN;
    for (size_t i = 0; i < more && any; i++)
        both[count + i] = b != NULL ? b[i] : NAN;
    return both;
}

/* The same for the equal CPU times of COUNT and MORE thread samples; if only one part has any, the
 * CPU times of the other part are used. */
static uint64_t *join_equal(const struct pbin_samples *a, size_t count,
                            const struct pbin_samples *b, size_t more)
{
    bool any = (a->equal_ns != NULL && count > 0) || (b->equal_ns != NULL && more > 0);
    return any ? join(a->equal_ns != NULL ? a->equal_ns : a->cpu_ns, count,
                      b->equal_ns != NULL ? b->equal_ns : b->cpu_ns, more)
               : NULL;
}

/* The samples after the first COUNT, which have THREADS thread samples. */
static struct pbin_samples skip(const struct pbin_samples *s, size_t count, size_t threads)
{
    struct pbin_samples rest = *s;
    rest.count -= count;
    rest.thread_sample_count -= threads;
    rest.interval_ns += count;
    rest.value += count;
    rest.threads += count;
    rest.thread += threads;
    rest.location += threads;
    rest.cpu_ns += threads;
    if (rest.equal_ns != NULL)
        rest.equal_ns += threads;
    if (rest.busy_ns != NULL)
        rest.busy_ns += count;
    return rest;
}

static size_t count_threads(const uint64_t *threads, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += threads[i];
    return sum;
}

/* Copies the samples that are left, and the first TAKE of the rest, to columns owned by the
 * weigher. */
static void hold(struct weigher *w, size_t take)
{
    const struct pbin_samples old = weigher_left(w), *more = &w->rest;
    size_t threads = take > 0 ? count_threads(more->threads, take) : 0;
    void *held[] = {join(old.interval_ns, old.count, more->interval_ns, take),
                    join(old.value, old.count, more->value, take),
                    join(old.threads, old.count, more->threads, take),
                    join(old.thread, old.thread_sample_count, more->thread, threads),
                    join(old.location, old.thread_sample_count, more->location, threads),
                    join(old.cpu_ns, old.thread_sample_count, more->cpu_ns, threads),
                    join_busy(old.busy_ns, old.count, more->busy_ns, take),
                    join_equal(&old, old.thread_sample_count, more, threads)};
    free_held(w);
    memcpy(w->held, held, sizeof held);
    w->in = (struct pbin_samples){.count = old.count + take,
                                  .thread_sample_count = old.thread_sample_count + threads,
                                  .interval_ns = held[0],
                                  .value = held[1],
                                  .threads = held[2],
                                  .thread = held[3],
                                  .location = held[4],
                                  .cpu_ns = held[5],
                                  .busy_ns = held[6],
                                  .equal_ns = held[7],
                                  .cpu_most = UINT64_MAX};
    w->next = w->next_thread = 0;
    w->rest = take < more->count ? skip(more, take, threads) : (struct pbin_samples){.count = 0};
}

void weigher_set_aside(struct weigher *w, struct pbin_samples *samples)
{
    size_t take = w->number < samples->count ? (size_t)w->number : samples->count;
    w->rest = *samples;
    hold(w, take);
    w->number -= take;
    *samples = w->rest;
    w->rest = (struct pbin_samples){.count = 0};
}

/* The number of samples of the rest that an incomplete window may need. */
static size_t count_needed(const struct weigher *w)
{
    size_t step = w->options.model->step, left = w->in.count - w->next;
    return step == 0 || w->rest.count <= step - left % step ? w->rest.count : step - left % step;
}

struct pbin_samples weigher_left(const struct weigher *w)
{
    return w->next < w->in.count ? skip(&w->in, w->next, w->next_thread)
                                 : (struct pbin_samples){.count = 0};
}

void weigher_add(struct weigher *w, const struct pbin_samples *samples)
{
    w->rest = *samples;
}

static struct late_samples late_samples(const struct weigher *w)
{
    return (struct late_samples){.in = &w->in,
                                 .next = w->next,
                                 .lag = w->lag,
                                 .even = w->meta->times ? 0 : w->even,
                                 .own = w->meta->own_intervals != PBIN_OWN_NONE,
                                 .before = w->before};
}

/* The next window begins with the first sample that is left. */
size_t weigher_window(const struct weigher *w)
{
    size_t left = w->in.count - w->next;
    if (w->limit > 0)
        return w->limit;
    if (w->options.model->window == NULL)
        return left < WINDOW ? left : w->packs ? 1 : WINDOW;
    size_t size = left > 0 ? w->options.model->window(w, &w->in, w->next) : 0;
    bool all = w->finished && w->rest.count == 0;
    const struct late_samples late = late_samples(w);
    if (w->lag > 0 && size > 0 && !all && !lag_is_covered(&late, size))
        return 0;
    return size == 0 && all ? left : size;
}

bool weigher_ready(struct weigher *w)
{
    while (weigher_window(w) == 0) {
        bool left = w->next < w->in.count;
        if (left && (w->rest.count > 0 || w->in.interval_ns != w->held[0])) {
            hold(w, count_needed(w));
        } else if (w->rest.count > 0) {
            w->in = w->rest;
            w->rest = (struct pbin_samples){.count = 0};
            w->next = w->next_thread = 0;
        } else {
            return false;
        }
    }
    return true;
}

/* ---- intervals and times ---- */

/* The number of CPUs of the machine. If it is unknown: the fewest that could have given a program
 * the CPU time SUM in an interval. */
static exact cpus_of(struct weigher *w, exact sum, exact interval)
{
    if (w->meta->cpus > 0)
        return (exact)w->meta->cpus;
    exact needed = interval > 0 ? (sum + interval - 1) / interval : 1;
    w->cpus = needed > w->cpus ? needed : w->cpus;
    return w->cpus > 0 ? w->cpus : 1;
}

/* The shortest time for which the program must have run in an interval, without being stopped by
 * the sampler, given the CPU times of its COUNT threads. */
static exact surely_ran(struct weigher *w, exact interval, const uint64_t *cpu_ns, size_t count)
{
    exact most = 0, sum = 0;
    if (!w->meta->cpu_time)
        return 0;
    for (size_t j = 0; j < count; j++) {
        exact one = weigh_cpu(cpu_ns[j]);
        sum += one;
        most = one > most ? one : most;
    }
    exact all = sum / cpus_of(w, sum, interval);
    return all > most ? all : most;
}

/* Subtracts the sampler's own time from an interval, except for the time RAN in which the program
 * ran meanwhile. If the interval is too short, the rest is subtracted from the next one. */
static exact pay_latency(struct weigher *w, exact interval, exact ran)
{
    w->debt += w->latency;
    exact room = ran < interval ? interval - ran : 0;
    exact paid = w->debt < room ? w->debt : room;
    w->debt -= paid;
    return interval - paid;
}

static void correct_intervals(struct weigher *w, struct weighed *v)
{
    for (size_t i = 0, k = 0; i < v->count; k += v->threads[i++]) {
        exact interval = v->interval[i];
        if (w->latency > 0)
            interval =
                pay_latency(w, interval, surely_ran(w, interval, v->cpu_ns + k, v->threads[i]));
        if (w->longest > 0 && interval > w->longest) {
            v->gap_time[i] = interval - w->longest;
            interval = w->longest;
        }
        v->interval[i] = interval;
        v->seconds[i] = exact_to_double(interval, TIME_SHIFT, NS_PER_S);
    }
}

/* Converts recorded intervals to seconds. */
VECTORS
static void in_seconds(const uint64_t *interval_ns, size_t count, double *seconds)
{
    for (size_t i = 0; i < count; i++)
        seconds[i] = (double)interval_ns[i] / 1e9;
}

static void weigh_intervals(struct weigher *w, struct weighed *v)
{
    v->begin = w->at;
    for (size_t i = 0; i < v->count; i++) {
        v->interval[i] = weigher_elapsed(w, v->interval_ns[i]);
        v->at[i] = w->at += v->interval[i];
    }
    if (w->longest > 0)
        memset(v->gap_time, 0, v->count * sizeof *v->gap_time);
    if (w->latency > 0 || w->longest > 0)
        correct_intervals(w, v);
    else if (w->meta->times)
        in_seconds(v->interval_ns, v->count, v->seconds);
    else
        for (size_t i = 0; i < v->count; i++)
            v->seconds[i] = w->even_seconds;
}

/* Without CPU times, all threads count equally: each ran, within the limit of the number of
 * CPUs. */
static void weigh_intervals_of_threads(const struct weigher *w, struct weighed *v)
{
    uint64_t cpus = w->options.wall_time || w->meta->cpus == 0 ? UINT64_MAX : w->meta->cpus;
    for (size_t i = 0, k = 0; i < v->count; i++) {
        exact each = v->interval[i];
        if (v->threads[i] > cpus)
            each = each * (exact)cpus / (exact)v->threads[i];
        for (size_t end = k + v->threads[i]; k < end; k++)
            v->time_of[k] = each;
    }
}

static void weigh_times(const struct weigher *w, struct weighed *v)
{
    bool by_cpu = w->meta->cpu_time && !w->options.wall_time;
    for (size_t k = 0; k < v->thread_samples && by_cpu; k++)
        v->time_of[k] = weigh_cpu(v->cpu_ns[k]);
    if (!by_cpu)
        weigh_intervals_of_threads(w, v);
    for (size_t k = 0; k < v->thread_samples && w->thread_latency > 0; k++)
        v->time_of[k] = v->time_of[k] > w->thread_latency ? v->time_of[k] - w->thread_latency : 0;
}

/* ---- energies ---- */

/* Computes the energies of COUNT samples. Returns whether all energies and powers can be summed. */
VECTORS
static bool multiply(const double *value, double scale, const double *seconds, size_t count,
                     double *rate, double *energy)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        rate[i] = value[i] * scale;
        energy[i] = rate[i] * seconds[i];
        bad |= (uint64_t)!is_summable(rate[i]) | (uint64_t)!is_summable(energy[i]);
    }
    return bad == 0;
}

/* Sets energies that cannot be summed to 0, and computes the energies of gaps. */
static void correct_energies(const struct weigher *w, struct weighed *v)
{
    for (size_t i = 0; i < v->count; i++) {
        double power = v->rate[i], gap = 0;
        if (w->longest > 0 && v->gap_time[i] > 0)
            gap = exact_to_double(v->gap_time[i], TIME_SHIFT, NS_PER_S);
        v->bad_values[i] =
            !is_summable(v->energy[i]) || !is_summable(power) || !is_summable(power * gap);
        if (v->bad_values[i])
            power = v->energy[i] = 0;
        if (!isfinite(v->rate[i]))
            v->rate[i] = NAN;
        v->gap_energy[i] = gap > 0 ? exact_of_double(power * gap, ENERGY_SHIFT) : 0;
    }
}

static void weigh_energies(const struct weigher *w, struct weighed *v, const double *value)
{
    memset(v->bad_values, 0, v->count * sizeof *v->bad_values);
    if (w->quantity->name == NULL)
        return; /* it is all 0: see make_room */
    bool good = multiply(value, w->quantity->scale, v->seconds, v->count, v->rate, v->energy);
    if (!good || w->longest > 0)
        correct_energies(w, v);
}

/* Divides ENERGY by CPU time among COUNT threads. The rounding error goes to the last thread with
 * energy. Returns the energy that remains if there is none. */
static exact share_by_cpu(double energy, const uint64_t *cpu_ns, size_t count, exact *energy_of)
{
    uint64_t total = 0, wraps = 0;
    size_t last = 0;
    for (size_t j = 0; j < count; j++) {
        wraps += __builtin_add_overflow(total, cpu_ns[j], &total);
        last = cpu_ns[j] > 0 ? j : last;
    }
    double whole = 0x1p64 * (double)wraps + (double)total, per_ns = whole > 0 ? energy / whole : 0;
    exact left = exact_of_double(energy, ENERGY_SHIFT);
    for (size_t j = 0; j < count; j++) {
        exact part = 0;
        if (cpu_ns[j] > 0)
            part = j == last ? left : exact_of_double(per_ns * (double)cpu_ns[j], ENERGY_SHIFT);
        energy_of[j] = part;
        left -= part;
    }
    return left;
}

static exact share_evenly(double energy, size_t count, exact *energy_of)
{
    exact left = exact_of_double(energy, ENERGY_SHIFT);
    exact part = count > 0 ? left / (exact)count : 0;
    for (size_t j = 0; j < count; j++) {
        energy_of[j] = j + 1 < count ? part : left;
        left -= energy_of[j];
    }
    return left;
}

static void spread_by_sample(const struct weigher *w, struct weighed *v)
{
    for (size_t i = 0, k = 0; i < v->count; k += v->threads[i++]) {
        size_t n = v->threads[i];
        exact *of = v->energy_of + k;
        v->idle_energy[i] = weigher_times_are_cpu(w)
                                ? share_by_cpu(v->energy[i], v->cpu_ns + k, n, of)
                                : share_evenly(v->energy[i], n, of);
    }
}

/* The energy of a thread: power * SECONDS, which may exceed the interval by far. */
static exact thread_energy(double power, double seconds, uint64_t *bad_values)
{
    bool good = is_summable(power * seconds);
    *bad_values += !good;
    return good ? exact_of_double(power * seconds, ENERGY_SHIFT) : 0;
}

/* Charges COUNT threads that used CPU_NS each with energy. */
static void charge_by_cpu(double power, const uint64_t *cpu_ns, size_t count, exact *energy_of,
                          uint64_t *bad_values)
{
    for (size_t j = 0; j < count; j++)
        energy_of[j] = thread_energy(power, (double)cpu_ns[j] / 1e9, bad_values);
}

/* Charges COUNT threads that have their own times, many of which are equal. */
static void charge_by_time(double power, const exact *time_of, size_t count, exact *energy_of,
                           uint64_t *bad_values)
{
    for (size_t j = 0; j < count; j++)
        energy_of[j] = j > 0 && time_of[j] == time_of[j - 1]
                           ? energy_of[j - 1]
                           : thread_energy(power, exact_to_double(time_of[j], TIME_SHIFT, NS_PER_S),
                                           bad_values);
}

/* Returns whether any of COUNT threads ran. Without CPU times, all did. */
static bool any_ran(const struct weigher *w, const uint64_t *cpu_ns, size_t count)
{
    bool ran = count > 0 && (!w->meta->cpu_time || w->options.wall_time);
    for (size_t j = 0; j < count && !ran; j++)
        ran = cpu_ns[j] > 0;
    return ran;
}

static void spread_by_thread(const struct weigher *w, struct weighed *v)
{
    for (size_t i = 0, k = 0; i < v->count; k += v->threads[i++]) {
        double power = v->bad_values[i] > 0 || isnan(v->rate[i]) ? 0 : v->rate[i];
        uint64_t *bad = &v->bad_values[i];
        size_t n = v->threads[i];
        if (weigher_times_are_cpu(w))
            charge_by_cpu(power, v->cpu_ns + k, n, v->energy_of + k, bad);
        else
            charge_by_time(power, v->time_of + k, n, v->energy_of + k, bad);
        v->idle_energy[i] =
            any_ran(w, v->cpu_ns + k, n) ? 0 : exact_of_double(v->energy[i], ENERGY_SHIFT);
    }
}

const struct energy_model energy_by_sample = {.name = "sample", .spread = spread_by_sample};
const struct energy_model energy_by_thread = {
    .name = "thread", .loses = true, .spread = spread_by_thread};

const struct energy_model *energy_model_get(size_t number)
{
    static const struct energy_model *const models[] = {&energy_by_share, &energy_by_sample,
                                                        &energy_by_thread};
    return number < sizeof models / sizeof models[0] ? models[number] : NULL;
}

/* ---- windows ---- */

/* Allocates the columns: one array for those of samples, and one for those of thread samples. The
 * latter exists even if there are none, because pointers to parts of columns are computed by
 * addition. */
static void make_room(struct weigher *w, size_t samples, size_t threads)
{
    struct weighed *v = &w->window;
    if (samples > w->capacity) {
        w->capacity = 0;
        free(v->at);
        v->at = NULL;
        mem_reserve(&v->at, &w->capacity, samples, 6 * sizeof(exact) + 4 * sizeof(double));
        memset(v->at, 0, w->capacity * (6 * sizeof(exact) + 4 * sizeof(double)));
        v->interval = v->at + w->capacity;
        v->gap_time = v->interval + w->capacity;
        v->gap_energy = v->gap_time + w->capacity;
        v->idle_energy = v->gap_energy + w->capacity;
        v->others_energy = v->idle_energy + w->capacity;
        v->seconds = (double *)(v->others_energy + w->capacity);
        v->rate = v->seconds + w->capacity;
        v->energy = v->rate + w->capacity;
        v->bad_values = (uint64_t *)(v->energy + w->capacity);
        for (size_t i = 0; i < w->capacity; i++)
            v->rate[i] = NAN;
    }
    if (threads >= w->thread_capacity) {
        w->thread_capacity = 0;
        free(v->time_of);
        v->time_of = NULL;
        mem_reserve(&v->time_of, &w->thread_capacity, threads + 1, 2 * sizeof(exact));
        v->energy_of = v->time_of + w->thread_capacity;
    }
}

/* Starts the next window, and computes its intervals. */
static struct weighed *begin_window(struct weigher *w)
{
    struct weighed *v = &w->window;
    const struct pbin_samples *in = &w->in;
    v->count = weigher_window(w);
    v->threads = in->threads + w->next;
    v->thread_samples = count_threads(v->threads, v->count);
    make_room(w, v->count, v->thread_samples);
    v->interval_ns = in->interval_ns + w->next;
    v->thread = in->thread + w->next_thread;
    v->location = in->location + w->next_thread;
    v->cpu_ns = in->cpu_ns + w->next_thread;
    v->equal_ns = in->equal_ns != NULL ? in->equal_ns + w->next_thread : NULL;
    weigh_intervals(w, v);
    return v;
}

static void end_window(struct weigher *w, const struct weighed *v)
{
    if (w->lag > 0 && v->count > 0)
        w->before = w->in.value[w->next + v->count - 1];
    w->next += v->count;
    w->next_thread += v->thread_samples;
    w->number += v->count;
}

const struct weighed *weigher_next(struct weigher *w)
{
    if (!weigher_ready(w))
        return NULL;
    struct weighed *v = begin_window(w);
    weigh_times(w, v);
    double moved[STRETCH];
    bool moves = w->lag > 0 && v->count <= STRETCH;
    if (moves) {
        const struct late_samples late = late_samples(w);
        lag_move(&late, v->count, moved, &w->share->edges);
        w->share->edges.first *= w->quantity->scale;
        w->share->edges.last *= w->quantity->scale;
    }
    weigh_energies(w, v, moves ? moved : w->in.value + w->next);
    if (!w->options.times_only)
        w->options.model->spread(w, v);
    end_window(w, v);
    return v;
}

bool weigher_look(struct weigher *w, struct pbin_samples *next)
{
    if (!weigher_ready(w))
        return false;
    *next = weigher_left(w);
    next->count = weigher_window(w);
    next->thread_sample_count = count_threads(next->threads, next->count);
    return true;
}

void weigher_limit(struct weigher *w, size_t count)
{
    w->limit = count;
}

void weigher_pass(struct weigher *w)
{
    end_window(w, begin_window(w));
}

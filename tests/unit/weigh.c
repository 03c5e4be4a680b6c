/* Weights of samples: windows of an energy model, for any division of samples into batches.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "analyze/attribute/weigh.h"

enum { SAMPLES = 7, THREADS = 2, SECOND = 1000000000 };

static uint64_t intervals[SAMPLES] = {0, SECOND, SECOND, SECOND, SECOND, SECOND, SECOND};
static uint64_t threads[SAMPLES] = {2, 2, 2, 0, 2, 2, 2};
static uint64_t thread[SAMPLES * THREADS] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
static uint64_t location[SAMPLES * THREADS];
static uint64_t cpu_ns[SAMPLES * THREADS] = {1, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 0};
/* a value stays until the sensor is read again */
static double value[SAMPLES] = {0, 8, 8, 8, 2, 2, 5};

/* Returns the number of samples before the next reading; 0: not known yet. */
static size_t until_next_value(const struct weigher *w, const struct pbin_samples *s, size_t first)
{
    (void)w;
    for (size_t i = first + 1; i < s->count; i++)
        if (s->value[i] != s->value[first])
            return i - first;
    return 0;
}

/* Divides the energy of the window in proportion to CPU time; if the window has none, it is idle
 * energy. */
static void spread_over_window(const struct weigher *w, struct weighed *v)
{
    double energy = 0, cpu = 0;
    (void)w;
    for (size_t i = 0; i < v->count; i++)
        energy += v->energy[i];
    for (size_t k = 0; k < v->thread_samples; k++)
        cpu += (double)v->cpu_ns[k];
    for (size_t k = 0; k < v->thread_samples; k++)
        v->energy_of[k] =
            cpu > 0 ? exact_of_double(energy * (double)v->cpu_ns[k] / cpu, ENERGY_SHIFT) : 0;
    for (size_t i = 0; i < v->count; i++)
        v->idle_energy[i] = cpu > 0 ? 0 : exact_of_double(v->energy[i], ENERGY_SHIFT);
}

static const struct energy_model windows = {
    .name = "windows", .window = until_next_value, .spread = spread_over_window};

static const struct pbin_meta meta = {.times = 1, .cpu_time = 1, .cpus = 2, .samples = SAMPLES};
static const struct quantity power = {.name = "energy", .scale = 1};

struct result {
    size_t windows, samples, thread_samples;
    double at[SAMPLES], energy_of[SAMPLES * THREADS], idle;
};

static void take(struct weigher *w, struct result *r)
{
    const struct weighed *v;
    while ((v = weigher_next(w)) != NULL) {
        r->windows++;
        for (size_t i = 0; i < v->count; i++) {
            r->idle += exact_to_double(v->idle_energy[i], ENERGY_SHIFT, 1);
            r->at[r->samples++] = exact_to_double(v->at[i], TIME_SHIFT, SECOND);
        }
        for (size_t k = 0; k < v->thread_samples; k++)
            r->energy_of[r->thread_samples++] = exact_to_double(v->energy_of[k], ENERGY_SHIFT, 1);
    }
}

/* Weighs all samples in batches of BATCH. */
static struct result weigh(const struct energy_model *model, size_t batch)
{
    const struct weigh_options options = {.model = model};
    struct result r = {.windows = 0};
    struct weigher w;
    weigher_start(&w, &meta, &power, &options);
    for (size_t first = 0, at = 0; first < SAMPLES; first += batch) {
        /* in separate memory: data that are needed later must have been copied */
        uint64_t columns[6][SAMPLES * THREADS];
        struct pbin_samples s = {.count = SAMPLES - first < batch ? SAMPLES - first : batch};
        for (size_t i = 0; i < s.count; i++)
            s.thread_sample_count += threads[first + i];
        memcpy(columns[0], intervals + first, s.count * 8);
        memcpy(columns[1], value + first, s.count * 8);
        memcpy(columns[2], threads + first, s.count * 8);
        memcpy(columns[3], thread + at, s.thread_sample_count * 8);
        memcpy(columns[4], location + at, s.thread_sample_count * 8);
        memcpy(columns[5], cpu_ns + at, s.thread_sample_count * 8);
        s.interval_ns = columns[0];
        s.value = (const double *)(const void *)columns[1];
        s.threads = columns[2];
        s.thread = columns[3];
        s.location = columns[4];
        s.cpu_ns = columns[5];
        weigher_add(&w, &s);
        take(&w, &r);
        memset(columns, 0xff, sizeof columns);
        at += s.thread_sample_count;
    }
    weigher_finish(&w);
    take(&w, &r);
    weigher_free(&w);
    return r;
}

static void windows_span_batches(struct check *check)
{
    /* 24 J for 1 + 0 + 1 + 1 ns, 4 J for 0 + 0 + 3 + 1 ns, 5 J without a thread */
    static const double expected[] = {0, 0, 8, 0, 8, 8, 0, 0, 3, 1, 0, 0};
    for (size_t batch = 1; batch <= SAMPLES; batch++) {
        struct result r = weigh(&windows, batch);
        CHECK_EQ(r.windows, 4);
        CHECK_EQ(r.samples, SAMPLES);
        CHECK_EQ(r.thread_samples, 12);
        for (size_t i = 0; i < SAMPLES; i++)
            CHECK(r.at[i] == (double)i);
        for (size_t k = 0; k < 12; k++)
            CHECK(r.energy_of[k] == expected[k]);
        CHECK(r.idle == 5);
    }
}

static void samples_keep_their_energy(struct check *check)
{
    static const double expected[] = {0, 0, 8, 0, 4, 4, 0, 0, 1.5, 0.5, 0, 0};
    for (size_t batch = 1; batch <= SAMPLES; batch++) {
        struct result r = weigh(&energy_by_sample, batch);
        CHECK_EQ(r.thread_samples, 12);
        for (size_t k = 0; k < 12; k++)
            CHECK(r.energy_of[k] == expected[k]);
        CHECK(r.idle == 8 + 2 + 5); /* without a thread, or with threads that used no CPU time */
    }
}

/* Hardly any CPU time: 1 ns of 10^9 costs the power of its window, and the rest is idle energy. */
static void threads_pay_for_their_cpu_time(struct check *check)
{
    /* half of thread 0's CPU time belongs to the previous sample */
    static const double expected[] = {4, 0, 8, 0, 4, 8, 0, 0, 6, 2, 0, 0};
    for (size_t batch = 1; batch <= SAMPLES; batch++) {
        struct result r = weigh(NULL, batch);
        double sum = r.idle;
        CHECK_EQ(r.thread_samples, 12);
        for (size_t k = 0; k < 12; k++) {
            /* [nJ]; one of them includes the rounding error of 33 J of idle energy: about 2^-53 of
             * it */
            CHECK(fabs(r.energy_of[k] * SECOND - expected[k]) < 33 * 0x1p-50 * SECOND);
            sum += r.energy_of[k];
        }
        CHECK(fabs(sum - (3 * 8 + 2 * 2 + 5)) < 1e-12);
    }
}

static void a_window_needs_what_is_before(struct check *check)
{
    const struct weigh_options options = {.model = &windows};
    struct weigher w;
    weigher_start(&w, &meta, &power, &options);
    CHECK(!weigher_divides(&w));
    weigher_free(&w);
    for (size_t i = 0; energy_model_get(i) != NULL; i++) {
        const struct weigh_options usual = {.model = energy_model_get(i)};
        weigher_start(&w, &meta, &power, &usual);
        CHECK(weigher_divides(&w));
        weigher_free(&w);
    }
}

CHECK_MAIN({"windows_span_batches", windows_span_batches},
           {"samples_keep_their_energy", samples_keep_their_energy},
           {"threads_pay_for_their_cpu_time", threads_pay_for_their_cpu_time},
           {"a_window_needs_what_is_before", a_window_needs_what_is_before})

/* Power readings from simulated sources: energy is conserved whatever a counter does. The simulated
 * clock is far ahead of the real one, so that every source is due at every tick.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "formats/raw/raw_readings.h"
#include "record/clock.h"
#include "record/power.h"

enum { STEP = 10000000 };             /* of the simulated clock [ns] */
enum { STEPS = 16, FINE_STEPS = 64 }; /* in which an update is located; expected, for a period */

/* The behaviour of the sources below during a run. */
struct simulation {
    uint64_t now, base; /* [ns] of the run; the real clock at time 0 */
    uint64_t range;
    double watts;
    uint64_t reset_at; /* the counter starts again from 0; 0: never */
    uint64_t stall_from, stall_to;
    uint64_t fail_at; /* time after which reads fail */
    uint64_t quantum; /* the counter moves in steps of this time */
    bool real;        /* it follows the real clock */
    bool untimed;     /* reports its update period, but not the time of the last update */
    bool silent;      /* reports neither */
    unsigned reads;
};

static struct simulation *simulation_of(const struct pmu_request *request)
{
    return (struct simulation *)(uintptr_t)request->argument;
}

static int open_counter(const struct pmu_request *request, struct pmu_channels *channels,
                        void **state, struct error *err)
{
    struct simulation *s = simulation_of(request);
    (void)err;
    pmu_channel_counter(pmu_channel_add(channels, "counter", "simulated"), 1e-6, s->range);
    channels->list[0].period = s->untimed ? s->quantum : s->real || s->silent ? 0 : 1;
    *state = s;
    return 0;
}

static uint64_t count_at(const struct simulation *s, uint64_t t)
{
    if (t > s->stall_from && t < s->stall_to)
        t = s->stall_from;
    if (s->reset_at > 0 && t >= s->reset_at)
        t -= s->reset_at;
    if (s->quantum > 0)
        t -= t % s->quantum;
    uint64_t count = 123456 + (uint64_t)llrint((double)t * s->watts * 1e-3);
    if (s->reset_at > 0 && t + s->reset_at <= s->now)
        count -= 123456;
    return s->range > 0 ? count % s->range : count;
}

static int read_counter(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    struct simulation *s = state;
    (void)channel;
    s->reads++;
    if (s->base == 0)
        s->base = clock_now();
    if (s->real)
        s->now = clock_now() - s->base;
    if (s->fail_at > 0 && s->now >= s->fail_at)
        return error_set(err, "/sys/fake", NO_OFFSET, "cannot read: it was unplugged");
    value->count = count_at(s, s->now);
    value->time = s->untimed || s->silent ? 0 : s->base + s->now;
    return 1;
}

static void close_nothing(void *state)
{
    (void)state;
}

static const struct pmu_source counter_source = {.name = "sim",
                                                 .argument = "X",
                                                 .open = open_counter,
                                                 .read = read_counter,
                                                 .close = close_nothing};

static struct power *open_simulation(struct power_options *options, struct simulation *s,
                                     struct reporter *reporter, struct error *err)
{
    *options =
        (struct power_options){.sources = {{.source = &counter_source,
                                            .spec = "sim:X",
                                            .request = {.argument = (const char *)s, .kind = -1}}},
                               .count = 1};
    return power_open(options, reporter, err);
}

static void collect(struct power *p, struct raw_readings *to)
{
    size_t count;
    const struct raw_reading *readings = power_take(p, &count);
    for (size_t i = 0; i < count; i++)
        if (raw_readings_add(to, &readings[i]) != 0)
            abort();
}

struct outcome {
    double joules, highest; /* sum over the samples, and the highest power of any sample */
    double summary;         /* energy by power_summarize */
    size_t warnings;
    struct error err;
};

/* A run of WALL ns with a sample every INTERVAL ns. */
static struct outcome run(struct simulation *s, uint64_t wall, uint64_t interval)
{
    struct outcome o = {0};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct power *p = open_simulation(&options, s, &reporter, &o.err);
    size_t count;
    const struct raw_source *sources = power_channels(p, &count);
    struct raw_readings *readings = raw_readings_new(sources, count);
    int result = 0;
    s->base = s->now = 0; /* the first read is time 0 */
    result = power_begin(p);
    power_tick(p, clock_now() - s->base);
    for (; s->now < wall && result == 0; s->now += STEP) {
        result = power_tick(p, s->now);
        collect(p, readings);
    }
    s->now = wall + STEP / 10;
    while (result == 0 && power_end(p, wall) > 0)
        collect(p, readings);
    collect(p, readings);
    for (uint64_t from = 0; from < wall;) {
        uint64_t to = from + interval < wall ? from + interval : wall;
        double watts = raw_readings_value(readings, from, to);
        o.joules += watts * (double)(to - from) * 1e-9;
        o.highest = fmax(o.highest, watts);
        from = to;
    }
    struct power_summary summary;
    power_summarize(p, &summary);
    power_warn(p);
    o.summary = summary.energy;
    o.warnings = reporter.warnings;
    power_summary_free(&summary);
    raw_readings_delete(readings);
    power_close(p);
    return o;
}

static bool is_near(double a, double b, double part)
{
    return fabs(a - b) <= part * fabs(b);
}

static void constant_power(struct check *check)
{
    static const uint64_t intervals[] = {100000, 1000000, 7654321, 500000000};
    for (size_t i = 0; i < sizeof intervals / sizeof intervals[0]; i++) {
        struct simulation s = {.watts = 5};
        struct outcome o = run(&s, 100 * SECOND + 2000000, intervals[i]);
        CHECK(is_near(o.joules, 5 * 100.002, 1e-6));
        CHECK(is_near(o.summary, 5 * 100.002, 1e-6));
        CHECK(o.highest <= 5 * (1 + 2e-5));
        CHECK_EQ(o.warnings, 0);
    }
}

static void wraps(struct check *check)
{
    struct simulation s = {.watts = 170, .range = 262143328}; /* wraps every 1.5 s */
    struct outcome o = run(&s, 100 * SECOND, 33333333);
    CHECK(is_near(o.joules, 17000, 1e-6));
    CHECK(o.highest <= 170 * (1 + 1e-5));
    CHECK_EQ(o.warnings, 0);
    /* most of the range between two reads: recognized as a wrap by the power before */
    s = (struct simulation){.watts = 170, .range = 5000000};
    o = run(&s, 100 * SECOND, 33333333);
    CHECK(is_near(o.joules, 17000, 1e-6));
    CHECK_EQ(o.warnings, 0);
}

static void too_fast_is_reported(struct check *check)
{
    struct simulation s = {.watts = 170, .range = 2000000};
    struct outcome o = run(&s, 10 * SECOND, 33333333);
    CHECK(o.warnings > 0);
}

static void reset(struct check *check)
{
    struct simulation s = {.watts = 50, .range = 262143328850, .reset_at = 40 * SECOND};
    struct outcome o = run(&s, 100 * SECOND, 33333333);
    CHECK(is_near(o.joules, 5000, 1e-6));
    CHECK(o.highest <= 50 * (1 + 2e-5));
    CHECK_EQ(o.warnings, 1);
    s.range = 0;
    o = run(&s, 100 * SECOND, 33333333);
    CHECK(is_near(o.joules, 5000, 1e-6));
}

static void steps_and_stalls(struct check *check)
{
    struct simulation s = {.watts = 20, .quantum = 45000000};
    struct outcome o = run(&s, 100 * SECOND, 1000000);
    CHECK(is_near(o.joules, 2000, 0.045 / 100));
    CHECK(o.highest < 20 * 1.4); /* not the energy of 45 ms within the 10 ms in which it was seen */
    s = (struct simulation){.watts = 20, .stall_from = 20 * SECOND, .stall_to = 30 * SECOND};
    o = run(&s, 100 * SECOND, 1000000);
    CHECK(is_near(o.joules, 2000, 1e-6));
    CHECK(o.highest <= 20 * (1 + 2e-5));
    CHECK_EQ(o.warnings, 1);
}

static void failure(struct check *check)
{
    struct simulation s = {.watts = 20, .fail_at = 3 * SECOND};
    struct outcome o = run(&s, 100 * SECOND, 1000000);
    CHECK_STR(o.err.file, "/sys/fake");
    CHECK_HAS(o.err.text, "cannot read: it was unplugged; sampling ended ");
    CHECK(is_near(o.joules, 20 * 3, 0.01));
}

/* The first update after the first reading was just before the run: none of its energy belongs to
 * the run. */
static void update_before_the_start(struct check *check)
{
    struct simulation s = {.watts = 5};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power *p = open_simulation(&options, &s, &reporter, &err);
    s.base = s.now = 0;
    CHECK_EQ(power_begin(p), 0);
    s.now = 1000;
    while (clock_now() <= s.base + s.now)
        ;
    CHECK_EQ(power_tick(p, 0), 0);
    size_t count;
    power_take(p, &count);
    CHECK_EQ(count, 0); /* it replaces the first reading */
    s.now += SECOND;
    CHECK_EQ(power_tick(p, SECOND), 0);
    const struct raw_reading *readings = power_take(p, &count);
    CHECK_EQ(count, 2);
    CHECK_EQ(readings[0].value, 0);
    CHECK(fabs((double)readings[1].value - 5e-3 * (double)readings[1].time) <= 1); /* [uJ] [ns] */
    CHECK(readings[1].time > SECOND / 2);
    power_close(p);
}

/* The period is determined by watching the counter. Reads wait for the next update, and are rare
 * until it is near. */
static void period(struct check *check)
{
    struct simulation s = {.watts = 20, .quantum = 8000000, .real = true};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power *p = open_simulation(&options, &s, &reporter, &err);
    CHECK(p != NULL);
    size_t count;
    double found = (double)power_channels(p, &count)[0].period;
    uint64_t start = clock_now(), before = 0;
    unsigned late = 0;
    s.reads = 0;
    for (uint64_t now = 0; now < SECOND / 2; now = clock_now() - start) {
        late += now - before > 8000000 / FINE_STEPS;
        before = now;
        power_tick(p, now);
    }
    unsigned reads = s.reads;
    power_close(p);
    CHECK(found > 6e6 && found < 13e6); /* a busy machine detects changes late */
    CHECK(reads > 8);
    CHECK(reads < 62 * 8 + late * 3 * STEPS); /* then, the next two updates are located */
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Appends to OFF, which has FOUND values and room for MOST, the distance [periods] between each new
 * reading of P and the nearest update of the counter of S, at a multiple of its PERIOD [ns]. Returns
 * the number of values. START: of the run, on the real clock [ns]. */
static size_t add_distances(struct power *p, const struct simulation *s, uint64_t start,
                            double period, double *off, size_t found, size_t most)
{
    size_t count;
    const struct raw_reading *readings = power_take(p, &count);
    for (size_t r = 0; r < count && found < most; r++) {
        double periods = ((double)readings[r].time + (double)(start - s->base)) / period;
        off[found++] = fabs(periods - round(periods));
    }
    return found;
}

/* Reads late, at arbitrary moments. Sets *RESULT to the median distance [periods] between a reading
 * and the nearest update of the counter, at a multiple of its period. */
static void read_late(struct check *check, double *result)
{
    enum { PERIOD = 10000000, FIRST = 20, COUNT = 80 };
    struct simulation s = {.watts = 20, .quantum = PERIOD, .real = true, .untimed = true};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power *p = open_simulation(&options, &s, &reporter, &err);
    CHECK_EQ(power_begin(p), 0);
    uint64_t start = clock_now(), before = start;
    double off[COUNT];
    size_t found = 0;
    for (unsigned i = 0; found < COUNT; i++) {
        struct timespec pause = {0, 1000000 + i * 7919 % 31 * 100000}; /* 1 to 4 ms */
        nanosleep(&pause, NULL);
        uint64_t now = clock_now();
        bool on_time = now - before < PERIOD / 2; /* a busy machine sleeps for longer */
        before = now;
        power_tick(p, now - start);
        found = add_distances(p, &s, start, PERIOD, off, found, on_time ? COUNT : found);
    }
    power_close(p);
    qsort(off + FIRST, COUNT - FIRST, sizeof *off, by_size);
    *result = off[FIRST + (COUNT - FIRST) / 2];
}

/* Even late readings show when the counter was updated. */
static void late_readings(struct check *check)
{
    /* The middle between two readings would give 0.17 to 0.26. Three times, because the machine may
     * be busy for a while. */
    double off = 1;
    for (unsigned i = 0; i < 3 && !(off < 0.12); i++)
        read_late(check, &off);
    CHECK(off < 0.12);
}

/* Readings of a counter that is updated every AFTER ns are near its updates, although it was updated every BEFORE ns
 * while its period was measured. */
static void changes_period(struct check *check, uint64_t before, uint64_t after)
{
    enum { FIRST = 6, COUNT = 20 };
    struct simulation s = {.watts = 20, .quantum = before, .real = true, .silent = true};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power *p = open_simulation(&options, &s, &reporter, &err);
    s.quantum = after;
    CHECK_EQ(power_begin(p), 0);
    uint64_t start = clock_now(), last = start;
    double off[COUNT];
    size_t found = 0;
    while (found < COUNT) {
        struct timespec pause = {0, 500000};
        nanosleep(&pause, NULL);
        uint64_t now = clock_now();
        bool on_time = now - last < after / 8; /* a busy machine sleeps for longer */
        last = now;
        power_tick(p, now - start);
        found = add_distances(p, &s, start, (double)after, off, found, on_time ? COUNT : found);
    }
    power_close(p);
    qsort(off + FIRST, COUNT - FIRST, sizeof *off, by_size);
    CHECK(off[FIRST + (COUNT - FIRST) / 2] < 0.1);
}

/* A busy machine delays updates and readings: the period measured at the start can be far too long
 * or too short. It is corrected during the run. */
static void wrong_period(struct check *check)
{
    changes_period(check, 40000000, 16000000);
    changes_period(check, 10000000, 50000000);
}

/* ---- what makes up the value -------------------------------------------------------------------- */

/* Reads a counter that is not updated before the run, and then every 5 ms, whenever it is due. Sets
 * *RESULT to the median distance [periods] between a reading and the nearest update. */
static void read_when_due(struct check *check, double *result)
{
    enum { PERIOD = 5000000, FIRST = 40, COUNT = 100 };
    struct simulation s = {.watts = 20, .quantum = 1000 * SECOND, .real = true, .silent = true};
    struct power_options options;
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power *p = open_simulation(&options, &s, &reporter, &err);
    size_t found = 0, count;
    CHECK_EQ(power_channels(p, &count)[0].period, 0);
    s.quantum = PERIOD;
    CHECK_EQ(power_begin(p), 0);
    uint64_t start = clock_now();
    double off[COUNT];
    while (found < COUNT) {
        bool exact;
        uint64_t now = clock_now() - start, due = power_due(p, &exact);
        struct timespec pause = clock_timespec(due > now ? due - now : 0);
        nanosleep(&pause, NULL);
        power_tick(p, clock_now() - start);
        found = add_distances(p, &s, start, PERIOD, off, found, COUNT);
    }
    power_close(p);
    qsort(off + FIRST, COUNT - FIRST, sizeof *off, by_size);
    *result = off[FIRST + (COUNT - FIRST) / 2];
}

/* The update period is found during the run, after which readings are just before and just after
 * updates. Up to six times, because the machine may be busy for a while. */
static void unknown_period(struct check *check)
{
    double off = 1;
    for (unsigned i = 0; i < 6 && !(off < 0.04); i++)
        read_when_due(check, &off);
    CHECK(off < 0.04);
}

static int open_many(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    static const struct {
        const char *name;
        enum pmu_scope scope;
        size_t inside;
    } all[] = {{"package-0", SCOPE_PACKAGE, 0}, {"package-1", SCOPE_PACKAGE, 0},
               {"dram-0", SCOPE_DRAM, 0},       {"core-0", SCOPE_CORE, 1},
               {"uncore-0", SCOPE_GPU, 1},      {"psys", SCOPE_PSYS, 0},
               {"rail", SCOPE_OTHER, 0}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct pmu_channel *c = pmu_channel_add(channels, all[i].name, "");
        pmu_channel_counter(c, 1e-6, 0);
        c->scope = all[i].scope;
        c->inside = all[i].inside;
        c->period = 1;
    }
    *state = NULL;
    return pmu_channels_choose(channels, "many", request->argument, err);
}

static int open_gpu(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                    struct error *err)
{
    (void)request;
    (void)err;
    pmu_channel_add(channels, "gpu", "")->scope = SCOPE_GPU;
    pmu_channel_add(channels, "card", "")->scope = SCOPE_BOARD;
    *state = NULL;
    return 0;
}

static int read_one(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    (void)state;
    (void)channel;
    (void)err;
    value->count = 1;
    value->gauge = 1;
    return 1;
}

static const struct pmu_source many = {
    .name = "many", .argument = "[X]", .open = open_many, .read = read_one, .close = close_nothing};
static const struct pmu_source gpu = {
    .name = "gpu", .argument = "[X]", .open = open_gpu, .read = read_one, .close = close_nothing};

/* A run with one or two sources, and its expected value. */
struct choice {
    const struct pmu_source *sources[2];
    const char *arguments[2];
    size_t sensor; /* of the first source */
    const char *value, *error;
};

static void check_choice(struct check *check, const struct choice *choice)
{
    struct power_options options = {0};
    struct reporter reporter = {.tool = "test", .quiet = true};
    struct error err = {0};
    struct power_summary summary;
    for (; options.count < 2 && choice->sources[options.count] != NULL; options.count++)
        options.sources[options.count] = (struct power_source){
            .source = choice->sources[options.count],
            .spec = choice->sources[options.count]->name,
            .request = {.argument = choice->arguments[options.count], .kind = -1}};
    options.sources[0].request.sensor = choice->sensor;
    struct power *p = power_open(&options, &reporter, &err);
    if (choice->error != NULL) {
        CHECK_HAS(err.text, choice->error);
        return;
    }
    power_summarize(p, &summary);
    CHECK_STR(summary.value, choice->value);
    power_summary_free(&summary);
    power_close(p);
}

static void disjoint_ones_are_added(struct check *check)
{
    static const struct choice choices[] = {
        {{&many}, {NULL}, 0, "many:package-0 + many:package-1 + many:dram-0", NULL},
        {{&many, &gpu}, {NULL}, 0, "many:package-0 + many:package-1 + many:dram-0 + gpu:gpu", NULL},
        {{&gpu, &many}, {NULL}, 0, "gpu:gpu + many:package-0 + many:package-1 + many:dram-0", NULL},
        {{&many}, {"core-0"}, 0, "many:core-0", NULL},
        {{&many, &many}, {"core-0", "dram-0"}, 0, "many:core-0 + many:dram-0#2", NULL},
        {{&many}, {NULL}, 6, "many:psys", NULL},
        {{&many}, {NULL}, 7, "many:rail", NULL},
        {{&many}, {"core-9"}, 0, NULL, "many has no 'core-9'"},
        {{&many}, {NULL}, 8, NULL, "--sensor must be a number from 1 to 7, not 8"}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0] && check->why[0] == '\0'; i++)
        check_choice(check, &choices[i]);
}

/* A unit that looks like a known one must be one; any other unit is a custom name. */
static void misspelt_units(struct check *check)
{
    static const char *const wrong[] = {"w",  "mw",   "uw",    "MW",         "pJ",     "Wm",
                                        "ma", "watt", "Watts", "milliwatts", "mjoule", "kVolt"};
    static const char *const others[] = {"ticks", "VA", "Pa", "Wh", "K", "V\u00b2", "", "rpm"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0] && check->why[0] == '\0'; i++) {
        struct pmu_unit u;
        struct error err = {0};
        CHECK(pmu_unit_settle(wrong[i], -1, &u, &err) != 0);
        CHECK_HAS(err.text, "--unit must be J, W, A or V");
        CHECK_HAS(err.text, wrong[i]);
        CHECK(pmu_unit_settle(wrong[i], PMU_CUSTOM, &u, &err) == 0 && u.scale == 1);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0] && check->why[0] == '\0'; i++) {
        struct pmu_unit u;
        struct error err = {0};
        CHECK(pmu_unit_settle(others[i], -1, &u, &err) == 0 && u.kind == PMU_CUSTOM);
    }
}

static void units(struct check *check)
{
    struct pmu_unit u;
    struct error err = {0};
    CHECK(pmu_unit_settle("uJ", -1, &u, &err) == 0 && u.energy && u.scale == 1e-6);
    CHECK(pmu_unit_settle("mA", -1, &u, &err) == 0 && u.kind == PMU_CURRENT && u.scale == 1e-3);
    CHECK(pmu_unit_settle(NULL, PMU_VOLTAGE, &u, &err) == 0 && strcmp(u.name, "V") == 0);
    CHECK(pmu_unit_settle("ticks", -1, &u, &err) == 0 && u.kind == PMU_CUSTOM && u.scale == 1);
    CHECK(pmu_unit_settle("mW", PMU_CUSTOM, &u, &err) == 0 && u.kind == PMU_CUSTOM && u.scale == 1);
    CHECK(pmu_unit_settle("mA", PMU_POWER, &u, &err) != 0);
    CHECK_HAS(err.text, "--unit must be W with or without a prefix");
}

CHECK_MAIN({"constant_power", constant_power}, {"wraps", wraps},
           {"too_fast_is_reported", too_fast_is_reported}, {"reset", reset},
           {"steps_and_stalls", steps_and_stalls}, {"failure", failure},
           {"update_before_the_start", update_before_the_start}, {"period", period},
           {"wrong_period", wrong_period}, {"unknown_period", unknown_period},
           {"late_readings", late_readings}, {"disjoint_ones_are_added", disjoint_ones_are_added},
           {"units", units}, {"misspelt_units", misspelt_units})

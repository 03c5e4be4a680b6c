/* Sums per program counter: the reader of the dialect reads back what was written, and it adds up.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "base/bytes.h"
#include "base/stream.h"
#include "formats/raw/raw.h"
#include "record/histogram.h"
#include "tests/unit/scratch.h"

enum { MS = 1000000 };

static const struct vmmap maps[] = {{0x10000, 0x1000, "/bin/one", 0, 1, 0},
                                    {0x40000, 0x100000, "/lib/two", 0, 2, 0},
                                    {0x90000, 0x1000, "/bin/one", 0, 1, 0}};

/* Process 1 has the first two mappings, process 2 the others. */
static bool find(void *context, uint32_t pid, uint64_t pc, struct vmmap *place)
{
    (void)context;
    for (int i = pid == 1 ? 0 : 1; i < (pid == 1 ? 2 : 3); i++)
        if (pc - maps[i].address < maps[i].size && (pid == 1 || i == 2)) {
            *place = maps[i];
            return true;
        }
    return false;
}

static uint32_t program_of(void *context, uint32_t pid)
{
    (void)context;
    return pid;
}

static const struct histogram_finder finder = {NULL, find, program_of};

static struct raw_profile *read_back(const char *path, struct error *err)
{
    struct raw_options options = {0};
    struct stream *stream = stream_open(path, err);
    return stream != NULL ? raw_open(stream, &options, err) : NULL;
}

struct line {
    uint64_t pc, samples;
    double joules;
};

/* Begins a run with a counter of energy in microjoules. */
static struct histogram *begin_run(struct raw_readings **readings)
{
    struct raw_source source = {
        (char *)"x", (char *)"energy", (char *)"J", (char *)"board", 1e-6, 0, 1, (char *)""};
    *readings = raw_readings_new(&source, 1);
    raw_readings_add(*readings, &(struct raw_reading){0, 0, 0, 0});
    return histogram_new(*readings);
}

/* Two threads for 100 ms, a thread of another process for the second half, 4 W; every 10th ms no thread runs. */
static void record_run(struct histogram *a, struct raw_readings *readings)
{
    for (uint64_t ms = 1; ms <= 100; ms++) {
        bool idle = ms % 10 == 0;
        uint64_t ran = (ms - ms / 10) * MS;
        struct engine_thread threads[] = {{1, 11, 0x10010, 0, ran, idle ? 0 : RAW_RAN, 0},
                                          {1, 12, 0x40020 + ms % 2, 0, ran, idle ? 0 : RAW_RAN, 0},
                                          {2, 21, ms % 20 == 1 ? 5 : 0x90010, 0,
                                           ms > 50 ? ran - 45 * MS : 0,
                                           idle || ms <= 50 ? 0 : RAW_RAN, 0},
                                          {2, 21, 0x90010, 0, 45 * MS + MS / 2, RAW_TOTAL, 0}};
        struct engine_sample sample = {ms * MS, threads, ms == 100 ? 4 : 3};
        histogram_sample(a, &sample, &finder);
        if (ms % 7 == 0 || ms == 100) /* readings are later than samples */
            raw_readings_add(readings, &(struct raw_reading){0, ms * MS, ms * 4000, 0});
    }
}

static void adds_up(struct check *check)
{
    struct error err = {0};
    struct raw_readings *readings;
    struct histogram *a = begin_run(&readings);
    record_run(a, readings);
    struct histogram_target target = {
        .wall = 100 * MS, .latency = 5000, .maps = maps, .map_count = 3};
    struct histogram_sums sums;
    struct output *out = output_open("sums.bin", OUTPUT_BINARY, &err);
    CHECK(histogram_write(a, out, &target, &sums) == 0);
    CHECK(output_commit(out) == 0);
    struct stat st;
    CHECK(stat("sums.bin", &st) == 0);
    CHECK_EQ(st.st_size, 32 + 3 * 272 + 16 + 3 * 8 + (0x1000 + 0x100000 + 0x1000) * 16);
    CHECK(st.st_blocks * 512 < st.st_size / 4); /* holes */
    struct raw_profile *p = read_back("sums.bin", &err);
    CHECK_STR(err.text, "");
    CHECK(p != NULL && p->aggregated);
    CHECK_EQ(p->map_count, 3);
    CHECK_STR(p->maps[2].label, "/bin/one");
    struct raw_histogram line;
    double joules = 0;
    uint64_t samples = 0, unknown = 0, first = 0, other = 0;
    while (raw_next_histogram(p, &line, &err) > 0) {
        samples += line.samples;
        joules += line.current * 0.1 / (double)p->samples;
        if (line.unknown)
            unknown = line.samples;
        if (line.pc == 0x10010)
            first = line.samples;
        if (line.pc == 0x90010)
            other = line.samples;
    }
    CHECK_EQ(sums.samples, p->samples);
    CHECK_EQ(unknown, 2); /* at 61 and 81 ms */
    CHECK_EQ(first, 90);
    CHECK_EQ(other, 45 - 2);
    CHECK_EQ(samples, 90 + 90 + 45);
    /* 4 W at the 90 samples in which a thread ran, each for the same CPU time */
    CHECK(fabs(joules - 4 * 90 * 0.2255 / 225) < 1e-9);
    CHECK(fabs(histogram_end(a) - 0.4) < 1e-9); /* 4 W for 100 ms */
    CHECK(fabs(joules + sums.idle_current * 0.1 / (double)p->samples - 0.4) < 1e-9);
    /* samples * wall / samples of the header = CPU time, as near as a whole number allows */
    double time = (double)samples * 0.1 / (double)p->samples;
    CHECK(fabs(time - 0.2255) < 0.5 / (double)p->samples * 0.2255);
    struct stream *stream = p->stream;
    raw_close(p);
    stream_close(stream);
    histogram_delete(a);
    raw_readings_delete(readings);
}

/* The kernel counted less CPU time than the engine: energies are in proportion to it. */
static void no_more_than_the_kernel_counted(struct check *check)
{
    struct error err = {0};
    struct raw_readings *readings;
    struct histogram *a = begin_run(&readings);
    record_run(a, readings);
    struct histogram_target target = {.wall = 100 * MS, .cpu = 180 * MS};
    struct histogram_sums sums;
    struct output *out = output_open("less.bin", OUTPUT_BINARY, &err);
    CHECK(histogram_write(a, out, &target, &sums) == 0);
    CHECK(output_commit(out) == 0);
    CHECK_EQ(sums.samples, 125); /* 225 of these take 180 ms */
    CHECK(fabs(sums.idle_current * 0.1 / 125 - (0.4 - 4 * 90 * 0.18 / 225)) < 1e-9);
    histogram_delete(a);
    raw_readings_delete(readings);
}

/* Of 400 sightings of process 1, 200 are in the kernel, but only a tenth of its ticks are; process
 * 2 has no ticks. */
static void too_often_in_the_kernel(struct check *check)
{
    struct error err = {0};
    struct raw_readings *readings;
    struct histogram *a = begin_run(&readings);
    for (uint64_t ms = 1; ms <= 400; ms++) {
        uint64_t pc = ms % 2 == 0 ? RAW_KERNEL_PC : ms % 8 == 1 ? 0x10010 : 0x10020;
        struct engine_thread threads[] = {{1, 11, pc, 0, ms * MS, RAW_RAN, 0},
                                          {2, 21, RAW_KERNEL_PC, 0, ms * MS, RAW_RAN, 0}};
        histogram_sample(a, &(struct engine_sample){ms * MS, threads, 2}, &finder);
        if (ms % 100 == 0)
            histogram_ticks(a, 1, &(struct raw_ticks){1, ms * MS, 90 * MS, 15 * MS, 5 * MS});
    }
    raw_readings_add(readings, &(struct raw_reading){0, 400 * MS, 1600000, 0});
    struct histogram_target target = {
        .wall = 400 * MS, .tick = 4 * MS, .maps = maps, .map_count = 1};
    struct histogram_sums sums;
    struct output *out = output_open("kernel.bin", OUTPUT_BINARY, &err);
    CHECK(histogram_write(a, out, &target, &sums) == 0);
    CHECK(output_commit(out) == 0);
    struct buffer file = scratch_read("kernel.bin");
    const uint8_t *code = file.data + 32 + 272 + 16 + 8;
    uint64_t few = get_u64(code + 0x10 * 16, false), many = get_u64(code + 0x20 * 16, false);
    CHECK_EQ(sums.kernel_samples + few + many, 800);
    CHECK_EQ(sums.kernel_samples, 400 + 42); /* (10 + 0.5) / (100 + 1) of 400 */
    CHECK_EQ(few, 50 + 158 / 4);
    CHECK_EQ(many, 150 + 158 - 158 / 4);
    double scale = 0.4 / (double)sums.samples, joules = 0.8 + 0.8 * 42 / 400; /* of 1.6 J */
    CHECK(fabs(sums.kernel_current * scale - joules) < 0.003);
    CHECK(fabs(get_f64(code + 0x20 * 16 + 8, false) * scale - (1.6 - joules) * 3 / 4) < 0.003);
    buffer_free(&file);
    histogram_delete(a);
    raw_readings_delete(readings);
}

static void nothing_at_all(struct check *check)
{
    struct error err = {0};
    struct raw_readings *readings = raw_readings_new(NULL, 0);
    struct histogram *a = histogram_new(readings);
    struct histogram_target target = {.wall = 1000};
    struct histogram_sums sums;
    struct output *out = output_open("empty.bin", OUTPUT_BINARY, &err);
    CHECK(histogram_write(a, out, &target, &sums) == 0);
    CHECK(output_commit(out) == 0);
    struct buffer file = scratch_read("empty.bin");
    CHECK_EQ(file.size, 48);
    CHECK_EQ(get_u64(file.data + 20, false), 1);
    buffer_free(&file);
    histogram_delete(a);
    raw_readings_delete(readings);
}

/* The file has the same bytes with and without holes. */
static void zeros(struct check *check)
{
    struct error err = {0};
    static const char *const names[] = {"holes", "packed.bz2"};
    for (int i = 0; i < 2; i++) {
        struct output *out = output_open(names[i], OUTPUT_BINARY, &err);
        CHECK(output_write(out, "ab", 2) == 0 && output_zeros(out, 3) == 0 &&
              output_write(out, "c", 1) == 0 && output_zeros(out, 1000000) == 0 &&
              output_write(out, "d", 1) == 0 && output_zeros(out, 700000) == 0);
        CHECK(output_commit(out) == 0);
        struct stream *s = stream_open(names[i], &err);
        const uint8_t *data;
        CHECK(stream_peek(s, 7, &data, &err) >= 7);
        CHECK_MEM(data, "ab\0\0\0c\0", 7);
        CHECK(stream_skip(s, 1000006, &err) == 0);
        CHECK(stream_peek(s, 1, &data, &err) >= 1);
        CHECK_EQ(data[0], 'd');
        CHECK(stream_skip(s, 700001, &err) == 0);
        CHECK_EQ(stream_peek(s, 1, &data, &err), 0);
        stream_close(s);
    }
}

CHECK_MAIN({"adds_up", adds_up},
           {"no_more_than_the_kernel_counted", no_more_than_the_kernel_counted},
           {"too_often_in_the_kernel", too_often_in_the_kernel}, {"nothing_at_all", nothing_at_all},
           {"zeros", zeros})

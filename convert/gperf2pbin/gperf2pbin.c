/* gperf2pbin: CPU profile of gperftools in, pbin out.
 *
 *   CPUPROFILE=out LD_PRELOAD=libprofiler.so ./program
 *   3 samples at 0x5581, period 10 ms    ->    program, work: 0.03 s
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "convert/converter.h"
#include "convert/symbolize/pc_sums.h"
#include "formats/gperf/gperf.h"

struct options {
    struct converter base;
    struct gperf_options gperf;
    uint64_t rate;  /* [Hz], 0: as recorded */
    double seconds; /* of all samples, 0: not given */
};

enum { KEY_BITS = KEY_TOOL_FIRST, KEY_TOTAL_TIME };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"rate", 'r', "HZ", EVERYDAY, "Samples per second of CPU time (default: as recorded)", 1},
    {"total-time", KEY_TOTAL_TIME, "S", EVERYDAY, "CPU time of all samples, instead of a rate", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Reading:", 2},
    {"bits", KEY_BITS, "BITS", 0, "Size of a word, 32 or 64 (default: detected)", 2},
    {"little-endian", 'l', NULL, 0, "The profile is little endian (default: detected)", 2},
    {"big-endian", 'b', NULL, 0, "The profile is big endian", 2},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'r':
        o->rate = tool_whole(state, "-r", argument, 1, 1000000000);
        return 0;
    case KEY_TOTAL_TIME:
        o->seconds = tool_number(state, "--total-time", argument, 1e-6, 1e9);
        return 0;
    case KEY_BITS:
        o->gperf.bits = tool_either(state, "--bits", argument, "32", "64") ? 64 : 32;
        return 0;
    case 'l':
    case 'b':
        o->gperf.order = (char)key;
        return 0;
    case ARGP_KEY_END:
        converter_check_time(state, o->rate, o->seconds);
        return 0;
    default:
        return converter_parse(key, argument, state);
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PROFILE]",
    .doc = "Turn a CPU profile of gperftools (libprofiler, CPUPROFILE) into pbin."
           "\vExamples:\n"
           "  gperf2pbin cpu.prof | pbin-aggregate\n"
           "  gperf2pbin -s bin/ cpu.prof.gz -o run.pbin\n"
           "  gperf2pbin --total-time 12.5 cpu.prof | pbin-aggregate --sort time\n",
    .children = converter_symbols,
};

enum { SHORT_PERIOD = 4000 }; /* [us] */

/* The contents of a profile. */
struct content {
    struct pc_sums sums;
    struct code_map *maps;
    struct strings *paths;
    size_t map_count, map_capacity;
    uint64_t samples;
};

static void add_map(struct content *c, const struct gperf_map *map)
{
    bool is_file = map->path[0] == '/';
    *MEM_APPEND(c->maps, c->map_count, c->map_capacity) = (struct code_map){
        .address = map->address,
        .size = map->size,
        .label = map->path[0] != '\0' ? strings_get(c->paths, strings_intern(c->paths, map->path))
                                      : "[anon]",
        .has_offset = true,
        .offset = map->offset,
        .no_file = !is_file};
}

static int read_all(struct gperf *gperf, const char *file, struct content *c, struct error *err)
{
    struct gperf_stack stack;
    struct gperf_map map;
    int got;
    while ((got = gperf_next(gperf, &stack, err)) > 0) {
        struct pc_sum *sum = pc_sums_at(&c->sums, stack.pc);
        if (stack.count > UINT64_C(1) << 40 || (c->samples += stack.count) > UINT64_C(1) << 40)
            return error_set(err, file, NO_OFFSET, "expected at most 2^40 samples, found more");
        sum->samples += stack.count;
    }
    if (got == 0 && c->samples == 0)
        return error_set(err, file, NO_OFFSET, "has no samples");
    while (got == 0 && !gperf_is_cut(gperf) && (got = gperf_next_map(gperf, &map, err)) > 0) {
        add_map(c, &map);
        got = 0;
    }
    return got;
}

/* Returns the time of a sample [2^-32 ns]. */
static exact time_of_each(const struct options *o, const struct gperf *gperf, uint64_t samples)
{
    if (o->rate != 0)
        return ((exact)1000000000 << TIME_SHIFT) / (exact)o->rate;
    if (o->seconds != 0 && samples > 0)
        return exact_of_double(o->seconds * 1e9, TIME_SHIFT) / (exact)samples;
    return ((exact)gperf_period(gperf) * 1000) << TIME_SHIFT;
}

static void warn(struct options *o, const struct gperf *gperf, const char *file,
                 const struct content *c)
{
    if (gperf_is_cut(gperf))
        report_warning(&o->base.common.reporter, "%s: truncated: kept %" PRIu64 " samples", file,
                       c->samples);
    if (gperf_period(gperf) < SHORT_PERIOD && o->rate == 0 && o->seconds == 0)
        report_warning(&o->base.common.reporter,
                       "%s: its period is %" PRIu64
                       " us, but many kernels end at most one in 4 ms: times may be too short "
                       "(--total-time S gives the right sum)",
                       file, gperf_period(gperf));
    if (c->map_count == 0)
        report_warning(&o->base.common.reporter,
                       "%s: has no mappings: its samples have no function names", file);
}

/* Returns the frequency of samples of EACH [mHz], 0 if it is too large. */
static uint64_t frequency_of(exact each)
{
    return each >= (exact)1 << TIME_SHIFT ? (uint64_t)(((exact)1000000000000 << TIME_SHIFT) / each)
                                          : 0;
}

static int write_pbin(struct options *o, const struct gperf *gperf, const char *file,
                      const struct content *c, struct error *err)
{
    const exact each = time_of_each(o, gperf, c->samples);
    if ((each * (exact)c->samples) >> TIME_SHIFT > INT64_MAX)
        return error_set(err, file, NO_OFFSET,
                         "expected less than 2^63 ns of CPU time, found more");
    char *dialect = mem_printf("gperftools, %d bits, %s endian", gperf_bits(gperf),
                               gperf_is_big(gperf) ? "big" : "little");
    const struct pc_profile profile = {
        .file = file,
        .meta = {.name = (char *)(o->base.name != NULL ? o->base.name : elf_base_name(file)),
                 .target = (char *)(c->map_count > 0 ? elf_base_name(c->maps[0].label) : NULL),
                 .dialect = dialect,
                 .tool = (char *)"gperf2pbin " PBIN_TOOLS_VERSION,
                 .wall_ns = (uint64_t)((each * (exact)c->samples) >> TIME_SHIFT),
                 .samples = c->samples,
                 .frequency = frequency_of(each),
                 .cpu_time = 1},
        .maps = c->maps,
        .map_count = c->map_count,
        .time_each = each,
        .outside = "it has the mappings at the end of the program, without libraries that were "
                   "unloaded before"};
    struct output *out = tool_output(&o->base.common, OUTPUT_BINARY, err);
    int result = out == NULL ? -1
                             : pc_sums_write(&c->sums, &profile, &o->base.symbols, out,
                                             &o->base.common.reporter, err);
    free(dialect);
    return tool_commit(&o->base.common, out, result);
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct options *o = options;
    struct content c = {.paths = strings_new()};
    o->gperf.salvage = o->base.common.salvage;
    o->base.symbols.search.beside = o->base.input;
    struct gperf *gperf = gperf_open(in, &o->gperf, err);
    int result = gperf == NULL ? -1 : read_all(gperf, stream_name(in), &c, err);
    if (result == 0) {
        warn(o, gperf, stream_name(in), &c);
        result = write_pbin(o, gperf, stream_name(in), &c, err);
    }
    gperf_close(gperf);
    pc_sums_free(&c.sums);
    free(c.maps);
    strings_delete(c.paths);
    return result;
}

const char *argp_program_version = "gperf2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {
        .base = {.what = "profile", .awaited = "a CPU profile of gperftools", .convert = convert}};
    return converter_main(&o.base, "gperf2pbin", &parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT,
                          argc, argv);
}

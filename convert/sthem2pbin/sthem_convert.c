/* Converts a sthem or Lynsyn export to pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/sthem2pbin/sthem_convert.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/progress.h"
#include "convert/symbolize/demangle.h"
#include "formats/elf/elf_search.h"
#include "convert/symbolize/locations.h"

#define UNDEFINED UINT32_MAX

struct conversion {
    struct sthem_reader *reader;
    struct reporter *reporter;
    struct pbin_writer *writer;
    struct locations *locations; /* NULL: the export is symbolised */
    uint32_t *numbers;           /* [by place] number of the location */
    size_t number_count, number_capacity;
    uint32_t *threads; /* [by core] */
    struct pbin_thread_sample *entries;
    struct demangle_costs costs;
    double carry; /* energy of rows that are shorter than a nanosecond [J] */
};

/* Defines a place that the export gives by name. Returns its location. */
static uint32_t define_names(struct conversion *c, const struct sthem_place *place)
{
    const char *module = place->module[0] != '\0' ? place->module : LABEL_UNKNOWN;
    const char *function = place->function[0] != '\0' ? place->function : LABEL_UNKNOWN;
    char *plain = demangle(function, &c->costs);
    struct pbin_frame frame = {.function = pbin_define_string(c->writer, function),
                               .demangled =
                                   pbin_define_string(c->writer, plain != NULL ? plain : function)};
    struct pbin_location location = {
        .binary = pbin_define_string(c->writer, module), .map = PBIN_NO_MAP, .frame_count = 1};
    free(plain);
    return pbin_define_location(c->writer, &location, &frame);
}

static uint32_t location_of(struct conversion *c, uint32_t place)
{
    while (place >= c->number_count)
        *MEM_APPEND(c->numbers, c->number_count, c->number_capacity) = UNDEFINED;
    if (c->numbers[place] == UNDEFINED) {
        struct sthem_place at = sthem_place(c->reader, place);
        c->numbers[place] =
            c->locations != NULL ? locations_number(c->locations, at.pc) : define_names(c, &at);
    }
    return c->numbers[place];
}

static uint32_t thread_of(struct conversion *c, size_t core)
{
    if (c->threads[core] == UNDEFINED) {
        uint32_t number = (uint32_t)sthem_core_number(c->reader, core);
        char *name = mem_printf("core %" PRIu32, number);
        struct pbin_thread thread = {.tid = number, .name = pbin_define_string(c->writer, name)};
        free(name);
        c->threads[core] = pbin_define_thread(c->writer, &thread);
    }
    return c->threads[core];
}

/* Returns the power that yields the energy of ROW, corrected for the rounding of its interval to
 * whole nanoseconds. */
static double power_of(struct conversion *c, const struct sthem_row *row)
{
    double watts = 0;
    for (size_t i = 0; i < sthem_sensor_count(c->reader); i++)
        watts += row->watts[i];
    double rounded = (double)row->interval_ns / 1e9;
    if (rounded == row->seconds && c->carry == 0)
        return watts;
    double joules = watts * row->seconds + c->carry;
    c->carry = row->interval_ns == 0 ? joules : 0;
    return row->interval_ns == 0 ? watts : joules / rounded;
}

static int put_row(struct conversion *c, const struct sthem_row *row)
{
    size_t count = 0, cores = sthem_core_count(c->reader);
    for (size_t i = 0; i < cores; i++)
        if (row->places[i] != STHEM_IDLE)
            c->entries[count++] = (struct pbin_thread_sample){.thread = (uint32_t)i};
    if (c->locations != NULL && pbin_batch_is_full(c->writer, count))
        locations_resolve(c->locations);
    for (size_t i = 0; i < count; i++) {
        size_t core = c->entries[i].thread;
        c->entries[i].thread = thread_of(c, core);
        c->entries[i].location = location_of(c, row->places[core]);
    }
    return pbin_put_sample(c->writer, row->interval_ns, power_of(c, row), c->entries, count);
}

static int put_rows(struct conversion *c, uint64_t rows, struct error *err)
{
    struct sthem_row row;
    struct progress progress;
    uint64_t done = 0;
    int got;
    progress_start(&progress, c->reporter, rows, "samples");
    while ((got = sthem_next(c->reader, &row, err)) > 0) {
        if (put_row(c, &row) != 0)
            got = -1;
        if (got < 0)
            break;
        progress_at(&progress, ++done);
    }
    progress_end(&progress);
    if (c->locations != NULL)
        locations_resolve(c->locations);
    return got;
}

static void describe(const struct stream *stream, const struct sthem_reader *reader,
                     const struct sthem_summary *summary, const struct given_code *code,
                     const struct sthem_convert_options *options, struct pbin_meta *meta)
{
    static const char *const dialects[] = {
        [STHEM_SYMBOLS] = "sthem", [STHEM_PCS] = "sthem-pc", [STHEM_LYNSYN] = "lynsyn"};
    const char *name =
        options->base.name != NULL ? options->base.name : elf_base_name(stream_name(stream));
    *meta = (struct pbin_meta){
        .name = (char *)name,
        .target = (char *)(code->count > 0 ? elf_base_name(code->maps[0].label) : NULL),
        .dialect = (char *)dialects[sthem_variant(reader)],
        .tool = (char *)"sthem2pbin " PBIN_TOOLS_VERSION,
        .unit = (char *)(summary->powered ? "W" : NULL),
        .pmu = summary->powered ? PMU_POWER : PMU_NONE,
        .cpus = options->cpus != 0 ? options->cpus : summary->cores,
        .wall_ns = summary->wall_ns,
        .samples = summary->rows,
        .times = 1,
    };
}

/* Counts the samples in each mapping, to decide which ones are worth a download. */
static void count_maps(const struct conversion *c, const struct sthem_summary *summary,
                       size_t map_count)
{
    struct symbolizer *symbolizer = locations_symbolizer(c->locations);
    uint64_t *samples = mem_zalloc(map_count + 1, sizeof *samples);
    for (size_t i = 0; i < summary->pc_count; i++) {
        uint32_t map = symbolizer_find_map(symbolizer, summary->pcs[i].pc);
        samples[map < map_count ? map : map_count] += summary->pcs[i].samples;
    }
    symbolizer_count(symbolizer, samples);
    free(samples);
}

/* Prepares the threads of the cores, room for a sample, and the locations that resolve program
 * counters. Returns 0, or -1 with ERR filled. */
static int prepare(struct conversion *c, const struct sthem_summary *summary,
                   const struct given_code *code, const struct sthem_convert_options *options,
                   const char *name, struct error *err)
{
    size_t cores = sthem_core_count(c->reader);
    const struct location_facts facts = {.maps = code->maps, .map_count = code->count};
    c->entries = mem_zalloc(cores, sizeof *c->entries);
    c->threads = mem_alloc(cores * sizeof *c->threads);
    for (size_t i = 0; i < cores; i++)
        c->threads[i] = UNDEFINED;
    if (sthem_variant(c->reader) == STHEM_SYMBOLS)
        return 0;
    if (code->count == 0 && options->base.symbols.kallsyms == NULL)
        report_warning(c->reporter,
                       "%s: program counters have no function names (-m VMMAP or -e ELF supplies "
                       "them)",
                       name);
    c->locations = locations_new(&facts, c->writer, &options->base.symbols, c->reporter, err);
    if (c->locations == NULL)
        return -1;
    count_maps(c, summary, code->count);
    return 0;
}

int sthem_convert(struct stream *stream, const struct sthem_options *reading,
                  const struct sthem_summary *summary, const struct given_code *code,
                  const struct sthem_convert_options *options, struct output *out,
                  struct reporter *reporter, struct error *err)
{
    struct pbin_meta meta;
    struct conversion c = {.reporter = reporter, .reader = sthem_open(stream, reading, err)};
    if (c.reader == NULL)
        return -1;
    describe(stream, c.reader, summary, code, options, &meta);
    c.writer = pbin_writer_open(out, &meta);
    int result = prepare(&c, summary, code, options, stream_name(stream), err);
    if (result == 0)
        result = put_rows(&c, summary->rows, err);
    if (result == 0 && c.locations != NULL)
        locations_define_maps(c.locations);
    result = pbin_writer_close(c.writer, result);
    locations_delete(c.locations);
    sthem_close(c.reader);
    free(c.numbers);
    free(c.threads);
    free(c.entries);
    return result;
}

/* From a raw profile to pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/attribute/labels.h"
#include "base/buffer.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/number.h"
#include "convert/prof2pbin/convert_samples.h"
#include "convert/prof2pbin/map_samples.h"
#include "convert/symbolize/debuginfod.h"
#include "convert/symbolize/locations.h"

struct conversion {
    struct raw_profile *raw;
    const struct convert_options *options;
    struct reporter *reporter;
    struct pbin_writer *writer;
    struct locations *locations;
    /* of a full profile with processes or with flags of thread samples */
    struct cpu_weights weights;
    struct address_spaces *spaces; /* NULL: it has no processes */
    struct seen_conversion *seen;
    bool weighed;
    uint64_t *map_samples; /* by mapping; NULL: not needed */
};

int convert_check(const struct raw_profile *raw, const struct convert_options *options,
                  struct error *err)
{
    enum pmu_kind kind = raw_pmu_kind(raw);
    const char *name = stream_name(raw->stream);
    if (kind == PMU_CURRENT && options->volts == 0)
        return error_set(err, name, NO_OFFSET,
                         "holds currents [A]: give the supply voltage with -v VOLTS (energy = "
                         "current x voltage x time)");
    if (kind != PMU_CURRENT && options->volts != 0)
        return error_set(err, name, NO_OFFSET,
                         "-v applies to currents [A], but this profile holds %s",
                         kind == PMU_POWER     ? "power [W], which is current x voltage already"
                         : kind == PMU_VOLTAGE ? "voltages [V] and no currents"
                         : kind == PMU_NONE    ? "no PMU values"
                                               : "values of a custom unit");
    return 0;
}

static const char *unit_of(const struct raw_profile *raw)
{
    static const char *const units[] = {[PMU_NONE] = NULL,
                                        [PMU_CURRENT] = "A",
                                        [PMU_VOLTAGE] = "V",
                                        [PMU_POWER] = "W",
                                        [PMU_CUSTOM] = NULL};
    const char *unit = raw->ext.facts.unit;
    return unit != NULL && unit[0] != '\0' ? unit : units[raw_pmu_kind(raw)];
}

static uint64_t nanoseconds(uint64_t us)
{
    return us > UINT64_MAX / 1000 ? UINT64_MAX : us * 1000;
}

/* Scales the time US of the whole run, from the header, to the available samples [ns]. */
static uint64_t part_kept(const struct raw_profile *raw, uint64_t us)
{
    uint64_t whole = raw->header.samples;
    if (!raw->cut || whole <= raw->samples)
        return nanoseconds(us);
    return nanoseconds((uint64_t)((double)us * (double)raw->samples / (double)whole));
}

static const char *target_of(const struct conversion *c)
{
    const struct raw_profile *raw = c->raw;
    const char *path = c->weighed ? cpu_weights_target(&c->weights, raw) : NULL;
    if (path == NULL || path[0] == '\0')
        path = raw->map_count > 0 ? raw->maps[0].label : NULL;
    return path != NULL ? elf_base_name(path) : NULL;
}

/* Returns the text at OFFSET in a source, "" if it is not known. */
static const char *text_of_source(const struct raw_source *source, size_t offset)
{
    const char *text = *(char *const *)((const char *)source + offset);
    return text != NULL ? text : "";
}

/* Returns whether source number I is a part of the PMU value whose text at OFFSET differs from
 * those of earlier parts. */
static bool is_new_text(const struct raw_source *sources, size_t i, size_t offset)
{
    const char *text = text_of_source(&sources[i], offset);
    for (size_t k = 0; k < i; k++)
        if (sources[k].role == 1 && strcmp(text_of_source(&sources[k], offset), text) == 0)
            return false;
    return sources[i].role == 1 && text[0] != '\0';
}

/* Joins the different texts at OFFSET of the sources of the PMU value, separated by BETWEEN.
 * Returns NULL if there are none. Caller frees. */
static char *texts_of_value(const struct raw_extension *ext, size_t offset, const char *between)
{
    struct buffer text = {0};
    for (size_t i = 0; i < ext->source_count; i++) {
        if (!is_new_text(ext->sources, i, offset))
            continue;
        if (text.size > 0)
            buffer_bytes(&text, between, strlen(between));
        const char *one = text_of_source(&ext->sources[i], offset);
        buffer_bytes(&text, one, strlen(one));
    }
    char *result = text.size > 0 ? mem_strndup((const char *)text.data, text.size) : NULL;
    buffer_free(&text);
    return result;
}

/* The perf engine divides CPU time among the samples that follow it. */
static uint64_t own_intervals_of(const struct raw_profile *raw)
{
    const struct raw_facts *facts = &raw->ext.facts;
    if (raw->aggregated || !raw->has_cpu || !raw_facts_engine(facts, "perf"))
        return PBIN_OWN_NONE;
    bool fixed = facts->interval != NULL && strcmp(facts->interval, "fixed") == 0;
    return fixed || facts->frequency > RAW_PERF_EACH ? PBIN_OWN_ALIKE : PBIN_OWN_RANDOM;
}

/* Fills META for pbin_writer_open. Its texts are borrowed, except its value and scope, which the
 * caller frees. */
static void describe(const struct conversion *c, struct pbin_meta *meta)
{
    const struct raw_profile *raw = c->raw;
    const struct convert_options *options = c->options;
    const struct raw_facts *facts = &raw->ext.facts;
    *meta = (struct pbin_meta){
        .name = (char *)(options->base.name != NULL ? options->base.name
                                                    : elf_base_name(stream_name(raw->stream))),
        .target = (char *)target_of(c),
        .command = (char *)facts->command,
        .host = (char *)facts->host,
        .started = (char *)facts->started,
        .dialect = (char *)raw_profile_dialect(raw),
        .tool = (char *)"prof2pbin " PBIN_TOOLS_VERSION,
        .unit = (char *)unit_of(raw),
        .value = texts_of_value(&raw->ext, offsetof(struct raw_source, name), " + "),
        .scope = texts_of_value(&raw->ext, offsetof(struct raw_source, scope), ", "),
        .keys = (char *)(raw->aggregated ? LOCATION_KEYS : NULL),
        .pmu = raw_pmu_kind(raw),
        .volts = options->volts,
        .baseline_w = facts->baseline_w,
        .cpus = options->cpus != 0 ? options->cpus : facts->cpus,
        .wall_ns = part_kept(raw, raw->header.wall_us),
        .latency_ns = part_kept(raw, raw->header.latency_us),
        .samples = raw->samples,
        .frequency = (uint64_t)(facts->frequency * 1000),
        .cpu_time = raw->has_cpu,
        .times = raw->has_times,
        .own_intervals = own_intervals_of(raw),
        .divided = c->weights.divided,
    };
    /* if the sampler was killed, the header is zero; otherwise it has microseconds, while the last
     * sample has nanoseconds */
    bool same = meta->wall_ns / 1000 == c->weights.last_ns / 1000;
    if ((meta->wall_ns == 0 || same) && c->weighed && raw->energy_ns == UINT64_MAX)
        meta->wall_ns = c->weights.last_ns;
}

enum { ROOM = 24 /* 2^24 of the largest rows can be added */ };

/* Makes the row for a line of an aggregated profile: time = n * wall / samples, energy = current *
 * volts * wall / samples. Returns 0, or -1 with ERR filled if the numbers cannot be summed. */
static int row_of(const struct conversion *c, const struct raw_histogram *line,
                  struct pbin_row *row, struct error *err)
{
    double wall_ns = (double)c->raw->header.wall_us * 1000.0;
    double samples = (double)c->raw->samples;
    exact time = (((exact)c->raw->header.wall_us * 1000) << TIME_SHIFT) / c->raw->samples;
    double volts = raw_pmu_kind(c->raw) == PMU_POWER ? 1 : c->options->volts;
    double energy = line->current * volts * (wall_ns / 1e9 / samples);
    if (!exact_fits((double)line->samples, SAMPLES_SHIFT, ROOM) ||
        !exact_fits(wall_ns / samples * (double)line->samples, TIME_SHIFT, ROOM) ||
        !exact_fits(energy, ENERGY_SHIFT, ROOM))
        return error_set(err, stream_name(c->raw->stream), NO_OFFSET,
                         "samples %" PRIu64 " and current %g A of pc 0x%" PRIx64
                         " are too large to sum",
                         line->samples, line->current, line->pc);
    *row = (struct pbin_row){.sums = pbin_sums_of_run((exact)line->samples << SAMPLES_SHIFT,
                                                      UINT64_MAX, time * (exact)line->samples,
                                                      exact_of_double(energy, ENERGY_SHIFT))};
    return 0;
}

/* The rows of an aggregated profile: at a location, or with a label. */
struct row_list {
    struct listed_row {
        struct pbin_row row;
        uint32_t location;
        const char *label; /* NULL: the key is that of LOCATION */
    } * list;
    size_t count, capacity;
};

static int add_row(const struct conversion *c, struct row_list *rows,
                   const struct raw_histogram *line, const char *label, struct error *err)
{
    mem_reserve(&rows->list, &rows->capacity, rows->count + 1, sizeof *rows->list);
    struct listed_row *listed = &rows->list[rows->count];
    *listed = (struct listed_row){.label = label};
    if (row_of(c, line, &listed->row, err) != 0)
        return -1;
    const struct location_place place = {
        .pc = line->pc, .map = line->map, .caller = PBIN_NO_CALLER};
    if (label == NULL)
        listed->location = locations_place(c->locations, &place);
    if (label == NULL && c->map_samples != NULL)
        c->map_samples[line->map] += line->samples;
    rows->count++;
    return 0;
}

/* Adds rows for LINE, the sum over all PCs outside every VMMap. The extension records which part
 * belongs to the kernel, and the idle current. */
static int add_outside(const struct conversion *c, struct row_list *rows,
                       const struct raw_histogram *line, struct error *err)
{
    const struct raw_facts *facts = &c->raw->ext.facts;
    struct raw_histogram kernel = {.samples = facts->kernel_samples,
                                   .current = facts->kernel_current};
    const struct raw_histogram idle = {.current = facts->idle_current};
    struct raw_histogram rest = *line;
    if (kernel.samples > line->samples)
        return error_set(err, stream_name(c->raw->stream), NO_OFFSET,
                         "expected kernel_samples of at most %" PRIu64
                         ", the samples outside every mapping, found %" PRIu64,
                         line->samples, kernel.samples);
    rest.samples -= kernel.samples;
    if (rest.samples == 0)
        kernel.current = line->current;
    rest.current -= kernel.current;
    if ((rest.samples > 0 || rest.current != 0) && add_row(c, rows, &rest, LABEL_FOREIGN, err) != 0)
        return -1;
    if (kernel.samples > 0 && add_row(c, rows, &kernel, LABEL_KERNEL, err) != 0)
        return -1;
    return idle.current > 0 ? add_row(c, rows, &idle, LABEL_IDLE, err) : 0;
}

/* Reads all lines. Samples outside every VMMap, if there are any, are the first line. Returns 0, or
 * -1 with ERR filled. */
static int read_rows(const struct conversion *c, struct row_list *rows, struct error *err)
{
    const struct raw_histogram nothing = {.unknown = true};
    struct raw_histogram line;
    int got = raw_next_histogram(c->raw, &line, err), result = got < 0 ? -1 : 0;
    if (result == 0)
        result = add_outside(c, rows, got > 0 && line.unknown ? &line : &nothing, err);
    while (result == 0 && got > 0) {
        if (!line.unknown)
            result = add_row(c, rows, &line, NULL, err);
        if (result == 0)
            got = raw_next_histogram(c->raw, &line, err);
    }
    return got < 0 ? -1 : result;
}

static void put_run(const struct conversion *c, const struct row_list *rows)
{
    const char *name = c->options->base.name;
    struct pbin_run run = {.wall_ns = nanoseconds(c->raw->header.wall_us),
                           .latency_ns = nanoseconds(c->raw->header.latency_us),
                           .samples = c->raw->samples};
    for (size_t i = 0; i < rows->count; i++) {
        run.time += rows->list[i].row.sums.time;
        run.energy += rows->list[i].row.sums.energy;
    }
    run.name = pbin_define_string(c->writer,
                                  name != NULL ? name : elf_base_name(stream_name(c->raw->stream)));
    pbin_put_run(c->writer, &run);
}

/* Sets the keys of the rows, and joins rows with the same key: those of files that were mapped at
 * the same place, one after the other. */
static void join_rows(const struct conversion *c, struct row_list *rows)
{
    struct strings *keys = strings_new();
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        struct listed_row *listed = &rows->list[i];
        struct pbin_row *row = &listed->row;
        char key[LOCATION_KEY_COUNT * sizeof row->key[0]];
        if (listed->label != NULL)
            locations_label(c->locations, listed->label, row);
        else
            locations_key(c->locations, listed->location, row);
        memcpy(key, row->key, sizeof key);
        size_t number = strings_intern_bytes(keys, key, sizeof key) - 1u; /* "" is 0 */
        if (number == count) {
            rows->list[count++] = *listed;
            continue;
        }
        struct pbin_sums *sums = &rows->list[number].row.sums;
        *sums = pbin_sums_of_run(sums->samples + row->sums.samples, UINT64_MAX,
                                 sums->time + row->sums.time, sums->energy + row->sums.energy);
    }
    rows->count = count;
    strings_delete(keys);
}

static int put_rows(struct conversion *c, struct error *err)
{
    struct row_list rows = {0};
    int result = read_rows(c, &rows, err);
    if (c->map_samples != NULL)
        symbolizer_count(locations_symbolizer(c->locations), c->map_samples);
    locations_resolve(c->locations);
    join_rows(c, &rows);
    if (result == 0)
        put_run(c, &rows);
    for (size_t i = 0; i < rows.count && result == 0; i++)
        pbin_put_row(c->writer, &rows.list[i].row, LOCATION_KEY_COUNT);
    free(rows.list);
    return result;
}

/* Mappings of the extension by the data that VMMaps also have: the different files at each place,
 * in order. */
struct places {
    const struct raw_extension *ext;
    struct strings *known, *files;
    struct buffer key;
    size_t *first, *last, *next; /* by number in KNOWN (next: by mapping): index of a mapping + 1 */
};

static uint32_t place_number(struct places *p, uint64_t address, uint64_t size, const char *path)
{
    p->key.size = 0;
    buffer_u64(&p->key, address);
    buffer_u64(&p->key, size);
    buffer_string(&p->key, path);
    return strings_intern_bytes(p->known, (const char *)p->key.data, p->key.size) - 1; /* "" is 0 */
}

static void add_place(struct places *p, size_t index)
{
    const struct raw_mapx *map = &p->ext->mapx[index];
    uint32_t number = place_number(p, map->address, map->size, map->path);
    uint32_t known = strings_count(p->files);
    buffer_u64(&p->key, map->offset);
    buffer_u64(&p->key, map->inode);
    buffer_string(&p->key, map->build_id);
    if (strings_intern_bytes(p->files, (const char *)p->key.data, p->key.size) < known)
        return;
    *(p->first[number] == 0 ? &p->first[number] : &p->next[p->last[number] - 1]) = index + 1;
    p->last[number] = index + 1;
}

/* Returns the next file at the place of the VMMap MAP, NULL if none is known. */
static const struct raw_mapx *next_there(struct places *p, const struct code_map *map)
{
    uint32_t number = place_number(p, map->address, map->size, map->label);
    size_t found = number < p->ext->mapx_count ? p->first[number] : 0;
    if (found == 0)
        return NULL;
    if (p->next[found - 1] != 0)
        p->first[number] = p->next[found - 1];
    return &p->ext->mapx[found - 1];
}

/* Adds offsets and build-ids from the extension: VMMaps of an aggregated profile do not identify
 * the file that ran. */
static void identify_maps(const struct raw_profile *raw, struct code_map *maps)
{
    const struct raw_extension *ext = &raw->ext;
    size_t *room = mem_zalloc(ext->mapx_count + 1, 3 * sizeof *room);
    struct places p = {.ext = ext,
                       .known = strings_new(),
                       .files = strings_new(),
                       .first = room,
                       .last = room + ext->mapx_count,
                       .next = room + 2 * ext->mapx_count};
    for (size_t i = 0; i < ext->mapx_count; i++)
        add_place(&p, i);
    for (size_t i = 0; i < raw->map_count; i++) {
        const struct raw_mapx *map = next_there(&p, &maps[i]);
        if (map == NULL || map->kind != RAW_MAP_FILE)
            continue;
        maps[i].has_offset = true;
        maps[i].offset = map->offset;
        maps[i].build_id = map->build_id;
    }
    strings_delete(p.known);
    strings_delete(p.files);
    buffer_free(&p.key);
    free(room);
}

static struct code_map *list_maps(const struct raw_profile *raw, size_t *count)
{
    struct code_map *maps = mem_zalloc(raw->map_count + 1, sizeof *maps);
    for (size_t i = 0; i < raw->map_count; i++) {
        const struct raw_map *more = i < raw->ext.map_count ? &raw->ext.maps[i] : NULL;
        maps[i] = (struct code_map){.address = raw->maps[i].address,
                                    .size = raw->maps[i].size,
                                    .label = more != NULL ? more->path : raw->maps[i].label,
                                    .has_offset = more != NULL,
                                    .offset = more != NULL ? more->offset : 0,
                                    .build_id = more != NULL ? more->build_id : NULL};
    }
    if (raw->ext.map_count == 0 && raw->ext.mapx_count > 0)
        identify_maps(raw, maps);
    *count = raw->map_count;
    if (raw->ext.vdso != NULL)
        maps[(*count)++] = (struct code_map){.address = raw->ext.vdso_address,
                                             .size = raw->ext.vdso_size,
                                             .label = "[vdso]",
                                             .has_offset = true,
                                             .image = raw->ext.vdso,
                                             .image_size = raw->ext.vdso_size};
    return maps;
}

static void report_kernel(const struct conversion *c)
{
    if (c->weights.misplaced > 0)
        report_verbose(c->reporter,
                       "%s: according to the ticks of the kernel, %" PRIu64
                       " sightings were moved from user code to the kernel, or the reverse",
                       stream_name(c->raw->stream), c->weights.misplaced);
}

/* Determines all data that is needed before the first sample is written. Returns 0, or -1 with ERR
 * filled. */
static int weigh(struct conversion *c, struct error *err)
{
    const struct raw_extension *ext = &c->raw->ext;
    if (c->raw->aggregated || (!c->raw->has_flags && ext->image_count == 0))
        return 0;
    c->weighed = true;
    if (ext->image_count > 0 && ext->mapx_count > 0)
        c->spaces = address_spaces_new(ext);
    if (cpu_weights_measure(&c->weights, c->raw, err) != 0)
        return -1;
    report_kernel(c);
    if (c->weights.missed > 0)
        report_warning(c->reporter,
                       "%s: %zu thread%s used %.3g s of CPU time and %s never sampled: "
                       "too much to be due to chance; this time is in " LABEL_UNSAMPLED,
                       stream_name(c->raw->stream), c->weights.missed,
                       c->weights.missed == 1 ? "" : "s", (double)c->weights.missed_ns * 1e-9,
                       c->weights.missed == 1 ? "was" : "were");
    return 0;
}

/* Returns the mappings of all processes, or of the only known one. Caller frees *OWN. */
static const struct code_map *find_maps(const struct conversion *c, size_t *count,
                                        struct code_map **own)
{
    *own = c->spaces == NULL ? list_maps(c->raw, count) : NULL;
    return c->spaces == NULL ? *own : address_spaces_maps(c->spaces, count);
}

/* Returns the time of TEXT, like "2024-05-17T08:30:00Z" [s since 1970]; 0 if it is not a time. */
static int64_t parse_time(const char *text)
{
    struct tm tm = {0};
    const char *end = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
    time_t time = end != NULL && *end == '\0' ? timegm(&tm) : 0;
    return time > 0 ? time : 0;
}

static struct locations *open_locations(const struct conversion *c, const struct code_map *maps,
                                        size_t map_count, struct error *err)
{
    const struct location_facts facts = {.maps = maps,
                                         .map_count = map_count,
                                         .threads = c->raw->ext.threads,
                                         .thread_count = c->raw->ext.thread_count,
                                         .keys = c->raw->aggregated};
    struct symbolizer_options symbols = c->options->base.symbols;
    symbols.recorded = parse_time(c->raw->ext.facts.started);
    return locations_new(&facts, c->writer, &symbols, c->reporter, err);
}

static int put_samples(struct conversion *c, struct error *err)
{
    struct symbolizer *symbolizer = locations_symbolizer(c->locations);
    if (c->map_samples != NULL) {
        if (map_samples_count(c->raw, symbolizer, c->spaces != NULL, c->map_samples, err) != 0)
            return -1;
        symbolizer_count(symbolizer, c->map_samples);
    }
    if (c->weights.any_equal)
        pbin_declare_equal(c->writer);
    if (c->weighed)
        c->seen = seen_conversion_new(c->raw, &c->weights, c->spaces, c->writer, c->locations);
    return convert_samples(c->raw, c->writer, c->locations, c->seen, c->reporter, err);
}

static int convert_all(struct conversion *c, struct output *out, struct error *err)
{
    struct pbin_meta meta;
    size_t map_count;
    struct code_map *own;
    const struct code_map *maps = find_maps(c, &map_count, &own);
    describe(c, &meta);
    c->writer = pbin_writer_open(out, &meta);
    free(meta.value);
    free(meta.scope);
    c->locations = open_locations(c, maps, map_count, err);
    if (!c->options->base.symbols.no_debuginfod && debuginfod_is_set())
        c->map_samples = mem_zalloc(map_count + 1, sizeof *c->map_samples);
    int result = c->locations == NULL ? -1
                 : c->raw->aggregated ? put_rows(c, err)
                                      : put_samples(c, err);
    if (result == 0)
        locations_define_maps(c->locations);
    result = pbin_writer_close(c->writer, result);
    locations_delete(c->locations);
    free(c->map_samples);
    free(own);
    return result;
}

int convert_raw(struct raw_profile *raw, const struct convert_options *options, struct output *out,
                struct reporter *reporter, struct error *err)
{
    struct conversion c = {.raw = raw, .options = options, .reporter = reporter};
    int result = weigh(&c, err) == 0 ? convert_all(&c, out, err) : -1;
    seen_conversion_delete(c.seen);
    address_spaces_delete(c.spaces);
    cpu_weights_free(&c.weights);
    return result;
}

/* Converts a recording of perf to pbin: a first pass over all of it, then a pass over its samples.
 * SPDX-License-Identifier: MIT */
#include "convert/perf2pbin/perf_convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "convert/perf2pbin/perf_processes.h"
#include "convert/perf2pbin/perf_vdso.h"
#include "convert/symbolize/address_spaces.h"
#include "convert/symbolize/debuginfod.h"
#include "convert/symbolize/locations.h"
#include "formats/elf/elf_search.h"

#define UNDEFINED    UINT32_MAX
#define FIRST_KERNEL UINT64_C(0xffff800000000000)

/* How samples of an event are used. */
struct meaning {
    bool counts;    /* the event was chosen */
    bool is_period; /* the CPU time of a sample is its period; otherwise NS */
    bool skips_idle;
    uint64_t ns;
};

struct conversion {
    struct perf *perf;
    const char *file;
    const struct perf_convert_options *options;
    struct reporter *reporter;
    struct meaning *meanings; /* [by event] */
    size_t meaning_count;
    bool untimed; /* samples have no CPU times */
    struct perf_processes processes;
    struct address_spaces *spaces;
    uint64_t start, now; /* times by the clock of perf */
    uint64_t samples, idle, lost, other;
    uint64_t *cpu_ns;      /* [by image] */
    uint64_t *map_samples; /* [by mapping] */
    size_t image_count, image_capacity;
    struct pbin_writer *writer;
    struct locations *locations;
    uint32_t *threads; /* [by task] number in the pbin */
    size_t thread_count, thread_capacity;
};

/* ---- events ---- */

/* Returns whether EVENT is called NAME. Modifiers, such as ":u", may be omitted. */
static bool is_called(const struct perf_event *event, const char *name)
{
    size_t length = strlen(name);
    return strncmp(event->name, name, length) == 0 &&
           (event->name[length] == '\0' || event->name[length] == ':');
}

/* Returns whether samples of EVENT show where time is spent. */
static bool is_clock(const struct perf_event *event)
{
    return event->has_period && (event->counts_ns || event->counts_cycles);
}

/* Returns whether event NUMBER is chosen: by default, the first clock among COUNT events or,
 * without a clock, the first event. */
static bool is_chosen(const struct conversion *c, const struct perf_event *events, size_t count,
                      size_t number)
{
    const struct perf_convert_options *o = c->options;
    for (size_t i = 0; i < o->event_count; i++)
        if (is_called(&events[number], o->events[i]))
            return true;
    if (o->event_count > 0)
        return false;
    bool clock = false;
    for (size_t i = 0; i < count; i++)
        clock |= is_clock(&events[i]);
    for (size_t i = 0; i < number; i++)
        if (c->meanings[i].counts)
            return false;
    return clock ? is_clock(&events[number]) : !events[number].is_dummy;
}

static struct meaning meaning_of(const struct conversion *c, const struct perf_event *event)
{
    struct meaning m = {.counts = true, .skips_idle = event->counts_cpu};
    if (c->options->rate != 0)
        m.ns = 1000000000 / c->options->rate;
    else if (event->counts_ns)
        m.is_period = true;
    else if (event->frequency != 0)
        m.ns = 1000000000 / event->frequency;
    return m;
}

/* Returns the names of all events or, with MEANINGS, of sampling events whose samples count
 * (COUNTS) or do not. Caller frees. */
static char *list_events(const struct perf_event *events, size_t count,
                         const struct meaning *meanings, bool counts)
{
    struct buffer text = {0};
    for (size_t i = 0; i < count && text.size < 300; i++) {
        if (meanings != NULL && (events[i].is_dummy || meanings[i].counts != counts))
            continue;
        if (text.size > 0)
            buffer_bytes(&text, ", ", 2);
        buffer_bytes(&text, events[i].name, strlen(events[i].name));
    }
    char *list = mem_strndup((const char *)text.data, text.size);
    buffer_free(&text);
    return list;
}

static int check_names(const struct conversion *c, const struct perf_event *events, size_t count,
                       struct error *err)
{
    for (size_t i = 0; i < c->options->event_count; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found |= is_called(&events[k], c->options->events[i]);
        if (found)
            continue;
        char *list = list_events(events, count, NULL, false);
        error_set(err, c->file, NO_OFFSET, "has no event %.64s (-e), only %s",
                  c->options->events[i], list);
        free(list);
        return -1;
    }
    return 0;
}

/* Learns the events, once: those of a pipe are known when the first sample arrives. */
static void learn_events(struct conversion *c)
{
    size_t count;
    const struct perf_event *events = perf_events(c->perf, &count);
    if (c->meaning_count == count)
        return;
    c->meanings = mem_resize(c->meanings, count, sizeof *c->meanings);
    for (; c->meaning_count < count; c->meaning_count++) {
        size_t i = c->meaning_count;
        c->meanings[i] =
            is_chosen(c, events, count, i) ? meaning_of(c, &events[i]) : (struct meaning){0};
        c->untimed |= c->meanings[i].counts && !c->meanings[i].is_period && c->meanings[i].ns == 0;
    }
}

/* ---- first pass ---- */

/* Returns whether R, a sample, counts. */
static bool is_wanted(struct conversion *c, const struct perf_record *r)
{
    learn_events(c);
    const struct meaning *m = c->meanings != NULL ? &c->meanings[r->u.sample.event] : NULL;
    if (m == NULL || !m->counts)
        c->other++;
    else if (m->skips_idle && r->pid == 0 && r->tid == 0)
        c->idle++;
    else
        return true;
    return false;
}

static uint64_t time_of(const struct conversion *c, const struct perf_record *r)
{
    const struct meaning *m = &c->meanings[r->u.sample.event];
    return m->is_period ? r->u.sample.period : m->ns;
}

/* Keeps the times of the first and the latest record that have one. */
static void keep_time(struct conversion *c, const struct perf_record *r)
{
    if (c->start == 0)
        c->start = c->now = c->processes.start = r->time;
    if (r->time > c->now)
        c->now = r->time;
}

static int look_at(struct conversion *c, const struct perf_record *r, struct error *err)
{
    keep_time(c, r);
    if (r->kind == PERF_LOST)
        c->lost += r->u.lost;
    if (r->kind != PERF_SAMPLE) {
        perf_processes_follow(&c->processes, r);
        return 0;
    }
    if (!is_wanted(c, r))
        return 0;
    if (r->u.sample.period > UINT64_C(1) << 40)
        return error_set(err, c->file, r->offset,
                         "expected a sample with a period of at most 2^40, found %" PRIu64,
                         r->u.sample.period);
    const uint32_t number = perf_processes_task(&c->processes, r);
    const struct perf_task *task = &c->processes.task[number];
    mem_extend(&c->cpu_ns, &c->image_count, &c->image_capacity, (size_t)task->image + 1,
               sizeof *c->cpu_ns);
    c->cpu_ns[task->image] += c->untimed ? 1 : time_of(c, r);
    c->samples++;
    return 0;
}

static int look(struct conversion *c, struct error *err)
{
    struct perf_record r;
    size_t count;
    int got;
    while ((got = perf_next(c->perf, &r, err)) > 0)
        if (look_at(c, &r, err) != 0)
            return -1;
    const struct perf_event *events = perf_events(c->perf, &count);
    if (got < 0 || check_names(c, events, count, err) != 0)
        return -1;
    if (c->samples == 0)
        return error_set(err, c->file, NO_OFFSET, "has no samples%s",
                         c->other > 0 ? " of the chosen event (-e chooses others)" : "");
    return 0;
}

/* Reports which events are not clocks. */
static void explain_times(const struct conversion *c, const struct perf_event *events)
{
    static const char remedy[] =
        "(record with -e cpu-clock; here, -r HZ: samples per second of CPU time)";
    for (size_t i = 0; i < c->meaning_count && c->options->rate == 0; i++) {
        if (!c->meanings[i].counts || events[i].counts_ns)
            continue;
        if (c->meanings[i].ns == 0)
            report_warning(c->reporter,
                           "%s: event %.64s does not define the CPU time per sample: each "
                           "sample is charged the time since the previous one %s",
                           c->file, events[i].name, remedy);
        else if (!c->untimed && !events[i].counts_cycles)
            report_warning(c->reporter,
                           "%s: event %.64s does not count time: each sample is charged "
                           "1/%" PRIu64
                           " s, although the program may have run for more or less time %s",
                           c->file, events[i].name, events[i].frequency, remedy);
    }
}

static void explain(const struct conversion *c)
{
    size_t count;
    const struct perf_event *events = perf_events(c->perf, &count);
    if (perf_is_cut(c->perf))
        report_warning(c->reporter, "%s: truncated: kept %" PRIu64 " samples", c->file, c->samples);
    if (c->lost > 0)
        report_warning(c->reporter, "%s: perf lost %" PRIu64 " records: times are too small",
                       c->file, c->lost);
    if (c->other > 0 && c->options->event_count == 0) {
        char *used = list_events(events, c->meaning_count, c->meanings, true);
        char *list = list_events(events, c->meaning_count, c->meanings, false);
        report_warning(c->reporter,
                       "%s: uses event %s; %" PRIu64
                       " samples of other events are left out (-e EVENT selects one): %s",
                       c->file, used, c->other, list);
        free(used);
        free(list);
    }
    explain_times(c, events);
    if (c->idle > 0)
        report_verbose(c->reporter, "%s: %" PRIu64 " samples of idle CPUs are left out", c->file,
                       c->idle);
}

/* ---- samples ---- */

static uint32_t thread_of(struct conversion *c, uint32_t number)
{
    while (number >= c->thread_count)
        *MEM_APPEND(c->threads, c->thread_count, c->thread_capacity) = UNDEFINED;
    if (c->threads[number] == UNDEFINED) {
        const struct perf_task *task = &c->processes.task[number];
        const struct raw_image *image = &c->processes.ext.images[task->image];
        c->threads[number] =
            locations_define_task(c->locations, task->tid, image->pid,
                                  strings_get(c->processes.ext.texts, task->name), image->path);
    }
    return c->threads[number];
}

static uint32_t find_map(struct conversion *c, uint32_t image, uint64_t pc)
{
    uint64_t until;
    address_spaces_at(c->spaces, image, c->now - c->start, &until);
    return address_spaces_find(c->spaces, image, pc);
}

static uint32_t location_of(struct conversion *c, const struct perf_record *r, uint32_t image)
{
    struct location_place place = {
        .pc = r->u.sample.pc, .map = UINT32_MAX, .caller = PBIN_NO_CALLER};
    if (r->u.sample.in_guest) {
        place.binary = place.name = "[guest]";
    } else if (!r->u.sample.in_kernel) {
        place.map = find_map(c, image, place.pc);
    } else {
        if (place.pc < FIRST_KERNEL) /* on a 32-bit machine */
            place.binary = place.name = LABEL_KERNEL;
        if (r->u.sample.caller != 0) {
            const struct location_place caller = {.pc = r->u.sample.caller,
                                                  .map = find_map(c, image, r->u.sample.caller),
                                                  .caller = PBIN_NO_CALLER};
            place.caller = locations_place(c->locations, &caller);
        }
    }
    return locations_place(c->locations, &place);
}

static int put_sample(struct conversion *c, const struct perf_record *r, uint64_t interval_ns)
{
    const uint32_t number = perf_processes_task(&c->processes, r);
    if (pbin_batch_is_full(c->writer, 1))
        locations_resolve(c->locations);
    const struct pbin_thread_sample sample = {
        .thread = thread_of(c, number),
        .location = location_of(c, r, c->processes.task[number].image),
        .cpu_ns = c->untimed ? 0 : time_of(c, r)};
    return pbin_put_sample(c->writer, interval_ns, 0, &sample, 1);
}

/* Calls ACT for all samples that count, with the time since the previous one [ns]. Returns 0, or -1
 * with ERR filled. */
static int each_sample(struct conversion *c,
                       int (*act)(struct conversion *, const struct perf_record *, uint64_t),
                       struct error *err)
{
    struct perf_record r;
    int got = perf_rewind(c->perf, err);
    uint64_t before = c->start;
    perf_processes_again(&c->processes);
    c->now = c->start;
    while (got >= 0 && (got = perf_next(c->perf, &r, err)) > 0) {
        keep_time(c, &r);
        if (r.kind != PERF_SAMPLE)
            perf_processes_follow(&c->processes, &r);
        else if (is_wanted(c, &r)) {
            if (act(c, &r, c->now - before) != 0)
                return -1;
            before = c->now;
        }
    }
    return got;
}

/* Counts the sample in its mapping, to decide which mappings are worth a download. */
static int count_sample(struct conversion *c, const struct perf_record *r, uint64_t interval_ns)
{
    (void)interval_ns;
    const uint32_t number = perf_processes_task(&c->processes, r);
    const uint32_t image = c->processes.task[number].image;
    if (r->u.sample.in_kernel || r->u.sample.in_guest)
        return 0;
    const uint32_t map = find_map(c, image, r->u.sample.pc);
    if (map != UINT32_MAX)
        c->map_samples[map]++;
    return 0;
}

static int count_samples(struct conversion *c, size_t map_count, struct error *err)
{
    if (c->options->base.symbols.no_debuginfod || !debuginfod_is_set())
        return 0;
    c->map_samples = mem_zalloc(map_count + 1, sizeof *c->map_samples);
    c->spaces = address_spaces_new(&c->processes.ext);
    int result = each_sample(c, count_sample, err);
    address_spaces_delete(c->spaces);
    c->spaces = NULL;
    if (result == 0)
        symbolizer_count(locations_symbolizer(c->locations), c->map_samples);
    free(c->map_samples);
    return result;
}

/* ---- the pbin ---- */

/* Returns the program that used the most CPU time; NULL if unknown. */
static const char *target_of(const struct conversion *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->processes.ext.image_count && i < c->image_count; i++)
        if (c->cpu_ns[i] > c->cpu_ns[most])
            most = i;
    if (c->processes.ext.images == NULL)
        return NULL;
    const struct raw_image *image = &c->processes.ext.images[most];
    const char *name = image->path[0] != '\0' ? elf_base_name(image->path) : image->comm;
    return name[0] != '\0' ? name : NULL;
}

static uint64_t frequency_of(const struct conversion *c)
{
    size_t count;
    const struct perf_event *events = perf_events(c->perf, &count);
    for (size_t i = 0; i < c->meaning_count; i++)
        if (c->meanings[i].counts && events[i].frequency < UINT64_C(1) << 32)
            return c->options->rate != 0 ? c->options->rate : events[i].frequency;
    return 0;
}

static void describe(const struct conversion *c, struct pbin_meta *meta)
{
    const struct perf_facts facts = perf_facts(c->perf);
    const char *name = c->options->base.name;
    *meta = (struct pbin_meta){
        .name = (char *)(name != NULL ? name : elf_base_name(c->file)),
        .target = (char *)target_of(c),
        .command = (char *)facts.command,
        .host = (char *)facts.host,
        .dialect = (char *)"perf",
        .tool = (char *)"perf2pbin " PBIN_TOOLS_VERSION,
        .cpus = facts.cpus,
        .wall_ns = c->now - c->start,
        .samples = c->samples,
        .frequency = frequency_of(c) * 1000,
        .cpu_time = !c->untimed,
        .times = 1,
    };
}

static int put_samples(struct conversion *c, struct output *out, struct error *err)
{
    struct pbin_meta meta;
    struct location_facts facts = {0};
    perf_vdso_find(&c->processes.ext);
    struct address_spaces *spaces = address_spaces_new(&c->processes.ext);
    facts.maps = address_spaces_maps(spaces, &facts.map_count);
    describe(c, &meta);
    c->writer = pbin_writer_open(out, &meta);
    c->locations = locations_new(&facts, c->writer, &c->options->base.symbols, c->reporter, err);
    int result = c->locations == NULL ? -1 : count_samples(c, facts.map_count, err);
    c->spaces = spaces;
    if (result == 0)
        result = each_sample(c, put_sample, err);
    if (result == 0) {
        locations_resolve(c->locations);
        locations_define_maps(c->locations);
    }
    result = pbin_writer_close(c->writer, result);
    locations_delete(c->locations);
    address_spaces_delete(spaces);
    return result;
}

int perf_convert(struct perf *perf, const char *file, const struct perf_convert_options *options,
                 struct output *out, struct reporter *reporter, struct error *err)
{
    struct conversion c = {.perf = perf, .file = file, .options = options, .reporter = reporter};
    int result = look(&c, err);
    if (result == 0) {
        explain(&c);
        result = put_samples(&c, out, err);
    }
    perf_processes_free(&c.processes);
    free(c.meanings);
    free(c.cpu_ns);
    free(c.threads);
    return result;
}

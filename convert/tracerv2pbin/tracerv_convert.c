/* Converts an instruction trace of TracerV to pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/tracerv2pbin/tracerv_convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/intern.h"
#include "convert/symbolize/locations.h"

#define MAX_CYCLES (UINT64_C(1) << 53) /* that doubles count exactly */

#define MAX_NS 9e18 /* that a signed number holds */
enum { RESTS = 4096 };

/* Converts cycles to time in whole ns. The rounding error is kept for each combination of program
 * counters (by its hash) and added to its next cycle, so that the time of each combination is
 * correct to 1 ns. A single error for all would interfere with loops: at 4 GHz, one cycle in four
 * gets a nanosecond, and in a loop of four cycles, it would always be the same one. */
struct timer {
    double per_cycle; /* [ns] */
    uint64_t before;  /* the previous cycle */
    bool begun;
    double rests[RESTS]; /* [ns] */
};

static void begin(struct timer *t, const struct tracerv_convert_options *o)
{
    *t = (struct timer){.per_cycle = 1e3 / o->mhz};
    for (size_t i = 0; i < RESTS; i++)
        t->rests[i] = 0.5;
}

/* Returns the time from the previous cycle to CYCLE [ns]. */
static uint64_t time_to(struct timer *t, const struct tracerv_cycle *cycle)
{
    uint64_t hash = 0, cycles = t->begun ? cycle->number - t->before : 1;
    for (size_t i = 0; i < cycle->count; i++)
        hash = numbers_mix(hash ^ cycle->pcs[i]);
    double *rest = &t->rests[hash >> 52];
    double time = (double)cycles * t->per_cycle + *rest, whole = floor(time);
    *rest = time - whole;
    t->before = cycle->number;
    t->begun = true;
    return (uint64_t)whole;
}

/* ---- first pass ---- */

static void look_at(const struct tracerv_convert_options *o, const char *file,
                    const struct tracerv_cycle *cycle, struct timer *timer,
                    struct tracerv_summary *s)
{
    const uint64_t gap = cycle->number - s->last;
    if (s->cycles > 0 && o->gap > 0 && gap > o->gap) {
        fprintf(stderr,
                "tracerv2pbin: %s: %" PRIu64 " cycles without an instruction after cycle %" PRIu64
                ", %.9g s\n",
                file, gap, s->last, (double)s->last / o->mhz * 1e-6);
        s->gaps++;
    }
    if (s->cycles == 0)
        s->first = cycle->number;
    s->last = cycle->number;
    s->cycles++;
    s->wall_ns += time_to(timer, cycle);
    s->lanes = cycle->count > s->lanes ? cycle->count : s->lanes;
    for (size_t i = 0; i < cycle->count; i++)
        pc_sums_at(&s->sums, cycle->pcs[i])->samples++;
}

int tracerv_look(struct stream *stream, const struct tracerv_convert_options *o,
                 struct tracerv_summary *s, struct error *err)
{
    struct tracerv_cycle cycle;
    struct timer timer;
    struct tracerv *trace = tracerv_open(stream, &o->reading, err);
    int got = trace == NULL ? -1 : 1;
    begin(&timer, o);
    while (got > 0) {
        got = tracerv_next(trace, &cycle, err);
        uint64_t cycles = got > 0 && s->cycles > 0 ? cycle.number - s->first : 0;
        if (cycles >= MAX_CYCLES || (double)cycles * timer.per_cycle > MAX_NS)
            got = error_set(err, stream_name(stream), stream_offset(stream) - 64,
                            "expected less than 2^53 cycles and 9e18 ns between the first and the "
                            "last one, found cycle %" PRIu64 " after cycle %" PRIu64,
                            cycle.number, s->first);
        else if (got > 0)
            look_at(o, stream_name(stream), &cycle, &timer, s);
    }
    if (got == 0 && s->cycles == 0)
        got = error_set(err, stream_name(stream), NO_OFFSET, "has no instructions");
    if (got == 0) {
        s->records = tracerv_records(trace);
        s->disordered = tracerv_disordered(trace);
        s->cut = tracerv_is_cut(trace);
    }
    tracerv_close(trace);
    return got;
}

/* ---- samples ---- */

struct conversion {
    const struct tracerv_convert_options *options;
    const struct tracerv_summary *summary;
    struct pbin_writer *writer;
    struct locations *locations;
    uint32_t threads[TRACERV_LANES];
};

static void define_threads(struct conversion *c)
{
    for (size_t i = 0; i < c->summary->lanes; i++) {
        char name[32];
        snprintf(name, sizeof name, "lane %zu", i);
        c->threads[i] = locations_define_task(c->locations, (uint32_t)i, 0, name, "");
    }
}

static int put_cycles(struct conversion *c, struct tracerv *trace, struct error *err)
{
    struct pbin_thread_sample samples[TRACERV_LANES] = {0};
    struct tracerv_cycle cycle;
    struct timer timer;
    int got;
    begin(&timer, c->options);
    while ((got = tracerv_next(trace, &cycle, err)) > 0) {
        if (pbin_batch_is_full(c->writer, cycle.count))
            locations_resolve(c->locations);
        for (size_t i = 0; i < cycle.count; i++)
            samples[i] = (struct pbin_thread_sample){
                .thread = c->threads[i], .location = locations_number(c->locations, cycle.pcs[i])};
        uint64_t time = time_to(&timer, &cycle);
        if (pbin_put_sample(c->writer, time, 0, samples, cycle.count) != 0)
            return -1;
    }
    return got;
}

static int put_all(struct conversion *c, struct stream *stream, const struct given_code *code,
                   struct reporter *reporter, struct error *err)
{
    const struct location_facts facts = {.maps = code->maps, .map_count = code->count};
    struct tracerv *trace = tracerv_open(stream, &c->options->reading, err);
    if (trace == NULL)
        return -1;
    c->locations = locations_new(&facts, c->writer, &c->options->base.symbols, reporter, err);
    int result = c->locations == NULL ? -1 : 0;
    if (result == 0) {
        pc_sums_count_maps(&c->summary->sums, code->count, locations_symbolizer(c->locations));
        define_threads(c);
        result = put_cycles(c, trace, err);
    }
    if (result == 0) {
        locations_resolve(c->locations);
        locations_define_maps(c->locations);
    }
    tracerv_close(trace);
    return result;
}

int tracerv_convert(struct stream *stream, const struct tracerv_convert_options *o,
                    const struct tracerv_summary *s, struct output *out, struct reporter *reporter,
                    struct error *err)
{
    struct conversion c = {.options = o, .summary = s};
    struct given_code code = {0};
    int result = given_code_read(&o->base.code, &code, err);
    if (result == 0) {
        const char *name = o->base.name != NULL ? o->base.name : elf_base_name(stream_name(stream));
        const struct pbin_meta meta = {
            .name = (char *)name,
            .target = (char *)(code.count > 0 ? elf_base_name(code.maps[0].label) : NULL),
            .dialect = (char *)"tracerv",
            .tool = (char *)"tracerv2pbin " PBIN_TOOLS_VERSION,
            .cpus = 1,
            .wall_ns = s->wall_ns,
            .samples = s->cycles,
            .times = 1};
        c.writer = pbin_writer_open(out, &meta);
        result = put_all(&c, stream, &code, reporter, err);
        result = pbin_writer_close(c.writer, result);
    }
    locations_delete(c.locations);
    given_code_free(&code);
    return result;
}

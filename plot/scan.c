/* Samples of a full profile, one by one.
 * SPDX-License-Identifier: MIT */
#include "plot/scan.h"

#include <math.h>
#include <string.h>

static int read_meta(struct scan *s, const char *kind, struct error *err)
{
    struct pbin_reader *reader = pbin_reader_open(s->in, s->salvage, err);
    if (reader == NULL)
        return -1;
    pbin_meta_copy(&s->meta, pbin_reader_meta(reader));
    pbin_reader_close(reader);
    quantity_of(&s->meta, &s->quantity);
    s->has_seconds = s->meta.times || s->meta.wall_ns > 0;
    if (s->meta.keys != NULL)
        return error_set(err, stream_name(s->in), NO_OFFSET,
                         "aggregated profile, but %s needs a full profile", kind);
    return 0;
}

int scan_open(struct scan *s, const struct plot *plot, const char *kind, struct error *err)
{
    const struct plot_options *o = plot->options;
    *s = (struct scan){.salvage = o->salvage};
    if (o->input_count > 1)
        return error_set(err, o->inputs[1], NO_OFFSET, "%s draws a single profile", kind);
    s->path = o->input_count == 1 ? o->inputs[0] : NULL;
    s->in = stream_open(s->path, err);
    if (s->in == NULL || stream_make_seekable(s->in, err) != 0 || read_meta(s, kind, err) != 0) {
        scan_close(s);
        return -1;
    }
    return 0;
}

void scan_close(struct scan *s)
{
    stream_close(s->in);
    pbin_meta_free(&s->meta);
    *s = (struct scan){0};
}

/* State of a scan. */
struct pass {
    struct scan *scan;
    struct moment moment;
    double even_seconds; /* interval if samples have no times */
};

static void weigh(struct pass *p, const struct pbin_samples *s, size_t i)
{
    struct moment *m = &p->moment;
    const struct pbin_meta *meta = &p->scan->meta;
    double seconds = meta->times ? (double)s->interval_ns[i] / 1e9 : p->even_seconds;
    m->count = s->threads[i];
    m->begin = m->end;
    m->end += seconds;
    m->rate = p->scan->quantity.name != NULL ? s->value[i] * p->scan->quantity.scale : NAN;
    m->rate = isfinite(m->rate) ? m->rate : NAN;
    m->energy = isnan(m->rate) ? 0 : m->rate * seconds;
    m->even = NAN;
    m->cpu = 0;
    if (!meta->cpu_time)
        m->even = meta->cpus > 0 && m->count > meta->cpus
                      ? seconds * (double)meta->cpus / (double)m->count
                      : seconds;
    for (size_t j = 0; j < m->count && meta->cpu_time; j++)
        m->cpu += (double)m->cpu_ns[j] / 1e9;
}

int scan_run(struct scan *scan,
             void (*each)(void *, const struct moment *, const struct pbin_definitions *),
             void *opaque, struct error *err)
{
    struct pass p = {.scan = scan, .even_seconds = 1};
    struct pbin_batch batch;
    int got;
    if (stream_seek(scan->in, 0, err) != 0)
        return -1;
    struct pbin_reader *reader = pbin_reader_open(scan->in, scan->salvage, err);
    if (reader == NULL)
        return -1;
    if (scan->meta.wall_ns > 0 && scan->meta.samples > 0)
        p.even_seconds = (double)scan->meta.wall_ns / 1e9 / (double)scan->meta.samples;
    while ((got = pbin_reader_next(reader, &batch, err)) > 0) {
        if (batch.item != PBIN_SAMPLES)
            continue;
        p.moment.thread = batch.samples.thread;
        p.moment.location = batch.samples.location;
        p.moment.cpu_ns = batch.samples.cpu_ns;
        for (size_t i = 0; i < batch.samples.count; i++) {
            weigh(&p, &batch.samples, i);
            each(opaque, &p.moment, pbin_reader_definitions(reader));
            p.moment.thread += p.moment.count;
            p.moment.location += p.moment.count;
            p.moment.cpu_ns += p.moment.count;
        }
    }
    pbin_reader_close(reader);
    return got;
}

/* Samples of a full profile, one by one.
 * SPDX-License-Identifier: MIT */
#include "plot/scan.h"

static int read_meta(struct scan *s, const char *kind, struct error *err)
{
    struct pbin_reader *reader = pbin_reader_open(s->in, s->choice, err);
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

/* Copies a pipe to a file, unless its first bytes show that it is not a pbin, which read_meta reports. */
static int make_seekable(struct stream *in, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(in, PBIN_SIGNATURE_SIZE, &data, err);
    if (have < PBIN_SIGNATURE_SIZE || memcmp(data, pbin_signature, PBIN_SIGNATURE_SIZE) != 0)
        return have < 0 ? -1 : 0;
    return stream_make_seekable(in, err);
}

int scan_open(struct scan *s, const struct plot *plot, const char *kind, struct error *err)
{
    const struct plot_options *o = plot->options;
    *s = (struct scan){.choice = o->choice};
    if (o->input_count > 1)
        return error_set_usage(err, o->inputs[1], "%s draws a single profile", kind);
    s->path = o->input_count == 1 ? o->inputs[0] : NULL;
    s->in = stream_open(s->path, err);
    if (s->in == NULL || make_seekable(s->in, err) != 0 || read_meta(s, kind, err) != 0) {
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
    void (*each)(void *, const struct scanned *, const struct pbin_definitions *);
    void *opaque;
    struct weigher weigher;
    bool energies;
};

static void hand_out(struct pass *p, const struct pbin_definitions *all)
{
    const struct weighed *v;
    while ((v = weigher_next(&p->weigher)) != NULL) {
        struct scanned s = {.thread = v->thread,
                            .location = v->location,
                            .time_of = v->time_of,
                            .energy_of = v->energy_of,
                            .end = exact_approximate(v->begin, TIME_SHIFT) / 1e9};
        for (size_t i = 0; i < v->count; i++) {
            s.begin = s.end;
            s.end = exact_approximate(v->at[i], TIME_SHIFT) / 1e9;
            s.seconds = v->seconds[i];
            s.rate = v->rate[i];
            if (p->energies) {
                s.free[SCANNED_IDLE] = exact_approximate(v->idle_energy[i], ENERGY_SHIFT);
                s.free[SCANNED_OTHERS] = exact_approximate(v->others_energy[i], ENERGY_SHIFT);
            }
            s.threads = v->threads[i];
            p->each(p->opaque, &s, all);
            s.thread += s.threads;
            s.location += s.threads;
            s.time_of += s.threads;
            s.energy_of += s.threads;
        }
    }
}

int scan_run(struct scan *scan, bool energies,
             void (*each)(void *, const struct scanned *, const struct pbin_definitions *),
             void *opaque, struct error *err)
{
    const struct weigh_options options = {.untimed = (exact)1000000000 << TIME_SHIFT,
                                          .times_only = !energies};
    struct pass p = {.each = each, .opaque = opaque, .energies = energies};
    struct pbin_batch batch;
    int got;
    if (stream_seek(scan->in, 0, err) != 0)
        return -1;
    struct pbin_reader *reader = pbin_reader_open(scan->in, scan->choice, err);
    if (reader == NULL)
        return -1;
    if (energies)
        pbin_reader_want(reader, PBIN_WANT_BUSY);
    weigher_start(&p.weigher, &scan->meta, &scan->quantity, &options);
    while ((got = pbin_reader_next(reader, &batch, err)) > 0) {
        if (batch.item != PBIN_SAMPLES)
            continue;
        weigher_add(&p.weigher, &batch.samples);
        hand_out(&p, pbin_reader_definitions(reader));
    }
    weigher_finish(&p.weigher);
    hand_out(&p, pbin_reader_definitions(reader));
    weigher_free(&p.weigher);
    pbin_reader_close(reader);
    return got;
}

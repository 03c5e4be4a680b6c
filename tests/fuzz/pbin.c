/* pbin profiles, full and aggregated. The first byte of the input is the options.
 * SPDX-License-Identifier: MIT */
#include "formats/pbin/pbin.h"
#include "tests/fuzz/input.h"

enum { OPTIONS = 1, HEAD = OPTIONS + 16, MAX_BATCHES = 4096 };

static void touch_samples(const struct pbin_samples *s)
{
    input_touch(s->interval_ns, s->count * sizeof *s->interval_ns);
    input_touch(s->value, s->count * sizeof *s->value);
    input_touch(s->threads, s->count * sizeof *s->threads);
    if (s->equal_ns != NULL)
        input_touch(s->equal_ns, s->thread_sample_count * sizeof *s->equal_ns);
    if (s->busy_ns != NULL)
        input_touch(s->busy_ns, s->count * sizeof *s->busy_ns);
    input_touch(s->thread, s->thread_sample_count * sizeof *s->thread);
    input_touch(s->location, s->thread_sample_count * sizeof *s->location);
    input_touch(s->cpu_ns, s->thread_sample_count * sizeof *s->cpu_ns);
}

static void touch_text(const struct strings *strings, uint32_t number)
{
    const char *text = strings_get(strings, number);
    input_touch(text, strlen(text));
}

/* Numbers of strings, mappings and locations in the definitions must refer to something that exists. */
static void touch_definitions(const struct pbin_definitions *d)
{
    for (size_t i = 0; i < d->location_count; i++) {
        const struct pbin_location *l = &d->locations[i];
        touch_text(d->strings, l->binary);
        if (l->map != PBIN_NO_MAP)
            touch_text(d->strings, d->maps[l->map].label);
        if (d->callers != NULL && d->callers[i] != PBIN_NO_CALLER)
            input_touch(&d->locations[d->callers[i]], sizeof *l);
    }
    for (size_t i = 0; i < d->frame_count; i++)
        touch_text(d->strings, d->frames[i].function);
    for (size_t i = 0; i < d->thread_count; i++)
        touch_text(d->strings, d->threads[i].name);
    for (size_t i = 0; i < d->source_count; i++)
        pbin_source_is_counter(d->strings, &d->sources[i]);
    for (size_t i = 0; i < d->measure_count; i++)
        touch_text(d->strings, d->measures[i].unit);
}

static void read_all(struct pbin_reader *reader, struct error *err)
{
    struct pbin_batch batch;
    for (int i = 0; i < MAX_BATCHES && pbin_reader_next(reader, &batch, err) > 0; i++)
        if (batch.item == PBIN_SAMPLES)
            touch_samples(&batch.samples);
        else if (batch.item == PBIN_BUCKETS)
            input_touch(batch.histogram.buckets,
                        batch.histogram.count * sizeof *batch.histogram.buckets);
    touch_definitions(pbin_reader_definitions(reader));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct pbin_counts counts;
    char path[64];
    if (size < OPTIONS)
        return 0;
    struct pbin_choice choice = {data[0] & 1, (data[0] & 2) != 0 ? "fan" : NULL};
    int fd = input_file(data + OPTIONS, size - OPTIONS, path);
    struct stream *stream = stream_open_plain(path, &err);
    if (stream != NULL && (data[0] & 4) != 0 && stream_make_seekable(stream, &err) == 0)
        pbin_peek_trailer(stream, &counts);
    if (stream != NULL && (data[0] & 4) != 0 && err.text[0] == '\0')
        stream_seek(stream, 0, &err);
    struct pbin_reader *reader = stream == NULL ? NULL : pbin_reader_open(stream, choice, &err);
    if (reader != NULL) {
        if ((data[0] & 8) == 0) {
            pbin_reader_want(reader, PBIN_WANT_READINGS);
            pbin_reader_want(reader, PBIN_WANT_BUSY);
            pbin_reader_want(reader, PBIN_WANT_FIT);
            pbin_reader_want(reader, PBIN_WANT_MEASURES);
            pbin_reader_want(reader, PBIN_WANT_EQUAL);
        }
        if ((data[0] & 32) != 0)
            pbin_reader_want(reader, PBIN_WANT_OPAQUE);
        if ((data[0] & 20) == 20 && err.text[0] == '\0')
            pbin_reader_part(reader, size / 4, size / 4 * 3);
        read_all(reader, &err);
        input_touch(pbin_reader_meta(reader), sizeof(struct pbin_meta));
        input_touch(pbin_reader_keys(reader), sizeof(struct pbin_keys));
        pbin_reader_samples(reader);
        pbin_reader_cut(reader);
        if (pbin_reader_stream(reader) != stream ||
            pbin_reader_choice(reader).salvage != choice.salvage)
            abort();
    }
    pbin_reader_close(reader);
    stream_close(stream);
    close(fd);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return input_mutate_blocks(data, HEAD, size, max_size, seed, 32);
}

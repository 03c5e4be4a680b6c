/* Reads parts of one full profile with several threads in parallel.
 *
 *   | definitions | samples ... |          | ...          | trailer
 *    part 0: the caller         |  part 1: |
 *    part 1: skips all but definitions | reads to the end
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/parallel.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/thread.h"

/* Reading a part should take longer than starting a thread. Each thread needs a copy of the
 * definitions, and keeps some samples, which should therefore have few threads. */
enum { MIN_PART = 4 << 20, MAX_PARTS = 8, MAX_LOCATIONS = 1 << 16, MAX_THREADS = 128 };

struct part {
    pthread_t thread;
    bool started;
    struct stream *in;
    struct pbin_reader *reader;
    struct rowset rows;
    struct attribution attribution;
    struct error err;
    int result;
};

struct parallel {
    struct attribution *first;
    size_t count; /* all but the first */
    struct part part[MAX_PARTS];
};

static void *read_part(void *opaque)
{
    struct part *p = opaque;
    struct pbin_batch batch;
    bool begun = false;
    while ((p->result = pbin_reader_next(p->reader, &batch, &p->err)) > 0) {
        if (batch.item != PBIN_SAMPLES) /* arcs that the trailer does not count are an error */
            continue;
        if (!begun)
            attribution_begin_part(&p->attribution,
                                   pbin_reader_samples(p->reader) - batch.samples.count);
        begun = true;
        attribution_look(&p->attribution, &batch.samples, pbin_reader_definitions(p->reader));
        attribution_add(&p->attribution, &batch.samples, pbin_reader_definitions(p->reader));
        if (weigher_left(&p->attribution.head).thread_sample_count > WEIGH_MAX_THREADS) {
            p->result = error_set(&p->err, stream_name(p->in), NO_OFFSET,
                                  "has far more thread samples than its trailer says");
            break;
        }
    }
    attribution_end_part(&p->attribution);
    return NULL;
}

static void free_part(struct part *p)
{
    if (p->reader != NULL) {
        attribution_free(&p->attribution);
        rowset_free(&p->rows);
    }
    pbin_reader_close(p->reader);
    stream_close(p->in);
}

static bool open_part(struct part *p, struct stream *stream, struct pbin_choice choice,
                      const struct attribution *like, const struct attribution_options *options)
{
    p->in = stream_again(stream);
    p->reader = p->in == NULL ? NULL : pbin_reader_open(p->in, choice, &p->err);
    if (p->reader == NULL) {
        free_part(p);
        return false;
    }
    if (options->fit)
        pbin_reader_want(p->reader, PBIN_WANT_EQUAL);
    if (!options->weigh.ignore_others)
        pbin_reader_want(p->reader, PBIN_WANT_BUSY);
    rowset_init(&p->rows, &options->keys);
    attribution_start(&p->attribution, like->meta, like->weigher.quantity, options, &p->rows);
    return true;
}

/* The number of parts that are worthwhile. Sets *SIZE to the size of the file. */
static size_t count_parts(struct stream *stream, size_t threads, uint64_t *size)
{
    struct pbin_counts counts;
    struct stream *again = stream_again(stream);
    size_t parts = 1;
    *size = again == NULL ? 0 : stream_size(again);
    if (again != NULL && pbin_peek_trailer(again, &counts) && counts.locations <= MAX_LOCATIONS &&
        counts.arcs == 0 && counts.thread_samples / MAX_THREADS <= counts.samples)
        parts = *size / MIN_PART < threads ? (size_t)(*size / MIN_PART) : threads;
    stream_close(again);
    return parts < MAX_PARTS ? parts : MAX_PARTS;
}

struct parallel *parallel_start(struct pbin_reader *reader, struct attribution *first,
                                const struct attribution_options *options, size_t threads)
{
    struct stream *stream = pbin_reader_stream(reader);
    uint64_t size;
    size_t count =
        threads > 1 && attribution_divides(first) ? count_parts(stream, threads, &size) : 1;
    if (count < 2)
        return NULL;
    struct parallel *parts = mem_zalloc(1, sizeof *parts);
    parts->first = first;
    while (parts->count + 1 < count && open_part(&parts->part[parts->count], stream,
                                                 pbin_reader_choice(reader), first, options))
        parts->count++;
    uint64_t step = size / (parts->count + 1);
    pbin_reader_part(reader, 0, parts->count > 0 ? step : UINT64_MAX);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *p = &parts->part[i];
        pbin_reader_part(p->reader, (i + 1) * step,
                         i + 1 < parts->count ? (i + 2) * step : UINT64_MAX);
        p->started = thread_start(&p->thread, read_part, p);
    }
    return parts;
}

int parallel_join(struct parallel *parts, int result, struct error *err)
{
    rowset_fold(parts->first->rows);
    for (size_t i = 0; i < parts->count; i++) {
        struct part *p = &parts->part[i];
        if (p->started)
            pthread_join(p->thread, NULL);
        else
            read_part(p);
        if (result == 0 && p->result == 0) {
            attribution_join(parts->first, &p->attribution, pbin_reader_definitions(p->reader));
            if (i + 1 == parts->count)
                attribution_end(parts->first, pbin_reader_definitions(p->reader));
        } else if (result == 0) {
            *err = p->err;
            result = -1;
        }
        free_part(p);
    }
    free(parts);
    return result;
}

/* The input profiles of a tool.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/inputs.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"

enum { MAX_PATH = 1 << 16 };

void inputs_add(struct inputs *inputs, const char *path)
{
    mem_reserve(&inputs->paths, &inputs->capacity, inputs->count + 1, sizeof *inputs->paths);
    inputs->paths[inputs->count++] = mem_strdup(path);
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
}

/* Reads the next path of the list. Returns 1, 0 at the end, or -1 with ERR filled. */
static int next_path(struct inputs *inputs, struct stream *in, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(in, MAX_PATH, &data, err);
    if (have <= 0)
        return (int)have;
    size_t visible = have < MAX_PATH ? (size_t)have : MAX_PATH;
    const uint8_t *end = memchr(data, inputs->nul ? '\0' : '\n', visible);
    size_t length = end != NULL ? (size_t)(end - data) : visible;
    if (length == MAX_PATH)
        return error_set(err, stream_name(in), stream_offset(in), "path longer than %d bytes",
                         MAX_PATH);
    char *path = mem_strndup((const char *)data, length);
    if (path[0] != '\0')
        inputs_add(inputs, path);
    free(path);
    stream_advance(in, length + (end != NULL));
    return 1;
}

int inputs_complete(struct inputs *inputs, struct error *err)
{
    int got = 1;
    if (inputs->list == NULL) {
        if (inputs->count == 0)
            inputs_add(inputs, "-");
        return 0;
    }
    struct stream *in = stream_open(inputs->list, err);
    if (in == NULL)
        return -1;
    while (got > 0)
        got = next_path(inputs, in, err);
    if (got == 0 && inputs->count == 0)
        got = error_set(err, stream_name(in), NO_OFFSET, "contains no file names");
    stream_close(in);
    return got;
}

int inputs_read_one(const char *path, struct pbin_choice choice, size_t threads,
                    struct aggregate *aggregate, struct reporter *reporter, struct error *err)
{
    report_awaited(reporter, path, "a pbin profile");
    struct stream *in = stream_open(path, err);
    struct pbin_reader *reader = in == NULL ? NULL : pbin_reader_open(in, choice, err);
    int result = -1;
    if (reader != NULL)
        result = aggregate_read(aggregate, reader, stream_name(in), choice.salvage ? 1 : threads,
                                reporter, err);
    pbin_reader_close(reader);
    stream_close(in);
    return result;
}

/* The state of a worker. Workers take one file at a time; sums are exact, so it does not matter
 * which worker reads which file. */
struct worker {
    pthread_t thread;
    const struct inputs *inputs;
    size_t threads; /* to use for each profile */
    _Atomic size_t *next;
    struct aggregate *aggregate;
    struct reporter reporter;
    struct error err;
    size_t failed_at; /* number of the input that failed */
    int result;
};

static void *work(void *opaque)
{
    struct worker *w = opaque;
    for (;;) {
        size_t number = atomic_fetch_add(w->next, 1);
        if (number >= w->inputs->count)
            return NULL;
        if (inputs_read_one(w->inputs->paths[number], w->inputs->choice, w->threads, w->aggregate,
                            &w->reporter, &w->err) != 0) {
            w->result = -1;
            w->failed_at = number;
            atomic_store(w->next, w->inputs->count);
            return NULL;
        }
    }
}

/* A single file has a progress bar. Several files in parallel do not, and neither does a pipe,
 * whose writer has one. */
static bool shows_bar(const struct inputs *inputs)
{
    return inputs->count == 1 && strcmp(inputs->paths[0], "-") != 0;
}

/* Merges the result of a worker. Of several errors, keeps that of the first input. */
static int collect(struct worker *w, struct aggregate *into, struct reporter *reporter,
                   struct error *err, size_t *failed_at)
{
    reporter->warnings += w->reporter.warnings;
    reporter->unprinted += w->reporter.unprinted;
    if (w->result != 0 && w->failed_at < *failed_at) {
        *err = w->err;
        *failed_at = w->failed_at;
    }
    if (w->result != 0)
        return -1;
    return w->aggregate == into ? 0 : aggregate_merge(into, w->aggregate, err);
}

int inputs_aggregate(const struct inputs *inputs, struct aggregate *aggregate,
                     struct reporter *reporter, struct error *err)
{
    size_t threads = inputs->jobs > 0 ? inputs->jobs : thread_cpus();
    size_t count = threads < inputs->count ? threads : inputs->count;
    _Atomic size_t next = 0;
    size_t failed_at = SIZE_MAX;
    int result = 0;
    struct worker *workers = mem_zalloc(count, sizeof *workers);
    for (size_t i = 0; i < count; i++) {
        workers[i] = (struct worker){.inputs = inputs, .next = &next, .reporter = *reporter};
        workers[i].threads = threads / count;
        workers[i].reporter.no_bar = !shows_bar(inputs);
        workers[i].reporter.all_firsts = &reporter->firsts;
        workers[i].aggregate = i == 0 ? aggregate : aggregate_new(aggregate_options_of(aggregate));
        if (i > 0 && !thread_start(&workers[i].thread, work, &workers[i]))
            workers[i].inputs = NULL; /* the others read its files */
    }
    work(&workers[0]);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && workers[i].inputs != NULL)
            pthread_join(workers[i].thread, NULL);
        if (collect(&workers[i], aggregate, reporter, err, &failed_at) != 0)
            result = -1;
        if (i > 0)
            aggregate_delete(workers[i].aggregate);
    }
    free(workers);
    return result == 0 ? aggregate_finish(aggregate, err) : -1;
}

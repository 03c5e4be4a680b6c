/* Raw profiles of every dialect. The first two bytes of the input are the options.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "formats/raw/raw.h"
#include "tests/fuzz/input.h"

enum { OPTIONS = 2, MAX_BATCHES = 4096 };

static void read_samples(struct raw_profile *raw, struct error *err)
{
    struct raw_samples s;
    for (int i = 0; i < MAX_BATCHES && raw_next(raw, &s, err) > 0; i++) {
        input_touch(s.value, s.count * sizeof *s.value);
        input_touch(s.time_ns, s.count * sizeof *s.time_ns);
        input_touch(s.threads, s.count * sizeof *s.threads);
        input_touch(s.thread_samples, s.thread_sample_count * sizeof *s.thread_samples);
        if (s.flags != NULL)
            input_touch(s.flags, s.thread_sample_count);
        if (s.callers != NULL)
            input_touch(s.callers, s.thread_sample_count * sizeof *s.callers);
    }
}

static void read_profile(struct raw_profile *raw, struct error *err)
{
    struct raw_histogram line;
    input_touch(raw->maps, raw->map_count * sizeof *raw->maps);
    raw_pmu_kind(raw);
    raw_has_clock(raw);
    if (raw->aggregated) {
        for (int i = 0; i < MAX_BATCHES && raw_next_histogram(raw, &line, err) > 0; i++)
            input_touch(&line, sizeof line);
        return;
    }
    read_samples(raw, err);
    raw_rewind(raw);
    read_samples(raw, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const dialects[] = {NULL,      "intrvelf",         "intrvelf-aggregated",
                                           "sampler", "sampler-walltime", "pperf"};
    struct raw_options options = {0};
    struct error err = {0};
    char path[64];
    if (size < OPTIONS)
        return 0;
    options.dialect = dialects[data[0] % 8 < 6 ? data[0] % 8 : 0];
    options.salvage = data[0] & 8;
    options.order = (char)((data[0] & 16) == 0 ? 0 : (data[0] & 32) == 0 ? 'l' : 'b');
    options.value = (enum raw_value)(data[1] % (RAW_OPAQUE + 1));
    int fd = input_file(data + OPTIONS, size - OPTIONS, path);
    struct stream *stream = stream_open_plain(path, &err);
    struct raw_profile *raw = stream == NULL ? NULL : raw_open(stream, &options, &err);
    if (raw != NULL)
        read_profile(raw, &err);
    raw_close(raw);
    stream_close(stream);
    close(fd);
    return 0;
}

/* The offset at which the blocks of the extension begin; SIZE if there are none. */
static size_t blocks_at(const uint8_t *data, size_t size)
{
    const uint8_t *at = memmem(data, size, raw_signature, RAW_SIGNATURE_SIZE);
    return at == NULL ? size : (size_t)(at - data) + RAW_SIGNATURE_SIZE;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return input_mutate_blocks(data, blocks_at(data, size), size, max_size, seed, 8);
}

/* CPU profiles of gperftools, instruction traces of TracerV, and traces of memory accesses.
 * SPDX-License-Identifier: MIT */
#include "formats/gperf/gperf.h"
#include "formats/trace/memtrace.h"
#include "formats/trace/tracerv.h"
#include "tests/fuzz/input.h"

static void read_gperf(struct stream *stream, bool salvage, struct error *err)
{
    const struct gperf_options options = {.salvage = salvage};
    struct gperf_stack stack;
    struct gperf_map map;
    struct gperf *gperf = gperf_open(stream, &options, err);
    if (gperf == NULL)
        return;
    int got;
    while ((got = gperf_next(gperf, &stack, err)) > 0)
        if (stack.count == 0 || stack.depth == 0)
            abort();
    while (got == 0 && gperf_next_map(gperf, &map, err) > 0)
        input_touch(map.path, strlen(map.path) + 1);
    if (gperf_period(gperf) == 0 || (gperf_is_cut(gperf) && !salvage))
        abort();
    gperf_close(gperf);
}

static void read_tracerv(struct stream *stream, bool salvage, struct error *err)
{
    const struct tracerv_options options = {.salvage = salvage};
    struct tracerv_cycle cycle;
    struct tracerv *trace = tracerv_open(stream, &options, err);
    if (trace == NULL)
        return;
    while (tracerv_next(trace, &cycle, err) > 0)
        input_touch(cycle.pcs, cycle.count * sizeof *cycle.pcs);
    if (tracerv_disordered(trace) > tracerv_records(trace) || (tracerv_is_cut(trace) && !salvage))
        abort();
    tracerv_close(trace);
}

static void read_memtrace(struct stream *stream, bool salvage, struct error *err)
{
    struct memtrace_access access;
    struct memtrace *trace = memtrace_open(stream, salvage, err);
    if (trace == NULL)
        return;
    while (memtrace_next(trace, &access, err) > 0)
        if (access.size > MEMTRACE_MAX_SIZE)
            abort();
    if (memtrace_is_cut(trace) && !salvage)
        abort();
    memtrace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(struct stream *, bool,
                                   struct error *) = {read_gperf, read_tracerv, read_memtrace};
    char path[64];
    int fd = input_file(data, size, path);
    for (int i = 0; i < 6; i++) {
        struct error err = {0};
        struct stream *stream = stream_open_plain(path, &err);
        if (stream != NULL)
            readers[i / 2](stream, i % 2 != 0, &err);
        stream_close(stream);
    }
    close(fd);
    return 0;
}

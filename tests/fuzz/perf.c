/* Recordings of perf: their records ordered by time, processes and mappings.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "convert/perf2pbin/perf_processes.h"
#include "convert/symbolize/address_spaces.h"
#include "tests/fuzz/input.h"

/* Reads all records, then again with known mappings, in which samples are looked up. */
static int follow(struct perf *perf, struct perf_processes *processes,
                  struct address_spaces *spaces, struct error *err)
{
    struct perf_record record;
    uint64_t now = 0, until;
    int got;
    while ((got = perf_next(perf, &record, err)) > 0) {
        now = record.time > now ? record.time : now;
        if (record.kind != PERF_SAMPLE) {
            perf_processes_follow(processes, &record);
            continue;
        }
        uint32_t task = perf_processes_task(processes, &record);
        uint32_t image = processes->task[task].image;
        if (spaces == NULL)
            continue;
        if (address_spaces_at(spaces, image, now, &until) == 0)
            abort();
        address_spaces_find(spaces, image, record.u.sample.pc);
    }
    return got;
}

static void read_twice(struct perf *perf, struct error *err)
{
    struct perf_processes processes = {0};
    size_t events, maps;
    if (follow(perf, &processes, NULL, err) == 0 && perf_rewind(perf, err) == 0) {
        struct address_spaces *spaces = address_spaces_new(&processes.ext);
        size_t images = processes.ext.image_count;
        address_spaces_maps(spaces, &maps);
        perf_processes_again(&processes);
        if (follow(perf, &processes, spaces, err) == 0 && processes.started != images)
            abort();
        address_spaces_delete(spaces);
    }
    const struct perf_event *all = perf_events(perf, &events);
    for (size_t i = 0; i < events; i++)
        input_touch(all[i].name, strlen(all[i].name));
    perf_processes_free(&processes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = input_file(data, size, path);
    for (int salvage = 0; salvage < 2; salvage++) {
        struct error err = {0};
        struct stream *stream = stream_open_plain(path, &err);
        struct perf *perf = stream == NULL ? NULL : perf_open(stream, salvage != 0, &err);
        if (perf != NULL)
            read_twice(perf, &err);
        if (salvage != 0 && perf != NULL)
            perf_is_cut(perf);
        perf_close(perf);
        stream_close(stream);
    }
    close(fd);
    return 0;
}

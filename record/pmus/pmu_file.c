/* A gauge in a file that contains a number: a file that a script writes, or any file of sysfs.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"
#include "record/pmus/sysfs.h"

struct gauge_file {
    struct sysfs_file file;
    double scale;
};

static void close_file(void *state)
{
    struct gauge_file *f = state;
    sysfs_close(&f->file);
    free(f);
}

static int open_file(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    struct pmu_unit unit;
    double value;
    char text[SYSFS_TEXT];
    if (pmu_unit_settle(request->unit, request->kind, &unit, err) != 0)
        return -1;
    if (unit.energy)
        return error_set(err, NULL, NO_OFFSET,
                         "file: reads a gauge, not a counter in %s: use counter:%s", request->unit,
                         request->argument);
    struct gauge_file *f = mem_zalloc(1, sizeof *f);
    f->scale = unit.scale;
    if (sysfs_open_filled(&f->file, request->argument, text, err) != 0 ||
        sysfs_gauge(&f->file, &value, err) < 0) {
        close_file(f);
        return -1;
    }
    struct pmu_channel *channel = pmu_channel_add(channels, "value", request->argument);
    pmu_channel_quantity(channel, unit.kind, unit.name);
    *state = f;
    return 0;
}

static int read_file(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct gauge_file *f = state;
    (void)channel;
    int got = sysfs_gauge(&f->file, &value->gauge, err);
    value->gauge *= f->scale;
    return got;
}

extern const struct pmu_source pmu_file;
const struct pmu_source pmu_file = {
    .name = "file",
    .argument = "PATH",
    .help = "a file that holds a power or another value (--unit)",
    .takes_unit = true,
    .open = open_file,
    .read = read_file,
    .close = close_file,
};

/* AMD: an energy counter for each core, from the perf PMU `power_core`.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/pmus/perf_counter.h"
#include "record/pmus/pmu.h"

struct cores {
    int *fds; /* one for each channel */
    size_t count;
};

static void close_cores(void *state)
{
    struct cores *c = state;
    for (size_t i = 0; i < c->count; i++)
        close(c->fds[i]);
    free(c->fds);
    free(c);
}

static int open_core(struct cores *c, int cpu, struct pmu_channels *channels, struct error *err)
{
    double per_count;
    int absent;
    int fd = perf_counter_open("power_core", "energy-core", cpu, &per_count, &absent, err);
    if (fd < 0)
        return -1;
    char *name = mem_printf("cpu%d", cpu);
    struct pmu_channel *channel = pmu_channel_add(channels, name, "the core of this processor");
    pmu_channel_counter(channel, per_count, 0);
    channel->scope = SCOPE_CORE;
    free(name);
    c->fds[c->count++] = fd;
    return 0;
}

static int open_cores(const struct pmu_request *request, struct pmu_channels *channels,
                      void **state, struct error *err)
{
    struct perf_cpus cpus;
    perf_cpus_read(&cpus, "power_core");
    struct cores *c = mem_zalloc(1, sizeof *c);
    c->fds = mem_zalloc(cpus.count + 1, sizeof *c->fds);
    int result = cpus.count > 0
                     ? 0
                     : error_set(err, NULL, NO_OFFSET, "this machine has no perf PMU 'power_core'");
    for (size_t i = 0; i < cpus.count && result == 0; i++)
        result = open_core(c, cpus.list[i], channels, err);
    if (result == 0)
        result = pmu_channels_choose(channels, "amd-core", request->argument, err);
    free(cpus.list);
    if (result != 0)
        close_cores(c);
    else
        *state = c;
    return result;
}

static int read_core(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    const struct cores *c = state;
    return perf_counter_read(c->fds[channel], "the counter of a core", &value->count, err);
}

extern const struct pmu_source pmu_amd_core;
const struct pmu_source pmu_amd_core = {
    .name = "amd-core",
    .argument = "[CPU]",
    .help = "energy counters of the cores of AMD processors (perf)",
    .open = open_cores,
    .read = read_core,
    .close = close_cores,
};

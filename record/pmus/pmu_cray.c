/* Cray: the power management counters of a node, in joules, about ten times a second.
 *
 *   /sys/cray/pm_counters/energy       "123456 J"         the node
 *   /sys/cray/pm_counters/freshness    "789"              changes with each update of all counters
 *
 * All counters are read together, between two equal readings of `freshness`, and only if it has
 * changed.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"
#include "record/pmus/sysfs.h"

enum { MAX_CHANNELS = 32, TRIES = 10 };

struct cray {
    struct sysfs_file freshness;
    struct sysfs_file files[MAX_CHANNELS];
    uint64_t counts[MAX_CHANNELS];
    size_t count;
    uint64_t fresh;
    bool known;
};

static void close_cray(void *state)
{
    struct cray *c = state;
    sysfs_close(&c->freshness);
    for (size_t i = 0; i < c->count; i++)
        sysfs_close(&c->files[i]);
    free(c);
}

/* Reads all counters of one update. Returns 1, 0 if there is no new update, or -1 with ERR
 * filled. */
static int update(struct cray *c, struct error *err)
{
    uint64_t before, after;
    for (int i = 0; i < TRIES; i++) {
        int got = sysfs_count(&c->freshness, &before, err);
        if (got <= 0 || (c->known && before == c->fresh))
            return got < 0 ? -1 : 0;
        for (size_t n = 0; n < c->count && got > 0; n++)
            got = sysfs_count(&c->files[n], &c->counts[n], err);
        if (got > 0)
            got = sysfs_count(&c->freshness, &after, err);
        if (got < 0)
            return -1;
        if (got > 0 && after == before) {
            c->fresh = before;
            c->known = true;
            return 1;
        }
    }
    return 0;
}

static int add_counter(struct cray *c, const char *folder, const char *name, enum pmu_scope scope,
                       const char *help, struct pmu_channels *channels, struct error *err)
{
    double hertz = 0;
    if (c->count == MAX_CHANNELS)
        return 0;
    if (sysfs_open(&c->files[c->count], folder, name, err) != 0)
        return -1;
    c->count++;
    struct pmu_channel *channel = pmu_channel_add(channels, name, help);
    pmu_channel_counter(channel, 1, 0);
    channel->scope = scope;
    if (sysfs_number(folder, "raw_scan_hz", &hertz) && hertz >= 1)
        channel->period = (uint64_t)(1e9 / hertz);
    return 0;
}

/* Adds the counter of the node first, then those of its parts. */
static int add_counters(struct cray *c, const char *folder, struct pmu_channels *channels,
                        struct error *err)
{
    struct sysfs_list list;
    int result = add_counter(c, folder, "energy", SCOPE_BOARD, "the node", channels, err);
    sysfs_list(&list, folder, "");
    for (size_t i = 0; i < list.count && result == 0; i++) {
        const char *name = list.names[i], *part = strstr(name, "_energy");
        if (part == NULL || strcmp(part, "_energy") != 0)
            continue;
        bool cpu = strncmp(name, "cpu", 3) == 0, memory = strncmp(name, "memory", 6) == 0;
        bool accelerator = strncmp(name, "accel", 5) == 0;
        enum pmu_scope scope = cpu           ? SCOPE_PACKAGE
                               : memory      ? SCOPE_DRAM
                               : accelerator ? SCOPE_GPU
                                             : SCOPE_OTHER;
        result = add_counter(c, folder, name, scope, "a part of the node", channels, err);
    }
    sysfs_list_free(&list);
    return result;
}

static int open_cray(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    struct cray *c = mem_zalloc(1, sizeof *c);
    char *folder = sysfs_path("/sys/cray/pm_counters");
    int result = sysfs_open(&c->freshness, folder, "freshness", err);
    if (result == 0)
        result = add_counters(c, folder, channels, err);
    if (result == 0 && update(c, err) < 0)
        result = -1;
    if (result == 0)
        result = pmu_channels_choose(channels, "cray", request->argument, err);
    c->known = false; /* the first reading counts as an update */
    free(folder);
    if (result != 0)
        close_cray(c);
    else
        *state = c;
    return result;
}

static int read_cray(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    struct cray *c = state;
    if (channel == 0 && update(c, err) < 0)
        return -1;
    value->count = c->counts[channel];
    return c->known; /* an equal count means no new update */
}

extern const struct pmu_source pmu_cray;
const struct pmu_source pmu_cray = {
    .name = "cray",
    .argument = "[COUNTER]",
    .help = "energy counters of a Cray node (pm_counters)",
    .open = open_cray,
    .read = read_cray,
    .close = close_cray,
};

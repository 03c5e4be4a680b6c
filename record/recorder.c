/* What happens to the samples of an engine.
 * SPDX-License-Identifier: MIT */
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "formats/raw/raw_readings.h"
#include "record/clock.h"
#include "record/compose.h"
#include "record/facts.h"
#include "record/mappings.h"
#include "record/names.h"
#include "record/power.h"
#include "record/spool.h"

/* A PC outside all mappings makes us look again, but not more often than this when that brings
 * nothing new (code that a program generates). */
static const uint64_t look_again = SECOND / 50;
static const uint64_t flush_every = SECOND / 2;

struct recorder {
    struct options *options;
    struct error *err;
    struct output *out;
    struct spool *spool;
    struct engine_hooks hooks;
    struct facts facts;
    struct mappings mappings;
    size_t spooled_maps; /* how many of them the spool has */
    struct names names;
    struct power *power;
    struct raw_readings *readings; /* for the value of the next sample */
    bool power_failed;             /* ERR says why */
    double energy;                 /* of the samples so far [J] */
    uint64_t before;               /* time of the sample before [ns] */
    uint64_t flushed, looked;      /* [ns], sample times */
    pid_t pid;
};

static void take_readings(struct recorder *r)
{
    size_t count;
    const struct raw_reading *readings = power_take(r->power, &count);
    for (size_t i = 0; i < count; i++)
        raw_readings_add(r->readings, &readings[i]);
}

static void on_tick(void *context, uint64_t now)
{
    struct recorder *r = context;
    r->power_failed = r->power_failed || power_tick(r->power, now) != 0;
    take_readings(r);
}

static void spool_new_maps(struct recorder *r)
{
    if (r->spooled_maps < r->mappings.count)
        spool_maps(r->spool, r->mappings.maps + r->spooled_maps,
                   r->mappings.count - r->spooled_maps);
    r->spooled_maps = r->mappings.count;
}

static uint32_t on_image(void *context, const struct raw_image *image)
{
    struct recorder *r = context;
    r->pid = (pid_t)image->pid;
    mappings_read(&r->mappings, r->pid, true);
    spool_new_maps(r);
    return 0;
}

static void on_mapping(void *context, const struct raw_mapx *map)
{
    (void)context;
    (void)map;
}

static void on_maps_changed(void *context, uint32_t pid, uint64_t time)
{
    struct recorder *r = context;
    (void)time;
    mappings_read(&r->mappings, (pid_t)pid, false);
    spool_new_maps(r);
}

static void on_task(void *context, uint32_t pid, uint32_t tid, uint64_t time, const char *name)
{
    (void)context;
    (void)pid;
    (void)tid;
    (void)time;
    (void)name;
}

static void on_process_end(void *context, uint32_t pid, uint64_t time, const struct raw_cpu *cpu)
{
    (void)cpu;
    on_maps_changed(context, pid, time);
}

/* Looks for new mappings (dlopen) when a PC is in none that is known. */
static void find_pcs(struct recorder *r, const struct engine_sample *sample)
{
    if (r->looked != 0 && sample->time - r->looked < look_again)
        return;
    for (size_t i = 0; i < sample->count; i++) {
        if (mappings_know(&r->mappings, sample->threads[i].pc))
            continue;
        size_t found = mappings_read(&r->mappings, r->pid, false);
        spool_new_maps(r);
        r->looked = found > 0 ? 0 : sample->time;
        return;
    }
}

static int flush(struct recorder *r, const struct engine_sample *sample)
{
    r->flushed = sample->time;
    names_look(&r->names, r->pid, sample);
    if (r->names.news_count > 0 && spool_threads(r->spool, r->names.news, r->names.news_count) != 0)
        return -1;
    names_told(&r->names);
    return spool_flush(r->spool);
}

static int on_sample(void *context, const struct engine_sample *sample)
{
    struct recorder *r = context;
    if (r->power_failed)
        return -1;
    find_pcs(r, sample);
    double value = raw_readings_value(r->readings, r->before, sample->time);
    r->energy += value * (double)(sample->time - r->before) * 1e-9;
    r->before = sample->time;
    raw_readings_forget(r->readings, sample->time);
    if (spool_sample(r->spool, value, sample) != 0)
        return -1;
    if (sample->time - r->flushed < flush_every && r->names.news_count < NAMES_MANY)
        return 0;
    return flush(r, sample);
}

static void on_task_end(void *context, uint32_t pid, uint32_t tid, uint64_t time)
{
    (void)time;
    struct recorder *r = context;
    names_end(&r->names, (pid_t)pid, (pid_t)tid);
}

/* A device such as /dev/full says no even to nothing: better now than when the command has run. */
static int check_device(const char *path, struct error *err)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISCHR(st.st_mode))
        return 0;
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    int errnum = fd < 0 || write(fd, "", 0) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return errnum == 0 ? 0 : error_set_errno(err, path, errnum, "cannot write");
}

static int open_all(struct recorder *r)
{
    const struct options *o = r->options;
    size_t count;
    r->power = power_open(&o->power, &r->options->reporter, r->err);
    if (r->power == NULL)
        return -1;
    const struct raw_source *sources = power_channels(r->power, &count);
    r->readings = raw_readings_new(sources, count);
    if (check_device(o->out, r->err) != 0)
        return -1;
    r->out = output_open(o->out, OUTPUT_BINARY, r->err);
    if (r->out == NULL)
        return -1;
    r->spool = spool_new(o->out, r->err);
    if (r->spool == NULL)
        return -1;
    facts_begin(&r->facts, o, r->power);
    return spool_facts(r->spool, r->facts.list, r->facts.count);
}

struct recorder *recorder_new(struct options *options, struct error *err)
{
    struct recorder *r = mem_zalloc(1, sizeof *r);
    r->options = options;
    r->err = err;
    r->hooks = (struct engine_hooks){.context = r,
                                     .tick = on_tick,
                                     .sample = on_sample,
                                     .image = on_image,
                                     .mapping = on_mapping,
                                     .maps_changed = on_maps_changed,
                                     .task = on_task,
                                     .task_end = on_task_end,
                                     .process_end = on_process_end};
    if (open_all(r) == 0)
        return r;
    recorder_delete(r);
    return NULL;
}

void recorder_delete(struct recorder *r)
{
    if (r == NULL)
        return;
    output_discard(r->out);
    spool_delete(r->spool);
    power_close(r->power);
    raw_readings_delete(r->readings);
    facts_free(&r->facts);
    mappings_free(&r->mappings);
    names_free(&r->names);
    free(r);
}

const struct engine_hooks *recorder_hooks(struct recorder *r)
{
    return &r->hooks;
}

const struct power *recorder_power(const struct recorder *r)
{
    return r->power;
}

double recorder_energy(const struct recorder *r)
{
    return r->energy;
}

static int write_profile(struct recorder *r, const struct engine_result *result)
{
    struct profile profile = {.kind = power_kind(r->power),
                              .wall = result->wall,
                              .latency = result->latency,
                              .samples = spool_samples(r->spool),
                              .facts = r->facts.list,
                              .fact_count = r->facts.count,
                              .mappings = &r->mappings};
    if (compose(r->out, spool_path(r->spool), &profile, r->err) != 0)
        return -1;
    struct output *out = r->out;
    r->out = NULL;
    return output_commit(out);
}

int recorder_finish(struct recorder *r, const struct engine_result *result, const char **left)
{
    struct engine_sample end = {.time = result->wall};
    while (!r->power_failed) {
        int got = power_end(r->power, result->wall);
        r->power_failed = got < 0;
        take_readings(r);
        if (got <= 0)
            break;
    }
    power_warn(r->power);
    if (flush(r, &end) == 0 && write_profile(r, result) == 0)
        return r->power_failed ? -1 : 0;
    *left = spool_keep(r->spool);
    return -1;
}

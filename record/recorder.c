/* Records what an engine observes.
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
#include "record/clock.h"
#include "record/compose.h"
#include "record/exits.h"
#include "record/facts.h"
#include "record/histogram.h"
#include "record/images.h"
#include "record/jit.h"
#include "record/names.h"
#include "record/power.h"
#include "record/spool.h"

/* If a PC is outside all mappings, the recorder reads the mappings again, but if that finds nothing
 * new (generated code), not more often than this. In addition, it reads them this often while the
 * program runs, unless that takes more than a part of its time: a PC does not show that its mapping
 * has been replaced, and older kernels do not answer images_check. The part is larger after a
 * reading that found something new: it has opened files, which the next one does not do again. */
static const uint64_t look_again = SECOND / 50;
enum { LOOK_PART = 200, LOOK_PART_NEW = 20 };
/* Samples are delivered after the ends of their processes, and are moved by less than this:
 * mappings are needed until then. */
static const uint64_t late = SECOND;
/* at most this much is lost if the sampler is killed */
static const uint64_t flush_every = SECOND / 20;
/* Until the first sample is written, because before that, nothing can be salvaged. */
static const uint64_t flush_first = SECOND / 100;
static const uint64_t names_every = SECOND / 2;
enum { AT_ONCE = 16384, VMMAP_SIZE = 272 };

struct recorder {
    struct options *options;
    const struct engine *engine;
    struct error *err;
    struct output *out;  /* NULL: nothing is written */
    struct spool *spool; /* also NULL if nothing is written */
    struct engine_hooks hooks;
    struct facts facts;
    struct images *images;
    struct names names;
    /* NULL: the engine knows the CPU time of processes, or the kernel does not report it */
    struct exits *exits;
    struct raw_cpu *cpus; /* these and the following are not in the spool yet */
    size_t cpu_count, cpu_capacity;
    struct raw_ticks *ticks;
    size_t tick_count, tick_capacity;
    struct raw_mark *marks;
    size_t mark_count, mark_capacity;
    uint64_t *nominal_ns; /* of totals */
    size_t nominal_count, nominal_capacity;
    struct raw_reading *readings;
    size_t reading_count, reading_capacity;
    struct histogram *histogram; /* NULL, except with --aggregate, which has no spool */
    struct raw_readings *values; /* readings for the histogram */
    struct power *power;
    bool failed;         /* ERR is filled; no more samples */
    bool is_salvageable; /* a sample has been written */
    /* when the spool was last flushed, and mappings and names looked up [ns of the run] */
    uint64_t flushed, looked, named;
    uint64_t sampled; /* time of the last sample [ns of the run] */
    /* time in which a thread ran; when to read mappings, in that time */
    uint64_t ran, next_look;
    int64_t started; /* CLOCK_REALTIME of time 0 [ns] */
    uint64_t cpu;    /* at the end: CPU time of all sampled processes [ns]; 0: unknown */
    double energy;
};

/* Returns the time of the newest reading; 0: there are none. */
static uint64_t take_readings(struct recorder *r)
{
    size_t count;
    const struct raw_reading *news = power_take(r->power, &count);
    uint64_t newest = count > 0 ? news[count - 1].time : 0;
    for (size_t i = 0; i < count && r->values != NULL; i++)
        raw_readings_add(r->values, &news[i]);
    if (r->spool == NULL || count == 0)
        return newest;
    mem_reserve(&r->readings, &r->reading_capacity, r->reading_count + count, sizeof *news);
    memcpy(r->readings + r->reading_count, news, count * sizeof *news);
    r->reading_count += count;
    return newest;
}

/* Appends blocks with all additions to the spool. */
static void put_news(struct recorder *r, bool all)
{
    struct buffer *blocks = spool_blocks(r->spool);
    images_put(r->images, blocks, all);
    names_put(&r->names, blocks);
    for (size_t i = 0; i < r->reading_count; i += AT_ONCE) {
        size_t left = r->reading_count - i;
        raw_put_readings(blocks, r->readings + i, left < AT_ONCE ? left : AT_ONCE);
    }
    if (r->cpu_count > 0)
        raw_put_cpus(blocks, r->cpus, r->cpu_count);
    if (r->tick_count > 0)
        raw_put_ticks(blocks, r->ticks, r->tick_count);
    if (r->mark_count > 0)
        raw_put_marks(blocks, r->marks, r->mark_count);
    if (r->nominal_count > 0)
        raw_put_nominal(blocks, r->nominal_ns, r->nominal_count);
    r->reading_count = r->cpu_count = r->tick_count = r->mark_count = r->nominal_count = 0;
}

static bool flush_is_due(const struct recorder *r, uint64_t now)
{
    return now >= r->flushed + (r->is_salvageable ? flush_every : flush_first);
}

/* Writes the spool. Stops recording while the disk still has room to complete the profile. */
static int flush(struct recorder *r, uint64_t now, bool all)
{
    r->flushed = now;
    if (r->spool == NULL || r->failed)
        return r->failed ? -1 : 0;
    put_news(r, all);
    r->is_salvageable = spool_samples(r->spool) > 0;
    r->failed = spool_flush(r->spool) != 0;
    if (r->failed || all)
        return r->failed ? -1 : 0;
    const char *shortage = spool_shortage(r->spool, images_vmmap_count(r->images) * VMMAP_SIZE);
    if (shortage == NULL)
        return 0;
    r->failed = true;
    return error_set(r->err, r->options->out, NO_OFFSET,
                     "%s: sampling ended %.3f s after the start", shortage, (double)now * 1e-9);
}

static uint64_t on_tick(void *context, uint64_t now, uint64_t *read, bool *exact)
{
    struct recorder *r = context;
    if (r->started == 0) {
        struct timespec real;
        clock_gettime(CLOCK_REALTIME, &real);
        r->started = (int64_t)real.tv_sec * (int64_t)SECOND + real.tv_nsec - (int64_t)now;
    }
    if (!r->failed && power_tick(r->power, now) != 0)
        r->failed = true;
    if (r->exits != NULL)
        exits_read(r->exits);
    uint64_t newest = take_readings(r);
    *read = newest > 0 ? newest : *read;
    if (flush_is_due(r, now))
        flush(r, now, false);
    return power_due(r->power, exact);
}

static uint32_t on_image(void *context, const struct raw_image *image)
{
    struct recorder *r = context;
    return images_add(r->images, image);
}

static bool on_mapping(void *context, const struct raw_mapx *map)
{
    struct recorder *r = context;
    return images_map(r->images, map);
}

static void on_maps_changed(void *context, uint32_t pid, uint64_t time)
{
    struct recorder *r = context;
    images_read(r->images, pid, time);
}

static void on_task(void *context, uint32_t pid, uint32_t tid, uint64_t time, const char *name)
{
    struct recorder *r = context;
    names_add(&r->names, pid, tid, time, name);
}

static void on_task_end(void *context, uint32_t pid, uint32_t tid, uint64_t time)
{
    struct recorder *r = context;
    names_end(&r->names, pid, tid, time);
}

static void on_process_end(void *context, uint32_t pid, uint64_t time, const struct raw_cpu *cpu)
{
    struct recorder *r = context;
    uint32_t image = images_find(r->images, pid);
    if (image == RAW_NO_IMAGE || !images_alive(r->images, image))
        return;
    if (r->spool != NULL && !r->failed)
        jit_copy(r->spool, r->images, image, r->started);
    images_end(r->images, image, time);
    struct raw_cpu own;
    if (cpu == NULL && r->exits != NULL) {
        exits_read(r->exits);
        cpu = exits_take(r->exits, pid, &own) ? &own : NULL;
    }
    if (cpu == NULL || r->failed) /* the program continued after the last sample */
        return;
    mem_reserve(&r->cpus, &r->cpu_capacity, r->cpu_count + 1, sizeof *r->cpus);
    r->cpus[r->cpu_count++] = *cpu;
}

static void on_ticks(void *context, const struct raw_ticks *ticks)
{
    struct recorder *r = context;
    if (r->histogram != NULL && !r->failed)
        histogram_ticks(r->histogram, images_program(r->images, images_find(r->images, ticks->pid)),
                        ticks);
    if (r->spool == NULL || r->failed)
        return;
    mem_reserve(&r->ticks, &r->tick_capacity, r->tick_count + 1, sizeof *r->ticks);
    r->ticks[r->tick_count++] = *ticks;
}

static void on_mark(void *context, const struct raw_mark *mark)
{
    struct recorder *r = context;
    if (r->spool != NULL && !r->failed)
        *MEM_APPEND(r->marks, r->mark_count, r->mark_capacity) = *mark;
}

/* Looks for new mappings (dlopen) if a PC is in no known mapping. */
static void find_pc(struct recorder *r, uint32_t image, const struct engine_thread *thread,
                    uint64_t time)
{
    if ((r->looked != 0 && time - r->looked < look_again) ||
        images_know(r->images, image, thread->pc))
        return;
    r->looked = images_read(r->images, thread->pid, time) > 0 ? 0 : time;
}

/* Reads the mappings of IMAGE again if this is due; RAW_NO_IMAGE: no process ran. */
static void renew(struct recorder *r, uint32_t image, uint64_t time)
{
    uint64_t passed = time - r->sampled;
    r->sampled = time;
    if (image == RAW_NO_IMAGE || r->engine->events)
        return;
    r->ran += passed;
    if (r->ran < r->next_look || time < images_looked(r->images, image) + look_again)
        return;
    uint64_t begin = clock_thread();
    /* the sample was taken earlier: the process may have called exec since */
    size_t found = images_read(r->images, images_pid(r->images, image), time + 1);
    r->next_look = r->ran + (found > 0 ? LOOK_PART_NEW : LOOK_PART) * (clock_thread() - begin);
}

static uint64_t user_pc(const struct engine_thread *thread)
{
    return thread->flags & RAW_CALLER ? thread->caller : thread->pc;
}

static void look_at(struct recorder *r, const struct engine_sample *sample)
{
    uint32_t stale = RAW_NO_IMAGE; /* the image with the oldest mappings among those that ran */
    for (size_t i = 0; i < sample->count; i++) {
        const struct engine_thread *thread = &sample->threads[i];
        if (thread->flags & RAW_TOTAL)
            continue;
        uint32_t image = images_at(r->images, thread->pid, sample->time);
        if (thread->flags & RAW_RAN && image != RAW_NO_IMAGE) {
            images_ran(r->images, image);
            if (stale == RAW_NO_IMAGE ||
                images_looked(r->images, image) < images_looked(r->images, stale))
                stale = image;
        }
        if (r->engine->events)
            continue;
        if (!(thread->flags & RAW_CALLER))
            find_pc(r, image, thread, sample->time);
        if (thread->flags & RAW_RAN)
            images_check(r->images, image, user_pc(thread), sample->time);
    }
    renew(r, stale, sample->time);
    if (sample->time >= r->named + names_every) {
        r->named = sample->time;
        names_look(&r->names, sample->time);
    }
}

/* Notes how much CPU time the sightings of each thread with a total in SAMPLE represent. */
static void note_totals(struct recorder *r, const struct engine_sample *sample)
{
    for (size_t i = 0; i < sample->count && r->engine->nominal; i++)
        if (sample->threads[i].flags & RAW_TOTAL)
            *MEM_APPEND(r->nominal_ns, r->nominal_count, r->nominal_capacity) =
                sample->threads[i].represented;
}

static bool find_place(void *context, uint32_t pid, uint64_t pc, struct vmmap *place)
{
    const struct recorder *r = context;
    return images_place(r->images, images_at(r->images, pid, r->sampled), pc, r->sampled, place);
}

static uint32_t find_program(void *context, uint32_t pid)
{
    const struct recorder *r = context;
    return images_program(r->images, images_at(r->images, pid, r->sampled));
}

static int on_sample(void *context, const struct engine_sample *sample)
{
    struct recorder *r = context;
    if (r->failed)
        return -1;
    look_at(r, sample);
    const struct histogram_finder finder = {r, find_place, find_program};
    if (r->histogram != NULL)
        histogram_sample(r->histogram, sample, &finder);
    if (sample->time > late)
        images_forget(r->images, sample->time - late);
    if (r->spool == NULL)
        return 0;
    spool_sample(r->spool, sample);
    note_totals(r, sample);
    if (!spool_full(r->spool) && !flush_is_due(r, sample->time))
        return 0;
    return flush(r, sample->time, false);
}

/* Detects a device such as /dev/full before the command runs. */
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

static int open_out(struct recorder *r)
{
    const char *path = r->options->out;
    size_t count;
    if (check_device(path, r->err) != 0)
        return -1;
    r->out = output_open(path, OUTPUT_BINARY, r->err);
    if (r->out == NULL)
        return -1;
    const struct raw_source *sources = power_channels(r->power, &count);
    if (r->options->aggregate) {
        r->values = raw_readings_new(sources, count);
        r->histogram = histogram_new(r->values);
        return 0;
    }
    engine_hold(&r->options->engine);
    r->spool = spool_new(path, r->err);
    if (r->spool == NULL)
        return -1;
    raw_put_facts(spool_blocks(r->spool), r->facts.list, r->facts.count);
    if (count > 0)
        raw_put_sources(spool_blocks(r->spool), sources, count);
    return spool_flush(r->spool);
}

static int open_all(struct recorder *r)
{
    const struct options *o = r->options;
    r->images = images_new();
    r->power = power_open(&o->power, &r->options->reporter, r->err);
    if (r->power == NULL)
        return -1;
    facts_begin(&r->facts, o, r->engine->name, r->power);
    if (o->out != NULL && open_out(r) != 0)
        return -1;
    if (r->spool != NULL && r->engine->nominal && o->command != NULL)
        r->exits = exits_open();
    return power_begin(r->power); /* the program is about to start */
}

struct recorder *recorder_new(struct options *options, const struct engine *engine,
                              struct error *err)
{
    struct recorder *r = mem_zalloc(1, sizeof *r);
    r->options = options;
    r->engine = engine;
    r->err = err;
    r->energy = -1;
    r->hooks = (struct engine_hooks){.context = r,
                                     .tick = on_tick,
                                     .sample = on_sample,
                                     .image = on_image,
                                     .mapping = on_mapping,
                                     .maps_changed = on_maps_changed,
                                     .task = on_task,
                                     .task_end = on_task_end,
                                     .process_end = on_process_end,
                                     .ticks = on_ticks,
                                     .mark = on_mark};
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
    histogram_delete(r->histogram);
    raw_readings_delete(r->values);
    power_close(r->power);
    facts_free(&r->facts);
    images_delete(r->images);
    names_free(&r->names);
    exits_close(r->exits);
    free(r->cpus);
    free(r->ticks);
    free(r->marks);
    free(r->nominal_ns);
    free(r->readings);
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

static int write_profile(struct recorder *r, const struct engine_result *result, struct error *err)
{
    struct profile profile = {.kind = power_kind(r->power),
                              .wall = result->wall,
                              .latency = engine_cost(result),
                              .samples = spool_samples(r->spool),
                              .nominal = r->engine->nominal,
                              .facts = r->facts.list,
                              .fact_count = r->facts.count};
    profile.sources = power_channels(r->power, &profile.source_count);
    struct vmmap *maps = images_vmmaps(r->images, &profile.vmmap_count);
    profile.vmmaps = maps;
    int written = compose(r->out, spool_path(r->spool), &profile, &r->energy, err);
    free(maps);
    if (written != 0)
        return -1;
    struct output *out = r->out;
    r->out = NULL;
    return output_commit(out);
}

/* With --aggregate, writes the sums instead of samples, then facts and mappings. */
static int write_histogram(struct recorder *r, const struct engine_result *result)
{
    struct histogram_target target = {.wall = result->wall,
                                      .cpu = r->cpu,
                                      .latency = engine_cost(result),
                                      .tick = clock_tick(),
                                      .faults = result->user_only ? UINT64_MAX : result->faults};
    struct vmmap *maps = images_vmmaps(r->images, &target.map_count);
    struct buffer blocks = {0};
    struct histogram_sums sums;
    target.maps = maps;
    r->energy = histogram_end(r->histogram);
    int written = histogram_write(r->histogram, r->out, &target, &sums);
    free(maps);
    facts_add(&r->facts, "kernel_samples", mem_printf("%" PRIu64, sums.kernel_samples));
    facts_add(&r->facts, "kernel_current", mem_printf("%.17g", sums.kernel_current));
    facts_add(&r->facts, "idle_current", mem_printf("%.17g", sums.idle_current));
    buffer_bytes(&blocks, raw_signature, RAW_SIGNATURE_SIZE);
    raw_put_facts(&blocks, r->facts.list, r->facts.count);
    images_put(r->images, &blocks, true);
    raw_put_done(&blocks, sums.samples);
    if (written == 0)
        written = output_write(r->out, blocks.data, blocks.size);
    buffer_free(&blocks);
    if (written != 0)
        return -1;
    struct output *out = r->out;
    r->out = NULL;
    return output_commit(out);
}

/* Fetches late values of the power sources. */
static void end_power(struct recorder *r, uint64_t wall)
{
    int got = r->failed ? 0 : 1;
    while (got > 0) {
        got = power_end(r->power, wall);
        take_readings(r);
        if (r->spool != NULL && got > 0)
            flush(r, wall, true);
    }
    r->failed = r->failed || got < 0;
    power_warn(r->power);
}

static int finish_histogram(struct recorder *r, const struct engine_result *result, bool failed,
                            struct recorder_left *left)
{
    if (write_histogram(r, result) != 0)
        return -1;
    left->profile = r->options->out;
    return failed ? -1 : 0;
}

static int finish_profile(struct recorder *r, const struct engine_result *result, bool failed,
                          struct recorder_left *left)
{
    for (uint32_t image = 0; image < images_count(r->images); image++)
        if (images_alive(r->images, image))
            jit_copy(r->spool, r->images, image, r->started);
    flush(r, result->wall, true);
    failed = failed || r->failed;
    left->empty = failed && spool_samples(r->spool) == 0;
    if (left->empty)
        return -1;
    if (write_profile(r, result, r->err) == 0) {
        left->profile = r->options->out;
        return failed ? -1 : 0;
    }
    if (spool_samples(r->spool) > 0)
        left->part = spool_keep(r->spool);
    return -1;
}

/* The CPU time of all sampled processes [ns]; 0: unknown. */
static uint64_t sampled_cpu(const struct recorder *r, const struct engine_result *result,
                            bool failed)
{
    bool whole = r->options->command != NULL && r->options->engine.follow && !failed;
    return whole ? result->user + result->system : result->attached;
}

int recorder_finish(struct recorder *r, const struct engine_result *result,
                    struct recorder_left *left)
{
    struct engine_result recorded = *result;
    bool failed = r->failed;
    *left = (struct recorder_left){0};
    if (failed)
        recorded.wall = r->sampled; /* the profile ends at the end of sampling */
    end_power(r, recorded.wall);
    failed = failed || r->failed;
    if (r->out == NULL)
        return failed ? -1 : 0;
    r->failed = false; /* the profile gets the data recorded so far */
    facts_add(&r->facts, "reached", mem_printf("%.6g", result->reached));
    if (result->user_part > 0)
        facts_add(&r->facts, "user_part", mem_printf("%.6g", result->user_part));
    r->cpu = sampled_cpu(r, result, failed);
    if (r->cpu > 0)
        facts_add(&r->facts, "cpu_ns", mem_printf("%" PRIu64, r->cpu));
    if (r->cpu > 0 && result->user_only && result->attached == 0)
        facts_add(&r->facts, "system_ns", mem_printf("%" PRIu64, result->system));
    if (result->faults > 0)
        facts_add(&r->facts, "page_faults", mem_printf("%" PRIu64, result->faults));
    facts_add(&r->facts, "target", mem_strdup(images_target(r->images)));
    return r->histogram != NULL ? finish_histogram(r, &recorded, failed, left)
                                : finish_profile(r, &recorded, failed, left);
}

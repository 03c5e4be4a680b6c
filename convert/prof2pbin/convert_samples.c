/* Converts the samples of a raw profile, batch by batch, to the columns of a pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/convert_samples.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/progress.h"
#include "convert/prof2pbin/machine_time.h"
#include "convert/prof2pbin/source_values.h"

struct thread {
    uint32_t tid;
    uint32_t number; /* in the pbin */
    uint64_t cpu_ns; /* at its last sample */
};

struct conversion {
    struct raw_profile *raw;
    struct reporter *reporter;
    struct pbin_writer *writer;
    struct locations *locations;
    const struct numbers *pcs; /* of the locations */
    struct numbers tids;
    struct thread *threads; /* by number in tids */
    size_t thread_capacity;
    uint32_t *seats; /* by place in the sample: the number in tids of the last thread there */
    size_t seat_count, seat_capacity;
    struct seen_conversion *seen; /* NULL: the profile has neither processes nor flags */
    struct source_values *values; /* NULL: the PMU value only */
    struct machine_time machine;
    struct raw_reading_walk walk;
    struct raw_reading reading;           /* the next one */
    int got_reading;                      /* 1: there is one, 0: no more, -1: error */
    uint64_t times_ns[RAW_BATCH_SAMPLES]; /* of the samples that are being put, in order */
    bool begun;                           /* there was a previous sample */
    uint64_t last_ns;                     /* its time */
    uint64_t backwards;                   /* samples with a time before the previous one's */
};

/* Begins a thread whose TID is new or was reused. */
static void begin_thread(struct conversion *c, struct thread *thread, uint32_t tid)
{
    thread->tid = tid;
    thread->cpu_ns = 0;
    thread->number = locations_define_thread(c->locations, tid);
}

static struct thread *find_thread(struct conversion *c, uint32_t tid, size_t seat)
{
    uint32_t known = c->tids.count;
    uint32_t at = numbers_intern(&c->tids, tid);
    if (at == known) {
        mem_reserve(&c->threads, &c->thread_capacity, known + 1, sizeof *c->threads);
        begin_thread(c, &c->threads[at], tid);
    }
    mem_extend(&c->seats, &c->seat_count, &c->seat_capacity, seat + 1, sizeof *c->seats);
    c->seats[seat] = at;
    return &c->threads[at];
}

/* Returns the number of the thread of THREAD_SAMPLE, number SEAT in its sample, and sets *CPU_NS to
 * the CPU time since its last sample. Most threads keep their places from sample to sample. */
static inline uint32_t follow_thread(struct conversion *c,
                                     const struct raw_thread_sample *thread_sample, size_t seat,
                                     uint64_t *cpu_ns)
{
    struct thread *thread = seat < c->seat_count ? &c->threads[c->seats[seat]] : NULL;
    if (thread == NULL || thread->tid != thread_sample->tid)
        thread = find_thread(c, thread_sample->tid, seat);
    if (thread_sample->cpu_ns < thread->cpu_ns)
        begin_thread(c, thread, thread_sample->tid);
    *cpu_ns = thread_sample->cpu_ns - thread->cpu_ns;
    thread->cpu_ns = thread_sample->cpu_ns;
    return thread->number;
}

static uint64_t interval_of(struct conversion *c, uint64_t time_ns)
{
    uint64_t before = c->begun ? c->last_ns : time_ns;
    c->begun = true;
    c->backwards += time_ns < before;
    c->last_ns = time_ns > before ? time_ns : before;
    return c->last_ns - before;
}

/* Writes COUNT samples, beginning with number FIRST, except their threads, to ROOM. */
static void put_facts(struct conversion *c, const struct raw_samples *s, size_t first, size_t count,
                      const struct pbin_room *room)
{
    for (size_t i = 0; i < count; i++) {
        room->interval_ns[i] = c->raw->has_times ? interval_of(c, s->time_ns[first + i]) : 0;
        c->times_ns[i] = c->last_ns;
        if (c->last_ns > c->raw->energy_ns) /* no energy without an interval */
            room->interval_ns[i] = 0;
        room->value_bits[i] = bits_of_double(s->value[first + i]);
        room->threads[i] = s->threads[first + i];
    }
}

static void put_locations(struct conversion *c, const struct raw_thread_sample *thread_samples,
                          size_t count, uint64_t *location)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = numbers_find(c->pcs, thread_samples[i].pc);
        location[i] =
            number != INTERN_NONE ? number : locations_number(c->locations, thread_samples[i].pc);
    }
}

static void put_threads(struct conversion *c, const uint32_t *threads, size_t count,
                        const struct raw_thread_sample *thread_samples,
                        const struct pbin_room *room)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t seat = 0; seat < threads[i]; seat++, at++)
            room->thread[at] = follow_thread(c, &thread_samples[at], seat, &room->cpu_ns[at]);
}

/* Passes on the readings up to TIME_NS. Returns 0, or -1 with ERR filled. */
static int put_readings(struct conversion *c, uint64_t time_ns, struct error *err)
{
    for (; c->got_reading > 0 && c->reading.time <= time_ns;
         c->got_reading = raw_reading_next(&c->walk, &c->reading, err)) {
        const struct raw_reading *r = &c->reading;
        pbin_put_reading(c->writer, &(struct pbin_reading){r->source, r->time, r->value, r->busy});
    }
    return c->got_reading < 0 ? -1 : 0;
}

/* Returns the number of samples, beginning with number FIRST, that fit in ROOM; *THREAD_SAMPLES
 * becomes the number of their thread samples. */
static size_t count_fitting(const struct raw_samples *s, size_t first, const struct pbin_room *room,
                            size_t *thread_samples)
{
    size_t samples = 0;
    *thread_samples = 0;
    while (samples < room->samples && first + samples < s->count &&
           s->threads[first + samples] <= room->thread_samples - *thread_samples)
        *thread_samples += s->threads[first + samples++];
    return samples;
}

static int put_batch(struct conversion *c, const struct raw_samples *s, struct error *err)
{
    size_t thread_sample = 0;
    for (size_t i = 0, samples; i < s->count; i += samples) {
        struct pbin_room room;
        size_t count;
        if (pbin_batch_is_full(c->writer, s->threads[i])) {
            locations_resolve(c->locations);
            if (put_readings(c, s->time_ns[i], err) != 0)
                return -1;
        }
        if (pbin_make_room(c->writer, s->threads[i], &room) != 0)
            return -1;
        samples = count_fitting(s, i, &room, &count);
        uint64_t before_ns = c->begun ? c->last_ns : s->time_ns[i];
        put_facts(c, s, i, samples, &room);
        if (s->opaque != NULL)
            pbin_put_opaque(c->writer, s->opaque + i * s->opaque_size, s->opaque_size, samples);
        if (source_values_put(c->values, before_ns, c->times_ns, samples, &room, err) != 0)
            return -1;
        if (machine_time_put(&c->machine, c->times_ns, samples, err) != 0)
            return -1;
        if (c->seen != NULL) {
            size_t sightings =
                seen_conversion_put(c->seen, s, i, samples, thread_sample, c->times_ns, &room);
            pbin_fill_room(c->writer, samples, sightings);
        } else {
            put_locations(c, s->thread_samples + thread_sample, count, room.location);
            put_threads(c, s->threads + i, samples, s->thread_samples + thread_sample, &room);
            pbin_fill_room(c->writer, samples, count);
        }
        thread_sample += count;
    }
    return 0;
}

static int put_all(struct conversion *c, struct error *err)
{
    struct raw_samples samples;
    struct progress progress;
    int got;
    uint64_t number = 0;
    progress_start(&progress, c->reporter, c->raw->samples, "samples");
    while ((got = raw_next(c->raw, &samples, err)) > 0) {
        if (put_batch(c, &samples, err) != 0)
            got = -1;
        if (got < 0)
            break;
        progress_at(&progress, number += samples.count);
    }
    progress_end(&progress);
    locations_resolve(c->locations);
    if (got == 0)
        got = put_readings(c, UINT64_MAX, err);
    if (c->backwards > 0)
        report_warning(
            c->reporter,
            "%s: %" PRIu64
            " samples are earlier than the previous sample: their intervals count as 0 s",
            stream_name(c->raw->stream), c->backwards);
    return got;
}

static void define_sources(struct conversion *c)
{
    for (size_t i = 0; i < c->raw->ext.source_count; i++) {
        const struct raw_source *from = &c->raw->ext.sources[i];
        struct pbin_source source = {.name = pbin_define_string(c->writer, from->name),
                                     .kind = pbin_define_string(c->writer, from->kind),
                                     .unit = pbin_define_string(c->writer, from->unit),
                                     .scope = pbin_define_string(c->writer, from->scope),
                                     .help = pbin_define_string(c->writer, from->help),
                                     .per_count = from->per_count,
                                     .period = from->period,
                                     .role = from->role};
        pbin_define_source(c->writer, &source);
    }
}

int convert_samples(struct raw_profile *raw, struct pbin_writer *writer,
                    struct locations *locations, struct seen_conversion *seen,
                    struct reporter *reporter, struct error *err)
{
    struct conversion c = {
        .raw = raw, .reporter = reporter, .writer = writer, .locations = locations, .seen = seen};
    c.pcs = locations_numbers(locations);
    c.begun = raw_has_clock(raw); /* at 0: the start of the run */
    c.walk = raw_reading_walk_begin(raw->stream, &raw->ext);
    define_sources(&c);
    if (raw->value == RAW_OPAQUE && raw->header.value_size > PBIN_MAX_OPAQUE)
        report_warning(reporter,
                       "%s: PMU values of %" PRIu32 " bytes are left out: at most %d are kept",
                       stream_name(raw->stream), raw->header.value_size, PBIN_MAX_OPAQUE);
    c.values = source_values_new(raw, writer);
    c.got_reading = raw_reading_next(&c.walk, &c.reading, err);
    int result = machine_time_begin(&c.machine, raw, writer, err);
    if (result == 0)
        result = c.got_reading < 0 ? -1 : put_all(&c, err);
    machine_time_end(&c.machine);
    raw_reading_walk_end(&c.walk);
    source_values_delete(c.values);
    numbers_free(&c.tids);
    free(c.threads);
    free(c.seats);
    return result;
}

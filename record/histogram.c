/* Sums per program counter, kept in memory.
 * SPDX-License-Identifier: MIT */
#include "record/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"

enum { MAGIC = 1, ENTRY = 16, SLOTS_FIRST = 1024, WAITING_MOST = 1 << 20 };

/* A program counter of an image. */
struct spot {
    uint64_t pc;
    uint32_t image;
    uint64_t samples; /* 0: the slot is free */
    double joules;
    size_t map; /* when it is written */
    uint64_t byte;
};

/* How much CPU time a thread had used when it was last seen. */
struct thread {
    uint32_t tid;
    bool used;
    uint64_t cpu;
};

/* A sighting that waits for the energy of its sample; the first of a sample is nobody's, its CPU time that of all
 * threads that are not running. */
struct sighting {
    uint64_t time; /* of the sample */
    uint64_t pc, cpu;
    uint32_t image;
};

struct histogram {
    struct raw_readings *readings;
    struct spot *spots; /* hash tables, open addressing, at most half full */
    size_t spot_slots, spot_count;
    struct thread *threads;
    size_t thread_slots, thread_count;
    struct sighting *waiting;
    size_t waiting_count, waiting_capacity;
    uint64_t before; /* time of the last sample that has its energy */
    uint64_t ran, cpu;
    double joules, carried; /* given; used by threads when nobody was seen running [J] */
};

static uint64_t hash(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

static struct spot *find_spot(struct spot *spots, size_t slots, uint32_t image, uint64_t pc)
{
    size_t at = (size_t)hash(pc + ((uint64_t)image << 48)) & (slots - 1);
    while (spots[at].samples > 0 && (spots[at].pc != pc || spots[at].image != image))
        at = (at + 1) & (slots - 1);
    return &spots[at];
}

static struct spot *spot_of(struct histogram *a, uint32_t image, uint64_t pc)
{
    if (a->spot_count * 2 >= a->spot_slots) {
        size_t slots = a->spot_slots * 2;
        struct spot *larger = mem_zalloc(slots, sizeof *larger);
        for (size_t i = 0; i < a->spot_slots; i++)
            if (a->spots[i].samples > 0)
                *find_spot(larger, slots, a->spots[i].image, a->spots[i].pc) = a->spots[i];
        free(a->spots);
        a->spots = larger;
        a->spot_slots = slots;
    }
    struct spot *spot = find_spot(a->spots, a->spot_slots, image, pc);
    if (spot->samples == 0) {
        *spot = (struct spot){.pc = pc, .image = image};
        a->spot_count++;
    }
    return spot;
}

static struct thread *find_thread(struct thread *threads, size_t slots, uint32_t tid)
{
    size_t at = (size_t)hash(tid) & (slots - 1);
    while (threads[at].used && threads[at].tid != tid)
        at = (at + 1) & (slots - 1);
    return &threads[at];
}

/* CPU time that TID has used since it was last seen; less than then: another thread of that number. */
static uint64_t cpu_since(struct histogram *a, uint32_t tid, uint64_t cpu)
{
    if (a->thread_count * 2 >= a->thread_slots) {
        size_t slots = a->thread_slots * 2;
        struct thread *larger = mem_zalloc(slots, sizeof *larger);
        for (size_t i = 0; i < a->thread_slots; i++)
            if (a->threads[i].used)
                *find_thread(larger, slots, a->threads[i].tid) = a->threads[i];
        free(a->threads);
        a->threads = larger;
        a->thread_slots = slots;
    }
    struct thread *thread = find_thread(a->threads, a->thread_slots, tid);
    uint64_t delta = cpu >= thread->cpu ? cpu - thread->cpu : cpu;
    a->thread_count += !thread->used;
    *thread = (struct thread){.tid = tid, .used = true, .cpu = cpu};
    return delta;
}

struct histogram *histogram_new(struct raw_readings *readings)
{
    struct histogram *a = mem_zalloc(1, sizeof *a);
    a->readings = readings;
    a->spot_slots = a->thread_slots = SLOTS_FIRST;
    a->spots = mem_zalloc(a->spot_slots, sizeof *a->spots);
    a->threads = mem_zalloc(a->thread_slots, sizeof *a->threads);
    return a;
}

void histogram_delete(struct histogram *a)
{
    if (a == NULL)
        return;
    free(a->spots);
    free(a->threads);
    free(a->waiting);
    free(a);
}

/* Gives the sightings FIRST to END, of one sample, their energy: first what was used by threads that do not run
 * any more, then a sighting for each that does. */
static void settle(struct histogram *a, size_t first, size_t end)
{
    uint64_t time = a->waiting[first].time, used = 0, running = 0;
    double interval = (double)(time - a->before);
    double joules = raw_readings_value(a->readings, a->before, time) * interval * 1e-9;
    for (size_t i = first; i < end; i++) {
        used += a->waiting[i].cpu;
        running += i > first ? a->waiting[i].cpu : 0;
    }
    a->carried += joules * ((double)used < interval ? (double)used / interval : used > 0);
    double all = a->carried;
    for (size_t i = first + 1; i < end; i++) {
        struct sighting *s = &a->waiting[i];
        struct spot *spot = spot_of(a, s->image, s->pc);
        double part =
            running > 0 ? (double)s->cpu / (double)running : 1 / (double)(end - first - 1);
        spot->samples++;
        spot->joules += all * part;
        a->joules += all * part;
        a->carried = 0;
    }
    a->before = time;
}

/* Settles what has waited long enough: readings have come, or there is too much, or it is the end. */
static void settle_waiting(struct histogram *a, bool all)
{
    uint64_t until = raw_readings_until(a->readings);
    size_t done = 0;
    all = all || a->waiting_count > WAITING_MOST;
    while (done < a->waiting_count && (all || a->waiting[done].time <= until)) {
        size_t end = done + 1;
        while (end < a->waiting_count && a->waiting[end].time == a->waiting[done].time)
            end++;
        settle(a, done, end);
        done = end;
    }
    if (done == 0)
        return;
    a->waiting_count -= done;
    memmove(a->waiting, a->waiting + done, a->waiting_count * sizeof *a->waiting);
    raw_readings_forget(a->readings, a->before);
}

void histogram_sample(struct histogram *a, const struct engine_sample *sample,
                      uint32_t (*image_of)(void *context, uint32_t pid), void *context)
{
    mem_reserve(&a->waiting, &a->waiting_capacity, a->waiting_count + sample->count + 1,
                sizeof *a->waiting);
    struct sighting *rest = &a->waiting[a->waiting_count++];
    *rest = (struct sighting){.time = sample->time};
    for (size_t i = 0; i < sample->count; i++) {
        const struct engine_thread *t = &sample->threads[i];
        uint64_t cpu = cpu_since(a, t->tid, t->cpu);
        a->cpu += cpu;
        if ((t->flags & RAW_TOTAL) != 0 || (t->flags & RAW_RAN) == 0) {
            rest->cpu += cpu;
            continue;
        }
        a->waiting[a->waiting_count++] = (struct sighting){
            .time = sample->time, .pc = t->pc, .cpu = cpu, .image = image_of(context, t->pid)};
        a->ran++;
    }
    settle_waiting(a, false);
}

static int by_place(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->map != y->map)
        return x->map < y->map ? -1 : 1;
    return x->byte < y->byte ? -1 : x->byte > y->byte;
}

static void put_entry(struct buffer *buffer, uint64_t samples, double joules, double measure)
{
    buffer_u64(buffer, samples);
    buffer_f64(buffer, joules * measure);
}

static int put(struct output *out, struct buffer *buffer)
{
    int result = output_write(out, buffer->data, buffer->size);
    buffer->size = 0;
    return result;
}

/* One map: its address, then an entry for each of its bytes; SPOTS from *AT on are its. */
static int put_map(struct output *out, struct buffer *buffer, const struct histogram_map *map,
                   size_t number, const struct spot *spots, size_t count, size_t *at,
                   double measure)
{
    uint64_t next = 0; /* byte */
    buffer_u64(buffer, map->address);
    while (*at < count && spots[*at].map == number) {
        uint64_t byte = spots[*at].byte, samples = 0;
        double joules = 0;
        for (; *at < count && spots[*at].map == number && spots[*at].byte == byte; ++*at) {
            samples += spots[*at].samples;
            joules += spots[*at].joules;
        }
        if (put(out, buffer) != 0 || output_zeros(out, (byte - next) * ENTRY) != 0)
            return -1;
        put_entry(buffer, samples, joules, measure);
        next = byte + 1;
    }
    return put(out, buffer) == 0 ? output_zeros(out, (map->size - next) * ENTRY) : -1;
}

static int put_header(struct output *out, struct buffer *buffer,
                      const struct histogram_target *target, uint64_t samples)
{
    buffer_u32(buffer, MAGIC);
    buffer_u64(buffer, target->wall / 1000);
    buffer_u64(buffer, target->latency / 1000);
    buffer_u64(buffer, samples);
    buffer_u32(buffer, (uint32_t)target->map_count);
    for (size_t i = 0; i < target->map_count; i++) {
        buffer_u64(buffer, target->maps[i].address);
        buffer_u64(buffer, target->maps[i].size);
        buffer_bytes(buffer, target->maps[i].label, HISTOGRAM_LABEL);
    }
    return put(out, buffer);
}

/* All spots in the order of the file; returns them with *UNKNOWN, caller frees. */
static struct spot *place(struct histogram *a, const struct histogram_target *target, size_t *count,
                          struct spot *unknown)
{
    struct spot *placed = mem_zalloc(a->spot_count + 1, sizeof *placed);
    *count = 0;
    for (size_t i = 0; i < a->spot_slots; i++) {
        struct spot *spot = &a->spots[i];
        if (spot->samples == 0)
            continue;
        if (target->resolve(target->context, spot->image, spot->pc, &spot->map, &spot->byte)) {
            placed[(*count)++] = *spot;
        } else {
            unknown->samples += spot->samples;
            unknown->joules += spot->joules;
        }
    }
    qsort(placed, *count, sizeof *placed, by_place);
    return placed;
}

int histogram_write(struct histogram *a, struct output *out, const struct histogram_target *target)
{
    struct buffer buffer = {0};
    struct spot unknown = {0};
    size_t count, at = 0;
    settle_waiting(a, true);
    double wall = (double)(target->wall / 1000) * 1e-6;
    double ideal = a->cpu > 0 ? (double)target->wall * (double)a->ran / (double)a->cpu : 1;
    uint64_t samples = ideal >= 1 ? (uint64_t)llrint(ideal) : 1;
    double measure = wall > 0 ? (double)samples / wall : 0;
    if (a->carried > 0) { /* nobody was seen running after that */
        unknown.joules += a->carried;
        a->joules += a->carried;
    }
    struct spot *placed = place(a, target, &count, &unknown);
    int result = put_header(out, &buffer, target, samples);
    put_entry(&buffer, unknown.samples, unknown.joules, measure);
    for (size_t i = 0; i < target->map_count && result == 0; i++)
        result = put_map(out, &buffer, &target->maps[i], i, placed, count, &at, measure);
    if (result == 0)
        result = put(out, &buffer);
    free(placed);
    buffer_free(&buffer);
    return result;
}

double histogram_energy(const struct histogram *a)
{
    return a->joules;
}

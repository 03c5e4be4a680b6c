/* Sums per program counter, kept in memory.
 * SPDX-License-Identifier: MIT */
#include "record/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/intern.h"
#include "base/memory.h"
#include "record/compose.h"

enum { MAGIC = 1, ENTRY = 16, MAX_WAITING = 1 << 20, BYTE_BITS = 40 };

/* Numbers of spots: program counters in no mapping of a file, of user code and of the kernel; the first of all others. */
enum { OUTSIDE, KERNEL, FIRST_INSIDE };

/* A program counter. */
struct spot {
    uint32_t map; /* number of its mapping among the texts */
    uint64_t byte, samples;
    double joules;
};

/* A sighting that waits for the energy of its sample; the first of a sample belongs to no thread, its CPU time is that
 * of all threads that are not running. */
struct sighting {
    uint64_t time, cpu;
    size_t spot;
};

struct histogram {
    struct raw_readings *readings;
    struct strings *maps;  /* struct vmmap as bytes */
    struct numbers places; /* map and byte -> spot - FIRST_INSIDE */
    struct spot *spots;
    size_t spot_count, spot_capacity;
    struct numbers tids;
    uint64_t *cpus; /* CPU time of each tid when it was last seen */
    size_t cpu_capacity;
    struct sighting *waiting;
    size_t waiting_count, waiting_capacity;
    uint64_t before; /* time of the last sample that has its energy */
    uint64_t ran;
    int64_t cpu;            /* of all threads */
    size_t last;            /* spot that got energy last */
    double joules, carried; /* of all samples; used while no thread was seen running [J] */
    double assigned;        /* to spots [J] */
};

struct histogram *histogram_new(struct raw_readings *readings)
{
    struct histogram *h = mem_zalloc(1, sizeof *h);
    h->readings = readings;
    h->maps = strings_new();
    mem_reserve(&h->spots, &h->spot_capacity, FIRST_INSIDE, sizeof *h->spots);
    while (h->spot_count < FIRST_INSIDE)
        h->spots[h->spot_count++] = (struct spot){0};
    return h;
}

void histogram_delete(struct histogram *h)
{
    if (h == NULL)
        return;
    strings_delete(h->maps);
    numbers_free(&h->places);
    numbers_free(&h->tids);
    free(h->spots);
    free(h->cpus);
    free(h->waiting);
    free(h);
}

static uint32_t number_of(struct histogram *h, const struct vmmap *map)
{
    char bytes[sizeof *map];
    memcpy(bytes, map, sizeof bytes);
    return strings_intern_bytes(h->maps, bytes, sizeof bytes);
}

static size_t spot_of(struct histogram *h, const struct vmmap *map, uint64_t pc)
{
    uint64_t byte = pc - map->address, number = number_of(h, map);
    if (byte >> BYTE_BITS != 0 || number >> (64 - BYTE_BITS) != 0)
        return OUTSIDE;
    size_t spot = (size_t)numbers_intern(&h->places, number << BYTE_BITS | byte) + FIRST_INSIDE;
    if (spot < h->spot_count)
        return spot;
    mem_reserve(&h->spots, &h->spot_capacity, spot + 1, sizeof *h->spots);
    h->spots[h->spot_count++] = (struct spot){.map = (uint32_t)number, .byte = byte};
    return spot;
}

/* In the upper half of the addresses. */
static bool is_kernel(uint64_t pc)
{
    return pc >> 63 != 0;
}

/* CPU time of a thread since it was last seen. A smaller value than before means another thread of the same number,
 * unless it is a final value, which corrects the previous one. */
static int64_t cpu_since(struct histogram *h, const struct engine_thread *thread)
{
    size_t number = numbers_intern(&h->tids, thread->tid), had = h->cpu_capacity;
    mem_reserve(&h->cpus, &h->cpu_capacity, number + 1, sizeof *h->cpus);
    memset(h->cpus + had, 0, (h->cpu_capacity - had) * sizeof *h->cpus);
    uint64_t last = h->cpus[number];
    h->cpus[number] = thread->cpu;
    return thread->cpu >= last || (thread->flags & RAW_TOTAL) != 0 ? (int64_t)(thread->cpu - last)
                                                                   : (int64_t)thread->cpu;
}

/* Assigns energy to the sightings FIRST to END of one sample: first what threads used that no longer run, then the part
 * of each sighting. */
static void settle(struct histogram *h, size_t first, size_t end)
{
    uint64_t time = h->waiting[first].time, used = 0, running = 0;
    double interval = (double)(time - h->before);
    double joules = raw_readings_value(h->readings, h->before, time) * interval * 1e-9;
    for (size_t i = first; i < end; i++) {
        used += h->waiting[i].cpu;
        running += i > first ? h->waiting[i].cpu : 0;
    }
    h->joules += joules;
    h->carried += joules * ((double)used < interval ? (double)used / interval : used > 0);
    double all = h->carried;
    for (size_t i = first + 1; i < end; i++) {
        double part = running > 0 ? (double)h->waiting[i].cpu / (double)running
                                  : 1 / (double)(end - first - 1);
        h->last = h->waiting[i].spot;
        h->spots[h->last].joules += all * part;
        h->assigned += all * part;
        h->carried = 0;
    }
    h->before = time;
}

/* Assigns energy to waiting samples whose readings have arrived; or to more, if too many wait or at the end. */
static void settle_waiting(struct histogram *h, bool all)
{
    uint64_t until = raw_readings_until(h->readings);
    size_t done = 0;
    all = all || h->waiting_count > MAX_WAITING;
    while (done < h->waiting_count && (all || h->waiting[done].time <= until)) {
        size_t end = done + 1;
        while (end < h->waiting_count && h->waiting[end].time == h->waiting[done].time)
            end++;
        settle(h, done, end);
        done = end;
    }
    if (done == 0)
        return;
    h->waiting_count -= done;
    memmove(h->waiting, h->waiting + done, h->waiting_count * sizeof *h->waiting);
    raw_readings_forget(h->readings, h->before);
}

void histogram_sample(struct histogram *h, const struct engine_sample *sample,
                      bool (*find)(void *context, uint32_t pid, uint64_t pc, struct vmmap *place),
                      void *context)
{
    mem_reserve(&h->waiting, &h->waiting_capacity, h->waiting_count + sample->count + 1,
                sizeof *h->waiting);
    struct sighting *rest = &h->waiting[h->waiting_count++];
    *rest = (struct sighting){.time = sample->time};
    for (size_t i = 0; i < sample->count; i++) {
        const struct engine_thread *t = &sample->threads[i];
        struct vmmap map;
        int64_t cpu = cpu_since(h, t);
        uint64_t used = cpu > 0 ? (uint64_t)cpu : 0;
        h->cpu += cpu;
        if ((t->flags & RAW_TOTAL) != 0 || (t->flags & RAW_RAN) == 0) {
            rest->cpu += used;
            continue;
        }
        size_t spot = is_kernel(t->pc)                     ? KERNEL
                      : find(context, t->pid, t->pc, &map) ? spot_of(h, &map, t->pc)
                                                           : OUTSIDE;
        h->waiting[h->waiting_count++] =
            (struct sighting){.time = sample->time, .cpu = used, .spot = spot};
        h->spots[spot].samples++;
        h->ran++;
    }
    settle_waiting(h, false);
}

double histogram_end(struct histogram *h)
{
    settle_waiting(h, true);
    if (h->spots[h->last].samples > 0) { /* no thread was seen running after that */
        h->spots[h->last].joules += h->carried;
        h->assigned += h->carried;
    }
    h->carried = 0;
    return h->joules;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    if (x->map != y->map)
        return x->map < y->map ? -1 : 1;
    return x->byte < y->byte ? -1 : x->byte > y->byte;
}

static int put(struct output *out, struct buffer *buffer)
{
    int result = output_write(out, buffer->data, buffer->size);
    buffer->size = 0;
    return result;
}

static void put_entry(struct buffer *buffer, const struct spot *spot, double measure)
{
    buffer_u64(buffer, spot->samples);
    buffer_f64(buffer, spot->joules * measure);
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
        char label[LABEL_SIZE];
        compose_label(label, target->maps[i].path);
        buffer_u64(buffer, target->maps[i].address);
        buffer_u64(buffer, target->maps[i].size);
        buffer_bytes(buffer, label, LABEL_SIZE);
    }
    return put(out, buffer);
}

/* Writes a map: its address, then a value for each of its bytes; its sorted spots are SPOT to END. */
static int put_map(struct output *out, struct buffer *buffer, const struct vmmap *map,
                   const struct spot *spot, const struct spot *end, double measure)
{
    uint64_t next = 0; /* byte */
    buffer_u64(buffer, map->address);
    for (; spot < end && spot->byte < map->size; spot++) {
        if (put(out, buffer) != 0 || output_zeros(out, (spot->byte - next) * ENTRY) != 0)
            return -1;
        put_entry(buffer, spot, measure);
        next = spot->byte + 1;
    }
    return put(out, buffer) == 0 ? output_zeros(out, (map->size - next) * ENTRY) : -1;
}

static int put_maps(struct histogram *h, struct output *out, struct buffer *buffer,
                    const struct histogram_target *target, double measure)
{
    int result = 0;
    for (size_t i = 0; i < target->map_count && result == 0; i++) {
        const struct spot *end = h->spots + h->spot_count, *first = end, *last;
        uint32_t number = number_of(h, &target->maps[i]);
        for (size_t low = FIRST_INSIDE, high = h->spot_count; low < high;) {
            size_t middle = low + (high - low) / 2;
            if (h->spots[middle].map < number)
                low = middle + 1;
            else
                first = &h->spots[high = middle];
        }
        for (last = first; last < end && last->map == number;)
            last++;
        result = put_map(out, buffer, &target->maps[i], first, last, measure);
    }
    return result;
}

int histogram_write(struct histogram *h, struct output *out, const struct histogram_target *target,
                    struct histogram_sums *sums)
{
    struct buffer buffer = {0};
    histogram_end(h);
    uint64_t wall_us = target->wall / 1000; /* as the header has it */
    double wall = (double)wall_us * 1e-6;
    double ideal = h->cpu > 0 ? (double)target->wall * (double)h->ran / (double)h->cpu : 1;
    sums->samples = ideal >= 1 ? (uint64_t)llrint(ideal) : 1;
    double measure = wall > 0 ? (double)sums->samples / wall : 0, idle = h->joules - h->assigned;
    struct spot outside = h->spots[OUTSIDE];
    outside.samples += h->spots[KERNEL].samples;
    outside.joules += h->spots[KERNEL].joules;
    sums->kernel_samples = h->spots[KERNEL].samples;
    sums->kernel_current = h->spots[KERNEL].joules * measure;
    sums->idle_current = idle > 0 ? idle * measure : 0;
    qsort(h->spots + FIRST_INSIDE, h->spot_count - FIRST_INSIDE, sizeof *h->spots, by_place);
    int result = put_header(out, &buffer, target, sums->samples);
    put_entry(&buffer, &outside, measure);
    if (result == 0)
        result = put_maps(h, out, &buffer, target, measure);
    if (result == 0)
        result = put(out, &buffer);
    buffer_free(&buffer);
    return result;
}

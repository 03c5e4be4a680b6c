/* Sums per program counter, kept in memory.
 * SPDX-License-Identifier: MIT */
#include "record/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/intern.h"
#include "base/memory.h"
#include "formats/raw/raw_fault_places.h"
#include "formats/raw/raw_ticks.h"
#include "record/compose.h"

enum { MAGIC = 1, ENTRY = 16, MAX_WAITING = 1 << 20, BYTE_BITS = 40 };

/* These replace the number of a mapping for user code and kernel code outside the mappings of
 * files. BYTE is then the program. */
enum { OUTSIDE = (1 << (64 - BYTE_BITS)) - 2, KERNEL };

/* A program counter. */
struct spot {
    uint32_t map;     /* number of its mapping in the texts */
    uint32_t program; /* the one that was first seen there */
    uint64_t byte, samples;
    uint64_t same; /* of these, those on the CPU of the sampler */
    double joules; /* until histogram_write: the sum of the powers of its sightings [W] */
};

struct program {
    double user, system;      /* CPU time by kernel ticks in user code and in the kernel [ns] */
    uint64_t in_user, called; /* sightings in user code and in the kernel */
    /* of CALLED: those in excess; of IN_USER: those that have received their part of the excess */
    uint64_t excess, passed;
    double joules; /* energy of the excess */
    struct raw_share sides[FAULT_SIDES];
    struct fault_places faults;
    double lack; /* number of page faults that were not seen */
    /* sightings that the places so far should give for the missing page faults, ... */
    double wanted;
    uint64_t taken; /* ... and have given ... */
    double gained;  /* ... together with this energy [J] */
};

/* A sighting that waits for the power of its sample. The first one of a sample belongs to no
 * thread. */
struct sighting {
    uint64_t time;
    size_t spot;
};

struct histogram {
    struct raw_readings *readings;
    struct strings *maps;  /* struct vmmap as bytes */
    struct numbers places; /* map and byte -> spot */
    struct spot *spots;
    size_t spot_count, spot_capacity;
    struct program *programs;
    size_t program_count, program_capacity;
    struct numbers tids;
    uint64_t *cpus; /* CPU time of each tid when it was last in a sample */
    size_t cpu_capacity;
    struct sighting *waiting;
    size_t waiting_count, waiting_capacity;
    uint64_t before; /* time of the last sample that has its energy */
    uint64_t ran;
    int64_t cpu;   /* of all threads */
    double joules; /* of all samples */
};

struct histogram *histogram_new(struct raw_readings *readings)
{
    struct histogram *h = mem_zalloc(1, sizeof *h);
    h->readings = readings;
    h->maps = strings_new();
    return h;
}

void histogram_delete(struct histogram *h)
{
    if (h == NULL)
        return;
    strings_delete(h->maps);
    numbers_free(&h->places);
    numbers_free(&h->tids);
    for (size_t i = 0; i < h->program_count; i++)
        fault_places_free(&h->programs[i].faults);
    free(h->spots);
    free(h->programs);
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

static struct program *program_at(struct histogram *h, uint32_t number)
{
    mem_reserve(&h->programs, &h->program_capacity, number + 1u, sizeof *h->programs);
    while (h->program_count <= number)
        h->programs[h->program_count++] = (struct program){0};
    return &h->programs[number];
}

static size_t spot_at(struct histogram *h, uint32_t map, uint64_t byte, uint32_t program)
{
    size_t spot = numbers_intern(&h->places, (uint64_t)map << BYTE_BITS | byte);
    if (spot < h->spot_count)
        return spot;
    mem_reserve(&h->spots, &h->spot_capacity, spot + 1, sizeof *h->spots);
    h->spots[h->spot_count++] = (struct spot){.map = map, .program = program, .byte = byte};
    return spot;
}

/* Returns whether PC is in the upper half of the addresses. */
static bool is_kernel(uint64_t pc)
{
    return pc >> 63 != 0;
}

static size_t spot_of(struct histogram *h, const struct engine_thread *thread,
                      const struct histogram_finder *finder)
{
    struct vmmap map;
    uint32_t program = finder->program(finder->context, thread->pid);
    if (is_kernel(thread->pc))
        return spot_at(h, KERNEL, program, program);
    if (!finder->place(finder->context, thread->pid, thread->pc, &map))
        return spot_at(h, OUTSIDE, program, program);
    uint64_t byte = thread->pc - map.address;
    uint32_t number = number_of(h, &map);
    return byte >> BYTE_BITS != 0 || number >= OUTSIDE ? spot_at(h, OUTSIDE, program, program)
                                                       : spot_at(h, number, byte, program);
}

/* Counts a sighting of THREAD at SPOT separately for the CPU of the sampler and other CPUs. */
static void count_side(struct histogram *h, const struct engine_thread *thread, struct spot *spot)
{
    struct program *p = program_at(h, spot->program);
    bool kernel = is_kernel(thread->pc);
    enum fault_side side = thread->flags & RAW_SAME_CPU ? FAULT_SAME_CPU : FAULT_OTHER_CPU;
    enum fault_sight sight = thread->flags & RAW_FAULT ? FAULT_SEEN
                             : kernel                  ? FAULT_KERNEL
                                                       : FAULT_USER;
    p->sides[side].all++;
    p->sides[side].kernel += kernel;
    spot->same += side == FAULT_SAME_CPU;
    fault_places_count(&p->faults, side, thread->flags & RAW_CALLER ? thread->caller : thread->pc,
                       sight, 1);
}

/* Returns the CPU time of a thread since its last sample. If it is smaller than the previous one,
 * this is another thread with the same number, unless it is a final value, which corrects the
 * previous one. */
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

/* Assigns the power before a sample to its sightings, FIRST to END. */
static void settle(struct histogram *h, size_t first, size_t end)
{
    uint64_t time = h->waiting[first].time;
    double power = raw_readings_value(h->readings, h->before, time);
    h->joules += power * (double)(time - h->before) * 1e-9;
    for (size_t i = first + 1; i < end; i++)
        h->spots[h->waiting[i].spot].joules += power / (double)(end - first - 1);
    h->before = time;
}

/* Assigns power to waiting samples whose readings have arrived; also to others if too many wait or
 * at the end. */
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

void histogram_ticks(struct histogram *h, uint32_t program, const struct raw_ticks *ticks)
{
    struct program *p = program_at(h, program);
    p->user += (double)ticks->user;
    p->system += raw_ticks_system(ticks);
}

void histogram_sample(struct histogram *h, const struct engine_sample *sample,
                      const struct histogram_finder *finder)
{
    mem_reserve(&h->waiting, &h->waiting_capacity, h->waiting_count + sample->count + 1,
                sizeof *h->waiting);
    h->waiting[h->waiting_count++] = (struct sighting){.time = sample->time};
    for (size_t i = 0; i < sample->count; i++) {
        const struct engine_thread *t = &sample->threads[i];
        h->cpu += cpu_since(h, t);
        if ((t->flags & RAW_TOTAL) != 0 || (t->flags & RAW_RAN) == 0)
            continue;
        size_t spot = spot_of(h, t, finder);
        h->waiting[h->waiting_count++] = (struct sighting){.time = sample->time, .spot = spot};
        h->spots[spot].samples++;
        count_side(h, t, &h->spots[spot]);
        h->ran++;
    }
    settle_waiting(h, false);
}

double histogram_end(struct histogram *h)
{
    settle_waiting(h, true);
    return h->joules;
}

/* ---- sightings in the kernel -------------------------------------------------------------------- */

/* Returns the number of excess sightings of P in the kernel, given TICK [ns], the time between
 * two ticks; 0 if the excess may be chance. */
static uint64_t excess_of(const struct program *p, double tick)
{
    if (tick <= 0 || p->in_user == 0)
        return 0;
    const struct raw_share seen = {(double)(p->in_user + p->called), (double)p->called};
    const struct raw_share ticks = {(p->user + p->system) / tick, p->system / tick};
    double excess = raw_ticks_surplus(seen, ticks);
    return excess > 0 ? (uint64_t)(excess + 0.5) : 0;
}

/* Gives a part of the program's excess to a spot in user code, in proportion to its sightings. */
static void give(struct program *p, struct spot *spot)
{
    double share = (double)spot->samples / (double)p->in_user;
    uint64_t before = (uint64_t)((double)p->excess * ((double)p->passed / (double)p->in_user));
    p->passed += spot->samples;
    spot->samples +=
        (uint64_t)((double)p->excess * ((double)p->passed / (double)p->in_user)) - before;
    spot->joules += p->joules * share;
}

/* Counts sightings in the kernel that exceed the kernel's share of the ticks as user code. */
static void settle_kernel(struct histogram *h, double tick)
{
    for (size_t i = 0; i < h->spot_count; i++) {
        struct program *p = program_at(h, h->spots[i].program);
        *(h->spots[i].map == KERNEL ? &p->called : &p->in_user) += h->spots[i].samples;
    }
    for (size_t i = 0; i < h->spot_count; i++) {
        struct spot *spot = &h->spots[i];
        struct program *p = &h->programs[spot->program];
        if (spot->map != KERNEL || (p->excess = excess_of(p, tick)) == 0)
            continue;
        p->joules = spot->joules * ((double)p->excess / (double)p->called);
        spot->samples -= p->excess;
        spot->joules -= p->joules;
    }
    for (size_t i = 0; i < h->spot_count; i++) {
        struct program *p = &h->programs[h->spots[i].program];
        if (h->spots[i].map != KERNEL && p->excess > 0)
            give(p, &h->spots[i]);
    }
}

/* ---- page faults that were not seen ------------------------------------------------------------- */

/* Returns how many page faults of P are missing; 0 if there cannot be that many. */
static double lack_of(struct program *p, const struct histogram_target *target)
{
    double sum = 0, used = p->user + p->system;
    if (target->tick == 0 || p->excess > 0)
        return 0;
    const struct raw_share ticks = {used / (double)target->tick, p->system / (double)target->tick};
    for (int k = 0; k < FAULT_SIDES; k++) {
        double lack = -raw_ticks_surplus(p->sides[k], ticks);
        if (lack <= 0 || !fault_places_explain(target->faults, lack / p->sides[k].all, used))
            continue;
        fault_places_settle(&p->faults, (enum fault_side)k, lack);
        sum += lack;
    }
    return sum;
}

/* Takes from SPOT as many of the sightings that P still lacks as possible. */
static void take_faults(struct program *p, struct spot *spot)
{
    uint64_t all = (uint64_t)p->wanted, take = all > p->taken ? all - p->taken : 0;
    take = take < spot->samples ? take : spot->samples;
    if (take == 0)
        return;
    double joules = spot->joules * ((double)take / (double)spot->samples);
    spot->samples -= take;
    spot->joules -= joules;
    p->taken += take;
    p->gained += joules;
}

/* Counts those sightings in user code that were page faults as sightings in the kernel. Of code
 * outside mappings, only the sum is known: the rest is taken from it. */
static void settle_faults(struct histogram *h, const struct histogram_target *target)
{
    for (size_t i = 0; i < h->program_count; i++)
        h->programs[i].lack = lack_of(&h->programs[i], target);
    for (size_t i = 0; i < h->spot_count; i++) {
        struct spot *s = &h->spots[i];
        struct program *p = &h->programs[s->program];
        if (s->map == KERNEL || s->map == OUTSIDE || p->lack <= 0)
            continue;
        p->wanted += (double)s->same * fault_places_part(&p->faults, FAULT_SAME_CPU, s->byte) +
                     (double)(s->samples - s->same) *
                         fault_places_part(&p->faults, FAULT_OTHER_CPU, s->byte);
        take_faults(p, s);
    }
    for (uint32_t i = 0; i < h->program_count; i++) {
        struct program *p = &h->programs[i];
        if (p->lack <= 0)
            continue;
        p->wanted = p->lack + 0.5;
        /* both calls may move the spots */
        size_t outside = spot_at(h, OUTSIDE, i, i), in_kernel = spot_at(h, KERNEL, i, i);
        take_faults(p, &h->spots[outside]);
        struct spot *kernel = &h->spots[in_kernel];
        kernel->samples += p->taken;
        kernel->joules += p->gained;
    }
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

/* Writes a map: its address, then a value for each of its bytes. SPOT to END are its sorted
 * spots. */
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
        for (size_t low = 0, high = h->spot_count; low < high;) {
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

/* Returns the sum of all spots of MAP, OUTSIDE or KERNEL. */
static struct spot sum_of(const struct histogram *h, uint32_t map)
{
    struct spot sum = {0};
    for (size_t i = 0; i < h->spot_count; i++)
        if (h->spots[i].map == map) {
            sum.samples += h->spots[i].samples;
            sum.joules += h->spots[i].joules;
        }
    return sum;
}

/* Turns sums of powers into energies: each sighting represents the same CPU time. Together they get
 * no more than there is. Returns the rest [J]. */
static double settle_energy(struct histogram *h)
{
    double watts = 0, seconds = 0;
    if (h->ran > 0 && h->cpu > 0)
        seconds = (double)h->cpu * 1e-9 / (double)h->ran;
    for (size_t i = 0; i < h->spot_count; i++)
        watts += h->spots[i].joules;
    double assigned = fmin(watts * seconds, h->joules), scale = watts > 0 ? assigned / watts : 0;
    for (size_t i = 0; i < h->spot_count; i++)
        h->spots[i].joules *= scale;
    return h->joules - assigned;
}

int histogram_write(struct histogram *h, struct output *out, const struct histogram_target *target,
                    struct histogram_sums *sums)
{
    struct buffer buffer = {0};
    histogram_end(h);
    uint64_t wall_us = target->wall / 1000; /* with the precision of the header */
    double wall = (double)wall_us * 1e-6;
    if (h->cpu > 0 && target->cpu > 0 && (uint64_t)h->cpu > target->cpu)
        h->cpu = (int64_t)target->cpu; /* events count what the host of a virtual machine takes */
    double ideal = h->cpu > 0 ? (double)target->wall * (double)h->ran / (double)h->cpu : 1;
    sums->samples = ideal >= 1 ? (uint64_t)llrint(ideal) : 1;
    double measure = wall > 0 ? (double)sums->samples / wall : 0, idle = settle_energy(h);
    settle_kernel(h, (double)target->tick);
    settle_faults(h, target);
    struct spot outside = sum_of(h, OUTSIDE), kernel = sum_of(h, KERNEL);
    outside.samples += kernel.samples;
    outside.joules += kernel.joules;
    sums->kernel_samples = kernel.samples;
    sums->kernel_current = kernel.joules * measure;
    sums->idle_current = idle * measure;
    if (h->spot_count > 0)
        qsort(h->spots, h->spot_count, sizeof *h->spots, by_place);
    compose_header(&buffer, MAGIC, target->wall, target->latency, sums->samples, target->maps,
                   target->map_count);
    int result = put(out, &buffer);
    put_entry(&buffer, &outside, measure);
    if (result == 0)
        result = put_maps(h, out, &buffer, target, measure);
    if (result == 0)
        result = put(out, &buffer);
    buffer_free(&buffer);
    return result;
}

/* Decodes the header of perf.data: events, and facts about the recording.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "formats/perf/perf_internal.h"

uint32_t perf_u32(struct perf_fields *f)
{
    if (f->left < 4) {
        f->bad = true;
        return 0;
    }
    uint32_t value = get_u32(f->at, f->big);
    f->at += 4;
    f->left -= 4;
    return value;
}

uint64_t perf_u64(struct perf_fields *f)
{
    if (f->left < 8) {
        f->bad = true;
        return 0;
    }
    uint64_t value = get_u64(f->at, f->big);
    f->at += 8;
    f->left -= 8;
    return value;
}

void perf_skip(struct perf_fields *f, uint64_t count)
{
    f->bad |= count > f->left;
    if (f->bad)
        return;
    f->at += count;
    f->left -= (size_t)count;
}

const char *perf_text(struct perf_fields *f, size_t size, size_t *length)
{
    const char *text = (const char *)f->at;
    f->bad |= size != SIZE_MAX && size > f->left;
    size = f->bad ? 0 : size < f->left ? size : f->left;
    *length = size > 0 ? strnlen(text, size) : 0;
    perf_skip(f, size);
    return text;
}

/* ---- events ---- */

enum {
    TYPE_HARDWARE,
    TYPE_SOFTWARE,
    TYPE_RAW = 4,
    TYPE_BREAKPOINT = 5, /* higher types are numbers of other PMUs */
    HARDWARE_CYCLES = 0,
    HARDWARE_BUS_CYCLES = 6,
    HARDWARE_REF_CYCLES = 9,
    SOFTWARE_CPU_CLOCK = 0,
    SOFTWARE_TASK_CLOCK = 1,
    SOFTWARE_DUMMY = 9
};
enum { FLAG_FREQUENCY = 10, FLAG_SAMPLE_ID_ALL = 18 };
enum { MAX_EVENTS = 4096, MIN_ATTRIBUTES = 48 };

/* The name of an event if the recording does not contain it. */
static const char *default_name(struct perf *p, uint32_t type, uint64_t config)
{
    static const char *const hardware[] = {"cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           "ref-cycles"};
    static const char *const software[] = {
        "cpu-clock",    "task-clock",   "page-faults",      "context-switches", "cpu-migrations",
        "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy"};
    char text[48];
    if (type == TYPE_HARDWARE && config < sizeof hardware / sizeof hardware[0])
        return hardware[config];
    if (type == TYPE_SOFTWARE && config < sizeof software / sizeof software[0])
        return software[config];
    snprintf(text, sizeof text, "%u:%llu", type, (unsigned long long)config);
    return strings_get(p->texts, strings_intern(p->texts, text));
}

/* Whether CONFIG of TYPE counts cycles. The upper half of CONFIG may contain the number of a
 * PMU. */
static bool counts_cycles(uint32_t type, uint64_t config)
{
    const uint32_t what = (uint32_t)config;
    return type == TYPE_HARDWARE &&
           (what == HARDWARE_CYCLES || what == HARDWARE_BUS_CYCLES || what == HARDWARE_REF_CYCLES);
}

/* The same for an event that is described only by its name, such as cpu_core/cpu-cycles/u. */
static bool is_name_of_cycles(const char *name)
{
    static const char *const names[] = {"cycles",           "cpu-cycles", "cpu_cycles",
                                        "bus-cycles",       "bus_cycles", "ref-cycles",
                                        "cpu_clk_unhalted", "ibs_op//"};
    const char *unit_end = strchr(name, '/');
    const char *inside = unit_end != NULL ? unit_end + 1 : name;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0 ||
            strncmp(inside, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Flag NUMBER in a word of bit fields, which big-endian machines fill from the other end. */
static bool flag(uint64_t flags, unsigned number, bool big)
{
    return (flags >> (big ? 63 - number : number) & 1) != 0;
}

int perf_add_event(struct perf *p, struct perf_fields f, uint64_t offset, struct error *err)
{
    const uint32_t type = perf_u32(&f);
    perf_u32(&f); /* size */
    const uint64_t config = perf_u64(&f), period = perf_u64(&f);
    struct perf_layout layout = {.sample_type = perf_u64(&f), .read_format = perf_u64(&f)};
    const uint64_t flags = perf_u64(&f);
    if (f.bad || p->event_count >= MAX_EVENTS)
        return error_set(err, stream_name(p->stream), offset,
                         f.bad ? "expected %d bytes or more of attributes of an event, found fewer"
                               : "expected at most %d events, found more",
                         f.bad ? MIN_ATTRIBUTES : MAX_EVENTS);
    bool software = type == TYPE_SOFTWARE;
    struct perf_event event = {
        .name = default_name(p, type, config),
        .counts_ns = software && config <= SOFTWARE_TASK_CLOCK,
        .counts_cpu = software && config == SOFTWARE_CPU_CLOCK,
        .counts_cycles = counts_cycles(type, config),
        .is_dummy = software && config == SOFTWARE_DUMMY,
        .has_period = period != 0,
        .frequency = flag(flags, FLAG_FREQUENCY, f.big) ? period : 0,
    };
    layout.is_named = type == TYPE_RAW || type > TYPE_BREAKPOINT;
    layout.period = event.frequency == 0 ? period : 1000000000 / event.frequency;
    layout.sample_id_all = flag(flags, FLAG_SAMPLE_ID_ALL, f.big);
    mem_reserve(&p->events, &p->event_capacity, p->event_count + 1, sizeof *p->events);
    mem_reserve(&p->layouts, &p->layout_capacity, p->event_count + 1, sizeof *p->layouts);
    p->events[p->event_count] = event;
    p->layouts[p->event_count++] = layout;
    return 0;
}

void perf_add_id(struct perf *p, uint64_t id, size_t event)
{
    uint32_t number = numbers_intern(&p->ids, id);
    *MEM_AT(p->event_of, number, p->id_capacity) = (uint32_t)event;
}

/* ---- features ---- */

enum { FEATURE_HOST = 3, FEATURE_CPUS = 7, FEATURE_COMMAND = 11, FEATURE_EVENTS = 12 };
enum { BUILD_ID_SIZE = 20, BUILD_ID_FIELD = 24, MISC_HAS_SIZE = 1 << 15 };

/* Reads a u32 length, then the text, padded with NULs. Returns an interned string, "" if it is
 * damaged. */
static const char *take_string(struct perf *p, struct perf_fields *f)
{
    uint32_t size = perf_u32(f);
    size_t length;
    const char *text = perf_text(f, size, &length);
    return strings_get(p->texts, strings_intern_bytes(p->texts, text, length));
}

static void take_command(struct perf *p, struct perf_fields *f)
{
    struct buffer all = {0};
    uint32_t count = perf_u32(f);
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        const char *word = take_string(p, f);
        if (i > 0)
            buffer_u8(&all, ' ');
        buffer_bytes(&all, word, strlen(word));
    }
    if (!f->bad && all.size > 0)
        p->facts.command =
            strings_get(p->texts, strings_intern_bytes(p->texts, (const char *)all.data, all.size));
    buffer_free(&all);
}

/* Reads the names of events. Each comes with attributes, which are already known, and IDs, which
 * identify the event. */
static void take_events(struct perf *p, struct perf_fields *f)
{
    uint32_t count = perf_u32(f), size = perf_u32(f);
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        perf_skip(f, size);
        uint32_t ids = perf_u32(f);
        const char *name = take_string(p, f);
        uint64_t first = ids > 0 ? perf_u64(f) : 0;
        if (ids > 1)
            perf_skip(f, ((uint64_t)ids - 1) * 8);
        uint32_t known = ids > 0 ? numbers_find(&p->ids, first) : INTERN_NONE;
        size_t event = known != INTERN_NONE ? p->event_of[known] : i;
        if (f->bad || name[0] == '\0' || event >= p->event_count)
            continue;
        p->events[event].name = name;
        if (p->layouts[event].is_named)
            p->events[event].counts_cycles = is_name_of_cycles(name);
    }
}

void perf_take_build_id(struct perf *p, uint16_t misc, struct perf_fields f)
{
    char text[2 * BUILD_ID_SIZE + 1] = "";
    perf_u32(&f); /* process */
    const uint8_t *id = f.at;
    perf_skip(&f, BUILD_ID_FIELD);
    if (f.bad)
        return;
    size_t size = (misc & MISC_HAS_SIZE) != 0 && id[BUILD_ID_SIZE] <= BUILD_ID_SIZE
                      ? id[BUILD_ID_SIZE]
                      : BUILD_ID_SIZE;
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    size_t length;
    const char *path = perf_text(&f, SIZE_MAX, &length);
    uint32_t string = strings_intern_bytes(p->texts, path, length);
    uint32_t number = numbers_intern(&p->paths, string);
    *MEM_AT(p->build_ids, number, p->build_id_capacity) = strings_intern(p->texts, text);
}

void perf_take_feature(struct perf *p, unsigned number, struct perf_fields f)
{
    const char *text;
    switch (number) {
    case FEATURE_HOST:
        text = take_string(p, &f);
        p->facts.host = f.bad || text[0] == '\0' ? NULL : text;
        break;
    case FEATURE_CPUS:
        perf_u32(&f); /* available; then online */
        p->facts.cpus = perf_u32(&f);
        break;
    case FEATURE_COMMAND:
        take_command(p, &f);
        break;
    case FEATURE_EVENTS:
        take_events(p, &f);
        break;
    default:
        break;
    }
}

/* Decodes the records of perf.data.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/perf/perf_internal.h"

enum {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_SAMPLE = 9,
    RECORD_MMAP2 = 10,
    RECORD_LOST_SAMPLES = 13,
    MISC_CPUMODE = 7,
    MODE_KERNEL = 1,
    MODE_GUEST_KERNEL = 4,
    MODE_GUEST_USER = 5,
    MISC_DATA = 1 << 13, /* of a mapping: not executable; of a name: a program began */
    MISC_BUILD_ID = 1 << 14,
    PROTECTION_EXECUTE = 4,
    MAX_BUILD_ID = 20
};

/* A marker in the chain of callers: user code follows. */
#define CONTEXT_USER  ((uint64_t)-512)
#define CONTEXT_FIRST ((uint64_t)-4095)

int perf_fail_short(const struct perf *p, const struct perf_raw *raw, const char *what,
                    struct error *err)
{
    return error_set(err, stream_name(p->stream), raw->offset,
                     "expected a complete %s, found a record (type %" PRIu32 ") that is too short",
                     what, raw->type);
}

static const char *keep(struct perf *p, const char *text, size_t length)
{
    return strings_get(p->texts, strings_intern_bytes(p->texts, text, length));
}

/* The size of those of the fields BITS that TYPE has [bytes]. */
static uint64_t size_of(uint64_t type, uint64_t bits)
{
    return 8 * (uint64_t)__builtin_popcountll(type & bits);
}

/* ---- which event, and when ---- */

/* The number of the event of RAW, whether RAW is a sample or not. All layouts have the ID of the
 * event at the same place. Returns UINT32_MAX if no event has this ID. */
static uint32_t event_of(const struct perf *p, const struct perf_raw *raw)
{
    const uint64_t type = p->layouts[0].sample_type;
    struct perf_fields f = raw->body;
    uint64_t id;
    if (p->event_count == 1)
        return 0;
    bool sample = raw->type == RECORD_SAMPLE;
    if ((type & PERF_HAS_IDENTIFIER) != 0) {
        if (!sample)
            perf_skip(&f, f.left >= 8 ? f.left - 8 : 0);
    } else if ((type & PERF_HAS_ID) == 0) {
        return 0;
    } else if (sample) {
        perf_skip(&f, size_of(type, PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME | PERF_HAS_ADDRESS));
    } else {
        uint64_t rest =
            (unsigned)__builtin_popcountll(type & (PERF_HAS_ID | PERF_HAS_STREAM | PERF_HAS_CPU));
        perf_skip(&f, f.left >= rest * 8 ? f.left - rest * 8 : 0);
    }
    id = perf_u64(&f);
    uint32_t number = numbers_find(&p->ids, id);
    if (number != INTERN_NONE)
        return p->event_of[number];
    return sample ? UINT32_MAX : 0; /* 0: a record written by perf itself */
}

/* The time of a record other than a sample, which is among the fields at its end; 0 if it has
 * none. */
static uint64_t time_at_end(const struct perf *p, const struct perf_raw *raw)
{
    const struct perf_layout *layout = &p->layouts[event_of(p, raw)];
    struct perf_fields f = raw->body;
    uint64_t rest = size_of(layout->sample_type, PERF_HAS_TIME | PERF_HAS_ID | PERF_HAS_STREAM |
                                                     PERF_HAS_CPU | PERF_HAS_IDENTIFIER);
    if (!layout->sample_id_all || (layout->sample_type & PERF_HAS_TIME) == 0 || f.left < rest)
        return 0;
    perf_skip(&f, f.left - rest);
    return perf_u64(&f);
}

/* ---- samples ---- */

/* Skips the values of counters, which precede the chain. */
static void skip_values(const struct perf_layout *layout, struct perf_fields *f)
{
    enum { ENABLED = 1, RUNNING = 2, ID = 4, GROUP = 8, LOST = 16 };
    const uint64_t format = layout->read_format;
    uint64_t times = (unsigned)__builtin_popcountll(format & (ENABLED | RUNNING));
    uint64_t each = 1 + (unsigned)__builtin_popcountll(format & (ID | LOST));
    if ((format & GROUP) != 0) {
        uint64_t count = perf_u64(f);
        f->bad |= count > f->left / 8;
        perf_skip(f, f->bad ? 0 : (times + count * each) * 8);
    } else {
        perf_skip(f, (times + each) * 8);
    }
}

/* The innermost user code in the chain of callers, 0 if there is none. */
static uint64_t user_caller(struct perf_fields *f)
{
    uint64_t count = perf_u64(f);
    bool user = false;
    f->bad |= count > f->left / 8;
    for (uint64_t i = 0; i < count && !f->bad; i++) {
        uint64_t pc = perf_u64(f);
        if (pc < CONTEXT_FIRST && user)
            return pc;
        if (pc >= CONTEXT_FIRST)
            user = pc == CONTEXT_USER;
    }
    return 0;
}

static int check_sample(const struct perf *p, const struct perf_raw *raw, uint32_t event,
                        struct error *err)
{
    static const struct {
        uint64_t bit;
        const char *what;
    } needed[] = {{PERF_HAS_IP, "program counters"},
                  {PERF_HAS_TID, "threads"},
                  {PERF_HAS_TIME, "times (record with -T)"}};
    if (event == UINT32_MAX)
        return error_set(err, stream_name(p->stream), raw->offset,
                         "expected a sample of one of %zu events, found one of an unknown event",
                         p->event_count);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if ((p->layouts[event].sample_type & needed[i].bit) == 0)
            return error_set(err, stream_name(p->stream), raw->offset,
                             "expected samples with %s, found none in those of event %.64s",
                             needed[i].what, p->events[event].name);
    return 0;
}

static int decode_sample(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                         struct error *err)
{
    uint32_t event = event_of(p, raw);
    if (check_sample(p, raw, event, err) != 0)
        return -1;
    const struct perf_layout *layout = &p->layouts[event];
    const uint64_t type = layout->sample_type;
    const unsigned mode = raw->misc & MISC_CPUMODE;
    struct perf_fields f = raw->body;
    if ((type & PERF_HAS_IDENTIFIER) != 0)
        perf_u64(&f);
    *r = (struct perf_record){.kind = PERF_SAMPLE};
    r->u.sample.event = event;
    r->u.sample.pc = perf_u64(&f);
    r->pid = perf_u32(&f);
    r->tid = perf_u32(&f);
    r->time = perf_u64(&f);
    perf_skip(&f, size_of(type, PERF_HAS_ADDRESS | PERF_HAS_ID | PERF_HAS_STREAM | PERF_HAS_CPU));
    r->u.sample.period = (type & PERF_HAS_PERIOD) != 0 ? perf_u64(&f) : layout->period;
    if ((type & PERF_HAS_READ) != 0)
        skip_values(layout, &f);
    r->u.sample.in_kernel = mode == MODE_KERNEL;
    r->u.sample.in_guest = mode == MODE_GUEST_KERNEL || mode == MODE_GUEST_USER;
    if ((type & PERF_HAS_CHAIN) != 0) {
        uint64_t caller = user_caller(&f);
        r->u.sample.caller = r->u.sample.in_kernel ? caller : 0;
    }
    return f.bad ? perf_fail_short(p, raw, "sample", err) : 1;
}

/* ---- processes ---- */

/* The build-id of the file PATH in the list of the header, "" if there is none. */
static const char *listed_build_id(const struct perf *p, const char *path)
{
    uint32_t string = strings_find(p->texts, path);
    uint32_t number = string == INTERN_NONE ? INTERN_NONE : numbers_find(&p->paths, string);
    return number == INTERN_NONE ? "" : strings_get(p->texts, p->build_ids[number]);
}

/* Reads the build-id in a mapping that has one instead of device and inode: u8 size, 3 bytes, 20
 * bytes. */
static const char *own_build_id(struct perf *p, struct perf_fields f)
{
    char text[2 * MAX_BUILD_ID + 1] = "";
    const uint8_t *at = f.at;
    perf_skip(&f, 4 + MAX_BUILD_ID);
    for (unsigned i = 0; !f.bad && i < at[0] && i < MAX_BUILD_ID; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", at[4 + i]);
    return keep(p, text, strlen(text));
}

static int decode_mapping(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                          struct error *err)
{
    struct perf_fields f = raw->body;
    const char *build_id = "";
    uint32_t protection = PROTECTION_EXECUTE;
    *r = (struct perf_record){.kind = PERF_MAPPING, .pid = perf_u32(&f), .tid = perf_u32(&f)};
    r->u.mapping.address = perf_u64(&f);
    r->u.mapping.size = perf_u64(&f);
    r->u.mapping.offset = perf_u64(&f);
    if (raw->type == RECORD_MMAP2) {
        struct perf_fields file = f;
        perf_skip(&f, 24);
        if ((raw->misc & MISC_BUILD_ID) != 0) {
            build_id = own_build_id(p, file);
        } else {
            perf_u64(&file); /* device */
            r->u.mapping.inode = perf_u64(&file);
        }
        protection = perf_u32(&f);
        perf_u32(&f); /* flags */
    }
    size_t length;
    const char *path = perf_text(&f, SIZE_MAX, &length);
    if (f.bad)
        return perf_fail_short(p, raw, "mapping", err);
    if ((raw->misc & MISC_DATA) != 0 || (protection & PROTECTION_EXECUTE) == 0)
        return 0;
    r->u.mapping.path = keep(p, path, length);
    r->u.mapping.build_id = build_id[0] != '\0' ? build_id : listed_build_id(p, r->u.mapping.path);
    r->time = time_at_end(p, raw);
    return 1;
}

static int decode_name(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                       struct error *err)
{
    struct perf_fields f = raw->body;
    size_t length;
    *r = (struct perf_record){.kind = PERF_NAME, .pid = perf_u32(&f), .tid = perf_u32(&f)};
    const char *text = perf_text(&f, SIZE_MAX, &length);
    if (f.bad)
        return perf_fail_short(p, raw, "name of a thread", err);
    r->u.name.text = keep(p, text, length);
    r->u.name.is_exec = (raw->misc & MISC_DATA) != 0;
    r->time = time_at_end(p, raw);
    return 1;
}

static int decode_fork(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                       struct error *err)
{
    struct perf_fields f = raw->body;
    *r = (struct perf_record){.kind = PERF_FORK, .pid = perf_u32(&f)};
    r->u.fork.parent = perf_u32(&f);
    r->tid = perf_u32(&f);
    r->u.fork.creator = perf_u32(&f);
    r->time = perf_u64(&f);
    if (f.bad)
        return perf_fail_short(p, raw, "fork", err);
    uint64_t time = time_at_end(p, raw);
    r->time = time != 0 ? time : r->time;
    return 1;
}

static int decode_lost(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                       struct error *err)
{
    struct perf_fields f = raw->body;
    *r = (struct perf_record){.kind = PERF_LOST};
    if (raw->type == RECORD_LOST)
        perf_u64(&f); /* event */
    r->u.lost = perf_u64(&f);
    r->time = time_at_end(p, raw);
    return f.bad ? perf_fail_short(p, raw, "count of lost records", err) : 1;
}

int perf_decode(struct perf *p, const struct perf_raw *raw, struct perf_record *r,
                struct error *err)
{
    switch (raw->type) {
    case RECORD_MMAP:
    case RECORD_MMAP2:
        return decode_mapping(p, raw, r, err);
    case RECORD_COMM:
        return decode_name(p, raw, r, err);
    case RECORD_FORK:
        return decode_fork(p, raw, r, err);
    case RECORD_SAMPLE:
        return decode_sample(p, raw, r, err);
    case RECORD_LOST:
    case RECORD_LOST_SAMPLES:
        return decode_lost(p, raw, r, err);
    default:
        return 0;
    }
}

/* Declarations shared by the parts of the perf.data reader.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PERF_PERF_INTERNAL_H
#define FORMATS_PERF_PERF_INTERNAL_H

#include "base/intern.h"
#include "formats/perf/perf.h"

/* Bits of sample_type; fields are in the order of the list in perf_records.c. */
enum {
    PERF_HAS_IP = 1 << 0,
    PERF_HAS_TID = 1 << 1,
    PERF_HAS_TIME = 1 << 2,
    PERF_HAS_ADDRESS = 1 << 3,
    PERF_HAS_READ = 1 << 4,
    PERF_HAS_CHAIN = 1 << 5,
    PERF_HAS_ID = 1 << 6,
    PERF_HAS_CPU = 1 << 7,
    PERF_HAS_PERIOD = 1 << 8,
    PERF_HAS_STREAM = 1 << 9,
    PERF_HAS_IDENTIFIER = 1 << 16
};

/* The layout of the records of an event, and its attributes. */
struct perf_layout {
    uint64_t sample_type, read_format, period;
    bool sample_id_all; /* records other than samples end with thread, time, ... */
    bool is_named;      /* only its name describes what it counts */
};

/* A piece of a record. Reading beyond its end gives 0 and sets BAD. */
struct perf_fields {
    const uint8_t *at;
    size_t left;
    bool big, bad;
};

uint32_t perf_u32(struct perf_fields *fields);
uint64_t perf_u64(struct perf_fields *fields);
void perf_skip(struct perf_fields *fields, uint64_t count);
/* Reads a text in the next SIZE bytes (SIZE_MAX: all that are left), up to its first NUL. Sets
 * *LENGTH. */
const char *perf_text(struct perf_fields *fields, size_t size, size_t *length);

/* A record as it is in the file. */
struct perf_raw {
    uint32_t type;
    uint16_t misc;
    uint64_t offset; /* in the file */
    struct perf_fields body;
};

struct perf {
    struct stream *stream;
    bool big, is_pipe, salvage, cut;
    uint64_t data_at, data_end; /* offsets; UINT64_MAX: the end of the file */
    struct strings *texts;
    struct perf_event *events;
    struct perf_layout *layouts;
    size_t event_count, event_capacity, layout_capacity;
    struct numbers ids; /* of events ... */
    uint32_t *event_of; /* ... and the number of each */
    size_t id_capacity;
    struct numbers paths; /* strings with a known build-id ... */
    uint32_t *build_ids;  /* ... as strings */
    size_t build_id_capacity;
    struct perf_facts facts;
    /* records that are not in order yet: a heap with the earliest on top */
    struct perf_waiting {
        struct perf_record record;
        uint64_t number;
    } * heap;
    size_t heap_count, heap_capacity;
    uint64_t number; /* records so far */
    /* times: the latest of all records so far, the latest of the previous round, and the time up to
     * which records are complete */
    uint64_t latest, settled, ready;
    bool described; /* a pipe: all events are known */
    bool ended;
};

/* Decodes RAW, whose header has been read. Returns 1 with RECORD filled, 0 if it is irrelevant, or
 * -1. */
int perf_decode(struct perf *perf, const struct perf_raw *raw, struct perf_record *record,
                struct error *err);

/* Records the error that RAW, a WHAT, is too short. Returns -1. */
int perf_fail_short(const struct perf *perf, const struct perf_raw *raw, const char *what,
                    struct error *err);

/* Adds an event with the attributes at FIELDS (SIZE bytes). Returns 0, or -1. */
int perf_add_event(struct perf *perf, struct perf_fields fields, uint64_t offset,
                   struct error *err);
/* Records that ID is one of the IDs of event number EVENT. */
void perf_add_id(struct perf *perf, uint64_t id, size_t event);
/* Reads FIELDS, the feature with NUMBER of the header. */
void perf_take_feature(struct perf *perf, unsigned number, struct perf_fields fields);
/* Reads the build-id of a file. */
void perf_take_build_id(struct perf *perf, uint16_t misc, struct perf_fields fields);

#endif

/* The counters of a metered program, and the thread that answers its preload library.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_SESSION_H
#define RECORD_FUNCMETER_SESSION_H

#include <stdbool.h>

#include "record/funcmeter/planner.h"
#include "record/funcmeter/shared.h"

struct session;

struct session_options {
    bool timing;       /* watch exits */
    bool listing;      /* the program ends before it runs */
    bool monotonic;    /* do not use the time-stamp counter */
    bool cpu_time;     /* of the thread, not wall time */
    bool callers;      /* count arcs */
    uint64_t shortest; /* call that is noted for its energy [ns]; 0: none is */
};

/* Makes counters and starts the thread. PLANNER is borrowed until session_stop and used by the thread alone. Returns NULL
 * with ERR filled. */
struct session *session_new(struct planner *planner, const struct session_options *options,
                            struct error *err);

/* Sets the environment for programs that are to be metered with the preload library at LIBRARY. Returns 0, or -1 with ERR
 * filled. */
int session_export(struct session *session, const char *library, struct error *err);

/* Sets the environment back. */
void session_unexport(const struct session *session);

/* Stops answering; afterwards the caller may use the planner and the counters. */
void session_stop(struct session *session);
void session_delete(struct session *session);

/* The header of the memory file, borrowed until session_delete. */
const struct meter_header *session_header(const struct session *session);
/* The number of blocks in use, and the blocks; functions that have no calls have never been written. */
uint32_t session_block_count(const struct session *session);
const struct meter_block *session_block(const struct session *session, uint32_t number);
/* The first record of a block, at or after FUNCTION, that may have been written: reading others would allocate
 * memory. */
uint32_t session_next_record(const struct session *session, uint32_t number, uint32_t function);
/* The histogram of RECORD, with LOG_BUCKETS values, or NULL. */
const uint64_t *session_histogram(const struct session *session, const struct meter_record *record);
/* The METER_ARCS entries of the table of arcs of a block, or NULL. */
const struct meter_arc *session_arcs(const struct session *session, uint32_t number);
/* The number of intervals that were noted, and one of them; NULL: the program ended before it was. */
uint64_t session_interval_count(const struct session *session);
const struct meter_interval *session_interval(const struct session *session, uint64_t number);
/* CLOCK_MONOTONIC at TICKS [ns], after session_stop. */
double session_time(const struct session *session, uint64_t ticks);
/* The time from session_new to session_stop [ns]. */
uint64_t session_wall(const struct session *session);
/* Nanoseconds per tick, measured over the whole run. */
double session_tick(const struct session *session);

#endif

/* The counters of a metered program, and the thread that answers its preload library.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_SESSION_H
#define RECORD_FUNCMETER_SESSION_H

#include <stdbool.h>

#include "record/funcmeter/planner.h"
#include "record/funcmeter/shared.h"

struct session;

struct session_options {
    bool timing;    /* exits are watched */
    bool listing;   /* the program ends before it runs its code */
    bool monotonic; /* the time-stamp counter is not used */
    bool cpu_time;  /* time is the CPU time of the thread instead of wall time */
    bool callers;   /* arcs are counted */
    /* minimum length of calls that are noted for their energy [ns]; 0: none are */
    uint64_t shortest;
};

/* Makes counters and starts the thread. PLANNER is borrowed until session_stop; only the thread
 * uses it. Returns NULL with ERR filled. */
struct session *session_new(struct planner *planner, const struct session_options *options,
                            struct error *err);

/* Sets the environment for programs that are to be metered with the preload library at LIBRARY.
 * Returns 0, or -1 with ERR filled. */
int session_export(struct session *session, const char *library, struct error *err);

/* Restores the environment. */
void session_unexport(const struct session *session);

/* Stops answering; afterwards, the caller may use the planner and the counters. */
void session_stop(struct session *session);
void session_delete(struct session *session);

/* Returns the header of the memory file, borrowed until session_delete. */
const struct meter_header *session_header(const struct session *session);
/* Return the number of blocks in use, and the blocks; records of functions without calls have never
 * been written. */
uint32_t session_block_count(const struct session *session);
const struct meter_block *session_block(const struct session *session, uint32_t number);
/* Returns the number of the first record of a block, at or after FUNCTION, that may have been
 * written: reading others would allocate memory. */
uint32_t session_next_record(const struct session *session, uint32_t number, uint32_t function);
/* Returns the histogram of RECORD, with LOG_BUCKETS values, or NULL. */
const uint64_t *session_histogram(const struct session *session, const struct meter_record *record);
/* Returns the METER_MAX_ARCS entries of the table of arcs of a block, or NULL. */
const struct meter_arc *session_arcs(const struct session *session, uint32_t number);
/* Return the number of intervals that were noted, and one of them; NULL: the program ended before
 * the interval was written. */
uint64_t session_interval_count(const struct session *session);
const struct meter_interval *session_interval(const struct session *session, uint64_t number);
/* Returns CLOCK_MONOTONIC at TICKS [ns]; after session_stop. */
double session_time(const struct session *session, uint64_t ticks);
/* Returns the time from session_new to session_stop [ns]. */
uint64_t session_wall(const struct session *session);
/* Returns the nanoseconds per tick, measured over the whole run. */
double session_tick(const struct session *session);

#endif

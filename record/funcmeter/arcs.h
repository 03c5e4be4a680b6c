/* The callers of the functions of a metered program, and the places of the calls.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_ARCS_H
#define RECORD_FUNCMETER_ARCS_H

#include "formats/pbin/pbin.h"
#include "formats/table/table.h"
#include "record/funcmeter/planner.h"
#include "record/funcmeter/session.h"

/* Calls of a function from one place. */
struct meter_call {
    uint32_t module;  /* number of the file that contains the place, or METER_NO_MODULE */
    uint64_t address; /* to which the calls return, in that file */
    char *caller;     /* the function that contains it, for readers */
    uint32_t function;
    uint64_t calls;
};

struct meter_arcs {
    struct meter_call *items; /* sorted by function, then by calls, most first */
    size_t count, capacity;
};

/* Adds up the arcs of SESSION, which has been stopped and is borrowed, as is PLANNER. Caller frees
 * ARCS. */
void meter_arcs_read(struct meter_arcs *arcs, const struct session *session,
                     const struct planner *planner);
void meter_arcs_free(struct meter_arcs *arcs);

/* Writes the arcs as a table to OUT, where errors are recorded. */
void meter_arcs_write(const struct meter_arcs *arcs, const struct planner *planner,
                      const struct table_format *format, struct output *out);

/* Writes the arcs from function to function. */
void meter_arcs_put(const struct meter_arcs *arcs, const struct planner *planner,
                    struct pbin_writer *writer);

#endif

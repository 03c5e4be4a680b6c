/* The sums over the calls of a metered program, as a table.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_RESULTS_H
#define RECORD_FUNCMETER_RESULTS_H

#include "formats/table/table.h"
#include "record/funcmeter/arcs.h"
#include "record/funcmeter/energy.h"
#include "record/funcmeter/planner.h"
#include "record/funcmeter/probes.h"
#include "record/funcmeter/session.h"

/* A function in all threads, or in one thread. Times are in ticks. */
struct meter_sums {
    uint32_t function;
    uint32_t process, thread; /* 0: all */
    const char *program, *thread_name;
    struct meter_record record;
    uint64_t inside;     /* calls that had not ended when the program ended */
    uint64_t *histogram; /* LOG_BUCKETS values, or NULL */
    /* total time of outermost calls that were long enough for their energy [ns] */
    double noted;
    struct energy_amount energy; /* energy of these calls, ... */
    bool has_energy;             /* ... which are all that matter */
};

struct meter_results {
    struct meter_sums *items; /* only functions with calls; the most expensive first */
    size_t count, capacity;
    double tick; /* [ns] */
    bool timing, per_thread;
    bool energy;  /* the energy of some is known */
    bool returns; /* returns are counted without times */
};

/* Adds up the counters of SESSION, which has been stopped and is borrowed, as is PLANNER; the
 * ENERGY of its calls (NULL: not measured), which has also been stopped; and the counts of PROBES
 * (NULL: none). Caller frees RESULTS. */
void meter_results_read(struct meter_results *results, const struct session *session,
                        const struct planner *planner, const struct energy *energy,
                        const struct probes *probes, bool per_thread);
/* The same for the counts of PROBES alone. */
void meter_results_read_probes(struct meter_results *results, const struct probes *probes,
                               const struct planner *planner);
/* Checks whether functions have energy. Returns -1 with ERR filled if none has, with the reason for
 * the function with the longest calls; otherwise, the number of functions whose calls have ended
 * and that have no energy. */
int meter_results_check_energy(const struct meter_results *results, const struct planner *planner,
                               const struct energy *energy, struct error *err);
void meter_results_free(struct meter_results *results);

/* Writes the table to OUT, where errors are recorded. */
void meter_results_write(const struct meter_results *results, const struct planner *planner,
                         const struct table_format *format, struct output *out);

/* The run that is described in a profile. */
struct meter_run {
    const char *name;    /* of the profile */
    const char *target;  /* the program */
    const char *command; /* its command line */
    uint64_t wall_ns;
};

/* Writes an aggregated pbin, with the self time of each function, or of each function in a thread,
 * and its calls as entries; and ARCS. Returns 0, or -1 with the error in OUT. */
int meter_results_write_pbin(const struct meter_results *results, const struct meter_arcs *arcs,
                             const struct planner *planner, const struct meter_run *run,
                             struct output *out);

/* Writes a dump of IgProf to OUT, where errors are recorded. Functions in it have no callers. */
void meter_results_write_igprof(const struct meter_results *results, const struct planner *planner,
                                const char *program, uint64_t pid, struct output *out);

#endif

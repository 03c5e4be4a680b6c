/* Sources of power readings: counters of energy, and gauges of power, current, voltage or a custom
 * quantity. A source is opened for each -p and has one or more channels, each with its own value.
 *
 *   source = pmu_find("rapl:dram", &argument, err);
 *   source->open(&request, &channels, &state, err);
 *   got = source->read(state, channel, &value, err);      1 a value, 0 nothing new, -1 error
 *   source->close(state);
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_PMUS_PMU_H
#define RECORD_PMUS_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "formats/pbin/pmu_kind.h"

/* The part of the machine that a channel measures. BOARD and PSYS contain all others, PACKAGE contains CORE. */
enum pmu_scope {
    SCOPE_OTHER, /* unknown: never added to another */
    SCOPE_CORE,
    SCOPE_PACKAGE,
    SCOPE_DRAM,
    SCOPE_GPU,
    SCOPE_PSYS,
    SCOPE_BOARD,
};

struct pmu_channel {
    char *name; /* unique within the source: "package-0" */
    char *help; /* one line for --list-pmus */
    char *unit; /* "J" for counters, otherwise "W", "A", "V" or a custom unit */
    enum pmu_kind kind;
    enum pmu_scope scope;
    bool counter;     /* counts energy; kind is PMU_POWER */
    size_t inside;    /* 1 + the channel of this source whose value includes this one; 0: none */
    double per_count; /* joules per count, only for counters */
    uint64_t range;   /* only for counters: number of counts until it wraps; 0: it does not wrap */
    uint64_t period;  /* between two updates [ns]; 0: unknown */
};

/* The channels of a source, most important first. All zero: empty. */
struct pmu_channels {
    struct pmu_channel *list;
    size_t count, capacity;
    size_t chosen; /* 1 + the channel named in the argument of -p; 0: none */
};

/* The options of one source; all borrowed. */
struct pmu_request {
    const char *argument; /* after the colon of -p; NULL: none */
    const char *unit;     /* NULL: not given */
    int kind;             /* enum pmu_kind; -1: not given */
    uint64_t range;       /* 0: not given */
    size_t sensor;        /* 1 + the channel to use as the value; 0: not given */
    double clock_offset;  /* [s] lead of the source's clock over this machine's */
};

struct pmu_value {
    uint64_t count; /* only of a counter: the raw count, which may have wrapped */
    double gauge;   /* only of other channels, in the channel's unit */
    uint64_t time;  /* CLOCK_MONOTONIC [ns] of the measurement; 0: the time of reading */
    uint64_t alike; /* number of other values with the same time: this value is the mean of all */
};

/* The time of the run, for sources that deliver values after it; clocks in ns. */
struct pmu_window {
    uint64_t from, to; /* CLOCK_MONOTONIC */
    int64_t real;      /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
};

/* A source. A new one is a file with one of these and a line in pmu_table.c. */
struct pmu_source {
    const char *name;     /* the part of -p before the colon */
    const char *argument; /* the part after the colon, for the help: "PATH", "[ZONE]"; NULL: none */
    const char *help;
    bool takes_unit, takes_range; /* accepts --unit and --pmu-kind; --range */
    /* Opens the source and adds its channels to CHANNELS. Fails before the program starts if the
     * source cannot work. Returns 0 with *STATE for the other functions, or -1 with ERR filled.
     * REQUEST is borrowed until close. */
    int (*open)(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                struct error *err);
    /* Reads CHANNEL. Returns 1 with VALUE, 0 without a new value, -1 with ERR filled after a
     * permanent failure. Does not wait for anything but the device. */
    int (*read)(void *state, size_t channel, struct pmu_value *value, struct error *err);
    /* NULL for most sources. Called repeatedly after the run for values that are available only
     * then; those of each channel in order of time. Returns 1 with *CHANNEL and VALUE, 0 at the
     * end, -1 with ERR filled. */
    int (*late)(void *state, const struct pmu_window *window, size_t *channel,
                struct pmu_value *value, struct error *err);
    void (*close)(void *state);
};

/* All sources in the order of the help; ends with NULL. */
extern const struct pmu_source *const pmu_sources[];

/* Finds the source that is named in SPEC ("rapl", "file:/path"). Returns it, and sets *ARGUMENT to
 * the text after the colon (borrowed from SPEC; NULL if there is none); or returns NULL with ERR
 * filled. */
const struct pmu_source *pmu_find(const char *spec, const char **argument, struct error *err);

/* Returns "NAME:ARGUMENT" of SOURCE for the help. Caller frees. */
char *pmu_usage(const struct pmu_source *source);

/* Adds a channel called NAME (copied), by default a gauge of power of unknown scope. Returns it,
 * borrowed until the next call. */
struct pmu_channel *pmu_channel_add(struct pmu_channels *channels, const char *name,
                                    const char *help);
/* Makes CHANNEL a gauge of KIND in UNIT (copied). */
void pmu_channel_quantity(struct pmu_channel *channel, enum pmu_kind kind, const char *unit);
/* Makes CHANNEL an energy counter of PER_COUNT joules per count that wraps after RANGE counts (0:
 * never). */
void pmu_channel_counter(struct pmu_channel *channel, double per_count, uint64_t range);
void pmu_channels_free(struct pmu_channels *channels);
/* Returns 1 + the number of the channel called NAME; 0: none. */
size_t pmu_channel_find(const struct pmu_channels *channels, const char *name);

/* Chooses the channel called NAME, the argument of -p, unless it is NULL. SOURCE is for messages.
 * Returns 0, or -1 with ERR filled if no channel has that name. */
int pmu_channels_choose(struct pmu_channels *channels, const char *source, const char *name,
                        struct error *err);

/* Returns whether one of the energies of A and B includes the other, so that they must not be
 * added. SAME: both belong to one source, whose list is CHANNELS. */
bool pmu_overlap(const struct pmu_channels *channels, const struct pmu_channel *a,
                 const struct pmu_channel *b, bool same);

/* Returns "core", "package", ... */
const char *pmu_scope_name(enum pmu_scope scope);

/* ---- units -------------------------------------------------------------------------------------- */

struct pmu_unit {
    const char *name; /* unit of recorded values: "J", "W", "A", "V" or the custom unit */
    enum pmu_kind kind;
    bool energy;
    double scale; /* factor from the given unit to that unit */
};

/* Combines UNIT ("mW", "uJ", "ticks"; NULL: not given) and KIND (enum pmu_kind or -1). Returns 0
 * with RESULT filled, or -1 with ERR filled if they contradict each other. */
int pmu_unit_settle(const char *unit, int kind, struct pmu_unit *result, struct error *err);

#endif

/* Sources of power readings: counters of energy, and gauges of power, current, voltage or whatever a
 * file says. A source is opened for one -p and has one or more channels, each with a value of its own.
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
#include "formats/pbin/pbin.h"

/* What a channel measures. BOARD and PSYS contain all others, PACKAGE contains CORE. */
enum pmu_scope {
    SCOPE_OTHER, /* not known: never added to anything */
    SCOPE_CORE,
    SCOPE_PACKAGE,
    SCOPE_DRAM,
    SCOPE_GPU,
    SCOPE_PSYS,
    SCOPE_BOARD,
};

struct pmu_channel {
    char *name; /* unique within the source: "package-0" */
    char *help; /* one line for people */
    char *unit; /* "J" for counters, else "W", "A", "V" or a custom one */
    enum pmu_kind kind;
    enum pmu_scope scope;
    bool counter;     /* counts energy; kind is PMU_POWER */
    size_t inside;    /* 1 + the channel of this source whose value includes this one, 0: none */
    double per_count; /* counters: [J] */
    uint64_t range;   /* counters: counts from one wrap to the next; 0: it does not wrap */
    uint64_t period;  /* between two updates [ns], 0: not known */
};

/* What a source can be read for, the most telling first. Zeroed it is empty. */
struct pmu_channels {
    struct pmu_channel *list;
    size_t count, capacity;
    size_t chosen; /* 1 + the one that the argument of -p names, 0: none */
};

/* What the command line says about one source; all borrowed. */
struct pmu_request {
    const char *argument; /* after the colon of -p, NULL: none */
    const char *unit;     /* NULL: not given */
    int kind;             /* enum pmu_kind, -1: not given */
    uint64_t range;       /* 0: not given */
    size_t sensor;        /* 1 + the channel that is the value, 0: not given */
    double clock_offset;  /* [s] that the source's clock is ahead of ours */
};

struct pmu_value {
    uint64_t count; /* of a counter: raw, it may have wrapped */
    double gauge;   /* of others, in the channel's unit */
    uint64_t time;  /* CLOCK_MONOTONIC [ns] at which it was true; 0: when it was read */
};

/* The run, for sources that deliver at its end; clocks in ns. */
struct pmu_window {
    uint64_t from, to; /* CLOCK_MONOTONIC */
    int64_t real;      /* what CLOCK_REALTIME is ahead of it */
};

/* A source. A new one is a file with one of these and a line in pmu_table.c. */
struct pmu_source {
    const char *name; /* in front of the colon of -p */
    const char
        *argument; /* what follows the colon, for the help: "PATH", "[ZONE]"; NULL: nothing */
    const char *help;
    bool takes_unit, takes_range; /* --unit and --pmu-kind, --range say something about it */
    /* Opens and adds its channels to CHANNELS. What cannot work fails here, before the program starts.
     * Returns 0 with *STATE for the others, or -1 with ERR filled. REQUEST is borrowed until close. */
    int (*open)(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                struct error *err);
    /* Reads CHANNEL. Returns 1 with VALUE, 0 when there is nothing new to know, -1 with ERR filled: it
     * will not work any more. Takes as long as the device needs, but waits for nothing else. */
    int (*read)(void *state, size_t channel, struct pmu_value *value, struct error *err);
    /* NULL for most. Called again and again after the run: values that only come then, channel by
     * channel in order of time. Returns 1 with *CHANNEL and VALUE, 0 at the end, -1 with ERR filled. */
    int (*late)(void *state, const struct pmu_window *window, size_t *channel,
                struct pmu_value *value, struct error *err);
    void (*close)(void *state);
};

/* All sources in the order of the help; ends in NULL. */
extern const struct pmu_source *const pmu_sources[];

/* Finds the source that SPEC ("rapl", "file:/path") names. Returns it, with *ARGUMENT the text after the
 * colon (borrowed from SPEC, NULL without one), or NULL with ERR filled. */
const struct pmu_source *pmu_find(const char *spec, const char **argument, struct error *err);

/* "NAME:ARGUMENT" of SOURCE as the help shows it. Caller frees. */
char *pmu_usage(const struct pmu_source *source);

/* Adds a channel called NAME (copied), a gauge of power of unknown scope until the caller changes it.
 * Borrowed until the next call. */
struct pmu_channel *pmu_channel_add(struct pmu_channels *channels, const char *name,
                                    const char *help);
/* Makes CHANNEL an energy counter of PER_COUNT joules that wraps after RANGE counts (0: never). */
void pmu_channel_counter(struct pmu_channel *channel, double per_count, uint64_t range);
void pmu_channels_free(struct pmu_channels *channels);
/* The channel that is called NAME: 1 + its number, 0 for none. */
size_t pmu_channel_find(const struct pmu_channels *channels, const char *name);

/* Chooses the channel that REQUEST's argument names, if there is one. Returns 0, or -1 with ERR filled
 * when no channel is called so. */
int pmu_channels_choose(struct pmu_channels *channels, const char *source, const char *name,
                        struct error *err);

/* Are the energies of A and B of each other's, so that they must not be added? SAME: they belong to one
 * source, whose list is CHANNELS. */
bool pmu_overlap(const struct pmu_channels *channels, const struct pmu_channel *a,
                 const struct pmu_channel *b, bool same);

const char *pmu_scope_name(enum pmu_scope scope);

/* ---- units -------------------------------------------------------------------------------------- */

struct pmu_unit {
    const char *name; /* what values are recorded in: "J", "W", "A", "V" or the custom one */
    enum pmu_kind kind;
    bool energy;
    double scale; /* from the unit that was given to that one */
};

/* What UNIT ("mW", "uJ", "ticks"; NULL: not given) and KIND (enum pmu_kind or -1) together mean.
 * Returns 0, or -1 with ERR filled when they contradict each other. */
int pmu_unit_settle(const char *unit, int kind, struct pmu_unit *result, struct error *err);

#endif

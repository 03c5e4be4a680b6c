/* Power readings of a run: opens the sources, reads each when it has a new value, unwraps counters,
 * and delivers readings in the form of the raw extension.
 *
 *   power = power_open(&options, &reporter, err);       before the program exists
 *   power_begin(power);                                 just before it starts
 *   power_tick(power, now);                             frequently; reads sources that are due
 *   while (power_end(power, wall) > 0) ...              at the end of the run
 *   readings = power_take(power, &count);               after any of them: new readings
 *   power_close(power);
 *
 * A counter is read once per update, or more often if it would otherwise wrap. If the period of its
 * updates is unknown, it is measured at the start, and corrected during the run. Reading never
 * takes more than a twentieth of the time. A reading that finds the counter unchanged is dropped:
 * otherwise the line between two readings would have a step that depends on when the counter was
 * read. If a counter decreases without being near the end of its range, it was probably reset. In
 * that case, or if the machine was suspended, the previous power is assumed, and the report shows
 * for how long.
 *
 * The value of a run (role 1) is the sum of the channels that measure different things: those of
 * the first source, then those that do not overlap with them; or it is a single channel, if the
 * user chose one of a source. All other channels are recorded in addition (role 0).
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_POWER_H
#define RECORD_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/report.h"
#include "formats/raw/raw_extension.h"
#include "record/pmus/pmu.h"

/* One option -p. */
struct power_source {
    const struct pmu_source *source;
    const char *spec; /* as given by the user */
    struct pmu_request request;
};

enum { MAX_POWER_SOURCES = 32 };

struct power_options {
    struct power_source sources[MAX_POWER_SOURCES];
    size_t count;
    /* time for which to measure the power without the program [s]; 0: do not measure */
    double baseline_seconds;
    double baseline_w; /* power without the program, given by the user; 0: not given */
};

struct power;

/* Opens all sources, measures periods and the baseline. OPTIONS (including its strings), REPORTER
 * and ERR are borrowed until power_close. Returns NULL with ERR filled. There may be no sources. */
struct power *power_open(const struct power_options *options, struct reporter *reporter,
                         struct error *err);
/* NULL is allowed. */
void power_close(struct power *power);

/* Returns all channels of all sources, borrowed until power_close. */
const struct raw_source *power_channels(const struct power *power, size_t *count);

/* Return the kind of the value, PMU_NONE without sources; and its unit. */
enum pmu_kind power_kind(const struct power *power);
const char *power_unit(const struct power *power);

/* Reads all sources just before the program starts. Returns the same as power_tick, which does this
 * if it was not called. */
int power_begin(struct power *power);

/* Reads the sources that are due at NOW [ns since the start of the run]. The first call defines the
 * start: energy counted between power_begin and the start is excluded in proportion to the time.
 * Returns 0; or -1 with the ERR of power_open filled if a source has failed, after which there are
 * no more readings. */
int power_tick(struct power *power, uint64_t now);
/* Returns when the next source is due [ns since the start of the run]; UINT64_MAX: never. *EXACT:
 * whether it is expected to be updated at that time. */
uint64_t power_due(const struct power *power, bool *exact);

/* To be called when the run has ended at NOW [ns since its start]: reads all sources once more, and
 * fetches late values. Returns 1 if there may be more after power_take, 0 if not, or -1 like
 * power_tick. */
int power_end(struct power *power, uint64_t now);

/* Returns the readings since the last call, borrowed until the next call of power_tick or
 * power_end. */
const struct raw_reading *power_take(struct power *power, size_t *count);

/* Results at the end. */
struct power_summary {
    char *value; /* the channels that make up the value: "rapl:package-0 + rapl:package-0/dram" */
    char *scope; /* "package", "package, dram" */
    char *apart; /* channels of sources that are not part of the value; NULL: none */
    bool has_energy;   /* the value is a power */
    double energy;     /* energy of the value from the start to the end [J] */
    double seconds;    /* duration of the run */
    double baseline_w; /* power without the program; < 0: unknown */
    /* CPU time of all processes of the machine during the run [s]; < 0: unknown */
    double busy;
    double reading;    /* time spent reading [s] */
    uint64_t readings; /* number of readings recorded */
};
/* Fills SUMMARY; the caller calls power_summary_free. */
void power_summarize(const struct power *power, struct power_summary *summary);
void power_summary_free(struct power_summary *summary);

/* Warns about resets, suspends, counters that wrapped too fast, and gaps without a value. */
void power_warn(const struct power *power);

/* Returns the measured or given baseline [W]; < 0: unknown. */
double power_baseline(const struct power *power);

/* Prints all sources to OUT, with their channels or the reason why they cannot be used here. */
void power_list(FILE *out);

#endif

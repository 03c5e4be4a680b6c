/* Aggregation: adds up samples by key over one or more profiles. Sums are exact integers, so that
 * the result does not depend on the order or grouping of the inputs. Memory grows with the number
 * of rows, not with the number of samples.
 *
 *   aggregate = aggregate_new(&options);
 *   aggregate_read(aggregate, reader, ...)   once per profile
 *   aggregate_finish(aggregate);             rows are sorted by key
 *   ... aggregate_row(aggregate, i) ...
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_AGGREGATE_H
#define ANALYZE_AGGREGATE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/aggregate/measures.h"
#include "analyze/attribute/attribute.h"
#include "base/report.h"
#include "formats/pbin/pbin.h"

struct aggregate_options {
    struct attribution_options rows; /* its selection is borrowed until aggregate_delete */
    bool add;                        /* inputs are shards of one run; otherwise, each is a run */
    bool no_gap_warning;             /* for tools that do not show the energy of intervals */
    bool has_max_gap;                /* the tool has the option --max-gap */
};

struct aggregate;

/* Returns a new, empty aggregate. OPTIONS are copied. */
struct aggregate *aggregate_new(const struct aggregate_options *options);
void aggregate_delete(struct aggregate *aggregate);

/* Adds the profile of READER, which must be at its beginning, with up to THREADS threads. NAME is
 * the name of the file, for warnings. The result does not depend on THREADS. Returns 0, or -1 with
 * ERR filled; AGGREGATE can then only be deleted. */
int aggregate_read(struct aggregate *aggregate, struct pbin_reader *reader, const char *name,
                   size_t threads, struct reporter *reporter, struct error *err);

/* Adds everything that FROM has read, as if TO had read it. FROM must not be finished, and can
 * afterwards only be deleted. Both must have the same options. Returns 0, or -1 with ERR filled if
 * their quantities differ. */
int aggregate_merge(struct aggregate *to, struct aggregate *from, struct error *err);

/* Completes rows and runs after the last profile. Returns 0, or -1 with ERR filled if nothing was read or a sum is too
 * large. */
int aggregate_finish(struct aggregate *aggregate, struct error *err);

/* The following are valid after aggregate_finish; results are borrowed until aggregate_delete. Rows are ordered by
 * their keys: texts by bytes, numbers by value. */
size_t aggregate_row_count(const struct aggregate *aggregate);
const struct pbin_row *aggregate_row(const struct aggregate *aggregate, size_t number);
const char *aggregate_text(const struct aggregate *aggregate, uint64_t string);

/* Returns whether ROW of AGGREGATE collects the samples that filters exclude. */
bool aggregate_is_excluded(const struct aggregate *aggregate, const struct pbin_row *row);

/* Returns whether ROW of AGGREGATE is energy without code: _idle or _gap. */
bool aggregate_is_label(const struct aggregate *aggregate, const struct pbin_row *row);

/* Returns whether ROW is the row of LABEL. */
bool aggregate_has_label(const struct aggregate *aggregate, const struct pbin_row *row,
                         const char *label);
const struct aggregate_options *aggregate_options_of(const struct aggregate *aggregate);
const struct pbin_keys *aggregate_keys(const struct aggregate *aggregate);
const struct quantity *aggregate_quantity(const struct aggregate *aggregate);
/* The metadata common to all profiles; texts that differ are NULL. Wall time, latency and samples are sums. */
const struct pbin_meta *aggregate_meta(const struct aggregate *aggregate);
/* The energy measured in full profiles that is not in a row, idle or in a gap [2^-80 J]; negative
 * if rows have more energy than was measured. Only some energy models leave any. */
exact aggregate_unattributed(const struct aggregate *aggregate);
size_t aggregate_run_count(const struct aggregate *aggregate);
const struct pbin_run *aggregate_run(const struct aggregate *aggregate, size_t number);
size_t aggregate_arc_count(const struct aggregate *aggregate);
const struct pbin_arc *aggregate_arc(const struct aggregate *aggregate, size_t number);

/* The measures, ordered by name, and their values by row number. Profiles of calls that older versions wrote without
 * measures have the measure calls. */
const struct measures *aggregate_measures(const struct aggregate *aggregate);
/* The number of the measure called NAME, or -1. */
int aggregate_measure(const struct aggregate *aggregate, const char *name);

/* The number of thread samples with CPU time, of all rows or (SHOWN) of those that filters do not
 * exclude. Thread samples without CPU time do not affect shares, and their number is known only for
 * all rows together. With wall times, all thread samples count. */
double aggregate_deciding_samples(const struct aggregate *aggregate, bool shown);
/* Returns whether only some samples were selected, by time or by phase. */
bool aggregate_is_cut(const struct aggregate *aggregate);
/* The variance of the CPU time of a thread at each end of such a selection, in squares of the mean
 * CPU time of its samples: the largest of all profiles. */
double aggregate_end_variance(const struct aggregate *aggregate);

/* The mean time between two updates of the sensor [s], over *SAMPLES samples; NAN if energy was not
 * divided by windows. */
double aggregate_window(const struct aggregate *aggregate, double *samples);

/* The mean time for which a row runs without interruption, in windows of the sensor; NAN if
 * unknown. */
double aggregate_stay(const struct aggregate *aggregate);

/* If options.rows.fit is set, replaces the energies of rows by those from least squares over the
 * windows of the sensor. Call it after aggregate_finish, and not for aggregates that are written.
 * The row _residual gets the remaining energy. Returns 0, or -1 with ERR filled if the sums do not
 * suffice. */
int aggregate_fit(struct aggregate *aggregate, struct error *err);

/* The same as fit_unexplained, for use instead of aggregate_fit. */
struct fit_rest;
int aggregate_unexplained(const struct aggregate *aggregate, bool moved, struct fit_rest *rest,
                          struct error *err);

/* The precision of a row's energy after aggregate_fit. */
struct fitted {
    double interval;  /* half of the 95 % interval of its energy in all runs [J]; NaN: unknown */
    const char *like; /* name of the row that it cannot be distinguished from; NULL: none */
};

/* The precision of row NUMBER; NULL if aggregate_fit was not called. */
const struct fitted *aggregate_fitted(const struct aggregate *aggregate, size_t number);

/* Writes the aggregate as pbin. Returns 0, or -1 with the error in OUT. */
int aggregate_write(const struct aggregate *aggregate, struct output *out, const char *tool);

#endif

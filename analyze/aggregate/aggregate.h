/* Aggregation: adds up samples per key, over one or more profiles. Sums are exact integers: the result does not depend
 * on the order or grouping of the inputs. Memory grows with the number of rows, not with the number of samples.
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
    bool add;                        /* inputs are shards of one run; otherwise each is a run */
    bool no_gap_warning;             /* for tools that do not show the energy of intervals */
    bool has_max_gap;                /* the tool has the option --max-gap */
};

struct aggregate;

/* OPTIONS are copied. */
struct aggregate *aggregate_new(const struct aggregate_options *options);
void aggregate_delete(struct aggregate *aggregate);

/* Adds the profile of READER, which must be at its beginning, using up to THREADS threads. NAME is the name of the
 * file, for warnings. Returns 0, or -1 with ERR filled; then AGGREGATE can only be deleted. The result does not depend
 * on THREADS. */
int aggregate_read(struct aggregate *aggregate, struct pbin_reader *reader, const char *name,
                   size_t threads, struct reporter *reporter, struct error *err);

/* Adds everything that FROM has read (before its aggregate_finish), as if TO had read it; afterwards FROM can only be
 * deleted. Both must have the same options. Returns 0, or -1 with ERR filled if their quantities differ. */
int aggregate_merge(struct aggregate *to, struct aggregate *from, struct error *err);

/* Completes rows and runs after the last profile. Returns 0, or -1 with ERR filled if nothing was read or a sum is too
 * large. */
int aggregate_finish(struct aggregate *aggregate, struct error *err);

/* The following are valid after aggregate_finish; results are borrowed until aggregate_delete. Rows are ordered by
 * their keys: texts by bytes, numbers by value. */
size_t aggregate_row_count(const struct aggregate *aggregate);
const struct pbin_row *aggregate_row(const struct aggregate *aggregate, size_t number);
const char *aggregate_text(const struct aggregate *aggregate, uint64_t string);

/* Does ROW, of AGGREGATE, hold what filters excluded? */
bool aggregate_is_excluded(const struct aggregate *aggregate, const struct pbin_row *row);

/* Is ROW, of AGGREGATE, _idle or _gap: energy without code? */
bool aggregate_is_label(const struct aggregate *aggregate, const struct pbin_row *row);

/* Is ROW the row of LABEL? */
bool aggregate_has_label(const struct aggregate *aggregate, const struct pbin_row *row,
                         const char *label);
const struct aggregate_options *aggregate_options_of(const struct aggregate *aggregate);
const struct pbin_keys *aggregate_keys(const struct aggregate *aggregate);
const struct quantity *aggregate_quantity(const struct aggregate *aggregate);
/* The metadata common to all profiles; texts that differ are NULL. Wall time, latency and samples are sums. */
const struct pbin_meta *aggregate_meta(const struct aggregate *aggregate);
/* Energy that was measured in full profiles and is neither in a row nor idle nor in a gap [2^-80 J]; negative if rows
 * have more than was measured. Only some energy models leave any. */
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

/* The number of thread samples with CPU time that filters do not exclude. Thread samples without CPU time do not
 * affect shares, and their number is known only for all rows together, including excluded ones. With wall times, all
 * thread samples count. */
double aggregate_deciding_samples(const struct aggregate *aggregate);

/* The mean time between two updates of the sensor [s], in as many samples as *SAMPLES says; NAN if the energy was not divided
 * by windows. */
double aggregate_window(const struct aggregate *aggregate, double *samples);

/* How long a row runs at a time, on average, in windows of the sensor; NAN if that is not known. */
double aggregate_stay(const struct aggregate *aggregate);

/* Replaces the energies of rows by those of least squares over the windows of the sensor, if options.rows.fit is set;
 * call it after aggregate_finish. The row _residual gets the remaining energy. Not for aggregates that are written.
 * Returns 0, or -1 with ERR filled if the sums do not suffice. */
int aggregate_fit(struct aggregate *aggregate, struct error *err);

/* As fit_unexplained, instead of aggregate_fit. */
struct fit_rest;
int aggregate_unexplained(const struct aggregate *aggregate, bool moved, struct fit_rest *rest,
                          struct error *err);

/* The precision of a row's energy after aggregate_fit. */
struct fitted {
    double interval;  /* half of the 95 % interval of its energy, all runs [J]; NaN: unknown */
    const char *like; /* the row from which it cannot be distinguished; NULL: none */
};

/* The precision of row NUMBER; NULL if aggregate_fit was not called. */
const struct fitted *aggregate_fitted(const struct aggregate *aggregate, size_t number);

/* Writes the aggregate as pbin. Returns 0 or -1 (error in OUT's struct error). */
int aggregate_write(const struct aggregate *aggregate, struct output *out, const char *tool);

#endif

/* Aggregation: adds up samples per key, over one or more profiles. Sums are exact integers: the result does not depend
 * on the order or grouping of the inputs. Memory grows with the number of rows, not of samples.
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
    bool add;                        /* inputs are shards of one run; else each is a run */
    bool no_gap_warning;             /* for tools that show no energy of intervals */
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

/* Completes rows and runs after the last profile. Returns 0, or -1 with ERR filled if nothing was read or sums are too
 * large. */
int aggregate_finish(struct aggregate *aggregate, struct error *err);

/* The following are valid after aggregate_finish; results are borrowed until aggregate_delete. Rows are ordered by
 * their keys: texts by bytes, numbers by value. */
size_t aggregate_row_count(const struct aggregate *aggregate);
const struct pbin_row *aggregate_row(const struct aggregate *aggregate, size_t number);
const char *aggregate_text(const struct aggregate *aggregate, uint64_t string);

/* Is ROW, of AGGREGATE, what filters excluded? */
bool aggregate_is_excluded(const struct aggregate *aggregate, const struct pbin_row *row);

/* Is ROW, of AGGREGATE, _idle or _gap: energy without code? */
bool aggregate_is_label(const struct aggregate *aggregate, const struct pbin_row *row);

/* Is ROW that of LABEL? */
bool aggregate_has_label(const struct aggregate *aggregate, const struct pbin_row *row,
                         const char *label);
const struct aggregate_options *aggregate_options_of(const struct aggregate *aggregate);
const struct pbin_keys *aggregate_keys(const struct aggregate *aggregate);
const struct quantity *aggregate_quantity(const struct aggregate *aggregate);
/* The metadata common to all profiles; texts that differ are NULL. Wall time, latency and samples are sums. */
const struct pbin_meta *aggregate_meta(const struct aggregate *aggregate);
/* What was measured in full profiles and is in no row, nor idle nor a gap [2^-80 J]; negative: rows have more than was
 * measured. Only some models of energy leave any. */
exact aggregate_unattributed(const struct aggregate *aggregate);
size_t aggregate_run_count(const struct aggregate *aggregate);
const struct pbin_run *aggregate_run(const struct aggregate *aggregate, size_t number);
size_t aggregate_arc_count(const struct aggregate *aggregate);
const struct pbin_arc *aggregate_arc(const struct aggregate *aggregate, size_t number);

/* The measures, in order of their names, and their values by number of row. Profiles of calls without measures, as older
 * versions wrote them, have the measure calls. */
const struct measures *aggregate_measures(const struct aggregate *aggregate);
/* The number of the measure called NAME, or -1. */
int aggregate_measure(const struct aggregate *aggregate, const char *name);

/* The thread samples that filters do not exclude and that have CPU time: the others decide nothing, and are known for all
 * rows together, excluded ones included. With wall times, all count. */
double aggregate_deciding_samples(const struct aggregate *aggregate);

/* Replaces the energies of rows by those of least squares over the windows of the sensor, where options.rows.fit; after
 * aggregate_finish. What is left over is in the row _residual. Not for aggregates that are written. Returns 0, or -1 with
 * ERR filled if the sums do not suffice. */
int aggregate_fit(struct aggregate *aggregate, struct error *err);

/* What is known of a row's energy by aggregate_fit. */
struct fitted {
    double interval;  /* half of the 95 % interval of its energy, of all runs [J]; NaN: not known */
    const char *like; /* the name of a row that it cannot be distinguished from; NULL: it can */
};

/* Of row NUMBER; NULL: there was no aggregate_fit. */
const struct fitted *aggregate_fitted(const struct aggregate *aggregate, size_t number);

/* Writes the aggregate as pbin. Returns 0 or -1 (error in OUT's struct error). */
int aggregate_write(const struct aggregate *aggregate, struct output *out, const char *tool);

#endif

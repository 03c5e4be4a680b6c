/* The columns and facts of a table of rows, and the cells of a row.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_AGGREGATE_ROW_VIEW_H
#define ANALYZE_AGGREGATE_ROW_VIEW_H

#include "analyze/aggregate/aggregate.h"
#include "analyze/aggregate/measure_view.h"
#include "analyze/aggregate/row_values.h"
#include "analyze/aggregate/sampled.h"
#include "formats/table/table.h"

/* Options that control how rows are shown. */
struct report_options {
    enum row_metric sort; /* in descending order; ties are ordered by key */
    /* Limits. The rows beyond them become one row _other, but _idle and _gap always remain. Shares
     * are of energy if rows are sorted by energy, otherwise of time. */
    size_t top;        /* maximum number of rows; 0: all */
    double threshold;  /* show rows with at least this share [%] */
    double cumulative; /* rows until the sum of shares reaches this [%]; 0: all */
    bool tree;         /* one row per prefix of the keys, indented */
    bool fractions;    /* time, samples, entries and energy as fractions of their totals */
    bool intervals; /* intervals due to sampling, of shares and, for one run, of time and energy */
    const exact
        *static_energy; /* [rows], shown apart from the rest of the energy; NULL: not shown */
    bool color;
    const struct table_style *style;
};

enum {
    VIEW_MAX_COLUMNS = PBIN_MAX_KEYS + 24 + MEASURE_MAX_COLUMNS,
    VIEW_MAX_FACTS = 24,
    VIEW_PARTS = 6 /* parts of the energy */
};

struct row_view {
    const struct aggregate *aggregate;
    const struct pbin_keys *keys;
    const struct report_options *report;
    struct table_column columns[VIEW_MAX_COLUMNS];
    size_t column_count;
    size_t name_count; /* columns before the values: keys, or depth and name in a tree */
    struct table_fact facts[VIEW_MAX_FACTS];
    size_t fact_count;
    size_t runs;
    struct pbin_sums total, excluded;
    exact total_static;
    struct row_values total_values;
    struct sampled_code code, shown; /* all rows, and those that filters do not exclude */
    bool has_quantity;
    struct quantity quantity; /* of the aggregate; energy if it has no values */
    bool fitted;              /* energies come from aggregate_fit */
    size_t power_at;          /* column of the power */
    struct measure_view measures;
    size_t measures_at;              /* their first column */
    enum row_metric sort;            /* as in REPORT, but calls if no times were recorded */
    bool calls_only;                 /* there are calls and no samples */
    double time_scale, energy_scale; /* 1, or 1 / total with NORMALIZED */
    double power;                    /* of the run: energy / wall time; NaN: unknown */
    size_t share_interval_at;        /* the column of the interval of the share of energy */
    char share_name[3][48], excluded_name[2][48], part_name[VIEW_PARTS][48];
};

/* Computes totals, columns and facts. All arguments are borrowed for the life of VIEW. */
void row_view_init(struct row_view *view, const struct aggregate *aggregate,
                   const struct report_options *report);

/* Returns whether ROW is shown as a row. The row of excluded samples is shown as a fact. */
bool row_view_shows(const struct row_view *view, const struct pbin_row *row);

/* The value by which rows are sorted, for SIZE rows starting at ROW, whose sums are SUMS; -infinity if
 * unknown. */
double row_view_metric(const struct row_view *view, const struct pbin_sums *sums,
                       const struct pbin_row *row, size_t size);

/* The share to which limits apply [%]: of energy if rows are sorted by energy, otherwise of
 * time. */
double row_view_share(const struct row_view *view, const struct pbin_sums *sums);

/* row_view_key returns the cell of key number I of ROW. row_view_values fills the value cells,
 * which follow the name cells; FIXED is the static energy of the rows. */
struct table_cell row_view_key(const struct row_view *view, const struct pbin_row *row, size_t i);
void row_view_values(const struct row_view *view, const struct pbin_sums *sums, exact fixed,
                     bool spread, struct table_cell *cells);

/* The static energy of ROW, for the argument FIXED of row_view_values; 0 if static energy is not
 * shown. */
exact row_view_static(const struct row_view *view, const struct pbin_row *row);

/* Fills the last cells: the results of aggregate_fit for ROW. */
void row_view_fitted(const struct row_view *view, const struct pbin_row *row,
                     struct table_cell *cells);

#endif

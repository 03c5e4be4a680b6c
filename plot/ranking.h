/* Profiles as ranked rows with printable names, for most kinds of plots.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_RANKING_H
#define PLOT_RANKING_H

#include "plot/plot.h"

/* Adds up PATHS (none: stdin), by the keys of the options, or else by those of binary and function
 * that the profiles have. Returns the aggregate, which the caller deletes, or NULL with ERR
 * filled. */
struct aggregate *ranking_read(const struct plot *plot, const char *const *paths, size_t count,
                               struct error *err);

/* The same by those of KEYS that the profiles have (NULL: as ranking_read). */
struct aggregate *ranking_read_keys(const struct plot *plot, const char *const *paths, size_t count,
                                    const struct pbin_keys *keys, struct error *err);

struct ranked_row {
    char *name;                 /* complete, as in the profile; freed by ranking_free */
    const struct pbin_row *row; /* NULL for _other */
    struct row_values values;   /* means over the runs */
    double value;               /* of the metric */
    double share;               /* of the total, 0..1; NaN if shares are meaningless */
    double error; /* half of the 95 % interval of the mean; NaN: fewer than 2 runs, but see
                   * ranking_intervals */
    bool other;   /* not code: _other, and labels such as _idle and _others */
};

struct ranking {
    struct ranked_row *rows; /* largest first, _other last */
    size_t count;
    size_t hidden; /* rows in _other */
    size_t code;   /* rows of code that are shown separately */
    struct row_values total;
    enum row_metric metric;
    const char *unit;        /* of the metric, without prefix; borrowed from the aggregate */
    const char *metric_name; /* "energy" or the quantity to which the values add up */
};

/* Sets *METRIC to the requested metric, else to energy (of QUANTITY) if the profile has it, else to
 * time. Returns 0, or -1 with ERR filled if the profile has no such values. */
int ranking_metric(const struct plot *plot, const struct quantity *quantity, bool has_energy,
                   enum row_metric *metric, struct error *err);
/* The same for AGGREGATE. */
int ranking_metric_of(const struct plot *plot, const struct aggregate *aggregate,
                      enum row_metric *metric, struct error *err);
const char *ranking_metric_name(const struct quantity *quantity, enum row_metric metric);
const char *ranking_metric_unit(const struct quantity *quantity, enum row_metric metric);

/* Ranks the rows: shows at most TOP (0: all), and the rest as _other. AGGREGATE is borrowed until
 * ranking_free. */
void ranking_make(struct ranking *ranking, const struct aggregate *aggregate,
                  enum row_metric metric, size_t top);
/* Returns 0, or -1 with ERR filled if there are no rows, because nothing is selected. */
int ranking_check(const struct ranking *ranking, struct error *err);

/* Returns the value at which to cut the rows that are not code, if one of them is so much larger
 * than all code that code would be too small to see; otherwise INFINITY. */
double ranking_limit(const struct ranking *ranking);

/* Sets the intervals of time and energy of a single run from its number of samples. */
void ranking_intervals(struct ranking *ranking, const struct aggregate *aggregate);
void ranking_free(struct ranking *ranking);

/* Returns text NUMBER of an aggregate, for struct name_source. */
const char *ranking_text(const void *aggregate, uint64_t number);

#endif
